import LazySync

extension Verb {
    static let watch = Verb(
        name: "watch",
        summary: "stay, and restore and push by itself",
        usage: """
            usage: sync watch

            Stays: brings what others change as soon as they have, and sends what is changed here, by
            any program. Prints a line whenever something came or went. What may pass by itself, as a
            lost connection, is waited for. A signal (Control-C, SIGTERM) ends it with 0; what only a
            person can decide ends it as it would end 'sync run'.

            examples
              sync watch
              sync watch --json >> watch.jsonl
              sync watch --quiet --limit-rate 500k
            """,
        usesNetwork: true,
        run: watch)

    private static func watch(_ context: Context) async throws -> ExitCode {
        let engine = try await context.openEngine()
        let console = context.console
        var last: RunReport?
        let (events, feed) = AsyncStream.makeStream(of: WatchEvent.self)
        async let watching: Void = {
            defer { feed.finish() }
            try await engine.watch { feed.yield($0) }
        }()
        for await event in events {
            switch event {
            case .done(let report):
                if report.isNews(after: last) {
                    console.print(report.json, text: [report.line])
                    console.report(report.push.failures)
                }
                last = report
            case .failed(let error):
                let failure = Failure(error, verbose: console.verbose)
                if console.output.json {
                    console.report(failure)
                } else {
                    console.note("\(failure.message); it is tried again")
                }
            }
        }
        try await watching
        return .done
    }
}

extension RunReport {
    /// Whether it says something that the one before did not.
    func isNews(after last: RunReport?) -> Bool {
        guard let last else { return true }
        return push.head != last.push.head || push.items > 0 || push.blobs > 0
            || push.waiting != last.push.waiting || push.refused != last.push.refused
    }

    /// All of it in one line.
    var line: String {
        var parts = ["head \(push.head)", "\(Quantity.count(restore.items, "item")) here"]
        if push.items > 0 { parts.append("\(Quantity.count(push.items, "item")) sent") }
        if push.waiting > 0 { parts.append("\(Quantity.count(push.waiting, "item")) waiting") }
        return parts.joined(separator: ", ")
    }
}
