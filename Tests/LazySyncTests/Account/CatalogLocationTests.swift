import Testing

@testable import LazySync

/// What follows from what is seen of the two places: the table of docs/DESIGN.md, row by row.
struct CatalogLocationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        let seen: CatalogLocation
        let action: CatalogLocation.Action

        init(
            _ words: String, _ container: CatalogLocation.Container,
            old: CatalogLocation.Content, new: CatalogLocation.Content, rest: Bool = false,
            moving: Bool = false, _ action: CatalogLocation.Action
        ) {
            testDescription = words
            seen = CatalogLocation(
                container: container, old: old, oldHasRest: rest, new: new, isMoving: moving)
            self.action = action
        }
    }

    static let rows = [
        Row("no container", .notNamed, old: .rows, new: .nothing, .useOld(nil)),
        Row("no container, no catalog", .notNamed, old: .nothing, new: .nothing, .useOld(nil)),
        Row(
            "the container's folder is missing", .missing, old: .rows, new: .nothing,
            .useOld(.containerMissing)),
        Row(
            "the folder is missing, and there is no catalog", .missing, old: .nothing,
            new: .nothing, .useOld(.containerMissing)),
        Row("a new catalog", .there, old: .nothing, new: .nothing, .useNew),
        Row("all is in the container", .there, old: .nothing, new: .rows, .useNew),
        Row("an empty one is in the container", .there, old: .nothing, new: .empty, .useNew),
        Row("a catalog is to move", .there, old: .rows, new: .nothing, rest: true, .move),
        Row("an empty one moves as well", .there, old: .empty, new: .nothing, rest: true, .move),
        Row("only the old one has rows", .there, old: .rows, new: .empty, rest: true, .move),
        Row("only the new one has rows", .there, old: .empty, new: .rows, rest: true, .dropOld),
        Row("neither has rows", .there, old: .empty, new: .empty, rest: true, .dropOld),
        Row("both have rows", .there, old: .rows, new: .rows, rest: true, .useOld(.twoPlaces)),
        Row("a log was left behind", .there, old: .nothing, new: .rows, rest: true, .finish),
        Row("a log without a catalog", .there, old: .nothing, new: .nothing, rest: true, .finish),
        Row(
            "killed after the mark", .there, old: .rows, new: .nothing, rest: true, moving: true,
            .move),
        Row(
            "killed after the copy", .there, old: .rows, new: .rows, rest: true, moving: true,
            .move),
        Row(
            "an empty one, killed after the copy", .there, old: .empty, new: .rows, rest: true,
            moving: true, .move),
        Row(
            "killed after the catalog moved", .there, old: .nothing, new: .rows, rest: true,
            moving: true, .finish),
        Row(
            "killed before the mark went", .there, old: .nothing, new: .rows, moving: true, .finish),
        Row(
            "a mark, and no catalog anywhere", .there, old: .nothing, new: .nothing, moving: true,
            .finish),
    ]

    @Test(arguments: rows) func `what is seen decides what is done`(row: Row) {
        #expect(row.seen.action == row.action)
    }

    @Test func `only what has rows in one place is ever moved or removed`() {
        for old in [CatalogLocation.Content.nothing, .empty, .rows] {
            for new in [CatalogLocation.Content.nothing, .empty, .rows] {
                for moving in [false, true] {
                    let seen = CatalogLocation(
                        container: .there, old: old, new: new, isMoving: moving)
                    if seen.action == .dropOld { #expect(old == .empty) }
                    if seen.action == .move { #expect(moving || new != .rows) }
                }
            }
        }
    }
}
