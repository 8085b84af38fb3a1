import Foundation
import Testing

@testable import SyncPlatform

struct ConnectionTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func memory(_ sql: String = "") throws -> Connection {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute(sql)
        return connection
    }

    private func file(_ name: String = "a.db", _ sql: String = "") throws -> Connection {
        let connection = try Connection(path: scratch(name), mode: .create, busyTimeout: 0)
        try connection.execute("PRAGMA journal_mode = WAL;" + sql)
        return connection
    }

    @Test func `a database is refused when its name is a link, not when its folder is`() throws {
        _ = try file("real.db", "CREATE TABLE t(a)")
        symlink(scratch("real.db"), scratch("link.db"))
        symlink(scratch.path, scratch("folder"))
        let error = #expect(throws: SQLiteError.self) {
            try Connection(path: scratch("link.db"), mode: .readWrite)
        }
        #expect(error?.code == .cannotOpen)
        let linked = try Connection(path: scratch("folder/real.db"), mode: .readWrite)
        #expect(try linked.firstInt("SELECT count(*) FROM t") == 0)
    }

    @Test func `a file that is not there is not made by opening it`() throws {
        for mode in [Connection.Mode.readOnly, .readWrite] {
            let error = #expect(throws: SQLiteError.self) {
                try Connection(path: scratch("none.db"), mode: mode)
            }
            #expect(error?.code == .cannotOpen)
        }
        let error = #expect(throws: SQLiteError.self) {
            try Connection(path: scratch("no/folder.db"), mode: .create)
        }
        #expect(error?.code == .cannotOpen)
        #expect(scratch.names.isEmpty)
    }

    @Test func `a name that looks like a URI is a name`() throws {
        let name = "file:x?mode=memory&a=%41#b.db"
        _ = try file(name, "CREATE TABLE t(a)")
        #expect(scratch.names.contains(name))
        let again = try Connection(path: scratch(name), mode: .immutable)
        #expect(try again.firstInt("SELECT count(*) FROM t") == 0)
    }

    @Test func `an immutable database opens without a file beside it`() throws {
        _ = try file("a.db", "CREATE TABLE t(a); INSERT INTO t VALUES (7)")
        #expect(scratch.names == ["a.db"])
        let connection = try Connection(path: scratch("a.db"), mode: .immutable)
        #expect(try connection.firstInt("SELECT a FROM t") == 7)
        #expect(connection.isReadOnly)
        #expect(scratch.names == ["a.db"])
    }

    @Test func `what is not a database is called that`() throws {
        try Data(repeating: 65, count: 4_096).write(to: URL(fileURLWithPath: scratch("a.db")))
        let connection = try Connection(path: scratch("a.db"), mode: .readOnly)
        let error = #expect(throws: SQLiteError.self) {
            try connection.firstInt("SELECT count(*) FROM sqlite_schema")
        }
        #expect(error?.code == .notADatabase)
    }

    @Test func `a damaged database is called corrupt`() throws {
        do { _ = try file("a.db", "CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000))") }
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: scratch("a.db")))
        try handle.seek(toOffset: 4_096)
        try handle.write(contentsOf: Data(repeating: 0xff, count: 8_192))
        try handle.close()
        let connection = try Connection(path: scratch("a.db"), mode: .readOnly)
        let error = #expect(throws: SQLiteError.self) { try connection.firstInt("SELECT a FROM t") }
        #expect(error?.code == .corrupt)
        #expect(try connection.integrityCheck() != [])
    }

    @Test func `a connection for reading does not write`() throws {
        _ = try file("a.db", "CREATE TABLE t(a)")
        let reader = try Connection(path: scratch("a.db"), mode: .readOnly)
        #expect(reader.isReadOnly)
        let error = #expect(throws: SQLiteError.self) { try reader.execute("DELETE FROM t") }
        #expect(error?.code == .readOnly)
    }

    @Test func `the file's schema is not trusted and cannot be written`() throws {
        let connection = try memory("CREATE TABLE t(a); PRAGMA writable_schema = ON")
        #expect(try connection.firstInt("PRAGMA trusted_schema") == 0)
        #expect(throws: SQLiteError.self) {
            try connection.execute("UPDATE sqlite_schema SET sql = 'x'")
        }
    }

    @Test func `a misspelt column in double quotes is an error`() throws {
        let connection = try memory("CREATE TABLE t(a)")
        #expect(throws: SQLiteError.self) { try connection.prepare("SELECT \"b\" FROM t") }
    }

    @Test func `a statement has a hundred parameters at the most`() throws {
        let connection = try memory()
        _ = try connection.prepare("SELECT ?100")
        #expect(throws: SQLiteError.self) { try connection.prepare("SELECT ?101") }
    }

    @Test func `execute runs every statement and prepare takes one`() throws {
        let connection = try memory("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
        #expect(connection.changes == 2)
        #expect(connection.lastInsertRowID == 2)
        #expect(throws: SQLiteError.self) { try connection.prepare("SELECT 1; SELECT 2") }
        #expect(throws: SQLiteError.self) { try connection.prepare("-- nothing") }
        #expect(throws: SQLiteError.self) { try connection.prepare("") }
        #expect(try connection.prepare(" SELECT a FROM t;\n ").step())
    }

    @Test func `an error carries the text and never the value`() throws {
        let connection = try memory("CREATE TABLE t(a UNIQUE)")
        let sql = "INSERT INTO t VALUES (?1)"
        let insert = try connection.prepare(sql)
        insert.bind(text: "hunter2", at: 1)
        try insert.run()
        let error = #expect(throws: SQLiteError.self) { try insert.run() }
        #expect(error?.code == .constraint)
        #expect(error?.operation == sql)
        #expect(error?.extendedCode == 2_067)
        #expect(!String(describing: error).contains("hunter2"))
    }

    @Test func `a transaction is undone when its body throws`() throws {
        struct Stop: Error {}
        let connection = try memory("CREATE TABLE t(a)")
        #expect(throws: Stop.self) {
            try connection.transaction(.immediate) {
                try connection.execute("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.firstInt("SELECT count(*) FROM t") == 0)
    }

    @Test func `a transaction is undone when its commit fails`() throws {
        let connection = try memory(
            """
            PRAGMA foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)
            """)
        let error = #expect(throws: SQLiteError.self) {
            try connection.transaction(.immediate) {
                try connection.execute("INSERT INTO c VALUES (1)")
            }
        }
        #expect(error?.code == .constraint)
        #expect(error?.operation == "COMMIT")
        #expect(!connection.isInTransaction)
        #expect(try connection.firstInt("SELECT count(*) FROM c") == 0)
    }

    @Test func `a transaction inside another fails and leaves the outer one alone`() throws {
        let connection = try memory("CREATE TABLE t(a)")
        try connection.transaction(.immediate) {
            try connection.execute("INSERT INTO t VALUES (1)")
            #expect(throws: SQLiteError.self) { try connection.transaction(.deferred) {} }
        }
        #expect(try connection.firstInt("SELECT count(*) FROM t") == 1)
    }

    @Test func `a second writer is told that the first one is busy`() throws {
        let first = try file("a.db", "CREATE TABLE t(a)")
        let second = try file("a.db")
        try first.transaction(.immediate) {
            let error = #expect(throws: SQLiteError.self) {
                try second.transaction(.immediate) {}
            }
            #expect(error?.code == .busy)
        }
        try second.transaction(.immediate) {}
    }

    @Test func `an interrupt from another thread ends what runs, and nothing else`() async throws {
        let connection = try memory()
        let interrupter = connection.interrupter
        interrupter.interrupt()
        #expect(try connection.firstInt("SELECT 1") == 1)
        let error = #expect(throws: SQLiteError.self) {
            try connection.watched(by: {
                // Asked while the query runs, so the interrupt cannot come too early.
                Thread.detachNewThread { interrupter.interrupt() }
                return true
            }) {
                _ = try connection.firstInt(endless)
            }
        }
        #expect(error?.code == .interrupted)
        #expect(try connection.firstInt("SELECT 1") == 1)
    }

    @Test func `an interrupt after the end does nothing`() throws {
        var connection: Connection? = try memory()
        let interrupter = connection?.interrupter
        connection = nil
        interrupter?.interrupt()
    }

    @Test func `a watcher that says no ends the query`() throws {
        let connection = try memory()
        var asked = 0
        let error = #expect(throws: SQLiteError.self) {
            try connection.watched(by: {
                asked += 1
                return asked < 3
            }) { () throws(SQLiteError) in _ = try connection.firstInt(endless) }
        }
        #expect(error?.code == .interrupted)
        #expect(asked == 3)
        #expect(connection.progress == nil)
    }
}

/// A query that ends only when somebody ends it.
let endless =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
