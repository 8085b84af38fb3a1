internal import SyncPlatform

/// Where the catalog is, when two places have one.
extension SyncEngine {
    /// Decides which place holds the catalog of the account that is open on this device.
    ///
    /// The other place's catalog is kept beside it under a name with its date, which is answered.
    /// Call it with no engine open.
    /// - Throws: `invalidInput` if only one place has a catalog, `busy` if anybody is at either.
    public static func adopt(
        _ place: Place, _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> String? {
        let device = try Device(configuration)
        guard let (scope, _) = try device.activeScope() else {
            throw try device.nobodyIsLoggedIn("adopt a place")
        }
        let now = Timestamp(seconds: configuration.clock.now)
        guard let now else { throw SyncError(.storage, "adopt a place", "no date") }
        return try device.adopt(shared: place == .shared, scope.account, at: now)
    }
}
