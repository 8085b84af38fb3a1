import SyncPlatform

/// The process and what it stands in: the only file of the command that knows the platform, but for
/// a lock.
enum Host {
    /// Where words go.
    enum Stream: Sendable {
        case output, error

        fileprivate var platform: StandardStreams.Output {
            switch self {
            case .output: .output
            case .error: .error
            }
        }
    }

    /// What the account calls this device if nobody says.
    static var name: String { System.hostname.isEmpty ? "device" : System.hostname }

    /// SIGINT and SIGTERM, by the numbers that they have everywhere.
    static let endingSignals: [Int32] = [2, 15]

    /// Makes a reader that goes away an error of `write` instead of the end of the process, and
    /// memory that is no longer used the system's again.
    static func prepare() {
        System.ignoreSIGPIPE()
        System.returnLargeBlocks()
    }

    /// Shows a file in the desktop's viewer.
    static func view(_ path: String) throws(Failure) {
        do {
            try Program.start(["xdg-open", path])
        } catch {
            throw Failure(
                .failed, code: "viewer", "the desktop's viewer does not start",
                hint: "is xdg-open installed? The file is here: \(path)")
        }
    }

    /// Ends the process.
    static func exit(_ code: ExitCode) -> Never { System.exit(code.rawValue) }

    /// The time of day in Unix seconds.
    static var now: Int64 { System.wallClockSeconds }

    /// The value of an environment variable.
    static func environment(_ name: String) -> String? { System.environment(name) }

    /// Writes all of it.
    ///
    /// Results that nobody can read are the end: without a word if the reader went away, as `head`
    /// does. What standard error does not take is lost.
    static func write(_ bytes: Span<UInt8>, to stream: Stream) {
        do throws(FileError) {
            try StandardStreams.write(bytes, to: stream.platform)
        } catch {
            guard stream == .output else { return }
            if error.code != .closed {
                let line = "sync: error: standard output: \(reason(error))\n"
                write(Array(line.utf8).span, to: .error)
            }
            exit(.failed)
        }
    }

    /// The columns of a stream's terminal; nil if it is none.
    static func terminalColumns(of stream: Stream) -> Int? {
        let stream = stream.platform
        return Terminal.isTerminal(stream) ? Terminal.width(of: stream) ?? 80 : nil
    }

    /// Where standard input is to be opened as a file.
    static let inputPath = "/dev/stdin"

    static var inputIsTerminal: Bool { Terminal.isInputTerminal }

    /// Asks at the terminal, which does not show the answer.
    static func askSecretly(_ what: String) throws(Failure) -> [UInt8] {
        do throws(Terminal.Failure) {
            return try Terminal.readSecret(prompt: "\(what): ")
        } catch {
            switch error {
            case .refused: throw .interrupted
            case .noTerminal: throw Failure(usage: "there is no terminal to ask for the \(what)")
            case .tooLong: throw Failure(usage: "the \(what) is too long")
            }
        }
    }

    /// Everything in a file, or on standard input (`-`).
    ///
    /// - Throws: a failure with exit 2 if there is none, or more than `limit` bytes.
    static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        do throws(FileError) {
            guard path != "-" else { return try StandardStreams.readInput(limit: limit) }
            return try File(chosenByUser: path).readAll(limit: limit)
        } catch {
            let file = path == "-" ? "standard input" : "'\(path)'"
            let reason = error.code == .tooLarge ? "more than \(limit) bytes" : reason(error)
            throw Failure(usage: "cannot read \(file): \(reason)")
        }
    }

    /// Whether there is a folder, or a link to one.
    static func isFolder(_ path: String) -> Bool {
        guard let whole = try? FileSystem.realPath(path), let facts = try? FileSystem.facts(whole)
        else { return false }
        return facts.kind == .directory
    }

    private static func reason(_ error: FileError) -> String {
        switch error.code {
        case .notFound: "no such file"
        case .permission: "permission denied"
        case .noSpace: "no space left"
        default: "\(error)"
        }
    }
}
