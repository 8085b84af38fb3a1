import Testing

@testable import SyncCLI

@Suite struct TableTests {
    private let table = Table(
        columns: [
            .init(), .init(alignment: .right), .init(isFlexible: true), .init(isFlexible: true),
        ],
        rows: [
            ["id1", "5 B", "한국어 이름", "short"],
            ["id22", "12 KiB", "name", "a title that is long"],
        ])

    @Test func `a program gets whole cells between tabs`() {
        #expect(
            table.lines(width: nil) == [
                "id1\t5 B\t한국어 이름\tshort", "id22\t12 KiB\tname\ta title that is long",
            ])
    }

    @Test func `a person gets columns`() {
        #expect(
            table.lines(width: 80) == [
                "id1      5 B  한국어 이름  short",
                "id22  12 KiB  name         a title that is long",
            ])
    }

    @Test func `the widest flexible column gives way first`() {
        #expect(
            table.lines(width: 40) == [
                "id1      5 B  한국어 이름  short",
                "id22  12 KiB  name         a title that…",
            ])
        #expect(
            table.lines(width: 34) == [
                "id1      5 B  한국어 …   short",
                "id22  12 KiB  name       a title …",
            ])
    }

    @Test(arguments: 0...60)
    func `no line is wider than the terminal`(width: Int) {
        for line in table.lines(width: width) { #expect(line.width <= width) }
    }

    @Test func `no rows are no lines`() {
        #expect(Table(columns: [.init()], rows: []).lines(width: 80) == [])
    }
}
