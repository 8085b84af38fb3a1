import Testing

@testable import SyncPlatform

struct StatementTests {
    private let connection: Connection

    init() throws {
        connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute("CREATE TABLE t(a)")
    }

    private func roundTrip<Result>(
        _ bind: (Statement) -> Void, _ read: (Statement) throws -> Result
    ) throws -> (type: String, value: Result) {
        let select = try connection.prepare("SELECT ?1, typeof(?1)")
        bind(select)
        #expect(try select.step())
        return (try select.text(1), try read(select))
    }

    @Test(arguments: [0, 1, -1, Int64.min, Int64.max])
    func `an integer comes back as it was`(value: Int64) throws {
        let (type, result) = try roundTrip({ $0.bind(value, at: 1) }, { $0.int(0) })
        #expect(type == "integer")
        #expect(result == value)
    }

    @Test(arguments: [
        "", "a", "a\0b", "\0", "é", "e\u{301}", "😀", String(repeating: "x", count: 100),
    ])
    func `text comes back byte for byte`(value: String) throws {
        let (type, result) = try roundTrip({ $0.bind(text: value, at: 1) }, { try $0.text(0) })
        #expect(type == "text")
        #expect(Array(result.utf8) == Array(value.utf8))
        let bytes = Array(value.utf8)
        let (_, again) = try roundTrip({ $0.bind(text: bytes.span, at: 1) }, { try $0.text(0) })
        #expect(Array(again.utf8) == bytes)
    }

    @Test(arguments: [[], [0], [0xff, 0, 1], [UInt8](repeating: 7, count: 100_000)])
    func `a blob comes back byte for byte, and an empty one is not null`(value: [UInt8]) throws {
        let (type, result) = try roundTrip(
            { $0.bind(blob: value.span, at: 1) },
            { row in (row.blob(0), row.withBlob(0) { $0.count }, row.isNull(0)) })
        #expect(type == "blob")
        #expect(result.0 == value)
        #expect(result.1 == value.count)
        #expect(!result.2)
    }

    @Test func `null is null`() throws {
        let (type, result) = try roundTrip(
            { $0.bindNull(at: 1) },
            { (row) throws in (row.isNull(0), row.int(0), try row.text(0), row.blob(0)) })
        #expect(type == "null")
        #expect(result == (true, 0, "", []))
    }

    @Test func `text that is not text is corrupt`() throws {
        let select = try connection.prepare("SELECT CAST(X'61ff' AS TEXT)")
        #expect(try select.step())
        let error = #expect(throws: SQLiteError.self) { try select.text(0) }
        #expect(error?.code == .corrupt)
    }

    @Test func `a statement is compiled once and comes back clean`() throws {
        let sql = "SELECT ?1"
        var first: OpaquePointer?
        do {
            let select = try connection.prepare(sql)
            first = select.pointer
            select.bind(5, at: 1)
            #expect(try select.step())
        }
        let select = try connection.prepare(sql)
        #expect(select.pointer == first)
        #expect(try select.step())
        #expect(select.isNull(0))
    }

    @Test func `a statement in use is not handed out twice`() throws {
        let sql = "SELECT 1 UNION ALL SELECT 2"
        let first = try connection.prepare(sql)
        #expect(try first.step())
        let second = try connection.prepare(sql)
        #expect(first.pointer != second.pointer)
        #expect(try second.step())
        #expect(try first.step())
        #expect(first.int(0) == 2)
        #expect(second.int(0) == 1)
    }

    @Test func `a bind that fails is reported by the step, once`() throws {
        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
        insert.bind(1, at: 2)
        #expect(throws: SQLiteError.self) { try insert.run() }
        insert.bind(1, at: 1)
        try insert.run()
        #expect(try connection.firstInt("SELECT count(*) FROM t") == 1)
    }

    @Test func `a value beyond the limit is too big`() throws {
        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
        insert.bind(blob: [UInt8](repeating: 0, count: (64 << 20) + 1).span, at: 1)
        let error = #expect(throws: SQLiteError.self) { try insert.run() }
        #expect(error?.code == .tooBig)
    }

    @Test func `bindings stay until they are changed`() throws {
        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
        insert.bind(3, at: 1)
        try insert.run()
        try insert.run()
        #expect(try connection.firstInt("SELECT sum(a) FROM t") == 6)
    }
}
