@testable import TestSupport

/// What a simulation draws; everything follows from its seed.
struct Draws {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ 1) }

    /// A number in a range.
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    /// Whether something happens that happens so often in a hundred times.
    mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

    /// One of some; nil of none.
    mutating func one<Element>(of some: [Element]) -> Element? {
        some.isEmpty ? nil : some[number(0...some.count - 1)]
    }

    /// One of some, each as often as its weight says.
    mutating func weighted<Element>(_ some: [(Int, Element)]) -> Element {
        var rest = number(0...some.reduce(0) { $0 + $1.0 } - 1)
        for (weight, element) in some {
            if rest < weight { return element }
            rest -= weight
        }
        preconditionFailure("weights")
    }
}
