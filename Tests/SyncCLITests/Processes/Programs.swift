import Foundation

@testable import MockServer

/// Another program that runs, with what it prints in files, so that nobody waits for a pipe.
///
/// It ends with its owner at the latest.
final class Program: Sendable {
    private let scratch: Scratch
    private let process = Process()
    private let input: FileHandle?
    private let ended = Watched(false)

    /// Starts it; without input, what it reads ends with its owner.
    init(
        _ path: String, _ arguments: [String], in folder: URL? = nil, input text: String? = nil,
        environment: [String: String] = [:], without names: [String] = []
    ) throws {
        scratch = try Scratch()
        for name in ["out", "error"] { try Data().write(to: scratch[name]) }
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .filter { !names.contains($0.key) }.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = folder }
        var file: FileHandle?
        if let text {
            try Data(text.utf8).write(to: scratch["in"])
            file = try FileHandle(forReadingFrom: scratch["in"])
            input = nil
        } else {
            let pipe = Pipe()
            process.standardInput = pipe
            input = pipe.fileHandleForWriting
        }
        let ended = ended
        process.terminationHandler = { _ in ended.change { $0 = true } }
        try process.run(
            reading: file, writing: FileHandle(forWritingTo: scratch["out"]),
            FileHandle(forWritingTo: scratch["error"]))
    }

    deinit { try? input?.close() }

    /// What it printed, once it has ended.
    ///
    /// - Throws: `Failed` if it does not exit with 0.
    func output() async throws -> String {
        try await ended.wait(timeout: .seconds(120)) { $0 }
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failed(
                program: process.executableURL?.path ?? "", status: process.terminationStatus,
                error: try text("error"))
        }
        return try text("out")
    }

    /// Sends it text, if it was started without input.
    func write(_ text: String) throws {
        try input?.write(contentsOf: Data(text.utf8))
    }

    /// The first line that it prints.
    func line() async throws -> String {
        try await eventually { try text("out").contains("\n") || ended.value }
        return String(try text("out").prefix { $0 != "\n" })
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: scratch[name]), as: UTF8.self)
    }

    struct Failed: Error {
        let program: String
        let status: Int32
        let error: String
    }
}

extension Process {
    /// Runs it on files, which are closed here then, and with no signal blocked.
    ///
    /// Foundation never lets a process that has run go, nor its files. And a child is born with the
    /// signals blocked that its parent's thread has blocked, which for Dispatch's threads are nearly
    /// all of them; a shell's children have none blocked.
    func run(reading input: FileHandle?, writing output: FileHandle, _ error: FileHandle) throws {
        if let input { standardInput = input }
        standardOutput = output
        standardError = error
        defer { for file in [input, output, error] { try? file?.close() } }
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}

/// Runs another program to its end and answers what it printed.
///
/// - Throws: `Program.Failed` if it does not exit with 0.
@discardableResult
func run(
    _ path: String, _ arguments: [String], in folder: URL? = nil, input: String = "",
    environment: [String: String] = [:]
) async throws -> String {
    try await Program(path, arguments, in: folder, input: input, environment: environment).output()
}

/// The SHA-256 of files, by a program that knows nothing of ours.
func sha256(_ paths: [String]) async throws -> [String] {
    // A line begins with a backslash where the name is escaped; these names are ours, and are not.
    try await run("/usr/bin/sha256sum", ["--"] + paths)
        .split(separator: "\n").map { String($0.prefix(64)) }
}

/// Waits for something that no gate tells of, such as a file that another process writes.
func eventually(
    within timeout: Duration = .seconds(30), _ condition: () throws -> Bool
) async throws {
    let end = ContinuousClock.now + timeout
    while try !condition() {
        guard ContinuousClock.now < end else { throw Watched<Bool>.TimedOut() }
        try await Task.sleep(for: .milliseconds(5))
    }
}
