import Testing

@testable import LazySync
@testable import SyncCLI

private func attachment(
    name: String = "photo.jpg", state: BlobState = .here, thumbnail: BlobState? = .remote
) throws -> LazySync.Attachment {
    // Testing has an Attachment too.
    LazySync.Attachment(
        key: AttachmentKey(
            item: try #require(EntryID("9d41c7e0000000000000000000000001")),
            id: try #require(AttachmentID("4f2a9c01000000000000000000000002"))),
        name: name, type: "image/jpeg", size: 5 << 20, itemTitle: "Jeju", state: state,
        thumbnail: thumbnail, isPinned: false, upload: nil)
}

@Suite struct OutputTests {
    @Test func `a program reads whole ids and bytes between tabs`() throws {
        #expect(
            Output().lines([try attachment(name: "a\tb\u{1B}")]) == [
                "4f2a9c01000000000000000000000002\there\t5242880\timage/jpeg\t"
                    + #"a\tb\u{1B}"# + "\tJeju"
            ])
    }

    @Test func `a person reads short ids and sizes`() throws {
        #expect(
            Output(columns: 100).lines([
                try attachment(), try attachment(name: "x", state: .unavailable(.notFound)),
            ]) == [
                "4f2a9c01  here                   5.0 MiB  image/jpeg  photo.jpg  Jeju",
                "4f2a9c01  unavailable(notFound)  5.0 MiB  image/jpeg  x          Jeju",
            ])
    }

    @Test func `an object of a list has its keys in order, a reason only if unavailable`() throws {
        let output = Output(json: true, columns: 20)
        let start =
            #"{"id":"4f2a9c01000000000000000000000002","item":"9d41c7e0000000000000000000000001","#
            + #""title":"Jeju","name":"photo.jpg","type":"image/jpeg","size":5242880,"#
        #expect(
            output.lines([
                try attachment(),
                try attachment(state: .unavailable(.offline), thumbnail: nil),
            ]) == [
                start + #""state":"here","thumb":"remote","pinned":false,"upload":null}"#,
                start
                    + #""state":"unavailable","reason":"offline","thumb":null,"pinned":false,"#
                    + #""upload":null}"#,
            ])
    }

    @Test func `a file that is here and one that is not have the same keys`() throws {
        let key = try attachment().key
        let file = MaterializedFile(
            key: key, path: "/c/x.jpg", size: 7, bytesFetched: 7, requests: 1)
        #expect(
            FileResult.here(file).json.text
                == #"{"id":"4f2a9c01000000000000000000000002","path":"/c/x.jpg","size":7,"#
                + #""state":"here","bytesFetched":7,"requests":1}"#)
        #expect(
            FileResult.unavailable(key, size: 7, .corrupt).json.text
                == #"{"id":"4f2a9c01000000000000000000000002","path":null,"size":7,"#
                + #""state":"unavailable","reason":"corrupt","bytesFetched":null,"requests":null}"#)
    }

    @Test func `a restore says what came and what is missing`() {
        var report = RestoreReport()
        report.items = 2
        report.attachments = 3
        report.addressesComplete = 2
        report.addressesMissing = 1
        report.bytes = 4096
        report.seconds = 1.23456
        report.head = .max
        report.verified = true
        #expect(
            report.json.text
                == #"{"items":2,"attachments":3,"addressesComplete":2,"addressesMissing":1,"#
                + #""thumbnailsHere":0,"thumbnailsFailed":0,"unreadable":[],"bytes":4096,"#
                + #""seconds":1.235,"head":18446744073709551615,"verified":true}"#)
    }

    @Test func `an explanation has its evidence`() throws {
        let explanation = Explanation(
            attachment: try attachment(state: .unavailable(.serverError)), recordName: "r",
            evidence: Evidence(status: 503, bytes: 9, attempts: 2), path: nil)
        #expect(
            explanation.json.text
                == #"{"id":"4f2a9c01000000000000000000000002","state":"unavailable","#
                + #""reason":"serverError","address":"r","evidence":{"status":503,"bytes":9,"#
                + #""attempts":2,"lastAttempt":null,"nextAttempt":null,"code":null,"chunk":null},"#
                + #""path":null,"item":"9d41c7e0000000000000000000000001","title":"Jeju","#
                + #""name":"photo.jpg","type":"image/jpeg","size":5242880,"pinned":false,"#
                + #""thumb":"remote","upload":null,"help":"the server has a problem; try again later"}"#
        )
    }

    @Test func `who was asked to wait is told until when`() throws {
        let explanation = Explanation(
            attachment: try attachment(state: .unavailable(.throttled)), recordName: "r",
            evidence: Evidence(nextAttempt: Timestamp(seconds: 86_400)), path: nil)
        #expect(explanation.hint == "the server asked to wait until 1970-01-02T00:00:00Z")
        #expect(explanation.json.text.contains(#""help":"the server asked to wait until 1970-01"#))
    }

    @Test func `what the command does not do by itself is not promised`() {
        #expect(UnavailableReason.offline.help == "try again when there is a connection")
    }

    @Test func `what an error itself says would help comes before the usual`() {
        let full = SyncError(.unavailable(.diskFull), "make room", "it is in use", hint: "wait")
        #expect(Failure(full, verbose: false).hint == "wait")
        let disk = SyncError(.unavailable(.diskFull), "write", "no space left on the device")
        #expect(Failure(disk, verbose: false).hint?.contains("disk") == true)
    }

    @Test func `no connection is one sentence`() {
        #expect(
            Failure.sentence(
                "Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server")
                == "no connection to 127.0.0.1 port 9")
        #expect(Failure.sentence("the answer was cut: twice") == "the answer was cut: twice")
    }

    @Test func `failures that stand together have what to do behind them, once`() {
        let failures = [("a", "wait"), ("b", "wait"), ("c", "ask")].map { name, hint in
            Failure(.notNow, code: "x", name, hint: hint)
        }
        #expect(
            Output().lines(failures) == [
                "sync: error: a", "sync: error: b", "sync: hint: wait", "sync: error: c",
                "sync: hint: ask",
            ])
        #expect(Output(json: true).lines(failures).count { $0.contains(#""hint":"wait""#) } == 2)
    }

    @Test func `an error about an attachment has its id, and when to come back`() throws {
        var failure = Failure(
            try attachment().key, unavailable: .throttled, "still unavailable")
        failure.nextAttempt = Timestamp(seconds: 0)
        #expect(
            Output(json: true).lines(failure.about("4f2a")) == [
                #"{"error":"4f2a: throttled: still unavailable","code":"throttled","exit":3,"#
                    + #""hint":"the server asked to wait; try again later","#
                    + #""id":"4f2a9c01000000000000000000000002","#
                    + #""nextAttempt":"1970-01-01T00:00:00Z"}"#
            ])
    }

    @Test func `what is pinned says so among an item's attachments`() throws {
        let plain = try attachment()
        let pinned = LazySync.Attachment(
            key: plain.key, name: "b", type: "image/png", size: 1, itemTitle: "Jeju",
            state: .remote,
            thumbnail: nil, isPinned: true, upload: nil)
        let lines = Output().lines([plain, pinned], pins: true)
        #expect(lines.map { $0.hasSuffix("\tpinned") } == [false, true])
        #expect(Output().lines([plain], pins: true) == Output().lines([plain]))
    }

    @Test func `a status counts all four states`() throws {
        let status = EngineStatus(
            account: "mina", server: "https://s", head: 4, verified: true, session: "active",
            scope: try #require(AccountID("000000000000000000000000000000aa")), place: .shared,
            folder: "/c/a", schema: 1, states: ["here": 2],
            cache: CacheUse(
                originals: 8, thumbnails: 2, limit: 20, isLimitChosen: true, pinned: 3,
                pinsAll: true),
            outbox: 3, flags: ["headMismatch"])
        let expected = [
            #"{"account":"mina","server":"https://s","head":4,"verified":true,"#,
            #""session":"active","scope":"000000000000000000000000000000aa","place":"shared","#,
            #""folder":"/c/a","schema":1,"#,
            #""states":{"remote":0,"pending":0,"here":2,"unavailable":0},"#,
            #""cache":{"bytes":10,"limit":20,"pinned":3,"pinsAll":true,"isLimitChosen":true,"#,
            #""originals":8,"thumbnails":2},"outbox":3,"#,
            #""flags":["headMismatch"]}"#,
        ].joined()
        #expect(status.json.text == expected)
    }

    @Test func `an error is two lines at the most, and escaped`() {
        let failure = Failure(
            .notPossible, code: "notFound", "no \u{1B}[2J\nname", hint: "try\nthis")
        #expect(
            Output().lines(failure) == [
                #"sync: error: no \u{1B}[2J\nname"#, #"sync: hint: try\nthis"#,
            ])
        #expect(Output().lines(Failure.interrupted) == ["sync: error: interrupted"])
        #expect(
            Output(json: true).lines(failure) == [
                #"{"error":"no \u001b[2J\nname","code":"notFound","exit":4,"hint":"try\nthis"}"#
            ])
        #expect(
            Output(json: true).lines(Failure.interrupted) == [
                #"{"error":"interrupted","code":"cancelled","exit":130,"hint":null}"#
            ])
    }

    @Test func `facts stand under each other, without those that are not known`() {
        #expect(
            Output().facts(["id": "4f", "reason": nil, "name": "a\nb"]) == [
                "id      4f", #"name    a\nb"#,
            ])
    }

    @Test func `an item is shown with its text and attachments`() throws {
        let attachment = try attachment()
        let item = Item(
            id: attachment.key.item, title: "Jeju", text: "one\ntwo\u{7}", created: nil,
            modified: nil, attachments: [attachment])
        #expect(
            Output(columns: 80).text(item) == [
                "id        9d41c7e0000000000000000000000001", "title     Jeju", "",
                "one\ntwo\\u{7}", "", "4f2a9c01  here  5.0 MiB  image/jpeg  photo.jpg  Jeju",
            ])
        #expect(item.json.text.contains(#""text":"one\ntwo\u0007","created":null"#))
    }

    @Test func `verbose errors say what was being done`() {
        let error = SyncError(.unavailable(.notFound), "open 4f2a", "the server does not have it")
        #expect(Failure(error, verbose: false).message == "notFound: the server does not have it")
        #expect(
            Failure(error, verbose: true).message
                == "open 4f2a: notFound: the server does not have it")
        #expect(Failure(error, verbose: false).about("4f").message.hasPrefix("4f: notFound"))
    }

    @Test func `the engine's own hint wins`() {
        let error = SyncError(.storage, "open", "read-only", hint: "mount it again")
        #expect(Failure(error, verbose: false).hint == "mount it again")
    }
}
