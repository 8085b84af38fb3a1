import LazySync

/// How far a piece of work is, at one moment.
struct ProgressSample: Sendable, Equatable {
    enum Unit: Sendable { case bytes, entries }

    let label: String
    let unit: Unit
    let done: Int64
    let total: Int64?
    /// The bytes that came so far, for the rate.
    let bytes: Int64
    /// The bytes in all, if these say better than what is counted how much time is left.
    var totalBytes: Int64?
}

/// Where a verb's work tells how far it is; the closures are nil when nobody looks.
struct ProgressFeed: Sendable {
    private let send: (@Sendable (ProgressSample) -> Void)?

    init(_ send: (@Sendable (ProgressSample) -> Void)? = nil) {
        self.send = send
    }

    /// For the bytes of one attachment.
    var ofBytes: (@Sendable (Int64, Int64) -> Void)? {
        guard let send else { return nil }
        return { done, total in
            send(.init(label: "receiving", unit: .bytes, done: done, total: total, bytes: done))
        }
    }

    /// For everything that is pinned.
    var ofPins: (@Sendable (PinProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            send(
                .init(
                    label: "pinned", unit: .entries, done: Int64(progress.done),
                    total: Int64(progress.total), bytes: progress.bytes,
                    totalBytes: progress.totalBytes))
        }
    }

    /// For files that are added.
    var ofAdd: (@Sendable (AddProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            send(
                .init(
                    label: "adding", unit: .entries, done: Int64(progress.done),
                    total: Int64(progress.total), bytes: 0))
        }
    }

    /// For a push.
    var ofPush: (@Sendable (PushProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            send(
                .init(
                    label: "sending", unit: .entries, done: Int64(progress.items),
                    total: Int64(progress.totalItems), bytes: progress.bytes))
        }
    }

    /// For a check of everything.
    var ofVerify: (@Sendable (VerifyProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            send(
                .init(
                    label: "checking", unit: .entries, done: Int64(progress.done),
                    total: Int64(progress.total), bytes: progress.bytes))
        }
    }

    /// For a catalog that comes to a newer version.
    var ofMigration: (@Sendable (MigrationProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            let label =
                switch progress.phase {
                case .copying: "catalog: keeping a copy"
                case .changing(let version, let name): "catalog: version \(version), \(name)"
                case .checking(let version): "catalog: checking version \(version)"
                }
            send(
                .init(
                    label: label, unit: .entries, done: Int64(progress.done),
                    total: progress.total.map(Int64.init), bytes: 0))
        }
    }

    /// For a restore.
    var ofRestore: (@Sendable (RestoreProgress) -> Void)? {
        guard let send else { return nil }
        return { progress in
            let label =
                switch progress.phase {
                case .addresses: "addresses"
                case .thumbnails: "thumbnails"
                }
            send(
                .init(
                    label: label, unit: .entries, done: Int64(progress.done),
                    total: progress.total.map(Int64.init), bytes: progress.bytes))
        }
    }
}

/// Turns samples into lines with a bar, a rate and the time left.
///
/// Pure: the time is handed in.
struct ProgressMeter: Sendable {
    private var last: (sample: ProgressSample, time: Duration)?
    private var bytesRate = Rate()
    private var doneRate = Rate()

    /// The line for a sample, at most `columns` wide.
    mutating func line(for sample: ProgressSample, at time: Duration, columns: Int) -> String {
        if let last, last.sample.label == sample.label {
            let seconds = (time - last.time) / .seconds(1)
            bytesRate.add(Double(sample.bytes) - Double(last.sample.bytes), in: seconds)
            doneRate.add(Double(sample.done) - Double(last.sample.done), in: seconds)
        } else {
            // Another phase goes at another pace; and what was here before says nothing about it.
            bytesRate = Rate()
            doneRate = Rate()
        }
        last = (sample, time)

        var parts = [sample.label]
        if let total = sample.total {
            let fraction = total > 0 ? max(0, min(1, Double(sample.done) / Double(total))) : 1
            parts.append(ProgressMeter.bar(fraction))
            parts.append("\(Int(fraction * 100))%".padded(to: 4, alignment: .right))
            parts.append("\(amount(sample.done, sample.unit)) of \(amount(total, sample.unit))")
        } else {
            parts.append(amount(sample.done, sample.unit))
        }
        // What counts no bytes has no rate of them.
        if sample.bytes != 0 || sample.unit == .bytes, let rate = bytesRate.perSecond {
            parts.append(Quantity.rate(rate))
        }
        // A time beyond four days is no forecast.
        if let seconds = secondsLeft(sample), seconds < 360_000 {
            parts.append("\(Quantity.time(seconds)) left")
        }
        return parts.joined(separator: "  ").cut(to: columns)
    }

    /// How long it takes at this pace; nil if there is no telling.
    private func secondsLeft(_ sample: ProgressSample) -> Double? {
        let (total, done, rate) =
            if let bytes = sample.totalBytes {
                (Double(bytes), Double(sample.bytes), bytesRate.perSecond)
            } else {
                (sample.total.map(Double.init) ?? -1, Double(sample.done), doneRate.perSecond)
            }
        guard let rate, rate > 0, total >= 0 else { return nil }
        return max(0, total - done) / rate
    }

    private func amount(_ number: Int64, _ unit: ProgressSample.Unit) -> String {
        unit == .bytes ? Quantity.size(number) : "\(number)"
    }

    private static func bar(_ fraction: Double) -> String {
        let full = Int(fraction * 12)
        return "[" + String(repeating: "#", count: full) + String(repeating: "-", count: 12 - full)
            + "]"
    }

    /// A speed that forgets what is a second or two ago.
    private struct Rate {
        private(set) var perSecond: Double?

        mutating func add(_ amount: Double, in seconds: Double) {
            guard seconds > 0 else { return }
            let speed = max(0, amount) / seconds
            perSecond = perSecond.map { $0 * 0.9 + speed * 0.1 } ?? speed
        }
    }
}
