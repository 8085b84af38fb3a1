internal import SyncPlatform

/// The statements on what is changed here and waits to be sent, and on what was removed.
///
/// As with `Query`, a test asks for the plan of each.
enum ChangeQuery: String, CaseIterable {
    // MARK: The outbox

    case waiting = "SELECT base, sent_leaf, sent_payload FROM outbox WHERE entry = ?1"
    case anyWaiting = "SELECT entry FROM outbox WHERE entry > 0 LIMIT 1"
    case changeMark = """
        SELECT count(*), coalesce(sum(revision), 0), coalesce(max(entry), 0) FROM outbox
        """
    case countWaiting = "SELECT count(*) FROM outbox"
    case addWaiting = "INSERT INTO outbox(entry, base, revision) VALUES (?1, ?2, 1)"
    case changeWaiting = "UPDATE outbox SET revision = revision + 1 WHERE entry = ?1"
    case rebaseWaiting = """
        UPDATE outbox SET base = ?2, revision = revision + ?3, sent_revision = NULL,
            sent_version = NULL, sent_kind = NULL, sent_leaf = NULL, sent_payload = NULL,
            sent = NULL
        WHERE entry = ?1
        """
    case removeWaiting = "DELETE FROM outbox WHERE entry = ?1"
    case waitingAfter = """
        SELECT o.entry, e.entry_id, e.kind
        FROM outbox o CROSS JOIN entry e ON e.id = o.entry
        WHERE o.entry > ?1 ORDER BY o.entry LIMIT ?2
        """
    case waitingToSend = """
        SELECT o.base, o.revision, e.version, e.epoch, e.kind, e.leaf, e.entry_id
        FROM outbox o CROSS JOIN entry e ON e.id = o.entry WHERE o.entry = ?1
        """
    case addressesOfEntry = """
        SELECT e.entry_id, a.attachment_id, a.cloud_blob_ref, a.thumb_cloud_blob_ref, a.size,
            a.thumb_size, a.pinned
        FROM entry e CROSS JOIN attachment a ON a.entry = e.id
        WHERE e.id = ?1 ORDER BY a.position
        """
    case noteSent = """
        UPDATE outbox SET sent_revision = ?2, sent_version = ?3, sent_kind = ?4, sent_leaf = ?5,
            sent_payload = ?6, sent = ?7
        WHERE entry = ?1
        """
    case sentEntries = """
        SELECT o.entry, e.entry_id, o.sent_version, o.sent_kind, o.sent_leaf, o.sent_payload,
            o.revision = o.sent_revision, e.epoch, e.leaf, o.sent
        FROM outbox o INDEXED BY outbox_sent CROSS JOIN entry e ON e.id = o.entry
        WHERE o.entry > ?1 AND o.sent_revision IS NOT NULL ORDER BY o.entry LIMIT 1
        """
    case acceptSent = """
        UPDATE outbox SET base = sent_payload, sent_revision = NULL, sent_version = NULL,
            sent_kind = NULL, sent_leaf = NULL, sent_payload = NULL, sent = NULL
        WHERE sent_revision IS NOT NULL
        """
    case forgetSent = """
        UPDATE outbox SET sent_revision = NULL, sent_version = NULL, sent_kind = NULL,
            sent_leaf = NULL, sent_payload = NULL, sent = NULL
        WHERE sent_revision IS NOT NULL
        """
    case neverSent = """
        SELECT e.id FROM outbox o CROSS JOIN entry e ON e.id = o.entry
        WHERE o.sent_revision IS NULL AND e.version = 0 AND e.kind = 1 AND o.entry > ?1
        ORDER BY o.entry LIMIT 1
        """
    case pushing = "SELECT pushing, trusting, swept_at FROM account WHERE one = 1"
    case setPushing = "UPDATE account SET pushing = ?1 WHERE one = 1"
    case setTrusting = "UPDATE account SET trusting = ?1 WHERE one = 1"

    // MARK: Trusting

    case distrustAll = "UPDATE entry SET epoch = -epoch WHERE epoch > 0"
    case forgetVerified = """
        UPDATE account SET verified_head = NULL, set_digest = zeroblob(32), entries = 0,
            page = NULL, page_after = NULL, mismatch = NULL, pushing = NULL, trusting = 1
        WHERE one = 1
        """
    case unstageAll = "DELETE FROM staged"

    // MARK: The spool

    case addSpooled = """
        INSERT INTO spool(record, pack, place, size, role) VALUES (?1, ?2, ?3, ?4, ?5)
        """
    case spooled = """
        SELECT pack, place, size, role, stored, refused, next_attempt FROM spool
        WHERE record = ?1
        """
    case spooledAfter = """
        SELECT pack, place, size, role, stored, refused, next_attempt, record FROM spool
        WHERE record > ?1 ORDER BY record LIMIT ?2
        """
    case anySpooled = "SELECT record FROM spool WHERE record > x'' LIMIT 1"
    case spoolStored = """
        UPDATE spool SET stored = 1, refused = NULL, next_attempt = NULL WHERE record = ?1
        """
    case spoolRefused = """
        UPDATE spool SET stored = 0, refused = ?2, next_attempt = ?3 WHERE record = ?1
        """
    case nextUpload = """
        SELECT min(next_attempt) FROM spool s WHERE refused IS NOT NULL AND next_attempt < 1 << 60
            AND NOT EXISTS (SELECT 1 FROM trash_record t WHERE t.record = s.record)
        """
    case removeSpooled = "DELETE FROM spool WHERE record = ?1"
    case packIsNamed = "SELECT 1 FROM spool WHERE pack = ?1 LIMIT 1"
    case unsentRecords = """
        SELECT substr(a.cloud_blob_ref, 106), substr(a.thumb_cloud_blob_ref, 106)
        FROM outbox o CROSS JOIN attachment a ON a.entry = o.entry
        """
    case countSpooledHere = """
        SELECT count(*) FROM spool s WHERE s.role = 0 AND NOT EXISTS (
            SELECT 1 FROM blob b WHERE b.record = s.record AND b.here_boot IS NOT NULL)
            AND NOT EXISTS (SELECT 1 FROM trash_record t WHERE t.record = s.record)
        """

    // MARK: The trash

    case addTrash = """
        INSERT INTO trash(entry_id, attachment_id, payload, removed_at, own)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """
    case addTrashRecord = """
        INSERT INTO trash_record(record, trash) VALUES (?1, ?2) ON CONFLICT DO NOTHING
        """
    case trashOf = """
        SELECT id, payload, removed_at, own FROM trash
        WHERE entry_id = ?1 AND attachment_id IS ?2 ORDER BY id DESC LIMIT 1
        """
    case anyTrash = "SELECT id FROM trash WHERE id > 0 LIMIT 1"
    case trashRecords = "SELECT record FROM trash_record WHERE trash = ?1"
    case knownTrash = "SELECT record FROM trash_record UNION ALL SELECT record FROM dropped"
    case isTrashRecord = "SELECT 1 FROM trash_record WHERE record = ?1 LIMIT 1"
    case removeTrashRecords = "DELETE FROM trash_record WHERE trash = ?1"
    case removeTrash = "DELETE FROM trash WHERE id = ?1"
    case othersTrash = """
        SELECT id FROM trash WHERE removed_at < ?1 AND own = 0 ORDER BY removed_at, id LIMIT 1
        """
    case trashList = """
        SELECT id, entry_id, attachment_id, payload, removed_at, own FROM trash
        WHERE (removed_at, id) < (?1, ?2) ORDER BY removed_at DESC, id DESC LIMIT ?3
        """
    case trashBefore = """
        SELECT id, own FROM trash t WHERE removed_at < ?1 AND NOT EXISTS (
            SELECT 1 FROM entry e CROSS JOIN outbox o ON o.entry = e.id
            WHERE e.entry_id = t.entry_id)
        ORDER BY removed_at, id LIMIT ?2
        """

    // MARK: What nothing names

    case setSweptAt = "UPDATE account SET swept_at = ?1 WHERE one = 1"
    case noteUnnamed = """
        INSERT INTO unnamed(record, seen_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING
        """
    case unnamedSince = "SELECT seen_at FROM unnamed WHERE record = ?1"
    case forgetUnnamed = "DELETE FROM unnamed WHERE record = ?1"
    case forgetOldUnnamed = "DELETE FROM unnamed WHERE seen_at <= ?1"

    // MARK: What is done once

    case isDone = "SELECT 1 FROM once WHERE name = ?1"
    case noteDone = "INSERT INTO once(name, done_at) VALUES (?1, ?2)"
}

extension Connection {
    /// Prepares a statement of the catalog, from the connection's cache.
    func prepare(_ query: ChangeQuery) throws(SQLiteError) -> Statement {
        try prepare(query.rawValue)
    }

    /// Runs a statement whose one parameter is a row.
    func run(_ query: ChangeQuery, row: Int64) throws {
        let statement = try prepare(query)
        statement.bind(row, at: 1)
        try statement.run()
    }
}
