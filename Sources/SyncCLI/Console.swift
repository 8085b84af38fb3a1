import LazySync

/// The way out of the command: results to standard output, everything else to standard error.
struct Console: Sendable {
    let output: Output
    let verbose: Bool
    private let quiet: Bool
    /// The columns of the terminal on standard error, if a line can be redrawn there.
    private let progressColumns: Int?

    private let waits = WaitSign()

    /// Reads how to print from the words of the command line, which may be wrong otherwise: an
    /// error about them is printed too.
    ///
    /// `Arguments` takes no value that begins with two dashes, so a flag found here is a flag
    /// there.
    init(_ words: [String]) {
        let options = words.prefix { $0 != "--" }
        let json = options.contains("--json")
        quiet = options.contains("--quiet")
        verbose = options.contains("--verbose")
        output = Output(json: json, columns: Host.terminalColumns(of: .output))
        let redraws = !json && !quiet && Host.environment("TERM") != "dumb"
        progressColumns = redraws ? Host.terminalColumns(of: .error) : nil
    }

    /// Prints lines of results.
    func print(_ lines: [String], to stream: Host.Stream = .output) {
        Console.write(lines, to: stream)
    }

    /// Prints one result: an object, or its text.
    func print(_ object: @autoclosure () -> JSON, text: @autoclosure () -> [String]) {
        print(output.lines(object(), text: text()))
    }

    /// Says something that is no result to a person.
    func note(_ text: String) {
        if !quiet && !output.json { Console.write(["sync: \(text.visible)"], to: .error) }
    }

    /// Says to a person at a terminal how a list goes on; nil if it does not.
    func noteMore(after key: (some CustomStringConvertible)?) {
        if let key, output.columns != nil { note("there may be more: --after \(key)") }
    }

    /// Says something that only who asked for it wants to know.
    func detail(_ text: @autoclosure () -> String) {
        if verbose { note(text()) }
    }

    /// Prints a failure.
    func report(_ failure: Failure) {
        Console.write(output.lines(failure), to: .error)
    }

    /// Prints failures that stand together.
    func report(_ failures: [Failure]) {
        Console.write(output.lines(failures), to: .error)
    }

    /// Prints what to do about failures that were printed without it; programs were told already.
    func report(hints: [String]) {
        if !output.json { Console.write(output.lines(hints: hints), to: .error) }
    }

    /// Shows on the line of the terminal that there is a wait, or says it to who asked for more.
    func tell(_ wait: TransferWait) {
        guard let text = wait.text, waits.isNew(until: .now + wait.duration) else { return }
        if !waits.show(text) { detail(text) }
    }

    /// Does work while one line on the terminal shows how far it is; the line is gone at the end.
    func withProgress<Value>(
        _ work: (ProgressFeed) async throws -> Value
    ) async throws -> Value {
        guard let progressColumns else { return try await work(ProgressFeed()) }
        let (samples, feed) = AsyncStream.makeStream(
            of: ProgressEvent.self, bufferingPolicy: .bufferingNewest(1))
        let drawing = Task { await Console.draw(samples, columns: progressColumns) }
        waits.set { feed.yield(.wait($0)) }
        func finish() async {
            waits.set(nil)
            feed.finish()
            drawing.cancel()
            await drawing.value
        }
        do {
            let value = try await work(ProgressFeed { feed.yield(.sample($0)) })
            await finish()
            return value
        } catch {
            await finish()
            throw error
        }
    }

    /// Redraws a line for the newest sample, ten times a second at the most.
    ///
    /// Work that is done in the blink of an eye shows none.
    private static func draw(_ events: AsyncStream<ProgressEvent>, columns: Int) async {
        do { try await Task.sleep(for: .milliseconds(300)) } catch { return }
        var meter = ProgressMeter()
        let start = ContinuousClock.now
        var drawn = 0
        for await event in events {
            let line =
                switch event {
                case .sample(let sample):
                    meter.line(for: sample, at: start.duration(to: .now), columns: columns - 1)
                case .wait(let text): text.cut(to: columns - 1)
                }
            write("\r" + line.padded(to: drawn), to: .error)
            drawn = line.width
            do { try await Task.sleep(for: .milliseconds(100)) } catch { break }
        }
        if drawn > 0 { write("\r" + String(repeating: " ", count: drawn) + "\r", to: .error) }
    }

    private static func write(_ lines: [String], to stream: Host.Stream) {
        write(lines.reduce(into: "") { $0 += $1 + "\n" }, to: stream)
    }

    private static func write(_ text: String, to stream: Host.Stream) {
        Host.write(Array(text.utf8).span, to: stream)
    }
}
