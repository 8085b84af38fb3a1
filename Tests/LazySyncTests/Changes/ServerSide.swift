import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a server holds of an account, opened with the account's key and no engine.
struct ServerSide {
    /// The items that live.
    var items: [LazySync.EntryID: ItemDraft] = [:]
    /// Their payloads, as they were written.
    var payloads: [LazySync.EntryID: String] = [:]
    /// Every entry's version, tombstones too.
    var versions: [LazySync.EntryID: UInt64] = [:]
    var removed: Set<LazySync.EntryID> = []
    var head: Head?
    /// The names of the blobs that are there.
    var blobs: [String] = []

    private struct Line: Decodable {
        let id, version, sealed: String
        let kind, epoch: Int
    }

    /// Reads the truth, whatever the server says to others.
    init(_ home: TestHome, _ location: SourceLocation = #_sourceLocation) throws {
        let account = try #require(home.account)
        let state = home.served.read { $0 }
        blobs = state.blobs.names()
        if let text = state.truth.head {
            let bytes = try Self.bytes(text)
            head = try Head(parsing: bytes.span)
        }
        var digest = SetDigest()
        let decoder = EntryDecoder()
        for slot in state.truth.entries.newest {
            let line = try JSONDecoder().decode(
                Line.self, from: Data(state.truth.entries.line(slot)))
            let facts = EntryFacts(
                id: known(LazySync.EntryID(line.id)),
                version: known(UInt64(line.version)),
                kind: known(.init(rawValue: UInt8(line.kind))), epoch: UInt32(line.epoch))
            let sealed = try Self.bytes(line.sealed)
            digest += SetDigest.leafHash(facts, sealed: sealed.span, keys: account.keys)
            var body: [UInt8] = []
            let range = try SealedEntry.open(
                sealed.span, facts: facts, account: account.id, keys: account.keys, into: &body)
            versions[facts.id] = facts.version
            guard facts.kind == .live else {
                removed.insert(facts.id)
                continue
            }
            let payload = Array(body[range])
            payloads[facts.id] = String(decoding: payload, as: UTF8.self)
            items[facts.id] = try ItemDraft(payload, using: decoder)
        }
        try head?.check(
            account: account.id, count: UInt64(versions.count), digest: digest, keys: account.keys)
        if head == nil { #expect(versions.isEmpty, sourceLocation: location) }
    }

    /// The records that some item names.
    var named: Set<String> { Set(items.values.flatMap { $0.addresses.map(\.recordName) }) }

    var titles: [String] { items.values.map(\.title).sorted() }

    /// Every blob that is named is there; with `exactly`, and no other.
    func expectWhole(exactly: Bool = true, _ location: SourceLocation = #_sourceLocation) {
        #expect(named.isSubset(of: blobs), "a blob is missing", sourceLocation: location)
        guard exactly else { return }
        #expect(named == Set(blobs), "a blob that nothing names", sourceLocation: location)
    }

    private static func bytes(_ base64: String) throws -> [UInt8] {
        let text = Array(base64.utf8)
        return known(SyncPlatform.Base64URL.decode(text.span))
    }
}
