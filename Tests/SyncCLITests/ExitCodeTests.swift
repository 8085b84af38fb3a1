import LazySync
import Testing

@testable import SyncCLI

@Suite struct ExitCodeTests {
    @Test(
        arguments: [
            (.addressMissing, 4), (.addressInvalid, 4), (.keyMissing, 6), (.offline, 3),
            (.throttled, 3),
            (.signedOut, 6), (.diskFull, 3), (.serverError, 3), (.notEntitled, 4), (.notFound, 4),
            (.corrupt, 4), (.wrongSize, 4), (.tooLarge, 4), (.storeFull, 3),
        ] as [(UnavailableReason, Int32)])
    func `a reason says whether later or something else helps`(
        reason: UnavailableReason, exit: Int32
    ) {
        #expect(ExitCode(reason).rawValue == exit)
        #expect(ExitCode(.unavailable(reason)).rawValue == exit)
    }

    @Test(
        arguments: [
            (.notLoggedIn, "notLoggedIn", 6), (.loginRefused, "loginRefused", 6),
            (.anotherAccount, "anotherAccount", 2), (.noSuchID, "noSuchID", 2),
            (.ambiguousID([]), "ambiguousID", 2), (.invalidInput, "invalidInput", 2),
            (.mismatch, "mismatch", 7), (.tooManyDeletions, "tooManyDeletions", 7),
            (.newerCatalog, "newerCatalog", 8), (.notACatalog, "notACatalog", 2),
            (.storage, "storage", 3), (.busy, "busy", 3), (.cancelled, "cancelled", 130),
            (.unavailable(.corrupt), "corrupt", 4), (.pinned, "pinned", 4),
        ] as [(SyncError.Code, String, Int32)])
    func `a code has a word and an exit code`(code: SyncError.Code, word: String, exit: Int32) {
        let failure = Failure(SyncError(code, "try", "it failed"), verbose: false)
        #expect(failure.code == word)
        #expect(failure.exit.rawValue == exit)
    }

    @Test func `hints are one line, lower case, without a full stop`() {
        let codes: [SyncError.Code] =
            UnavailableReason.allCases.map(SyncError.Code.unavailable) + [
                .notLoggedIn, .loginRefused, .anotherAccount, .noSuchID, .ambiguousID(["a", "b"]),
                .mismatch, .tooManyDeletions, .newerCatalog, .notACatalog, .storage, .busy, .pinned,
            ]
        for code in codes {
            let hint = code.row.hint ?? ""
            #expect(!hint.isEmpty && hint.first?.isUppercase == false && hint.last != ".")
            #expect(hint.visible == hint)
        }
    }

    @Test func `one bad id among good ones is a part, only bad ones are the first failure`() {
        var tally = Tally()
        #expect(tally.exit == .done)
        tally.failed(.notPossible)
        tally.failed(.notNow)
        #expect(tally.exit == .notPossible)
        tally.succeeded()
        #expect(tally.exit == .partial)
    }
}
