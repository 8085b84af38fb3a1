import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A device that has restored an account with one file, and nothing of the file's bytes.
struct OneFile {
    let home: TestHome
    let engine: SyncEngine
    let item: TestItem

    var key: AttachmentKey { item.key() }
    var record: String { known(item.record()) }
    var content: [UInt8] { known(home.account?.content(key)) }
    var geometry: BlobGeometry { known(BlobGeometry(length: UInt64(content.count))) }
    var server: Server { home.server }
    var account: TestAccount { known(home.account) }
    /// The requests for the file's record.
    var request: Fault.Match { .get("/v1/blobs/\(record)") }

    /// Requests for the record so far.
    var requests: [LogEntry] {
        server.log.entries.filter { $0.path.hasSuffix("/\(record)") && $0.method == "GET" }
    }

    /// What those requests asked for.
    var ranges: [String?] { requests.map(\.range) }

    /// The range that asks for all chunks from one on.
    func range(from chunk: Int) -> String {
        "bytes=\(geometry.sealedRange(chunk).lowerBound)-\(geometry.sealedLength - 1)"
    }

    /// The fraction of the sealed blob at which some whole chunks have come, and a half.
    func fraction(chunks: Int) -> Delivery.Point {
        .bytes(geometry.sealedRange(chunks).lowerBound + 100)
    }

    /// Opens it, and checks every byte.
    @discardableResult
    func open(
        with other: SyncEngine? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws -> MaterializedFile {
        let file = try await (other ?? engine).materialize(key)
        #expect(
            try Whole(at: file.path) == Whole(content), "the file's bytes", sourceLocation: location
        )
        #expect(file.size == Int64(content.count), sourceLocation: location)
        return file
    }

    /// Opens it, and checks every byte and the number of requests that it took.
    func open(
        requests: Int, with other: SyncEngine? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let file = try await open(with: other, location)
        #expect(file.requests == requests, sourceLocation: location)
    }

    /// Opens it, expecting that it cannot come, and answers what is known then.
    @discardableResult
    func openFails(
        _ reason: UnavailableReason, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Evidence {
        let error = await #expect(throws: SyncError.self, sourceLocation: location) {
            try await engine.materialize(key)
        }
        #expect(error?.code == .unavailable(reason), sourceLocation: location)
        let found = try await engine.explain(key)
        #expect(found.attachment.state == .unavailable(reason), sourceLocation: location)
        #expect(found.path == nil, sourceLocation: location)
        try checkCache(location)
        #expect(
            Int64(try kept().count * BlobGeometry.chunkSize) >= found.evidence.bytes,
            sourceLocation: location)
        return found.evidence
    }

    /// With a server that is whole again, a retry sends a request and brings the file.
    func mends(
        requests expected: Int? = nil, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        server.faults.clear()
        let before = requests.count
        let found = try await engine.retry(key)
        #expect(found.attachment.state == .here, sourceLocation: location)
        #expect(requests.count > before, "a new request", sourceLocation: location)
        if let expected {
            #expect(requests.count == before + expected, sourceLocation: location)
        }
        let file = try await open(location)
        #expect(file.requests == 0, sourceLocation: location)
        #expect(found.path == file.path, sourceLocation: location)
        try checkCache(location)
    }

    /// The chunks whose bytes lie in the cache, complete or not.
    func kept() throws -> [Int] {
        let place = try place
        guard let path = try place.contentPath() ?? existing(place.part) else { return [] }
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        return (0..<geometry.chunkCount).filter { chunk in
            let range = plain(chunk)
            return range.upperBound <= bytes.count && Array(bytes[range]) == Array(content[range])
        }
    }

    /// Nothing lies in the record's folder but the file's own bytes and holes.
    func checkCache(_ location: SourceLocation = #_sourceLocation) throws {
        let place = try place
        guard try FileSystem.facts(place.folder) != nil else { return }
        let names = Set(try Directory.list(place.folder).map { $0.split(separator: ".")[0] })
        #expect(
            names.isSubset(of: ["part", "tags"]) || names.isSubset(of: ["content", "tags"]),
            "\(names)", sourceLocation: location)
        guard let path = try place.contentPath() ?? existing(place.part) else { return }
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        #expect(bytes.count == content.count, sourceLocation: location)
        for chunk in 0..<geometry.chunkCount where plain(chunk).upperBound <= bytes.count {
            let piece = bytes[plain(chunk)]
            #expect(
                piece == content[plain(chunk)] || piece.allSatisfy { $0 == 0 },
                "chunk \(chunk) is another thing", sourceLocation: location)
        }
    }

    var place: BlobPlace {
        get throws { BlobPlace(record: record, under: try home.accountPlaces.blobs) }
    }

    private func existing(_ path: String) throws -> String? {
        try FileSystem.facts(path) == nil ? nil : path
    }

    private func plain(_ chunk: Int) -> Range<Int> {
        let range = geometry.plainRange(chunk)
        return Int(range.lowerBound)..<Int(range.upperBound)
    }
}

/// Bytes as one value: of two arrays that differ, a failed expectation would count the edits.
struct Whole: Equatable, CustomStringConvertible {
    private let bytes: [UInt8]

    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// A file's bytes.
    init(at path: String) throws { bytes = [UInt8](try Data(contentsOf: URL(filePath: path))) }

    var description: String {
        "\(bytes.count) bytes, \(Hex.encode(Hash.blake2b256(bytes.span).span).prefix(8))"
    }
}

/// Runs a test on a device that has restored an account with one file of that size.
func withOneFile(
    _ size: Int = 10 * 65_536 + 77, name: String = "report.pdf", options: ServerOptions = .init(),
    location: SourceLocation = #_sourceLocation,
    configure: (inout EngineConfiguration) -> Void = { _ in },
    _ body: (OneFile) async throws -> Void
) async throws {
    let account = TestAccount()
    let item = account.add("An item", TestFile(name, size: size))
    account.push()
    try await withHome(account, options: options, location: location) { home in
        configure(&home.configuration)
        let engine = try await home.enter()
        _ = try await engine.restore()
        try await body(OneFile(home: home, engine: engine, item: item))
    }
}

extension TestHome {
    /// Opens the account as if somebody had logged in, without the time that a passphrase takes.
    func enter() async throws -> SyncEngine {
        let account = known(account)
        let device = Device(places: try configuration.places(), random: configuration.random)
        var settings = try device.settingsForChange()
        let scope = Settings.Scope(
            account: account.id, name: account.name, server: "\(server.url)/", caFile: nil,
            keyStore: .file)
        let places = device.places.account(account.id)
        try Directory.make(places.locks)
        try Directory.make(places.cache)
        let keys = KeyStore.of(
            .file, account: account.id, installID: settings.installID, places: places)
        let grant = server.service.sessions.with {
            $0.open(accountId: "\(account.id)", now: server.service.now)
        }
        let session = #"{"token":"\#(grant.token)","refresh":"\#(grant.refresh)"}"#
        try keys.write(.session, Array(session.utf8))
        let masterKey = try account.records.passphrase.open(
            secret: TestAccount.secret, account: account.id, epoch: 1)
        try keys.write(.masterKey, masterKey.withBytes { [UInt8](copying: $0) })
        settings.active = scope
        try Directory.make(device.places.config)
        try settings.write(device.places.settings)
        return keep(
            try await SyncEngine.open(
                scope, settings.installID, device, configuration, create: true))
    }
}
