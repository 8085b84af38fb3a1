import SyncPlatform
import Testing

@testable import LazySync

/// What must hold in every catalog: what is kept in step by each transaction is what a recount gives.
struct CatalogCheck {
    let catalog: Connection

    init(_ catalog: Connection) {
        self.catalog = catalog
    }

    /// Records an issue for each thing that does not hold, at one moment: others may go on writing.
    func run(_ location: SourceLocation = #_sourceLocation) throws {
        try catalog.transaction(.deferred) { try check(location) }
    }

    private func check(_ location: SourceLocation) throws {
        for problem in try problems() { Issue.record("\(problem)", sourceLocation: location) }
    }

    /// What does not hold; the caller sees to it that it is looked at in one transaction.
    func problems() throws -> [String] {
        var problems = try catalog.integrityCheck() + catalog.foreignKeyCheck()
        problems += try counts()
        let (digest, count) = try recountDigest()
        let store = try EntryStore(catalog)
        if store.digest != digest { problems.append("the set digest") }
        if store.entries != count { problems.append("\(count) entries, not \(store.entries)") }
        let strays = try catalog.firstInt(
            """
            SELECT count(*) FROM blob WHERE NOT EXISTS (
                SELECT 1 FROM attachment a
                WHERE a.id = blob.attachment AND substr(a.cloud_blob_ref, 106) = blob.record)
            """)
        if strays != 0 { problems.append("\(strays) asked for through nothing") }
        // A catalog of a past version knows nothing of changes.
        guard try catalog.userVersion() >= 3 else { return problems }
        for (what, sql) in Self.wrongChanges where try catalog.firstInt(sql) != 0 {
            problems.append(what)
        }
        return problems
    }

    /// What no row may be, and SQL that counts those that are; it may walk.
    private static let wrongChanges: [(what: String, sql: String)] = [
        (
            "a change of no entry",
            "SELECT count(*) FROM outbox WHERE entry NOT IN (SELECT id FROM entry)"
        ),
        (
            "an entry that the server does not have, and that does not wait to be sent",
            "SELECT count(*) FROM entry WHERE version = 0 AND id NOT IN (SELECT entry FROM outbox)"
        ),
        (
            "an entry that the server does not have, and that counts",
            """
            SELECT count(*) FROM entry
            WHERE (epoch = 0 OR version = 0)
                AND NOT (epoch = 0 AND version = 0 AND leaf = zeroblob(32))
            """
        ),
        (
            "a change that was sent in part",
            """
            SELECT count(*) FROM outbox
            WHERE (sent_revision IS NULL) <> (sent IS NULL)
                OR (sent_revision IS NULL) <> (sent_version IS NULL)
                OR (sent_revision IS NULL) <> (sent_kind IS NULL)
                OR (sent_revision IS NULL) <> (sent_leaf IS NULL)
                OR (sent_payload IS NOT NULL) <> coalesce(sent_kind = 0, 0)
                OR sent_revision > revision
            """
        ),
        (
            "a push without a head, or a head without a push",
            """
            SELECT (SELECT count(*) FROM account WHERE pushing IS NOT NULL)
                <> EXISTS (SELECT 1 FROM outbox WHERE sent_revision IS NOT NULL)
            """
        ),
        ("a blob in no pack", "SELECT count(*) FROM spool WHERE pack = ''"),
        (
            "two blobs in one place",
            """
            SELECT count(*) FROM spool a JOIN spool b ON a.pack = b.pack AND a.record <> b.record
                AND a.place < b.place + b.size AND b.place < a.place + a.size
            """
        ),
        (
            "a record of nothing in the trash",
            "SELECT count(*) FROM trash_record WHERE trash NOT IN (SELECT id FROM trash)"
        ),
        (
            "a thing twice in the trash",
            """
            SELECT count(*) FROM
            (SELECT 1 FROM trash GROUP BY entry_id, attachment_id HAVING count(*) > 1)
            """
        ),
    ]

    /// The counts that are kept and are not those that a recount gives.
    private func counts() throws -> [String] {
        var wrong: [String] = []
        for name in Tally.Name.allCases {
            let kept = try catalog.tally(name)
            let counted = Int(try catalog.firstInt(Self.recount(name)))
            if kept != counted { wrong.append("the count of \(name): \(kept), not \(counted)") }
        }
        return wrong
    }

    /// SQL that counts anew; it may walk.
    private static func recount(_ name: Tally.Name) -> String {
        switch name {
        case .items: "SELECT count(*) FROM entry WHERE kind = 0"
        case .attachments: "SELECT count(*) FROM attachment"
        case .addressesComplete: "SELECT count(*) FROM attachment WHERE address = 0"
        case .addressesMissing: "SELECT count(*) FROM attachment WHERE address IN (1, 2, 4)"
        case .addressesUsable: "SELECT count(*) FROM attachment WHERE cloud_blob_ref IS NOT NULL"
        case .thumbnailsDue: "SELECT count(*) FROM attachment WHERE thumb_state = 1"
        case .thumbnailsHere: "SELECT count(*) FROM attachment WHERE thumb_state = 2"
        case .thumbnailsFailed: "SELECT count(*) FROM attachment WHERE thumb_state IN (3, 5, 6)"
        case .blobsHere: "SELECT count(*) FROM blob WHERE here_boot IS NOT NULL"
        case .blobsFailed: "SELECT count(*) FROM blob WHERE reason IS NOT NULL"
        case .cacheBytes:
            "SELECT coalesce(sum(held), 0) FROM blob"
        case .thumbnailBytes:
            """
            SELECT coalesce(sum((thumb_size + 4095) / 4096 * 4096), 0) FROM attachment
            WHERE thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL
            """
        case .unconfirmed: "SELECT count(*) FROM entry WHERE epoch < 0"
        }
    }

    /// The sum over all entries, those that wait in the place of what they replace, and without
    /// those that only a file has.
    func recountDigest() throws -> (digest: SetDigest, count: Int64) {
        var digest = SetDigest()
        var count: Int64 = 0
        let leaves = try catalog.prepare(
            """
            SELECT leaf FROM entry
            WHERE epoch > 0 AND entry_id NOT IN (SELECT entry_id FROM staged)
            UNION ALL SELECT leaf FROM staged
            """)
        while try leaves.step() {
            digest += known(SetDigest(bytes: leaves.blob(0).span))
            count += 1
        }
        return (digest, count)
    }

    /// All rows of the tables that `columns` names, as text, in an order of their own.
    func dump(_ columns: [String: [String]]) throws -> [String] {
        var lines: [String] = []
        for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
            let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
            let rows = try catalog.prepare("SELECT \(values) FROM \"\(table)\" ORDER BY 1")
            while try rows.step() { lines.append("\(table): \(try rows.text(0))") }
        }
        return lines
    }

    /// The columns of every table, by the table's name.
    func columns() throws -> [String: [String]] {
        var columns: [String: [String]] = [:]
        let rows = try catalog.prepare(
            """
            SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
            WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
            """)
        while try rows.step() { columns[try rows.text(0), default: []].append(try rows.text(1)) }
        return columns
    }
}
