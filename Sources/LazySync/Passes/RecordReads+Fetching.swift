internal import SyncPlatform

/// What is on its way for a record's readers, and where it goes.
extension RecordReads {
    /// A chunk that the running whole transfer is this near to is waited for: 4 MiB.
    private static let near = 64
    /// The most that one request brings: to the disk 16 MiB, to memory 2 MiB.
    private static let mostOnDisk = 256
    private static let mostInMemory = 32

    /// Has a chunk brought, and up to `end` what follows it and is not here either.
    ///
    /// Answers the transfer that brings it, held once for the caller. nil: look again, it may be
    /// here. Only who really needs the chunk waits for another transfer that will soon have it, and
    /// goes before what is only read ahead.
    func bring(
        _ chunk: Int, upTo end: Int, _ want: RangeFetch.Want, waits: Bool, _ cost: ReadCost
    ) async throws -> RangeFetch? {
        if waits, try await hasCome(chunk) {
            // It may lie in other files by now than those that are open.
            source = nil
            return nil
        }
        if let fetch = going(chunk, want) { return await raised(fetch, want) }
        var run = chunk..<min(end, chunk + Self.mostOnDisk)
        if case .part(let file)? = source { run = try file.missing(run) }
        let part = try await roomOnDisk(for: run)
        if part == nil { run = chunk..<min(run.upperBound, chunk + Self.mostInMemory) }
        // Somebody may have asked during the waits above; from here on there are none.
        if let fetch = going(chunk, want) { return await raised(fetch, want) }
        // Nor may it have come since the caller looked: with whom it came may be over and gone.
        if try part?.proved(chunk) != nil { return nil }
        let next = fetches.filter { $0.isOpen && $0.chunks.lowerBound > chunk }
            .map(\.chunks.lowerBound).min()
        run = run.clamped(to: chunk..<(next ?? run.upperBound))
        return begin(run, part, want, cost)
    }

    /// Has chunks brought that nobody needs yet; nil if the first is here or on its way.
    func bringAhead(_ chunks: Range<Int>, _ cost: ReadCost) async throws -> RangeFetch? {
        if fetches.contains(where: { $0.isOpen && $0.chunks.contains(chunks.lowerBound) }) {
            return nil
        }
        switch source {
        case .complete: return nil
        case .part(let file): if try file.hasTag(chunks.lowerBound) { return nil }
        case nil: break
        }
        return try await bring(
            chunks.lowerBound, upTo: chunks.upperBound, .soon, waits: false, cost)
    }

    /// Writes nothing to the disk any more: it does not keep what comes.
    func useMemoryOnly() { isMemoryOnly = true }

    /// A transfer of ours that brings a chunk, held once more.
    private func going(_ chunk: Int, _ want: RangeFetch.Want) -> RangeFetch? {
        fetches.first { $0.chunks.contains(chunk) && $0.join(for: chunk, want) }
    }

    private func raised(_ fetch: RangeFetch, _ want: RangeFetch.Want) async -> RangeFetch {
        if want.priority < fetch.ticket.priority {
            await materializer.lane.queue.raise(fetch.ticket, to: want.priority)
        }
        return fetch
    }

    /// Waits while a transfer of the whole, in this process, is about to bring a chunk.
    ///
    /// False: there is none, or it has too far to go.
    private func hasCome(_ chunk: Int) async throws -> Bool {
        guard let arrivals = await materializer.chunks(of: record) else { return false }
        for await chunks in arrivals {
            if chunks.contains(chunk) { return true }
            guard let next = chunks.firstMissingRun?.lowerBound, next <= chunk,
                chunk - next < Self.near
            else { return false }
        }
        try Task.checkCancellation()
        return true
    }

    /// The file that chunks may be written to; nil if they have to stay in memory.
    private func roomOnDisk(for chunks: Range<Int>) async throws -> BlobFile? {
        if isMemoryOnly { return nil }
        // A complete file of which something is damaged is mended by whoever opens all of it; a
        // part that cannot be written to stays as it is.
        if case .part(let file)? = source, !file.isWritable { return nil }
        _ = try await enter()
        // What no attachment names any more would never be removed again.
        guard try await materializer.catalog.attachment(row.key)?.ref?.recordName == record
        else {
            isMemoryOnly = true
            return nil
        }
        do throws(SyncError) {
            // What can never be here as a whole shall not take the room of what can.
            if !hasReserved, try await !room.couldHold(record, row) {
                isMemoryOnly = true
                return nil
            }
            // The tags may need one more block.
            let bytes = DiskCost.blob(Int64(chunks.count * BlobGeometry.chunkSize))
            try await room.reserve(record, row, bytes)
            hasReserved = true
        } catch {
            // Whatever keeps bytes from being kept is no reason not to read them.
            if error.code == .cancelled { throw error }
            isMemoryOnly = true
            return nil
        }
        if case .part(let file)? = source, file.isWritable { return file }
        return try await openPart()
    }

    private func openPart() async throws -> BlobFile? {
        let (place, geometry, blob) = (place, geometry, try await sealedBlob())
        do {
            let file = try await Blocking.run { [places = materializer.places] in
                try places.makeCacheFolders()
                return try BlobFile.openToFill(place, blob, geometry)
            }
            source = file.map(Source.part)
            return file?.isWritable == true ? file : nil
        } catch let error as FileError where error.isNoPlace {
            isMemoryOnly = true
            return nil
        }
    }

    private func begin(
        _ run: Range<Int>, _ part: BlobFile?, _ want: RangeFetch.Want, _ cost: ReadCost
    ) -> RangeFetch {
        fetches.removeAll { !$0.isOpen }
        let fetch = RangeFetch(run, geometry, materializer.lane.ticket(want.priority), want)
        fetches.append(fetch)
        fetch.began(Task { await carry(fetch, part, cost) })
        return fetch
    }

    /// Ends every transfer that is on its way; whoever waits learns that it was cancelled.
    func cancelAll() {
        for fetch in fetches { fetch.cancel() }
    }

    /// Does a transfer's work, and tells everybody who waits what came of it.
    private func carry(_ fetch: RangeFetch, _ part: BlobFile?, _ cost: ReadCost) async {
        do {
            // Also for what goes on though no read waits for it.
            let tenant = try materializer.access.enter("read \(row.key.id)")
            defer { withExtendedLifetime(tenant) {} }
            try await transfer(fetch, part, cost)
            await materializer.rangeCame(row, ref, fetch.chunks)
            fetch.ended(.success(()))
        } catch let error as FileError where error.isNoPlace && part != nil {
            isMemoryOnly = true
            fetch.ended(.failure(RangeFetch.LookAgain()))
        } catch is CancellationError {
            fetch.ended(.failure(CancellationError()))
        } catch  where fetch.isNeeded {
            fetch.ended(.failure(await materializer.rangeFailed(error, row, ref)))
        } catch {
            // It says nothing that anybody asked: the read that gets there asks again.
            fetch.ended(.failure(RangeFetch.LookAgain()))
        }
    }

    private func transfer(
        _ fetch: RangeFetch, _ part: BlobFile?, _ cost: ReadCost
    ) async throws {
        let (geometry, blob) = (geometry, try await sealedBlob())
        let place: any ChunkPlace = part.map(SharedPart.init) ?? fetch.window
        let store = ChunkStore(place, blob, geometry, present: ChunkSet(fetch.chunks)) { chunks in
            let before = geometry.plainBytes(of: fetch.soFar)
            cost.received(geometry.plainBytes(of: chunks) - before)
            fetch.arrived(chunks)
        }
        if try await materializer.fillFromSpool(record, store) { return }
        let lane = materializer.lane
        let remote = QueuedRemote(
            remote: try await materializer.access.remote(), lane: lane,
            ticket: fetch.ticket, isResumable: true, counts: { cost.sent($0) })
        var transfer = BlobTransfer(
            record: record, store: store, remote: remote, policy: materializer.policy,
            clock: materializer.clock)
        do {
            try await transfer.run()
        } catch let error as FileError {
            throw error
        } catch {
            throw Materializer.TransferFailure(
                cause: error, verified: geometry.plainBytes(of: store.chunks),
                attempts: transfer.attempts.withoutProgress)
        }
    }
}
