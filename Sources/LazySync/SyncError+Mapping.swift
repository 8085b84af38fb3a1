internal import SyncPlatform

extension SyncError {
    /// Runs `body` and turns what a layer below throws into the engine's error, in one place.
    static func mapping<Result>(
        _ operation: String, _ body: () throws -> Result
    ) throws(SyncError) -> Result {
        do {
            return try body()
        } catch {
            throw SyncError(operation, error)
        }
    }

    /// Runs `body` and turns what a layer below throws into the engine's error, in one place.
    static func mapping<Result>(
        _ operation: String, isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws(SyncError) -> Result {
        do {
            return try await body()
        } catch {
            throw SyncError(operation, error)
        }
    }

    /// Names what a layer below could not do.
    init(_ operation: String, _ error: any Error) {
        switch error {
        case let error as SyncError:
            self = error
        case let error as SQLiteError:
            self.init(Self.code(of: error), operation, error.detail)
        case let error as FileError:
            self.init(Self.code(of: error), operation, "\(error)")
        case let error as RemoteFailure:
            self.init(
                error.isCancelled ? .cancelled : .unavailable(error.reason), operation,
                error.detail, hint: error.hint)
            failure = error
        case let error as SecretError where error.code == .noSpace:
            self.init(.unavailable(.diskFull), operation, error.words)
        case let error as SecretError where error.code == .io:
            self.init(.storage, operation, error.words)
        case let error as SecretError:
            self.init(
                .unavailable(.keyMissing), operation, error.words, hint: error.help)
        case let error as CatalogDamage:
            self.init(
                .notACatalog, operation, "the catalog is damaged: \(error.what)",
                hint: "log out and in again; everything comes from the server again")
        case let error as FormatError where error.code == .bounds || error.code == .payload:
            self.init(
                .invalidInput, operation, "it is more than an item can hold",
                hint: "an item has 1,000 attachments and 1 MiB of text at the most")
        case let error as FormatError:
            self.init(
                .storage, operation, "what was read does not follow the format (\(error.code))")
        case is CancellationError:
            self.init(.cancelled, operation, "cancelled")
        default:
            self.init(.storage, operation, "\(error)")
        }
    }

    /// Names a file that was to be a catalog.
    init(_ operation: String, _ error: SQLiteError, at path: String) {
        let code = Self.code(of: error)
        let isNone = code == .notACatalog
        self.init(
            code, operation, isNone ? "\(path) is not a catalog: \(error.detail)" : error.detail)
    }

    /// The key store holds a key, and it is not this account's.
    static func anotherKey(_ operation: String) -> SyncError {
        SyncError(
            .unavailable(.keyMissing), operation, "the key store has another account's key",
            hint: "log in again")
    }

    private static func code(of error: SQLiteError) -> Code {
        switch error.code {
        case .full: .unavailable(.diskFull)
        case .corrupt, .notADatabase: .notACatalog
        case .busy: .busy
        case .interrupted: .cancelled
        default: .storage
        }
    }

    private static func code(of error: FileError) -> Code {
        switch error.code {
        case .noSpace: .unavailable(.diskFull)
        case .locked: .busy
        default: .storage
        }
    }
}

extension RemoteFailure {
    /// What would help, if it is not what helps with every failure of the reason.
    fileprivate var hint: String? {
        switch (reason, status, code) {
        case (_, _, "certificate"?):
            "if its authority is one of your own, log in with --ca-file FILE"
        case (.tooLarge, 413?, _): "the server takes no file that large; remove it, or split it"
        default: nil
        }
    }
}

extension SecretError {
    /// What happened, for a person.
    var words: String {
        switch code {
        case .locked: "the key store is locked"
        case .unavailable: "there is no key store to be reached: \(detail)"
        case .denied, .noSpace, .io, .other: detail
        }
    }

    /// What would help, if it is not what helps with every lost key.
    fileprivate var help: String? {
        switch code {
        case .locked: "unlock it, then try again"
        case .unavailable:
            "start the desktop's key store, or log in with --key-store file to keep keys in a file"
        case .denied, .noSpace, .io, .other: "put it right, or move it away and log in again"
        }
    }
}
