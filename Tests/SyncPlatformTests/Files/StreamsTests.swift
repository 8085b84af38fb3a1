import Foundation
import Testing

@testable import SyncPlatform

struct StreamsTests {
    @Test func `writing to an output that nobody reads is an error, not the end`() async {
        await #expect(processExitsWith: .success) {
            System.ignoreSIGPIPE()
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            close(ends[0])
            dup2(ends[1], 1)
            let error = #expect(throws: FileError.self) {
                try StandardStreams.write("a word", to: .output)
            }
            #expect(error?.code == .closed)
        }
    }

    @Test func `input is read to its end and not beyond the limit`() async {
        await #expect(processExitsWith: .success) {
            for (limit, isEnough) in [(70_000, true), (69_999, false)] {
                let file = try #require(tmpfile())
                let bytes = [UInt8](repeating: 3, count: 70_000)
                fwrite(bytes, 1, bytes.count, file)
                rewind(file)
                dup2(fileno(file), 0)
                if isEnough {
                    #expect(try StandardStreams.readInput(limit: limit) == bytes)
                } else {
                    #expect(throws: FileError.self) {
                        try StandardStreams.readInput(limit: limit)
                    }
                }
            }
        }
    }

    @Test func `a full pipe that does not block is waited for`() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            dup2(ends[1], 1)
            close(ends[1])
            #expect(fcntl(1, F_SETFL, O_NONBLOCK) == 0)
            let reader = File(adopting: ends[0], path: "pipe")
            let reading = onThread { try reader.readAll(limit: 1 << 20) }
            let bytes = [UInt8](repeating: 4, count: 300_000)
            try StandardStreams.write(bytes.span, to: .output)
            close(1)
            #expect(try await reading.value == bytes)
        }
    }

    /// The two ends of a terminal: the user's, and the program's.
    private func terminal() throws -> (user: File, program: File) {
        let user = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var locked: Int32 = 0
        var number: Int32 = 0
        // TIOCSPTLCK and TIOCGPTN: what unlockpt and ptsname do, which the headers hide.
        try #require(
            ioctl(user, 0x4004_5431, &locked) == 0 && ioctl(user, 0x8004_5430, &number) == 0)
        let name = "/dev/pts/\(number)"
        let program = open(name, O_RDWR | O_NOCTTY)
        try #require(program >= 0)
        return (File(adopting: user, path: "user"), File(adopting: program, path: name))
    }

    private func ask(
        typing keys: String, limit: Int = 100
    ) throws -> (answer: Result<[UInt8], Terminal.Failure>, shown: String, echoes: Bool) {
        let (user, program) = try terminal()
        let typed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            // The prompt is shown once the echo is off; typing earlier would be dropped.
            var shown: [UInt8] = []
            while shown.last != UInt8(ascii: ":") {
                var byte: UInt8 = 0
                if read(user.descriptor, &byte, 1) == 1 { shown.append(byte) }
            }
            try? user.append([UInt8](keys.utf8).span)
            typed.signal()
        }
        let answer = Result { () throws(Terminal.Failure) in
            try Terminal.readSecret(from: program, prompt: "passphrase:", limit: limit)
        }
        typed.wait()
        var state = termios()
        tcgetattr(program.descriptor, &state)
        var rest = [UInt8](repeating: 0, count: 100)
        let count = max(0, read(user.descriptor, &rest, rest.count))
        let shown = String(decoding: rest[..<count], as: UTF8.self)
        return (answer, shown, state.c_lflag & tcflag_t(ECHO) != 0)
    }

    private static let lines = [
        ("secret\n", "secret"), ("sé\u{7f}ecret\r", "secret"), ("wrong\u{15}right\n", "right"),
        ("\u{7f}a b\n", "a b"), ("x\u{04}", "x"), ("\n", ""),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: lines)
    func `a secret is read and not shown`(keys: String, line: String) throws {
        let (answer, shown, echoes) = try ask(typing: keys)
        #expect(try answer.get() == Array(line.utf8))
        #expect(shown == "\r\n")
        #expect(echoes)
    }

    private static let refusals: [(String, Terminal.Failure)] = [
        ("sec\u{03}", .refused), ("\u{04}", .refused), ("12345\n", .tooLong),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: refusals)
    func `a refusal leaves the terminal as it was`(keys: String, why: Terminal.Failure) throws {
        let (answer, _, echoes) = try ask(typing: keys, limit: 4)
        #expect(throws: why) { try answer.get() }
        #expect(echoes)
    }

    @Test func `a terminal that is none says so`() throws {
        let scratch = try Scratch()
        let file = try File(scratch("a"), for: .create)
        #expect(throws: Terminal.Failure.noTerminal) {
            try Terminal.readSecret(from: file, prompt: "", limit: 1)
        }
    }

    @Test func `the system says who and where we are`() throws {
        let boot = try System.bootID()
        #expect(boot.count == 36)
        #expect(try System.bootID() == boot)
        #expect(System.homeFolder != nil)
        #expect(System.environment("LAZYSYNC_NOT_SET") == nil)
        #expect(System.environment("PATH") == ProcessInfo.processInfo.environment["PATH"])
        #expect(System.effectiveUser == geteuid())
        #expect(System.hostname == ProcessInfo.processInfo.hostName || System.hostname != "")
        let start = System.monotonicNanoseconds
        #expect(System.monotonicNanoseconds >= start)
        #expect(abs(Double(System.wallClockSeconds) - Date().timeIntervalSince1970) < 5)
        #expect(try FileSystem.realPath("/usr/../usr/.") == "/usr")
        #expect(FileSystem.folder(of: "/a") == "/")
        #expect(FileSystem.folder(of: "a") == ".")
        #expect(FileSystem.folder(of: "/a/b") == "/a")
    }
}
