import Testing

@testable import LazySync

/// What a person sees follows from what is known, by the table of STATES.
@Suite struct BlobStateTests {
    /// Every combination of what the catalog and the locks can say.
    struct Facts: Sendable {
        var address: AddressState
        var isHere, hasFailed, isLocked: Bool
        var failure, condition: UnavailableReason?

        var state: BlobState {
            BlobState.of(
                address: address, isHere: isHere, hasFailed: hasFailed, isLocked: isLocked,
                failure: failure, condition: condition)
        }
    }

    static let all: [Facts] = {
        var all: [Facts] = []
        let reasons: [UnavailableReason?] = [nil] + UnavailableReason.allCases
        let conditions = [nil] + UnavailableReason.allCases.filter(\.isShared)
        for address in [AddressState.complete, .absent, .invalid, .takenAway, .kept] {
            for bits in 0..<8 {
                for failure in reasons {
                    for condition in conditions {
                        all.append(
                            Facts(
                                address: address, isHere: bits & 1 != 0, hasFailed: bits & 2 != 0,
                                isLocked: bits & 4 != 0, failure: failure, condition: condition))
                    }
                }
            }
        }
        return all
    }()

    @Test func `every combination has the state that the rules give`() {
        for facts in Self.all {
            let expected: BlobState
            if facts.address == .absent || facts.address == .takenAway {
                expected = .unavailable(.addressMissing)
            } else if facts.address == .invalid {
                expected = .unavailable(.addressInvalid)
            } else if facts.isHere {
                expected = .here
            } else if facts.isLocked {
                expected = .pending
            } else if facts.hasFailed, let failure = facts.failure {
                expected = .unavailable(failure)
            } else if facts.hasFailed, let condition = facts.condition {
                expected = .unavailable(condition)
            } else {
                expected = .remote
            }
            #expect(facts.state == expected, "\(facts)")
        }
    }

    @Test func `what nobody asked for is never unavailable for the device's reasons`() {
        for facts in Self.all where facts.address.reason == nil && !facts.hasFailed {
            #expect(facts.state.reason == nil)
        }
    }

    @Test func `only a living process makes pending`() {
        for facts in Self.all where !facts.isLocked { #expect(facts.state != .pending) }
    }

    @Test func `the reasons that are kept once are the device's, the host's and the account's`() {
        let shared = UnavailableReason.allCases.filter(\.isShared)
        #expect(Set(shared) == [.keyMissing, .offline, .throttled, .signedOut, .diskFull])
    }

    @Test func `thumbnails have the same states`() {
        let table: [(ThumbnailState, Bool, UnavailableReason?, UnavailableReason?, BlobState?)] = [
            (.none, false, nil, nil, nil), (.none, true, nil, .offline, nil),
            (.here, false, nil, .offline, .here), (.here, true, nil, nil, .here),
            (.due, false, nil, nil, .remote), (.due, true, nil, .offline, .pending),
            (.due, false, nil, .offline, .unavailable(.offline)),
            (.failed, false, .corrupt, .offline, .unavailable(.corrupt)),
            (.failed, true, .corrupt, nil, .pending),
            (.failed, false, nil, nil, .unavailable(.serverError)),
            (.notEager, false, nil, .offline, .remote), (.notEager, true, nil, nil, .pending),
            (.addressAbsent, true, nil, nil, .unavailable(.addressMissing)),
            (.addressInvalid, true, nil, nil, .unavailable(.addressInvalid)),
        ]
        for (thumbnail, isLocked, failure, condition, state) in table {
            let found = BlobState.of(
                thumbnail: thumbnail, isLocked: isLocked, failure: failure, condition: condition)
            #expect(found == state, "\(thumbnail) \(isLocked)")
        }
    }

    @Test func `every reason has its word and its help`() {
        for reason in UnavailableReason.allCases {
            #expect(!reason.help.isEmpty)
            #expect(UnavailableReason(rawValue: reason.rawValue) == reason)
            #expect(BlobState.unavailable(reason).name == "unavailable")
        }
    }
}
