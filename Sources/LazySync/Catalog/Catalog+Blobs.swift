internal import SyncPlatform

/// Blobs: what happened to the bytes that somebody asked for.
extension Catalog {
    /// Marks a record's file as complete and proved, and clears what kept others from coming.
    ///
    /// `handedAt` is the time if its path is about to be handed out.
    func markHere(
        _ record: String, through row: Int64, _ mark: HereMark, handedAt: Int64?,
        clearing: [UnavailableReason]
    ) async throws(SyncError) {
        try await write("mark a blob as here") { connection in
            for reason in clearing { try connection.clearCondition(reason) }
            let before = try connection.blobRecord(record)
            // A record whose attachment says another size by now is another version's.
            guard try connection.want(record, through: row),
                try connection.addresses(row: row)?.size == mark.size
            else {
                try connection.drop(record)
                return
            }
            try connection.setMark(mark, of: record)
            try connection.noteOpened(record, handedAt: handedAt)
            try connection.hold(record, DiskCost.blob(mark.size), was: before?.held ?? 0)
            var tally = Tally()
            if before?.mark == nil { tally[.blobsHere] += 1 }
            if before?.reason != nil { tally[.blobsFailed] -= 1 }
            try tally.save(connection)
        }
    }

    /// Notes why a record's bytes did not come; the mark that was `seen` when the try began goes.
    ///
    /// If there is another one by now, somebody else has brought them, and nothing is noted.
    func markFailed(
        _ record: String, through row: Int64, seen: HereMark? = nil, _ reason: UnavailableReason,
        _ evidence: Evidence
    ) async throws(SyncError) {
        try await write("note a failure") { connection in
            if reason.isShared { try connection.setCondition(reason, evidence) }
            // An answer, whatever it says, shows that there is a connection.
            if reason != .offline, evidence.status != nil {
                try connection.clearCondition(.offline)
            }
            let before = try connection.blobRecord(record)
            guard before?.mark == nil || before?.mark == seen,
                try connection.want(record, through: row)
            else { return }
            // A reason that is shared is kept once, as a condition; the blob keeps the evidence.
            let failed = try connection.prepare(.blobFailed)
            failed.bind(blob: record.utf8Span.span, at: 1)
            if !reason.isShared { failed.bind(text: reason.rawValue, at: 2) }
            if let status = evidence.status { failed.bind(Int64(status), at: 3) }
            if let code = evidence.code { failed.bind(text: code, at: 4) }
            if let chunk = evidence.chunk { failed.bind(Int64(chunk), at: 5) }
            failed.bind(evidence.bytes, at: 6)
            failed.bind(Int64(evidence.attempts), at: 7)
            if let last = evidence.lastAttempt { failed.bind(last.seconds, at: 8) }
            if let next = evidence.nextAttempt { failed.bind(next.seconds, at: 9) }
            try failed.run()
            var tally = Tally()
            if before?.mark != nil { tally[.blobsHere] -= 1 }
            tally[.blobsFailed] += (reason.isShared ? 0 : 1) - (before?.reason == nil ? 0 : 1)
            try tally.save(connection)
        }
    }

    /// The reasons that are kept once, with their evidence.
    func conditions() async throws(SyncError) -> [UnavailableReason: Evidence] {
        try await read("read conditions") { try $0.conditions() }
    }

    /// Notes a reason that belongs to the device, the host or the account.
    func setCondition(_ reason: UnavailableReason, _ evidence: Evidence) async throws(SyncError) {
        try await write("note a condition") { try $0.setCondition(reason, evidence) }
    }

    /// Clears reasons that no longer hold, if they were noted.
    func clearConditions(_ reasons: [UnavailableReason]) async throws(SyncError) {
        let held = try await conditions()
        guard reasons.contains(where: { held[$0] != nil }) else { return }
        try await write("clear conditions") { connection in
            for reason in reasons { try connection.clearCondition(reason) }
        }
    }

    /// Takes back what a lack of room had to say, since there may be room now.
    func noteRoom() async throws(SyncError) {
        try await clearConditions([.diskFull])
        guard try await tallies()[.blobsFailed] ?? 0 > 0 else { return }
        try await write("note that there is room") { connection in
            let forgive = try connection.prepare(.forgiveTooLarge)
            forgive.bind(100_000, at: 1)
            try forgive.run()
            var tally = Tally()
            tally[.blobsFailed] -= Int(connection.changes)
            try tally.save(connection)
        }
    }

    /// What was asked for and is not here.
    struct WantedBlob: Sendable {
        let key: AttachmentKey
        let record: String
        /// The blob's own reason.
        let reason: UnavailableReason?
        /// Whether its last try failed, for whatever reason.
        let hasFailed: Bool
    }

    /// Attachments that were asked for and are not here.
    func wantedBlobs(
        after row: Int64 = -1, limit: Int = 1_000
    ) async throws(SyncError) -> [WantedBlob] {
        try await read("list what was asked for") { connection in
            var found: [(Int64, String, UnavailableReason?, Bool)] = []
            let query = try connection.prepare(.blobsNotHere)
            query.bind(row, at: 1)
            query.bind(Int64(limit), at: 2)
            while try query.step() {
                let reason =
                    query.isNull(2) ? nil : UnavailableReason(rawValue: try query.text(2))
                let record = String(decoding: query.blob(1), as: UTF8.self)
                found.append((query.int(0), record, reason, query.int(3) == 1))
            }
            return try found.compactMap { row, record, reason, hasFailed in
                try connection.attachmentKey(row: row).map {
                    WantedBlob(key: $0, record: record, reason: reason, hasFailed: hasFailed)
                }
            }
        }
    }
}

extension Connection {
    /// Marks the file that was proved, whether or not another one was marked before.
    func setMark(_ mark: HereMark, of record: String) throws {
        let here = try prepare(.blobIsHere)
        here.bind(blob: record.utf8Span.span, at: 1)
        here.bind(text: mark.boot, at: 2)
        for (index, value) in [mark.inode, mark.size, mark.mtime, mark.ctime].enumerated() {
            here.bind(value, at: Int32(3 + index))
        }
        try here.run()
    }

    /// Remembers that a record's bytes were asked for; false, and nothing is remembered, if the
    /// attachment does not name it any more.
    func want(_ record: String, through row: Int64) throws -> Bool {
        guard try addresses(row: row)?.original?.recordName == record else { return false }
        let want = try prepare(.wantBlob)
        want.bind(blob: record.utf8Span.span, at: 1)
        want.bind(row, at: 2)
        try want.run()
        return true
    }

    /// What happened to a record's bytes; nil if nobody asked for them.
    func blobRecord(_ record: String) throws -> BlobRecord? {
        let query = try prepare(.blob)
        query.bind(blob: record.utf8Span.span, at: 1)
        guard try query.step() else { return nil }
        var found = BlobRecord(attachment: query.int(0))
        if !query.isNull(1) {
            found.mark = HereMark(
                boot: try query.text(1), inode: query.int(2), size: query.int(3),
                mtime: query.int(4), ctime: query.int(5))
        }
        if !query.isNull(6) { found.reason = UnavailableReason(rawValue: try query.text(6)) }
        found.evidence = Evidence(
            status: query.isNull(7) ? nil : Int(query.int(7)),
            code: query.isNull(8) ? nil : try query.text(8),
            chunk: query.isNull(9) ? nil : Int(query.int(9)),
            bytes: query.int(10), attempts: Int(query.int(11)),
            lastAttempt: query.isNull(12) ? nil : Timestamp(seconds: query.int(12)),
            nextAttempt: query.isNull(13) ? nil : Timestamp(seconds: query.int(13)))
        found.held = query.int(14)
        found.handedAt = query.isNull(15) ? nil : query.int(15)
        found.isNewest = query.int(16) == 1
        return found
    }

    /// The reasons that are kept once, with their evidence.
    func conditions() throws -> [UnavailableReason: Evidence] {
        var found: [UnavailableReason: Evidence] = [:]
        let query = try prepare(.condition)
        while try query.step() {
            guard let reason = UnavailableReason(rawValue: try query.text(0)) else { continue }
            found[reason] = Evidence(
                status: query.isNull(1) ? nil : Int(query.int(1)),
                code: query.isNull(2) ? nil : try query.text(2),
                lastAttempt: Timestamp(seconds: query.int(3)),
                nextAttempt: query.isNull(4) ? nil : Timestamp(seconds: query.int(4)))
        }
        return found
    }

    func setCondition(_ reason: UnavailableReason, _ evidence: Evidence) throws {
        let set = try prepare(.setCondition)
        set.bind(text: reason.rawValue, at: 1)
        if let status = evidence.status { set.bind(Int64(status), at: 2) }
        if let code = evidence.code { set.bind(text: code, at: 3) }
        set.bind(evidence.lastAttempt?.seconds ?? 0, at: 4)
        if let next = evidence.nextAttempt { set.bind(next.seconds, at: 5) }
        try set.run()
    }

    func clearCondition(_ reason: UnavailableReason) throws {
        let clear = try prepare(.clearCondition)
        clear.bind(text: reason.rawValue, at: 1)
        try clear.run()
    }

    func attachmentKey(row: Int64) throws -> AttachmentKey? {
        let query = try prepare(.attachmentByRow)
        query.bind(row, at: 1)
        guard try query.step(), let item = EntryID(bytes: query.blob(1).span),
            let id = AttachmentID(bytes: query.blob(2).span)
        else { return nil }
        return AttachmentKey(item: item, id: id)
    }
}
