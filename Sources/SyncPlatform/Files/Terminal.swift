import Glibc

/// The terminal in front of the user, if there is one.
package enum Terminal {
    /// Why no line came.
    package enum Failure: Error, Sendable, Equatable {
        /// There is no terminal to ask at.
        case noTerminal
        /// The user pressed Control-C, or Control-D on an empty line.
        case refused
        /// The line is longer than any secret.
        case tooLong
    }

    /// Whether a stream ends in a terminal.
    package static func isTerminal(_ stream: StandardStreams.Output) -> Bool {
        isatty(stream.rawValue) == 1
    }

    /// Whether standard input is a terminal.
    package static var isInputTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// The columns of a stream's terminal; `nil` if it has none or does not say.
    package static func width(of stream: StandardStreams.Output) -> Int? {
        var size = winsize()
        guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Asks at the terminal for a line that is not shown; standard input and output are left alone.
    ///
    /// The terminal's own signal keys are read as characters meanwhile, so that Control-C ends here
    /// and the echo always comes back. A shell restores it after a kill from elsewhere.
    package static func readSecret(
        prompt: String, limit: Int = 4_096
    ) throws(Failure) -> [UInt8] {
        let descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .noTerminal }
        let terminal = File(adopting: descriptor, path: "/dev/tty")
        return try readSecret(from: terminal, prompt: prompt, limit: limit)
    }

    static func readSecret(
        from terminal: File, prompt: String, limit: Int
    ) throws(Failure) -> [UInt8] {
        var original = termios()
        guard tcgetattr(terminal.descriptor, &original) == 0 else { throw .noTerminal }
        var silent = original
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        // The flush drops what was typed ahead, when it was still shown.
        guard tcsetattr(terminal.descriptor, TCSAFLUSH, &silent) == 0 else { throw .noTerminal }
        defer {
            tcsetattr(terminal.descriptor, TCSAFLUSH, &original)
            try? terminal.append([UInt8(ascii: "\n")].span)
        }
        try? terminal.append([UInt8](prompt.utf8).span)

        var line = SecretLine(limit: limit)
        while true {
            var byte: UInt8 = 0
            let count = read(terminal.descriptor, &byte, 1)
            if count == -1, errno == EINTR { continue }
            guard count == 1 else { throw .refused }
            switch line.take(byte) {
            case .more: continue
            case .done: return line.bytes
            case .refused: throw .refused
            case .tooLong: throw .tooLong
            }
        }
    }
}

/// The line editor of a terminal that echoes nothing: what each key does to the line so far.
struct SecretLine {
    enum Step {
        case more, done, refused, tooLong
    }

    private(set) var bytes: [UInt8] = []
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
        bytes.reserveCapacity(min(limit, 256))
    }

    mutating func take(_ byte: UInt8) -> Step {
        switch byte {
        case 0x0a, 0x0d: return .done
        case 0x03: return .refused
        case 0x04: return bytes.isEmpty ? .refused : .done
        case 0x15: bytes.removeAll(keepingCapacity: true)
        case 0x08, 0x7f: removeLastCharacter()
        default:
            guard bytes.count < limit else { return .tooLong }
            bytes.append(byte)
        }
        return .more
    }

    /// Takes back one character: in UTF-8 the bytes that only continue it go with its first.
    private mutating func removeLastCharacter() {
        while let last = bytes.popLast(), last & 0b1100_0000 == 0b1000_0000 {}
    }
}
