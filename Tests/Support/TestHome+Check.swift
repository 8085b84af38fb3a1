import Foundation
import SyncPlatform
import Testing

@testable import LazySync

/// What must hold after every test, whatever went wrong in it.
extension TestHome {
    /// Records an issue for each thing that does not hold.
    ///
    /// What somebody who was killed has left over goes with the next run, and not before.
    func check(
        mayHaveLeftOvers: Bool = false, _ location: SourceLocation = #_sourceLocation
    ) throws {
        if !mayHaveLeftOvers { try checkNames(location) }
        guard let settings = try Settings.read(places.settings), settings.active != nil
        else { return }
        let places = try accountPlaces
        let locks = try FileLock(path: places.locks + "/transfers").lockedRanges()
        #expect(locks.isEmpty, "a transfer's lock is held", sourceLocation: location)
        let catalog = try Connection(
            path: places.catalog, mode: .readWrite, checkpointsOnClose: false)
        try CatalogCheck(catalog).run(location)
        try checkBlobs(catalog, places, location)
        try checkThumbnails(catalog, places, location)
        try checkSpool(catalog, places, mayHaveLeftOvers, location)
    }

    /// Of every engine that lives, nothing waits or runs, and nothing is shown as on its way.
    ///
    /// `pending` has a running or a scheduled attempt: where there is neither, there is no such
    /// state.
    func checkQueues(_ location: SourceLocation = #_sourceLocation) async throws {
        for engine in livingEngines {
            guard (try? await engine.requireOpen("check")) != nil else { continue }
            try await probe(engine, location)
            // A request that was given up ends a moment later, on another thread.
            var load = await engine.opened.lane.queue.load
            for _ in 0..<2_000 where load != .init() {
                try await Task.sleep(for: .milliseconds(1))
                load = await engine.opened.lane.queue.load
            }
            #expect(load == .init(), "a slot is held", sourceLocation: location)
            let underWay = await engine.materializer.underWay
            #expect(underWay.isEmpty, "a transfer goes on", sourceLocation: location)
        }
    }

    /// Each attachment that is shown as pending has a transfer of one of the device's engines.
    func probe(
        _ engine: SyncEngine, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        var underWay: Set<String> = []
        for engine in livingEngines {
            underWay.formUnion(await engine.materializer.underWay)
        }
        let shown = try await engine.attachments(AttachmentQuery(state: "pending", limit: 1_000))
        for attachment in shown {
            let record = try await engine.explain(attachment.key).recordName ?? ""
            #expect(
                underWay.contains(record), "pending, and nothing is done about it",
                sourceLocation: location)
        }
    }

    /// No file is left that was only meant for a while.
    private func checkNames(_ location: SourceLocation) throws {
        let names = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
        for case let name as String in names {
            let last = name.split(separator: "/").last ?? ""
            let isLeftOver =
                last.hasPrefix(".tmp-") || last.hasSuffix(".before") || last.hasSuffix(".restoring")
            #expect(!isLeftOver, "left over: \(name)", sourceLocation: location)
        }
    }

    /// Every blob that is marked as here is there, read-only and right to the last byte.
    private func checkBlobs(
        _ catalog: Connection, _ places: AccountPlaces, _ location: SourceLocation
    ) throws {
        let rows = try catalog.prepare(
            "SELECT record, here_size FROM blob WHERE here_boot IS NOT NULL")
        while try rows.step() {
            let record = String(decoding: rows.blob(0), as: UTF8.self)
            let path = try BlobPlace(record: record, under: places.blobs).contentPath()
            guard let path else {
                #expect(mayLackFiles, "the file of \(record)", sourceLocation: location)
                continue
            }
            let bytes = try Data(contentsOf: URL(filePath: path))
            guard let account, !addsFiles || account.contents[record] != nil else { continue }
            #expect(
                bytes == account.contents[record].map { Data($0) }, "the file \(path)",
                sourceLocation: location)
            #expect(rows.int(1) == Int64(bytes.count), sourceLocation: location)
        }
    }

    /// Every blob in the spool has its place in a file, and every file there has a blob.
    private func checkSpool(
        _ catalog: Connection, _ places: AccountPlaces, _ mayHaveLeftOvers: Bool,
        _ location: SourceLocation
    ) throws {
        let folder = places.data + "/spool"
        var named: Set<String> = []
        let rows = try catalog.prepare("SELECT pack, max(place + size) FROM spool GROUP BY pack")
        while try rows.step() {
            let pack = try rows.text(0)
            named.insert(pack)
            let size = try FileSystem.facts("\(folder)/\(pack)")?.size
            #expect(
                size.map { $0 >= rows.int(1) } == true, "the pack \(pack)",
                sourceLocation: location)
        }
        if mayHaveLeftOvers { return }
        let files = try FileSystem.facts(folder) == nil ? [] : Directory.list(folder)
        #expect(
            Set(files).subtracting(named).isEmpty, "what nobody names is in the spool",
            sourceLocation: location)
    }

    /// Every thumbnail that is here is right.
    private func checkThumbnails(
        _ catalog: Connection, _ places: AccountPlaces, _ location: SourceLocation
    ) throws {
        let store = ThumbnailStore(folder: places.thumbnails)
        let rows = try catalog.prepare(
            """
            SELECT substr(thumb_cloud_blob_ref, 106), thumb_type FROM attachment
            WHERE thumb_state = 2 AND thumb_cloud_blob_ref IS NOT NULL
            """)
        while try rows.step() {
            let record = String(decoding: rows.blob(0), as: UTF8.self)
            let path = store.path(record, type: try rows.text(1))
            let bytes = try? Data(contentsOf: URL(filePath: path))
            guard let bytes else {
                #expect(mayLackFiles, "the thumbnail of \(record)", sourceLocation: location)
                continue
            }
            guard let account, !addsFiles || account.contents[record] != nil else { continue }
            #expect(
                bytes == account.contents[record].map { Data($0) }, sourceLocation: location)
        }
    }
}
