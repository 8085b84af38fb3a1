/// Checking everything that is here.
extension SyncEngine {
    /// Checks catalog, verified head, spool, trash and cache against each other; the network is not
    /// used.
    ///
    /// Quick unless a share of the files is to be proved: every file is looked at, and only one that
    /// is no longer as it was proved is read. A check of a share that is interrupted goes on the next
    /// time. To repair makes damaged chunks absent, forgets files that are gone, removes what no
    /// record knows, and sets counts right; what is damaged comes again when it is opened.
    /// - Throws: `unavailable(.keyMissing)` if something has to be proved and the key is not to be
    ///   had; `cancelled`; `notLoggedIn` if a logout ends it.
    public func verify(
        _ options: VerifyOptions = VerifyOptions(),
        progress: (@Sendable (VerifyProgress) -> Void)? = nil
    ) async throws(SyncError) -> VerifyReport {
        if let share = options.sample, !(1...100).contains(share) {
            throw SyncError(.invalidInput, "verify", "a share is from 1 to 100 percent")
        }
        return try await working("verify") { () async throws(SyncError) in
            try await self.verifyHere(options, progress)
        }
    }

    private func verifyHere(
        _ options: VerifyOptions, _ progress: (@Sendable (VerifyProgress) -> Void)?
    ) async throws(SyncError) -> VerifyReport {
        var pass = VerifyPass(
            account: opened.scope.account, catalog: catalog, places: opened.places,
            random: configuration.random, options: options
        ) { [opened] () async throws(SyncError) in try await opened.keys() }
        if let progress { pass.progress = progress }
        let report = try await pass.run()
        if report.repaired > 0 { broadcast.send(.catalog) }
        return report
    }
}
