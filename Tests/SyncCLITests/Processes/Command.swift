import Foundation
import TestSupport

@testable import MockServer

/// The command `sync` as a process of its own, from the build that these tests are from.
///
/// What it prints goes to files, so that no pipe that is full holds it up.
final class Command: Sendable {
    /// Never by name: the system has a `sync` too.
    static let path = Bundle.main.bundleURL.appendingPathComponent("sync").path

    private let words: [String]
    private let scratch: Scratch
    private let process: Process
    private let ended = Watched(false)
    private let observed = Guarded<Set<[UInt8]>>([])

    /// Starts it with variables beside those that every run gets; its standard input is no terminal.
    ///
    /// If it is observed, its arguments and its environment are looked at all the while.
    init(
        _ words: [String], environment: [String: String] = [:], input: String = "",
        isObserved: Bool = false
    ) throws {
        self.words = words
        scratch = try Scratch()
        process = Process()
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = words
        process.environment = Self.environment.merging(environment) { $1 }
        for name in ["out", "error"] { try Data().write(to: scratch[name]) }
        try Data(input.utf8).write(to: scratch["in"])
        let ended = ended
        process.terminationHandler = { _ in ended.change { $0 = true } }
        try process.run(
            reading: FileHandle(forReadingFrom: scratch["in"]),
            writing: FileHandle(forWritingTo: scratch["out"]),
            FileHandle(forWritingTo: scratch["error"]))
        if isObserved { observe() }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Sends it a signal.
    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Whether it is still at work.
    var isRunning: Bool { process.isRunning }

    /// What it came to.
    ///
    /// - Throws: `Watched.TimedOut` if it does not end in time.
    func result(within timeout: Duration = .seconds(120)) async throws -> CommandResult {
        try await ended.wait(timeout: timeout) { $0 }
        let isSignal = process.terminationReason == .uncaughtSignal
        return CommandResult(
            words: words, exit: isSignal ? nil : process.terminationStatus,
            output: [UInt8](try Data(contentsOf: scratch["out"])),
            error: String(decoding: try Data(contentsOf: scratch["error"]), as: UTF8.self),
            observed: observed.with { $0 })
    }

    /// What has been printed to standard output so far.
    var output: [UInt8] { [UInt8]((try? Data(contentsOf: scratch["out"])) ?? Data()) }

    /// The environment of these tests without what would lead to a desktop, a proxy or a person's files.
    private static let environment: [String: String] = {
        var environment = ProcessInfo.processInfo.environment.filter { name, _ in
            !name.hasPrefix("XDG_") && !name.lowercased().hasSuffix("_proxy")
        }
        for name in ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY"] {
            environment[name] = nil
        }
        environment["HOME"] = "/nonexistent"
        return environment
    }()

    private func observe() {
        let (pid, ended, observed) = (process.processIdentifier, ended, observed)
        let look: @Sendable () -> Void = {
            for name in ["cmdline", "environ"] {
                let bytes = FileManager.default.contents(atPath: "/proc/\(pid)/\(name)")
                observed.with { _ = $0.insert([UInt8](bytes ?? Data())) }
            }
        }
        look()
        Thread.detachNewThread {
            while !ended.value {
                look()
                usleep(500)
            }
        }
    }
}

/// What a run of the command came to.
struct CommandResult: Sendable {
    let words: [String]
    /// nil if a signal ended it.
    let exit: Int32?
    let output: [UInt8]
    /// What it said besides its results.
    let error: String
    /// Every content of its `/proc/PID/cmdline` and `environ` that was seen.
    let observed: Set<[UInt8]>

    /// The results as text.
    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }
    /// The first line of the results.
    var line: String { lines.first ?? "" }

    /// Each line of the results as a JSON object.
    var objects: [[String: Any]] {
        get throws { try lines.map(Self.object) }
    }

    /// The one line of the results as a JSON object.
    var object: [String: Any] {
        get throws { try Self.object(text) }
    }

    /// The one line on standard error as a JSON object.
    var errorObject: [String: Any] {
        get throws { try Self.object(error) }
    }

    private static func object(_ line: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        guard let object = value as? [String: Any] else {
            throw CocoaError(.propertyListReadCorrupt)
        }
        return object
    }
}

extension CommandResult: CustomStringConvertible {
    /// What a failed expectation shows.
    var description: String {
        "sync \(words.joined(separator: " ")): exit \(exit.map(String.init) ?? "by a signal")\n\(text)\(error)"
    }
}

/// A fresh folder that goes with its owner.
final class Scratch: Sendable {
    let url: URL

    init() throws {
        url = testsFolder.appendingPathComponent("sync-\(UUID().uuidString.prefix(13))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    }

    deinit { removeFolder(url) }

    var path: String { url.path }

    /// A place in it.
    subscript(name: String) -> URL { url.appendingPathComponent(name) }

    /// Every file under a folder of it, by its path from there, sorted.
    func files(under name: String) -> [String] {
        let walk = FileManager.default.enumerator(atPath: self[name].path)
        return (walk?.compactMap { $0 as? String } ?? []).filter { path in
            var isFolder: ObjCBool = false
            let whole = self[name].appendingPathComponent(path).path
            return FileManager.default.fileExists(atPath: whole, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }
}
