internal import SyncPlatform

/// Fetches manifest pages, the next one while this one is in use.
struct PageSource {
    private let remote: any Remote
    private let policy: Backoff
    private let clock: any WaitingClock
    private let after: UInt64
    private let limit: Int
    private var early: (token: String, page: Task<ManifestPage, any Error>)?

    init(
        remote: any Remote, policy: Backoff, clock: any WaitingClock, after: UInt64, limit: Int
    ) {
        self.remote = remote
        self.policy = policy
        self.clock = clock
        self.after = after
        self.limit = limit
    }

    /// The page of a token; on its way already if a link or `expect` named it.
    mutating func next(_ token: String?) async throws -> ManifestPage {
        let page: ManifestPage
        if let early, early.token == token {
            page = try await withTaskCancellationHandler {
                try await early.page.value
            } onCancel: {
                early.page.cancel()
            }
        } else {
            page = try await Self.fetch(remote, policy, clock, after, token, limit)
        }
        early = nil
        if let linked = page.linkedNext { begin(linked) }
        return page
    }

    /// Corrects what is on its way: the page's own `next` decides, not the link.
    mutating func expect(_ token: String?) {
        guard early?.token != token else { return }
        cancel()
        if let token { begin(token) }
    }

    /// Gives up what is on its way.
    mutating func cancel() {
        early?.page.cancel()
        early = nil
    }

    private mutating func begin(_ token: String) {
        let page = Task { [remote, policy, clock, after, limit] in
            try await Self.fetch(remote, policy, clock, after, token, limit)
        }
        early = (token, page)
    }

    private static func fetch(
        _ remote: any Remote, _ policy: Backoff, _ clock: any WaitingClock, _ after: UInt64,
        _ token: String?, _ limit: Int
    ) async throws -> ManifestPage {
        try await policy.retrying(clock) { () async throws(RemoteFailure) in
            try await remote.manifestPage(after: after, page: token, limit: limit)
        }
    }
}
