import Foundation
import Testing

@testable import SyncPlatform

struct MaintenanceTests {
    private let scratch: Scratch
    init() throws { scratch = try Scratch() }

    private func open(
        _ sql: String = "", checkpointsOnClose: Bool = true
    ) throws -> Connection {
        let connection = try Connection(
            path: scratch("a.db"), mode: .create, busyTimeout: 0,
            checkpointsOnClose: checkpointsOnClose)
        try connection.execute("PRAGMA journal_mode = WAL;" + sql)
        return connection
    }

    @Test func `the log stays at the end only if asked for`() throws {
        do { _ = try open("CREATE TABLE t(a)", checkpointsOnClose: false) }
        #expect(scratch.names == ["a.db", "a.db-shm", "a.db-wal"])
        do { #expect(try open().firstInt("SELECT count(*) FROM t") == 0) }
        #expect(scratch.names == ["a.db"])
    }

    @Test func `a checkpoint empties the log unless somebody reads`() throws {
        let writer = try open("CREATE TABLE t(a)")
        let reader = try open()
        try reader.transaction(.deferred) {
            #expect(try reader.firstInt("SELECT count(*) FROM t") == 0)
            try writer.execute("INSERT INTO t VALUES (1)")
            let error = #expect(throws: SQLiteError.self) { try writer.checkpoint(.truncate) }
            #expect(error?.code == .busy)
        }
        let (log, done) = try writer.checkpoint(.truncate)
        #expect((log, done) == (0, 0))
        #expect(try FileSystem.facts(scratch("a.db-wal"))?.size == 0)
    }

    @Test func `a statement that was left half read holds no snapshot`() throws {
        let writer = try open("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
        let reader = try open()
        do {
            let select = try reader.prepare("SELECT a FROM t")
            #expect(try select.step())
        }
        try writer.execute("INSERT INTO t VALUES (3)")
        try writer.checkpoint(.truncate)
    }

    @Test func `a copy has what was only in the log`() throws {
        let source = try open("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        let log = try #require(try FileSystem.facts(scratch("a.db-wal")))
        #expect(log.size > 0)
        try source.copy(to: scratch("b.db"))
        let copy = try Connection(path: scratch("b.db"), mode: .readOnly)
        #expect(try copy.firstInt("SELECT a FROM t") == 1)
        #expect(try copy.integrityCheck() == [])
    }

    @Test func `a copy does not replace a database`() throws {
        let source = try open("CREATE TABLE t(a)")
        try source.copy(to: scratch("b.db"))
        try source.execute("DROP TABLE t")
        let error = #expect(throws: SQLiteError.self) { try source.copy(to: scratch("b.db")) }
        #expect(error?.code == .constraint)
        let copy = try Connection(path: scratch("b.db"), mode: .readOnly)
        #expect(try copy.firstInt("SELECT count(*) FROM t") == 0)
    }

    @Test func `the header's numbers are part of the transaction`() throws {
        struct Stop: Error {}
        let connection = try open()
        try connection.setApplicationID(-5)
        try connection.setUserVersion(3)
        #expect(throws: Stop.self) {
            try connection.transaction(.immediate) {
                try connection.setUserVersion(4)
                throw Stop()
            }
        }
        #expect(try connection.userVersion() == 3)
        #expect(try connection.applicationID() == -5)
    }

    @Test func `checks name what is wrong and nothing else`() throws {
        let connection = try open(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p);
            INSERT INTO c VALUES (1)
            """)
        #expect(try connection.integrityCheck() == [])
        #expect(try connection.foreignKeyCheck() == ["c"])
    }

    @Test func `a plan tells a search from a scan`() throws {
        let connection = try open("CREATE TABLE t(a, b); CREATE INDEX i ON t(a)")
        #expect(try connection.queryPlan("SELECT b FROM t WHERE a = ?")[0].hasPrefix("SEARCH t"))
        #expect(try connection.queryPlan("SELECT b FROM t WHERE b = ?")[0].hasPrefix("SCAN t"))
    }

    @Test func `a compact copy can be made`() throws {
        let connection = try open("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        let vacuum = try connection.prepare("VACUUM INTO ?")
        vacuum.bind(text: scratch("b.db"), at: 1)
        try vacuum.run()
        let copy = try Connection(path: scratch("b.db"), mode: .readOnly)
        #expect(try copy.firstInt("SELECT a FROM t") == 1)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a full disk is called full and spoils nothing`() throws {
        let disk = try #require(SmallDisk(bytes: 1 << 20))
        let connection = try Connection(path: disk("a.db"), mode: .create)
        try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        var rows: Int64 = 0
        let error = #expect(throws: SQLiteError.self) {
            while true {
                try connection.transaction(.immediate) {
                    try connection.execute("INSERT INTO t VALUES (zeroblob(20000))")
                }
                rows += 1
            }
        }
        #expect(error?.code == .full)
        #expect(try connection.firstInt("SELECT count(*) FROM t") == rows)
        #expect(try connection.integrityCheck() == [])
    }

    @Test(.enabled(if: SmallDisk.isPossible), arguments: [true, false])
    func `a read-only disk is read, with a log and without`(hasLog: Bool) throws {
        let disk = try #require(SmallDisk(bytes: 1 << 20))
        do {
            let connection = try Connection(
                path: disk("a.db"), mode: .create, checkpointsOnClose: !hasLog)
            try connection.execute(
                "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (7)")
        }
        try #require(disk.makeReadOnly())
        let mode: Connection.Mode = hasLog ? .readOnly : .immutable
        let connection = try Connection(path: disk("a.db"), mode: mode)
        #expect(try connection.firstInt("SELECT a FROM t") == 7)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("DELETE FROM t") }
        #expect(error?.code == .readOnly)
        if !hasLog {
            // Why there is a mode of its own: a log's index cannot be made here.
            let other = try Connection(path: disk("a.db"), mode: .readOnly)
            let error = #expect(throws: SQLiteError.self) {
                try other.firstInt("SELECT a FROM t")
            }
            #expect(error?.code == .cannotOpen)
        }
        let lock = #expect(throws: FileError.self) {
            try FileLock(path: disk("lock")).tryLock(.exclusive)
        }
        #expect(lock?.code == .readOnly)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `a disk that is full from the start is called full`() throws {
        let disk = try #require(SmallDisk(bytes: 1 << 16))
        do {
            let connection = try Connection(path: disk("a.db"), mode: .create)
            try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        }
        let filler = try File(disk("filler"), for: .create)
        var offset: Int64 = 0
        while (try? filler.write([UInt8](repeating: 1, count: 4_096).span, at: offset)) != nil {
            offset += 4_096
        }
        let error = #expect(throws: SQLiteError.self) {
            let connection = try Connection(path: disk("a.db"), mode: .readWrite)
            try connection.execute("INSERT INTO t VALUES (1)")
        }
        #expect(error?.code == .full, "\(String(describing: error))")
    }
}
