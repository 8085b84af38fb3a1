import Testing

@testable import SyncPlatform

struct DatabaseTests {
    private let scratch: Scratch
    private let database: Database

    init() throws {
        scratch = try Scratch()
        database = try Database(path: scratch("a.db"), mode: .create) {
            connection throws(SQLiteError) in
            try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        }
    }

    private func count() async throws -> Int64 {
        try await database.read { try $0.firstInt("SELECT count(*) FROM t") }
    }

    @Test func `a write lasts or leaves no trace`() async throws {
        struct Stop: Error {}
        try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
        await #expect(throws: Stop.self) {
            try await database.write { connection in
                try connection.execute("INSERT INTO t VALUES (2)")
                throw Stop()
            }
        }
        #expect(try await count() == 1)
    }

    @Test func `a connection that was prepared before is taken over`() async throws {
        let connection = try Connection(path: scratch("a.db"), mode: .readWrite)
        try connection.execute("INSERT INTO t VALUES (9)")
        let other = Database(connection)
        let found = try await other.perform { connection throws(SQLiteError) in
            try connection.firstInt("SELECT a FROM t")
        }
        #expect(found == 9)
    }

    @Test func `a cancelled read ends in the middle and harms nobody`() async throws {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let reading = Task { [database] in
            try await database.read { connection in
                begin.yield()
                return try connection.firstInt(endless)
            }
        }
        for await _ in begun { break }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(try await count() == 0)
    }

    @Test func `a read that was cancelled before it began does not begin`() async throws {
        let reading = Task { [database] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await database.read { _ in _ = Issue.record("it began") }
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func `a cancelled write is done all the same`() async throws {
        let writing = Task { [database] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
        }
        try await writing.value
        #expect(try await count() == 1)
    }

    @Test func `writers from many tasks take turns`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for i in 0..<50 {
                group.addTask { [database] in
                    try await database.write { connection in
                        let n = try connection.firstInt("SELECT count(*) FROM t")
                        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
                        insert.bind(n * 1_000 + Int64(i), at: 1)
                        try insert.run()
                    }
                }
            }
            try await group.waitForAll()
        }
        let distinct = "SELECT count(DISTINCT a / 1000) FROM t"
        let turns = try await database.read { try $0.firstInt(distinct) }
        #expect(turns == 50)
    }
}
