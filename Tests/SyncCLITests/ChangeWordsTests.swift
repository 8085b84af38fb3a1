import Testing

@testable import LazySync
@testable import SyncCLI

@Suite struct ChangeWordsTests {
    private func item(_ digits: String) throws -> EntryID {
        try #require(EntryID(digits + String(repeating: "0", count: 32 - digits.count)))
    }

    private func attachment(_ digits: String) throws -> AttachmentID {
        try #require(AttachmentID(digits + String(repeating: "0", count: 32 - digits.count)))
    }

    // MARK: add

    private func addition(_ words: String...) throws -> Addition {
        try Addition(Arguments(words, of: .add))
    }

    @Test func `files are items of their own, or one, or go into one`() throws {
        #expect(try addition("a", "b") == .each)
        #expect(try addition("a", "--title", "T") == .one(title: "T"))
        #expect(try addition("--title", "T", "--text-file", "-") == .one(title: "T"))
        #expect(try addition("--title=") == .one(title: ""))
        #expect(try addition("a", "--to", "9d41") == .into("9d41"))
    }

    @Test(arguments: [
        [], ["--to", "9d41"], ["--text-file", "f"], ["a", "--text-file", "f"],
        ["a", "--title", "T", "--to", "9d41"], ["a", "--to", "9d41", "--text-file", "f"],
    ])
    func `what does not go together is refused`(words: [String]) throws {
        let error = #expect(throws: Failure.self) {
            try Addition(Arguments(words, of: .add))
        }
        #expect(error?.exit == .usage && error?.hint == "see 'sync help add'")
    }

    @Test func `a program reads one word a line, which other verbs take`() throws {
        let changed = [
            Changed(item: try item("9d41"), attachment: try attachment("4f2a"), file: "a b"),
            Changed(item: try item("9d41")),
        ]
        let zeros = String(repeating: "0", count: 28)
        #expect(Output().lines(changed) == ["9d41\(zeros)/4f2a\(zeros)", "9d41\(zeros)"])
        #expect(Output(columns: 80).lines(changed).first == "9d410000/4f2a0000  a b")
        #expect(
            Output(json: true).lines(changed) == [
                #"{"item":"9d41\#(zeros)","id":"4f2a\#(zeros)","file":"a b"}"#,
                #"{"item":"9d41\#(zeros)","id":null}"#,
            ])
    }

    // MARK: remove and untrash

    @Test func `a word is an item, an attachment, both, or neither`() throws {
        let (one, other) = (try item("9d41"), try item("77"))
        let key = AttachmentKey(item: other, id: try attachment("9d42"))
        let none = SyncError(.noSuchID, "find", "there is none")
        #expect(try Changed("9d41", .success(one), .failure(none)) == Changed(item: one))
        #expect(
            try Changed("9d42", .failure(none), .success(key))
                == Changed(item: other, attachment: key.id))
        let both = #expect(throws: SyncError.self) {
            try Changed("9d4", .success(one), .success(key))
        }
        #expect(both?.code == .ambiguousID(["\(one)", "\(key)"]))
        let several = SyncError(.ambiguousID(["a", "b"]), "find", "several")
        let all = #expect(throws: SyncError.self) {
            try Changed("9d4", .success(one), .failure(several))
        }
        #expect(all?.code == .ambiguousID(["\(one)", "a", "b"]))
        let neither = #expect(throws: SyncError.self) {
            try Changed("9d4", .failure(none), .failure(none))
        }
        #expect(neither?.code == .noSuchID)
        let closed = SyncError(.notLoggedIn, "find", "nobody")
        let ended = #expect(throws: SyncError.self) {
            try Changed("9d4", .failure(closed), .success(key))
        }
        #expect(ended?.code == .notLoggedIn)
    }

    @Test func `the trash is looked through by items, attachments, or both`() throws {
        let removed = Timestamp.beginning
        func trashed(_ item: EntryID, _ attachment: AttachmentID?) -> TrashedItem {
            TrashedItem(
                item: item, attachment: attachment, title: "t", attachmentCount: 1,
                removed: removed)
        }
        let (one, two) = (try item("9d41"), try item("9d42"))
        let id = try attachment("4f2a")
        let trash = [trashed(one, nil), trashed(two, id), trashed(one, id)]
        #expect(try Changed(trashed: "9D41", in: trash) == Changed(item: one))
        #expect(
            try Changed(trashed: "9d42/4f2a", in: trash) == Changed(item: two, attachment: id))
        for (text, code) in [
            ("4f2a", "ambiguousID"), ("9d42", "noSuchID"), ("9d4", "invalidInput"),
            ("wxyz", "invalidInput"), ("9d41/4f2a/1111", "invalidInput"), ("", "invalidInput"),
        ] {
            let error = #expect(throws: Failure.self) { try Changed(trashed: text, in: trash) }
            #expect(error?.code == code && error?.exit == .usage, "\(text)")
        }
    }

    // MARK: push

    @Test func `a push ends by what went and what did not`() throws {
        let key = AttachmentKey(item: try item("9d41"), id: try attachment("4f2a"))
        func exit(_ items: Int, _ waiting: Int, _ reasons: UnavailableReason...) -> ExitCode {
            var report = PushReport()
            (report.items, report.waiting) = (items, waiting)
            report.refused = reasons.map { .init(key: key, reason: $0) }
            return report.exit
        }
        #expect(exit(0, 0) == .done)
        #expect(exit(3, 0) == .done)
        #expect(exit(3, 1, .storeFull) == .partial)
        #expect(exit(3, 1) == .partial)
        #expect(exit(0, 1) == .partial)
        #expect(exit(0, 1, .storeFull) == .notNow)
        #expect(exit(0, 2, .tooLarge, .tooLarge) == .notPossible)
        #expect(exit(0, 2, .tooLarge, .storeFull) == .partial)
    }

    @Test func `what was refused is told once, with why and what would help`() throws {
        let key = AttachmentKey(item: try item("9d41"), id: try attachment("4f2a"))
        var report = PushReport()
        report.waiting = 1
        report.refused = [.init(key: key, reason: .tooLarge), .init(key: key, reason: .tooLarge)]
        #expect(report.failures.count == 1)
        #expect(report.failures.first?.message.hasPrefix("\(key): tooLarge: ") == true)
        #expect(report.failures.first?.hint?.contains("cache") == false)
        #expect(
            report.json.text
                == #"{"items":0,"blobs":0,"bytes":0,"refused":[{"id":"\#(key.id)","#
                + #""item":"\#(key.item)","reason":"tooLarge"}],"waiting":1,"head":0,"#
                + #""seconds":0.0}"#)
    }

    @Test func `a mismatch names the verb that decides`() {
        #expect(SyncError.Code.mismatch.row.hint?.contains("sync trust") == true)
        let hint = SyncError.Code.tooManyDeletions.row.hint
        #expect(hint?.contains("--deletions") == true && hint?.contains("--keep") == true)
    }
}
