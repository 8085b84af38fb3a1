import Foundation
import TestSupport

/// A folder of one test, empty at first and gone afterwards.
final class Scratch: Sendable {
    let path: String

    init() throws {
        var template = SyncPlatformTests.template("lazysync-test")
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    deinit {
        removeFolder(URL(filePath: path))
    }
}

/// A name for `mkdtemp` where temporary files go.
private func template(_ name: String) -> [CChar] {
    Array("\(testsFolder.path)/\(name)-XXXXXX".utf8CString)
}

/// A small file system of its own that can be filled up.
final class SmallDisk: Sendable {
    let path: String

    init?(bytes: Int) {
        var template = SyncPlatformTests.template("lazysync-disk")
        guard mkdtemp(&template) != nil else { return nil }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes),mode=700") == 0 else {
            rmdir(path)
            return nil
        }
    }

    static let isPossible = SmallDisk(bytes: 1 << 16) != nil

    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Lets nobody write any more.
    func makeReadOnly() -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_RDONLY | MS_REMOUNT), nil) == 0
    }

    deinit {
        umount2(path, Int32(2))
        rmdir(path)
    }
}

/// A child process that is written to and read from by lines.
final class Child {
    let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ arguments: [String], environment: [String: String]? = nil) throws {
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = environment
        process.standardInput = input
        process.standardOutput = output
        // A child inherits the mask of the thread, and the pool's threads block every signal.
        var none = sigset_t()
        var mask = sigset_t()
        pthread_sigmask(SIG_SETMASK, &none, &mask)
        defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
        try process.run()
    }

    /// The next line, without its end; `nil` when there are no more.
    func line() -> String? {
        var line: [UInt8] = []
        while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
    }

    /// Ends its input and waits until it is gone; a process keeps its pipes open as long as it runs.
    func finish() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func killAndWait() {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// Starts work that blocks on a thread of its own: the tests share two threads for all else.
func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) -> Task<Result, any Error> {
    Task {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
