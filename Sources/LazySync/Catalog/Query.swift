internal import SyncPlatform

/// Every statement that runs on a catalog, each a case, so that a test can ask for all their plans.
///
/// Those on what is changed here are cases of `ChangeQuery`; the steps of the schema are the only
/// other SQL.
enum Query: String, CaseIterable {
    // MARK: The account and its counts

    case insertAccount = """
        INSERT INTO account(one, account_id, set_digest, entries) VALUES (1, ?1, zeroblob(32), 0)
        """
    case account = """
        SELECT account_id, verified_head, set_digest, entries, page, page_after, mismatch,
            pins_all
        FROM account WHERE one = 1
        """
    case saveDigest = "UPDATE account SET set_digest = ?1, entries = ?2 WHERE one = 1"
    case savePage = "UPDATE account SET page = ?1, page_after = ?2 WHERE one = 1"
    case saveVerifiedHead = """
        UPDATE account SET verified_head = ?1, page = NULL, page_after = NULL, mismatch = NULL
        WHERE one = 1
        """
    case saveMismatch = "UPDATE account SET mismatch = ?1 WHERE one = 1"
    case addToTally = """
        INSERT INTO tally(name, value) VALUES (?1, ?2)
        ON CONFLICT(name) DO UPDATE SET value = value + excluded.value
        """
    case tally = "SELECT value FROM tally WHERE name = ?1"

    // MARK: Entries

    case insertEntry = """
        INSERT INTO entry(entry_id, version, epoch, kind, leaf, order_key,
            title, text, created, modified, payload)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT(entry_id) DO NOTHING
        """
    case entryByID = """
        SELECT id, version, kind, leaf, epoch, order_key FROM entry WHERE entry_id = ?1
        """
    case updateEntry = """
        UPDATE entry SET version = ?2, epoch = ?3, kind = ?4, leaf = ?5, order_key = ?6,
            title = ?7, text = ?8, created = ?9, modified = ?10, payload = ?11
        WHERE id = ?1
        """
    case updateTexts = """
        UPDATE entry SET version = ?2, epoch = ?3, leaf = ?4, title = ?5, text = ?6, created = ?7,
            modified = ?8, payload = ?9
        WHERE id = ?1
        """
    case updateShown = """
        UPDATE entry SET kind = ?2, order_key = ?3, title = ?4, text = ?5, created = ?6,
            modified = ?7, payload = ?8
        WHERE id = ?1
        """
    case setCounted = "UPDATE entry SET version = ?2, epoch = ?3, leaf = ?4 WHERE id = ?1"
    case entryByRow = """
        SELECT title, text, created, modified, payload FROM entry WHERE id = ?1 AND kind = 0
        """
    case attachmentsOfEntry = """
        SELECT id, attachment_id, size, address, cloud_blob_ref, thumb_state, thumb_size,
            thumb_cloud_blob_ref, position, created_at, name, type, thumb_type
        FROM attachment WHERE entry = ?1
        """
    case insertAttachment = """
        INSERT INTO attachment(entry, attachment_id, position, created_at, name, type, size,
            address, cloud_blob_ref, thumb_state, thumb_type, thumb_size, thumb_cloud_blob_ref,
            pinned)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
        """
    case updateAttachment = """
        UPDATE attachment SET position = ?2, created_at = ?3, name = ?4, type = ?5, size = ?6,
            address = ?7, cloud_blob_ref = ?8, thumb_state = ?9, thumb_type = ?10,
            thumb_size = ?11, thumb_cloud_blob_ref = ?12,
            thumb_tags = CASE WHEN ?9 = 2 THEN thumb_tags END,
            thumb_reason = CASE WHEN ?9 = 3 THEN thumb_reason END
        WHERE id = ?1
        """
    case deleteAttachment = "DELETE FROM attachment WHERE id = ?1"

    // MARK: Entries that wait

    case stage = """
        INSERT INTO staged(entry_id, version, epoch, kind, leaf, replaces, readable, sealed,
            verified)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)
        """
    case stagedByID = """
        SELECT version, leaf, replaces, verified FROM staged WHERE entry_id = ?1
        """
    case unstage = "DELETE FROM staged WHERE entry_id = ?1"
    case stagedIDs = """
        SELECT entry_id FROM staged WHERE verified = ?1 AND readable = ?2 LIMIT ?3
        """
    case stagedTombstone = """
        SELECT entry_id, version, epoch, leaf FROM staged
        WHERE verified = 1 AND readable = 1 LIMIT 1
        """
    case stagedTombstoneOf = """
        SELECT version, epoch, leaf FROM staged WHERE entry_id = ?1 AND readable = 1
        """
    case countStaged = "SELECT count(*) FROM staged WHERE verified = ?1 AND readable = ?2"
    case verifyStaged = "UPDATE staged SET verified = 1 WHERE verified = 0"

    // MARK: Files

    case exportedEntries = """
        SELECT e.id, e.entry_id, e.version, abs(e.epoch), e.kind, e.leaf, e.title, e.text,
            e.created, e.modified, e.payload, o.entry IS NOT NULL, o.base
        FROM entry e LEFT JOIN outbox o ON o.entry = e.id
        WHERE e.entry_id > ?1 ORDER BY e.entry_id
        """
    case exportedAttachments = """
        SELECT attachment_id, position, name, type, size, address, cloud_blob_ref, thumb_state,
            thumb_type, thumb_size, thumb_cloud_blob_ref
        FROM attachment WHERE entry = ?1 ORDER BY position
        """
    case exportedStaged = """
        SELECT entry_id, version, epoch, kind, leaf, sealed FROM staged
        WHERE entry_id > ?1 AND (verified = 1 OR ?2 = 1) ORDER BY entry_id
        """
    case imported = "SELECT code FROM condition WHERE reason = 'imported'"
    case setImported = """
        INSERT INTO condition(reason, code, last_attempt) VALUES ('imported', ?1, 0)
        """
    case clearImported = "DELETE FROM condition WHERE reason = 'imported'"
    case unconfirmed = """
        SELECT id, entry_id, kind FROM entry WHERE id > ?1 AND epoch < 0 ORDER BY id LIMIT ?2
        """
    case deleteEntry = "DELETE FROM entry WHERE id = ?1"

    // MARK: Lists

    case list = """
        SELECT a.id, e.entry_id, a.attachment_id, a.name, a.type, a.size, a.address,
            a.cloud_blob_ref, a.thumb_state, a.thumb_cloud_blob_ref, e.title, e.order_key,
            a.position, a.thumb_reason, a.pinned
        FROM entry e CROSS JOIN attachment a ON a.entry = e.id
        WHERE e.kind = 0 AND e.order_key <= ?1 AND (e.order_key < ?1 OR a.position > ?2)
            AND (?3 IS NULL OR a.type = ?3 OR a.type LIKE ?4 ESCAPE '!')
        ORDER BY e.order_key DESC, e.id DESC, a.position LIMIT ?5
        """
    case attachment = """
        SELECT a.id, e.entry_id, a.attachment_id, a.name, a.type, a.size, a.address,
            a.cloud_blob_ref, a.thumb_state, a.thumb_cloud_blob_ref, e.title, e.order_key,
            a.position, a.thumb_reason, a.pinned, a.thumb_type, a.thumb_size, a.thumb_tags
        FROM entry e CROSS JOIN attachment a ON a.entry = e.id AND a.attachment_id = ?2
        WHERE e.entry_id = ?1
        """
    case addressesByRow = """
        SELECT cloud_blob_ref, thumb_cloud_blob_ref, thumb_state, size, thumb_size
        FROM attachment WHERE id = ?1
        """
    case attachmentByRow = """
        SELECT a.id, e.entry_id, a.attachment_id
        FROM attachment a CROSS JOIN entry e ON e.id = a.entry WHERE a.id = ?1
        """
    case attachmentsInRange = """
        SELECT e.entry_id, a.attachment_id
        FROM attachment a CROSS JOIN entry e ON e.id = a.entry
        WHERE a.attachment_id BETWEEN ?1 AND ?2 ORDER BY a.attachment_id LIMIT ?3
        """
    case itemsInRange = """
        SELECT entry_id FROM entry
        WHERE entry_id BETWEEN ?1 AND ?2 AND kind = 0 ORDER BY entry_id LIMIT ?3
        """
    case items = """
        SELECT entry_id, title, created, modified,
            (SELECT count(*) FROM attachment a WHERE a.entry = e.id)
        FROM entry e WHERE kind = 0 AND order_key < ?1 ORDER BY order_key DESC LIMIT ?2
        """
    case item = """
        SELECT id, title, text, created, modified, order_key FROM entry
        WHERE entry_id = ?1 AND kind = 0
        """
    case listOfItem = """
        SELECT a.id, e.entry_id, a.attachment_id, a.name, a.type, a.size, a.address,
            a.cloud_blob_ref, a.thumb_state, a.thumb_cloud_blob_ref, e.title, e.order_key,
            a.position, a.thumb_reason, a.pinned
        FROM entry e CROSS JOIN attachment a ON a.entry = e.id
        WHERE e.entry_id = ?1 ORDER BY a.position LIMIT 1000
        """

    // MARK: Blobs

    case blob = """
        SELECT attachment, here_boot, here_inode, here_size, here_mtime, here_ctime,
            reason, status, code, chunk, bytes, attempts, last_attempt, next_attempt,
            held, handed_at, opened = (SELECT opens FROM account WHERE one = 1)
        FROM blob WHERE record = ?1
        """
    case wantBlob = """
        INSERT INTO blob(record, attachment) VALUES (?1, ?2)
        ON CONFLICT(record) DO UPDATE SET attachment = excluded.attachment
        """
    case blobIsHere = """
        UPDATE blob SET here_boot = ?2, here_inode = ?3, here_size = ?4, here_mtime = ?5,
            here_ctime = ?6, reason = NULL, status = NULL, code = NULL, chunk = NULL, bytes = ?4,
            attempts = 0, last_attempt = NULL, next_attempt = NULL
        WHERE record = ?1
        """
    case blobFailed = """
        UPDATE blob SET here_boot = NULL, reason = ?2, status = ?3, code = ?4, chunk = ?5,
            bytes = ?6, attempts = ?7, last_attempt = ?8, next_attempt = ?9
        WHERE record = ?1
        """
    case forgetBlob = "DELETE FROM blob WHERE record = ?1"
    case drop = "INSERT INTO dropped(record) VALUES (?1) ON CONFLICT DO NOTHING"
    case dropped = "SELECT record FROM dropped WHERE record > ?1 ORDER BY record LIMIT ?2"
    case clearDropped = "DELETE FROM dropped WHERE record = ?1"
    case blobsNotHere = """
        SELECT attachment, record, reason, last_attempt IS NOT NULL FROM blob
        WHERE here_boot IS NULL AND attachment > ?1 ORDER BY attachment LIMIT ?2
        """
    case forgiveTooLarge = """
        UPDATE blob SET reason = NULL WHERE record IN (
            SELECT record FROM blob
            WHERE here_boot IS NULL AND attachment > -1 AND reason = 'tooLarge'
            ORDER BY attachment LIMIT ?1)
        """
    case failedBlobs = """
        SELECT attachment, reason, code, next_attempt, last_attempt FROM blob
        WHERE here_boot IS NULL AND attachment > ?1 AND last_attempt IS NOT NULL
            AND (reason IS NULL OR reason = 'serverError')
        ORDER BY attachment LIMIT ?2
        """
    case condition = """
        SELECT reason, status, code, last_attempt, next_attempt FROM condition
        ORDER BY reason LIMIT 16
        """
    case setCondition = """
        INSERT INTO condition(reason, status, code, last_attempt, next_attempt)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT(reason) DO UPDATE SET status = excluded.status, code = excluded.code,
            last_attempt = excluded.last_attempt, next_attempt = excluded.next_attempt
        """
    case clearCondition = "DELETE FROM condition WHERE reason = ?1"

    // MARK: The cache

    case cacheLimit = "SELECT cache_limit FROM account WHERE one = 1"
    case setCacheLimit = "UPDATE account SET cache_limit = ?1 WHERE one = 1"
    case countOpening = "UPDATE account SET opens = opens + 1 WHERE one = 1"
    case blobOpened = """
        UPDATE blob SET opened = (SELECT opens FROM account WHERE one = 1),
            handed_at = coalesce(?2, handed_at)
        WHERE record = ?1
        """
    case holdBlob = "UPDATE blob SET held = ?2 WHERE record = ?1"
    case leastRecentlyOpened = """
        SELECT record, held, opened, handed_at, EXISTS (
            SELECT 1 FROM attachment a
            WHERE a.pinned = 1 AND substr(a.cloud_blob_ref, 106) = b.record),
            here_boot IS NULL
        FROM blob b WHERE held > 0 AND (opened, record) > (?1, ?2)
        ORDER BY opened, record LIMIT ?3
        """
    case heldParts = """
        SELECT record, held FROM blob WHERE here_boot IS NULL AND held > 0
        ORDER BY attachment LIMIT ?1
        """
    case isPinned = """
        SELECT 1 FROM attachment WHERE pinned = 1 AND substr(cloud_blob_ref, 106) = ?1 LIMIT 1
        """
    case pinnedBytes = """
        SELECT coalesce(sum(b.held), 0)
        FROM (SELECT DISTINCT substr(cloud_blob_ref, 106) AS record
            FROM attachment WHERE pinned = 1) p
        CROSS JOIN blob b ON b.record = p.record
        WHERE b.record <> ?1
        """
    case pinnedNotHere = """
        SELECT a.id, substr(a.cloud_blob_ref, 106)
        FROM attachment a
        WHERE a.pinned = 1 AND substr(a.cloud_blob_ref, 106) > ?1 AND NOT EXISTS (
            SELECT 1 FROM blob b
            WHERE b.record = substr(a.cloud_blob_ref, 106) AND b.here_boot IS NOT NULL)
        ORDER BY substr(a.cloud_blob_ref, 106) LIMIT ?2
        """
    case countPinnedNotHere = """
        SELECT count(*), CAST(min(total(a.size), 9e18) AS INTEGER) FROM attachment a
        WHERE a.pinned = 1 AND substr(a.cloud_blob_ref, 106) > x'' AND NOT EXISTS (
            SELECT 1 FROM blob b
            WHERE b.record = substr(a.cloud_blob_ref, 106) AND b.here_boot IS NOT NULL)
        """
    case countPinnedWithoutAddress = """
        SELECT count(*), 0 FROM attachment
        WHERE pinned = 1 AND substr(cloud_blob_ref, 106) IS NULL
        """
    case pinnedWithoutAddress = """
        SELECT id, address FROM attachment
        WHERE pinned = 1 AND substr(cloud_blob_ref, 106) IS NULL AND id > ?1 ORDER BY id LIMIT ?2
        """
    case pinsAll = "SELECT pins_all FROM account WHERE one = 1"
    case pin = "UPDATE attachment SET pinned = ?2 WHERE id = ?1"
    case pinSome = "UPDATE attachment SET pinned = ?1 WHERE id > ?2 AND id <= ?3"
    case lastAttachment = "SELECT max(id) FROM attachment"
    case setPinsAll = "UPDATE account SET pins_all = ?1 WHERE one = 1"

    // MARK: Checking

    case leaves = """
        SELECT leaf FROM entry WHERE epoch > 0 AND entry_id NOT IN (SELECT entry_id FROM staged)
        UNION ALL SELECT leaf FROM staged
        """
    case recountItems = "SELECT sum(kind = 0), sum(epoch < 0) FROM entry"
    case recountAttachments = """
        SELECT count(*), sum(address = 0), sum(address IN (1, 2, 4)),
            sum(cloud_blob_ref IS NOT NULL), sum(thumb_state = 1), sum(thumb_state = 2),
            sum(thumb_state IN (3, 5, 6)),
            sum(iif(thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL,
                (thumb_size + 4095) / 4096 * 4096, 0))
        FROM attachment
        """
    case recountBlobs = """
        SELECT sum(here_boot IS NOT NULL), sum(reason IS NOT NULL), sum(held) FROM blob
        """
    case setTally = """
        INSERT INTO tally(name, value) VALUES (?1, ?2)
        ON CONFLICT(name) DO UPDATE SET value = excluded.value
        """
    case checkedPlace = "SELECT checked_to, checked_share FROM account WHERE one = 1"
    case saveCheckedPlace = """
        UPDATE account SET checked_to = ?1, checked_share = ?2 WHERE one = 1
        """
    case blobsHere = """
        SELECT b.record, b.here_boot, b.here_inode, b.here_size, b.here_mtime, b.here_ctime,
            e.entry_id, a.attachment_id, a.cloud_blob_ref, a.size, a.name
        FROM blob b CROSS JOIN attachment a ON a.id = b.attachment
            CROSS JOIN entry e ON e.id = a.entry
        WHERE b.record > ?1 AND b.here_boot IS NOT NULL ORDER BY b.record LIMIT ?2
        """
    case unmarkBlob = """
        UPDATE blob SET here_boot = NULL, bytes = ?2 WHERE record = ?1
        """
    case knownBlobs = "SELECT record FROM blob UNION ALL SELECT record FROM dropped"
    case knownThumbnails = """
        SELECT substr(thumb_cloud_blob_ref, 106) FROM attachment
        WHERE thumb_state IN (1, 2, 3) AND thumb_cloud_blob_ref IS NOT NULL
        UNION ALL SELECT record FROM dropped
        """

    // MARK: Thumbnails

    case oldestThumbnails = """
        SELECT id, thumb_cloud_blob_ref, created_at, thumb_size, thumb_type FROM attachment
        WHERE thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL
            AND (created_at, id) > (?1, ?2)
        ORDER BY created_at, id LIMIT ?3
        """
    case photoIsNoThumbnail = """
        UPDATE attachment SET thumb_state = ?2
        WHERE id = ?1 AND thumb_state = 2 AND thumb_cloud_blob_ref IS NULL
        """
    case renewSkippedThumbnails = """
        UPDATE attachment SET thumb_state = 1
        WHERE id > ?1 AND id <= ?2 AND thumb_state = 4 AND coalesce(thumb_size, size) <= ?3
        """
    case thumbnailWork = """
        SELECT a.id, e.entry_id, a.attachment_id, a.size, a.thumb_type, a.thumb_size,
            a.thumb_cloud_blob_ref, a.created_at
        FROM attachment a CROSS JOIN entry e ON e.id = a.entry
        WHERE a.thumb_state = ?1 AND a.thumb_state IN (1, 3) AND (a.created_at, a.id) < (?2, ?3)
        ORDER BY a.created_at DESC, a.id DESC LIMIT ?4
        """
    case setThumbnail = """
        UPDATE attachment SET thumb_state = ?2, thumb_tags = ?3, thumb_reason = ?4 WHERE id = ?1
        """
}

extension Connection {
    /// Prepares a statement of the catalog, from the connection's cache.
    func prepare(_ query: Query) throws(SQLiteError) -> Statement {
        try prepare(query.rawValue)
    }
}
