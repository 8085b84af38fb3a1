import LazySync

/// What `open` and `thumb` say of a file: where it is, or why it is not.
enum FileResult: Sendable {
    case here(MaterializedFile)
    /// The bytes were read, and no file of all of them needs to be here.
    case read(MaterializedFile, BlobState)
    case unavailable(AttachmentKey, size: Int64?, UnavailableReason)

    var json: JSON {
        switch self {
        case .here(let file):
            [
                "id": .string(file.key.id.description),
                "path": .string(file.path),
                "size": .integer(file.size),
                "state": .string(BlobState.here.name),
                "bytesFetched": .integer(file.bytesFetched),
                "requests": .integer(file.requests),
            ]
        case .read(let file, let state):
            [
                "id": .string(file.key.id.description),
                "path": .null,
                "size": .integer(file.size),
                "state": .string(state.name),
                "reason": state.reason.map { .string($0.rawValue) },
                "bytesFetched": .integer(file.bytesFetched),
                "requests": .integer(file.requests),
            ]
        case .unavailable(let key, let size, let reason):
            [
                "id": .string(key.id.description),
                "path": .null,
                "size": size.map { .integer($0) } ?? .null,
                "state": .string(BlobState.unavailable(reason).name),
                "reason": .string(reason.rawValue),
                "bytesFetched": .null,
                "requests": .null,
            ]
        }
    }
}

extension Context {
    /// Fetches a file and prints where it is; with `--json`, also that it cannot come.
    ///
    /// The engine is asked for the size of what cannot come; a thumbnail's is not known.
    /// If the file's bytes go to standard output, nothing else may: the object goes to standard
    /// error then, and the path is not printed.
    /// `afterwards` is what a person should know beside the failure's own hint.
    func present(
        _ key: AttachmentKey, sizeFrom engine: SyncEngine? = nil, toOutput: Bool = false,
        afterwards: String? = nil,
        fetch: () async throws -> MaterializedFile
    ) async throws -> ExitCode {
        do {
            let file = try await fetch()
            if file.path.isEmpty, console.output.json {
                let state = try? await engine?.explain(key).attachment.state
                present(.read(file, state ?? .remote), path: nil, toOutput: toOutput)
            } else {
                present(.here(file), path: file.path, toOutput: toOutput)
            }
            console.detail("fetched \(Quantity.size(file.bytesFetched)), \(file.requests) requests")
            return .done
        } catch let error as SyncError {
            throw await explain(
                error, key, sizeFrom: engine, toOutput: toOutput, afterwards: afterwards)
        }
    }

    /// Prints with `--json` that an attachment's bytes cannot come, and answers the failure in the
    /// words of the command.
    func explain(
        _ error: SyncError, _ key: AttachmentKey, sizeFrom engine: SyncEngine?,
        toOutput: Bool = false, afterwards: String? = nil
    ) async -> Failure {
        var failure = Failure(error, verbose: console.verbose)
        failure.id = key.id.description
        guard case .unavailable(let reason) = error.code else { return failure }
        let size = try? await engine?.explain(key).attachment.size
        if console.output.json {
            present(.unavailable(key, size: size, reason), path: nil, toOutput: toOutput)
        }
        if reason == .tooLarge, error.hint == nil, let size,
            let use = try? await engine?.cacheUse()
        {
            failure.message = "\(reason.rawValue): \(use.words(tooLarge: size))"
            if use.pinned > 0 { failure.hint = failure.hint.map { "unpin something, \($0)" } }
        }
        if let afterwards { failure.hint = (failure.hint.map { $0 + "; " } ?? "") + afterwards }
        return failure
    }

    private func present(_ result: FileResult, path: String?, toOutput: Bool) {
        if console.output.json {
            console.print([result.json.text], to: toOutput ? .error : .output)
        } else if let path, !toOutput {
            console.print([path])
        }
    }
}

extension CacheUse {
    /// Why something of a size cannot be kept, in the sizes that `cache` shows.
    fileprivate func words(tooLarge size: Int64) -> String {
        var words = "its \(Quantity.size(size)) do not fit into the cache's \(Quantity.size(limit))"
        var taken: [String] = []
        if pinned > 0 { taken.append("\(Quantity.size(pinned)) are pinned") }
        if thumbnails > 0 { taken.append("\(Quantity.size(thumbnails)) are thumbnails") }
        if !taken.isEmpty { words += ", of which \(taken.joined(separator: " and "))" }
        return words
    }
}
