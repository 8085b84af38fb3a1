import Glibc

/// What the system says about this process and this machine.
package enum System {
    /// An environment variable; `nil` if it is not set or empty.
    package static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// The user's home folder: `HOME`, else what the user database says.
    package static var homeFolder: String? {
        if let home = environment("HOME") { return home }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, found != nil,
            let folder = entry.pw_dir
        else { return nil }
        return String(cString: folder)
    }

    /// The user whom this process runs as.
    package static var effectiveUser: UInt32 { geteuid() }

    /// A name for the time since the machine was started; another one after every start.
    package static func bootID() throws(FileError) -> String {
        let file = try File(chosenByUser: "/proc/sys/kernel/random/boot_id")
        let bytes = try file.readAll(limit: 64)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// A clock that nobody sets, for measuring how long something takes.
    package static var monotonicNanoseconds: UInt64 { nanoseconds(CLOCK_MONOTONIC) }

    /// Seconds since 1970, as far as the machine knows.
    package static var wallClockSeconds: Int64 {
        Int64(nanoseconds(CLOCK_REALTIME) / 1_000_000_000)
    }

    /// The machine's name; empty if it has none.
    package static var hostname: String {
        // One zero more than the call may fill: a name that is cut short has no end of its own.
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(
            decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Makes writing to a closed pipe or socket an error instead of the end of the process.
    package static func ignoreSIGPIPE() {
        signal(SIGPIPE, SIG_IGN)
    }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }
}

extension System {
    /// Ends the process at once: nothing of ours is buffered, and no thread is waited for.
    package static func exit(_ code: Int32) -> Never { _exit(code) }
}

extension System {
    /// Makes large blocks of memory go back to the system as soon as they are free.
    ///
    /// The allocator would keep them, once it has seen a few, and a restore's pages come and go.
    package static func returnLargeBlocks() {
        // <malloc.h> is not among the headers of Glibc's module, so its one function is looked up.
        typealias Mallopt = @convention(c) (_ parameter: Int32, _ value: Int32) -> Int32
        let mmapThreshold: Int32 = -3
        guard let symbol = dlsym(nil, "mallopt") else { return }
        _ = unsafeBitCast(symbol, to: Mallopt.self)(mmapThreshold, 2 << 20)
    }
}
