extension ServedAccount {
    /// How much may be stored.
    struct Limits: Sendable, Equatable {
        /// Bytes of a blob at the most.
        var blob = UInt64(1) << 49
        /// Bytes of a blob that comes in one request at the most.
        var put = UInt64(8) << 20
        /// Bytes of all that is uploaded at the most.
        var total = UInt64.max
    }

    /// Whether an upload may begin: the name is free, and there is room.
    ///
    /// - Throws: `exists`, `too-large` or `store-full`.
    private func admit(
        _ name: String, _ length: UInt64, _ limits: Limits, _ state: State, promised: UInt64
    ) throws(Refusal) {
        if state.blobs.isTaken(name) { throw Refusal.exists }
        guard length <= limits.blob else {
            throw Refusal(413, "too-large", "A blob has \(limits.blob) bytes at the most")
        }
        let (sum, overflow) = (state.blobs.addedBytes + promised).addingReportingOverflow(length)
        guard !overflow, sum <= limits.total else {
            throw Refusal(507, "store-full", "There is no room left")
        }
    }

    /// Room for a blob that comes in one request.
    func beginPut(
        _ name: String, length: UInt64, _ limits: Limits
    ) throws(Refusal) -> any UploadSpace {
        try read { state throws(Refusal) in
            try admit(name, length, limits, state, promised: uploads.promised)
            return try refusing { () throws(StoreFailure) in
                try overlay.makeSpace(name, length: length, resumable: false)
            }
        }
    }

    /// Makes a blob of what came in one request.
    func finishPut(_ name: String, _ space: any UploadSpace, now: Double) throws(Refusal) {
        // Before the lock: a disk takes its time.
        try refusing { () throws(StoreFailure) in try space.settle() }
        try changeQuietly { state throws(Refusal) in
            guard !state.blobs.isTaken(name) else {
                space.discard()
                throw Refusal.exists
            }
            let stored = try refusing { () throws(StoreFailure) in
                try overlay.publish(space, as: name)
            }
            state.blobs.put(name, stored, now: now)
        }
    }

    /// Goes on with an upload, or begins it.
    ///
    /// - Throws: `bad-request` for another length, `wrong-offset` with the right one.
    func resume(
        _ name: String, length: UInt64, offset: UInt64, _ limits: Limits, now: Double
    ) throws(Refusal) -> UploadBook.Hold {
        try read { state throws(Refusal) in
            if state.blobs.isTaken(name) {
                uploads.remove(name)?.space.discard()
                throw Refusal.exists
            }
            if let hold = uploads.takeOver(name, now: now) {
                guard hold.upload.length == length else {
                    throw .badRequest("Upload-Length is another one than before")
                }
                guard hold.offset == offset else { throw .wrongOffset(hold.offset) }
                return hold
            }
            guard offset == 0 else { throw .wrongOffset(0) }
            try admit(name, length, limits, state, promised: uploads.promised)
            let space = try refusing { () throws(StoreFailure) in
                try overlay.makeSpace(name, length: length, resumable: true)
            }
            return uploads.begin(name, length: length, space, now: now)
        }
    }

    /// Ends a request that added to an upload; true when the blob is whole, and exists.
    func pause(_ hold: UploadBook.Hold, now: Double) throws(Refusal) -> Bool {
        let upload = hold.upload
        try refusing { () throws(StoreFailure) in
            _ = try upload.asOwner(hold.owner, now: now) { () throws(StoreFailure) in
                try upload.space.settle()
            }
        }
        return try changeQuietly { state throws(Refusal) in
            guard !state.blobs.isTaken(upload.name) else {
                uploads.remove(upload.name)?.space.discard()
                throw Refusal.exists
            }
            guard upload.isOwned(by: hold.owner) else { throw .wrongOffset(upload.space.count) }
            guard upload.space.count == upload.length else { return false }
            let stored = try refusing { () throws(StoreFailure) in
                try overlay.publish(upload.space, as: upload.name)
            }
            state.blobs.put(upload.name, stored, now: now)
            uploads.remove(upload.name)
            return true
        }
    }

    /// Deletes a blob for a client; one that never was is as gone as before.
    func delete(_ name: String) throws(Refusal) {
        try changeQuietly { state throws(Refusal) in
            uploads.remove(name)?.space.discard()
            guard (try? state.blobs.blob(name)) != nil else { return }
            try refusing { () throws(StoreFailure) in try overlay.delete(name) }
            state.blobs.delete(name)
        }
    }
}

extension Refusal {
    static var exists: Refusal { Refusal(412, "exists", "The name is taken") }

    /// The upload stands elsewhere.
    static func wrongOffset(_ offset: UInt64) -> Refusal {
        var refusal = Refusal(409, "wrong-offset", "The upload stands at \(offset)")
        refusal.headers = [Header("Upload-Offset", String(offset))]
        return refusal
    }
}
