/// What is known about an attachment's address; the raw values are the catalog's.
enum AddressState: Int64, Sendable {
    case complete = 0
    /// The manifest has no ref.
    case absent = 1
    /// The ref does not parse, or its key does not unwrap.
    case invalid = 2
    /// The manifest says null: it was taken away.
    case takenAway = 3
    /// An older address is kept, since the manifest's new one is invalid and the size is the same.
    case kept = 4

    /// Whether it counts as missing in a restore's report.
    var countsAsMissing: Bool { self == .absent || self == .invalid || self == .kept }

    /// Why bytes cannot come; nil if there is an address.
    var reason: UnavailableReason? {
        switch self {
        case .complete, .kept: nil
        case .absent, .takenAway: .addressMissing
        case .invalid: .addressInvalid
        }
    }
}

/// What is known about an attachment's thumbnail; the raw values are the catalog's.
enum ThumbnailState: Int64, Sendable {
    case none = 0
    /// To be fetched at once.
    case due = 1
    case here = 2
    case failed = 3
    /// Fetched only when somebody asks: it is larger than a thumbnail should be, or did not fit
    /// beside newer ones.
    case notEager = 4
    case addressAbsent = 5
    case addressInvalid = 6

    /// Whether it counts as failed in a restore's report.
    var countsAsFailed: Bool {
        self == .failed || self == .addressAbsent || self == .addressInvalid
    }
}

extension BlobState {
    /// What a person sees, from what is known; pure.
    ///
    /// Only what was asked for and did not come has `failed`: what the device lacks, or the host, is
    /// no trouble of a blob of which somebody read a part, or that nobody wants now.
    static func of(
        address: AddressState, isHere: Bool, hasFailed: Bool, isLocked: Bool,
        failure: UnavailableReason?, condition: UnavailableReason?
    ) -> BlobState {
        if let reason = address.reason { return .unavailable(reason) }
        if isHere { return .here }
        if isLocked { return .pending }
        guard hasFailed else { return .remote }
        if let reason = failure ?? condition { return .unavailable(reason) }
        return .remote
    }

    /// What a person sees of a thumbnail; nil if there is none.
    static func of(
        thumbnail: ThumbnailState, isLocked: Bool, failure: UnavailableReason?,
        condition: UnavailableReason?
    ) -> BlobState? {
        switch thumbnail {
        case .none: nil
        case .here: .here
        case .notEager: isLocked ? .pending : .remote
        case .addressAbsent: .unavailable(.addressMissing)
        case .addressInvalid: .unavailable(.addressInvalid)
        case .failed: isLocked ? .pending : .unavailable(failure ?? .serverError)
        case .due: isLocked ? .pending : condition.map { .unavailable($0) } ?? .remote
        }
    }
}
