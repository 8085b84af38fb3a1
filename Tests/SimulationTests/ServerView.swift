import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// The account as somebody sees it who has its key and looks into the server.
struct ServerView {
    let head: Head?
    let count: Int
    let digest: SetDigest
    /// The records that entries name.
    let named: Set<String>
    /// A record that an entry names and that is not there.
    struct Missing {
        let title: String
        let file: LazySync.AttachmentID
        let record: String
    }

    let missing: [Missing]
    /// What does not add up.
    let problems: [String]

    init(_ served: ServedAccount, _ account: TestAccount) throws {
        let (lines, headText, stored) = served.read { state in
            (
                state.entries.newest.map {
                    String(decoding: state.entries.line($0), as: UTF8.self)
                },
                state.head, Set(state.blobs.names())
            )
        }
        let head = headText.map { "\"\($0)\"" } ?? "null"
        let body = #"{"entries":[\#(lines.joined(separator: ","))],"next":null,"head":\#(head)}"#
        let (envelope, batch) = try EntryReader(account: account.id, keys: account.keys).read(
            ManifestPage(body: Array(body.utf8), linkedNext: nil), after: nil)
        self.head = envelope.head
        var digest = SetDigest()
        var named: Set<String> = []
        var problems: [String] = []
        var missing: [Missing] = []
        for change in batch.changes {
            digest += change.leaf
            switch change.content {
            case .live(let payload, _):
                let draft = ItemDraft(payload, in: batch.payloads)
                for file in draft.attachments {
                    for record in [file.ref, file.thumb?.ref].compactMap({ $0?.address?.recordName }
                    )
                    where !stored.contains(record) {
                        missing.append(Missing(title: draft.title, file: file.id, record: record))
                    }
                }
                named.formUnion(draft.addresses.map(\.recordName))
                for file in draft.attachments where file.ref.address == nil {
                    problems.append("entry \(change.facts.id) has a file without an address")
                }
            case .tombstone: break
            case .unreadable: problems.append("entry \(change.facts.id) cannot be read")
            }
        }
        if let head = envelope.head {
            do throws(FormatError) {
                try head.check(
                    account: account.id, count: UInt64(batch.changes.count), digest: digest,
                    keys: account.keys)
            } catch {
                problems.append("the head \(head.seq) does not count what is there")
            }
        } else if !batch.changes.isEmpty {
            problems.append("entries without a head")
        }
        (self.digest, self.named, self.problems) = (digest, named, problems)
        self.missing = missing
        count = batch.changes.count
    }
}
