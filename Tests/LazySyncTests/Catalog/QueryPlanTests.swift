import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// How SQLite runs the catalog's statements: none may cost what the account is large.
@Suite struct QueryPlanTests {
    /// Statements that walk, and why that is no harm.
    private static let walks: [Query: String] = [
        .condition: "reasons are a closed set: five rows at the most",
        .pinnedBytes: "as long as what is pinned, and only asked when there is no room",
        .leaves: "only `verify` recounts the digest, and that is over all entries",
        .recountItems: "only `verify` recounts, on a connection of its own",
        .recountAttachments: "only `verify` recounts, on a connection of its own",
        .recountBlobs: "only `verify` recounts, on a connection of its own",
        .knownBlobs: "only `verify` looks for files that no record knows",
        .knownThumbnails: "only `verify` looks for files that no record knows",
    ]
    private static let changeWalks: [ChangeQuery: String] = [
        .changeMark: "as long as what waits to be sent, and only who watches asks, once a second",
        .countWaiting: "as long as what waits to be sent, and that is to be short",
        .acceptSent: "as long as one push",
        .forgetSent: "as long as one push",
        .distrustAll: "only when a person trusts the server anew: then all is read again anyway",
        .unsentRecords: "as long as what waits, and only when something in the spool was dropped",
        .forgetOldUnnamed: "as long as what the store has and nothing names, once a search",
        .knownTrash: "only `verify` looks for files that no record knows",
        .countSpooledHere: "as long as what is in the spool",
    ]
    /// A statement, and why it may walk.
    private struct Known {
        let name: String
        let sql: String
        let walk: String?
    }

    private static let statements =
        Query.allCases.map { Known(name: "\($0)", sql: $0.rawValue, walk: walks[$0]) }
        + ChangeQuery.allCases.map { Known(name: "\($0)", sql: $0.rawValue, walk: changeWalks[$0]) }

    /// Indexes that no statement reads: they are there to keep two rows apart.
    private static let unique: Set<String> = []

    @Test(arguments: [false, true])
    func `no statement walks a table or sorts`(withStatistics: Bool) throws {
        let store = try TestCatalog(TestAccount())
        defer { withExtendedLifetime(store) {} }
        let catalog = try store.connection()
        if withStatistics { try Self.fill(catalog) }
        for query in Self.statements {
            for step in try catalog.queryPlan(query.sql) {
                let place = "\(query.name): \(step)"
                #expect(!step.contains("TEMP B-TREE"), "a sort in \(place)")
                guard step.contains("SCAN"), query.walk == nil else { continue }
                #expect(step.contains("INDEX"), "a walk without an index in \(place)")
                #expect(query.sql.contains("LIMIT"), "a walk without an end in \(place)")
            }
        }
    }

    @Test func `every walk that is allowed is one`() throws {
        let store = try TestCatalog(TestAccount())
        defer { withExtendedLifetime(store) {} }
        let catalog = try store.connection()
        for query in Self.statements where query.walk != nil {
            let plan = try catalog.queryPlan(query.sql)
            #expect(plan.contains { $0.contains("SCAN") }, "\(query.name)")
        }
    }

    @Test(arguments: [false, true])
    func `every index is used by a statement`(withStatistics: Bool) throws {
        let store = try TestCatalog(TestAccount())
        defer { withExtendedLifetime(store) {} }
        let catalog = try store.connection()
        if withStatistics { try Self.fill(catalog) }
        var unused: Set<String> = []
        let indexes = try catalog.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'")
        while try indexes.step() { unused.insert(try indexes.text(0)) }
        #expect(!unused.isEmpty)
        for query in Self.statements {
            for step in try catalog.queryPlan(query.sql) {
                let words = step.split(separator: " ").map(String.init)
                unused.subtract(words)
            }
        }
        #expect(unused == Self.unique)
    }

    /// Some thousand rows of every kind, and what ANALYZE finds out about them.
    private static func fill(_ catalog: Connection) throws {
        try catalog.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO entry(entry_id, version, epoch, kind, leaf, order_key, title)
            SELECT randomblob(16), 1, 1, i % 10 = 0, randomblob(32),
                iif(i % 10, randomblob(29), NULL), iif(i % 10, 'title', NULL)
            FROM n;
            INSERT INTO attachment(entry, position, attachment_id, created_at, name, type, size,
                address, cloud_blob_ref, thumb_state)
            SELECT id, 0, randomblob(16), random(), 'name', 'image/jpeg', 1, 0, randomblob(127),
                id % 7
            FROM entry WHERE kind = 0;
            INSERT INTO blob(record, attachment, here_boot)
            SELECT randomblob(22), id, iif(id % 2, 'boot', NULL) FROM attachment;
            INSERT INTO staged(entry_id, version, epoch, kind, leaf, readable, verified)
            SELECT entry_id, 2, 1, 1, randomblob(32), 1, id % 2 FROM entry WHERE id % 10 = 1;
            INSERT INTO dropped(record) SELECT randomblob(22) FROM attachment LIMIT 100;
            INSERT INTO condition(reason, last_attempt) VALUES ('offline', 1);
            INSERT INTO outbox(entry, base, revision) SELECT id, randomblob(100), 1 FROM entry;
            UPDATE outbox SET sent_revision = 1, sent_version = 1, sent_kind = 1,
                sent_leaf = randomblob(32), sent = randomblob(100)
            WHERE entry % 3 = 0;
            INSERT INTO spool(record, pack, place, size, role)
            SELECT record, 'pack ' || attachment / 100, attachment % 100, 1, 0 FROM blob;
            INSERT INTO trash(entry_id, attachment_id, payload, removed_at, own)
            SELECT entry_id, iif(id % 2, randomblob(16), NULL), randomblob(100), id / 2, 1
            FROM entry;
            INSERT INTO trash_record(record, trash) SELECT randomblob(22), id FROM trash;
            INSERT INTO unnamed(record, seen_at) SELECT record, 1 FROM dropped;
            INSERT INTO once(name, done_at) VALUES ('it', 1);
            ANALYZE;
            """)
    }
}
