internal import SyncPlatform

/// One blob in the spool.
struct SpooledBlob: Sendable, Hashable {
    let record: String
    /// The file that it lies in, and from where on.
    let pack: String
    let place: Int64
    /// The length of the sealed blob.
    let size: Int64
    let role: BlobRole
    /// Whether the store has taken it.
    var isStored = false
    /// Why the store did not, and when to ask again, in Unix seconds.
    var refused: UnavailableReason?
    var nextAttempt: Int64?

    /// What a person sees of its way to the server.
    func state(isHeld: Bool) -> UploadState {
        if isHeld { return .sending }
        return refused.map(UploadState.refused) ?? .waiting
    }
}

extension SpooledBlob {
    /// Takes the columns of a row that both statements begin with.
    fileprivate init(record: String, _ query: Statement) throws {
        self.init(
            record: record, pack: try query.text(0), place: query.int(1), size: query.int(2),
            role: query.int(3) == 0 ? .original : .thumbnail, isStored: query.int(4) == 1,
            refused: try query.textOrNil(5).flatMap(UnavailableReason.init(rawValue:)),
            nextAttempt: query.isNull(6) ? nil : query.int(6))
    }
}

/// What lies in the spool.
extension Catalog {
    /// A record's sealed bytes; nil if they are not in the spool.
    func spooled(_ record: String) async throws(SyncError) -> SpooledBlob? {
        try await read("look into the spool") { try $0.spooled(record) }
    }

    /// Those of some records that are in the spool.
    func spooled(_ records: [String]) async throws(SyncError) -> [SpooledBlob] {
        try await read("look into the spool") { connection in
            try records.compactMap { try connection.spooled($0) }
        }
    }

    /// What lies in the spool, in the order of the records.
    func spooled(after record: String, limit: Int) async throws(SyncError) -> [SpooledBlob] {
        try await read("list the spool") { connection in
            let query = try connection.prepare(.spooledAfter)
            query.bind(blob: record.utf8Span.span, at: 1)
            query.bind(Int64(limit), at: 2)
            var found: [SpooledBlob] = []
            while try query.step() {
                let record = String(decoding: query.blob(7), as: UTF8.self)
                found.append(try SpooledBlob(record: record, query))
            }
            return found
        }
    }

    /// Whether anything is in the spool.
    func hasSpooled() async throws(SyncError) -> Bool {
        try await read("look into the spool") { try $0.hasSpooled() }
    }

    /// How many originals are here in the spool alone.
    func countSpooledHere() async throws(SyncError) -> Int {
        try await read("count the spool") { connection in
            let query = try connection.prepare(.countSpooledHere)
            return try query.step() ? Int(query.int(0)) : 0
        }
    }

    /// Notes what the store has taken, and why it did not take the rest.
    func note(
        stored: [String], refused: [(record: String, reason: UnavailableReason, next: Int64?)]
    ) async throws(SyncError) {
        if stored.isEmpty, refused.isEmpty { return }
        try await write("note what the store has") { connection in
            let note = try connection.prepare(.spoolStored)
            for record in stored {
                note.bind(blob: record.utf8Span.span, at: 1)
                try note.run()
            }
            let refuse = try connection.prepare(.spoolRefused)
            for (record, reason, next) in refused {
                refuse.bind(blob: record.utf8Span.span, at: 1)
                refuse.bind(text: reason.rawValue, at: 2)
                if let next { refuse.bind(next, at: 3) } else { refuse.bindNull(at: 3) }
                try refuse.run()
            }
        }
    }

    /// Removes the files of the spool that no row names.
    func sweepSpool(_ spool: Spool) async throws(SyncError) {
        // A catalog in memory knows nothing of what the real one has put there.
        if isInMemory { return }
        try await write("sweep the spool") { connection in
            try spool.sweep { try connection.isNamed(pack: $0) }
        }
    }

    /// Those of some files of the spool that no row names.
    func unnamedPacks(of names: [String]) async throws(SyncError) -> [String] {
        try await read("look into the spool") { connection in
            try names.filter { try !connection.isNamed(pack: $0) }
        }
    }
}

extension Connection {
    /// The records that changes name which wait to be sent.
    func unsentRecords() throws -> Set<String> {
        var named: Set<String> = []
        let query = try prepare(.unsentRecords)
        while try query.step() {
            for column in [0, 1] as [Int32] where !query.isNull(column) {
                named.insert(String(decoding: query.blob(column), as: UTF8.self))
            }
        }
        return named
    }

    /// A record's sealed bytes; nil if they are not in the spool.
    func spooled(_ record: String) throws -> SpooledBlob? {
        let query = try prepare(.spooled)
        query.bind(blob: record.utf8Span.span, at: 1)
        guard try query.step() else { return nil }
        return try SpooledBlob(record: record, query)
    }

    fileprivate func isNamed(pack: String) throws -> Bool {
        let query = try prepare(.packIsNamed)
        query.bind(text: pack, at: 1)
        return try query.step()
    }

    /// Whether anything is in the spool.
    func hasSpooled() throws -> Bool { try prepare(.anySpooled).step() }

    func addSpooled(_ blob: SpooledBlob) throws {
        let add = try prepare(.addSpooled)
        add.bind(blob: blob.record.utf8Span.span, at: 1)
        add.bind(text: blob.pack, at: 2)
        add.bind(blob.place, at: 3)
        add.bind(blob.size, at: 4)
        add.bind(Int64(blob.role.rawValue), at: 5)
        try add.run()
    }

    /// Lets a blob go from the spool, which the store has for certain; its file goes with the last.
    func release(_ record: String) throws {
        let remove = try prepare(.removeSpooled)
        remove.bind(blob: record.utf8Span.span, at: 1)
        try remove.run()
    }
}
