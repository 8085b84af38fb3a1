/// Shares out so many bytes a second, in the order in which they are asked for.
///
/// Who finds none left has drawn them all the same, and waits until they are due; so nobody is
/// overtaken for ever by those who ask more often.
struct TokenBucket {
    /// How long it takes to fill in one byte.
    private let cost: Duration
    /// The time a full bucket has been filled for: a quarter of a second, or longer for 16 KiB.
    private let burst: Duration
    /// When all that was drawn so far is filled in again.
    private var paid: ContinuousClock.Instant

    /// Makes a full bucket.
    init(rate: Int, now: ContinuousClock.Instant) {
        cost = .seconds(1) / max(rate, 1)
        burst = max(.seconds(1) / 4, cost * (16 << 10))
        paid = now - burst
    }

    /// Draws bytes; nil if they may move now, otherwise when they may.
    mutating func draw(_ count: Int, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        paid = max(paid, now - burst) + cost * count
        return paid <= now ? nil : paid
    }

    /// Takes back bytes that were drawn and did not move.
    mutating func giveBack(_ count: Int) { paid -= cost * count }
}
