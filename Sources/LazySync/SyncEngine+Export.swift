internal import SyncPlatform

/// The catalog as a file, and a file as the catalog.
extension SyncEngine {
    /// Writes the catalog to a new file: everything that lists show, the addresses, and no keys.
    ///
    /// The same content gives the same bytes, on whatever device. Names, titles and texts stand in
    /// it in plain.
    /// - Throws: `invalidInput` if something has the name.
    public func export(to path: String) async throws(SyncError) -> ExportReport {
        try requireOpen("export")
        try SyncError.mapping("export") {
            guard !path.isEmpty, try FileSystem.facts(path) == nil else {
                throw Self.isTaken(path)
            }
        }
        return try await working("export") {
            do {
                return try await self.write(to: path)
            } catch let error as FileError where error.code == .exists {
                throw Self.isTaken(path)
            } catch let error as FileError where error.code == .notFound {
                throw SyncError(.invalidInput, "export", "there is no folder for '\(path)'")
            }
        }
    }

    /// Hands the bytes of an export to `write`, in order, which may block, and throw to stop.
    public func export(
        _ write: @escaping @Sendable (Span<UInt8>) throws -> Void
    ) async throws(SyncError) -> ExportReport {
        try await working("export") { [catalog, opened] in
            try await ExportPass(catalog: catalog, scope: opened.scope).run(write)
        }
    }

    private func write(to path: String) async throws -> ExportReport {
        let draft = try NewFile(path)
        let file = draft.file
        let report = try await ExportPass(catalog: catalog, scope: opened.scope).run { bytes in
            try file.append(bytes)
        }
        try draft.publish()
        return report
    }

    private static func isTaken(_ path: String) -> SyncError {
        SyncError(
            .invalidInput, "export", "there is something at '\(path)' already",
            hint: "nothing is ever written over; choose another name")
    }

    /// Makes the catalog of this device out of an export; nothing but the catalog.
    ///
    /// On a device where nobody is logged in, the account is open afterwards, without keys and
    /// session: lists work, and bytes come after a login to the same account. What the file says
    /// counts as unverified until a restore has come to its end.
    ///
    /// `replacing` puts it in the place of a catalog of a newer version or a damaged one, of which
    /// a copy is kept; a catalog with rows that can be read is never replaced.
    /// - Throws: `invalidInput` with the number of the line that is wrong, or if the catalog has
    ///   rows; `anotherAccount`; `newerCatalog` and `notACatalog` without `replacing`; `busy`.
    public static func importCatalog(
        from path: String, replacing: Bool = false,
        _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> ImportReport {
        let device = try Device(configuration)
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        let isCancelled = Locked(false)
        let now = configuration.clock.now
        return try await SyncError.mapping("import") {
            try await withTaskCancellationHandler {
                try await Blocking.run {
                    try device.importCatalog(from: path, replacing: replacing, now: now) {
                        isCancelled.withLock { $0 }
                    }
                }
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
        }
    }
}

extension Device {
    /// Imports a file; the caller holds the settings' lock.
    fileprivate func importCatalog(
        from path: String, replacing: Bool, now: Int64, isCancelled: @escaping @Sendable () -> Bool
    ) throws -> ImportReport {
        let lines = try Self.lines(path)
        let header = try lines.header()
        var settings = try settingsForChange()
        if let scope = settings.scope, scope.account != header.account {
            throw SyncError(
                .anotherAccount, "import",
                "the file is of another account than \(scope.name), which is open on this device")
        }
        let isNew = settings.scope == nil
        // A key store that was locked may still have to forget this account's keys.
        let former = settings.forgetting[header.account]
        // What goes if this fails must not be more than what this made.
        if isNew, isLeft(header.account, settings) {
            guard former == nil else { throw Self.stillForgetting("import") }
            throw SyncError(
                .invalidInput, "import", "there are files of the account on this device already",
                hint: "log in to go on with them, or log out to remove them")
        }
        if isNew, former == nil {
            // Before anything is there, so that a start after a crash forgets it.
            try mark(header.account, .file, &settings)
        } else {
            // The container too is noted before anything lies in it.
            try settings.write(places.settings)
        }
        let marked = settings
        do {
            let report = try importCatalog(lines, header, replacing, now, isCancelled)
            if isNew {
                settings.forgetting[header.account] = former
                settings.active = Settings.Scope(
                    account: header.account, name: header.name, server: header.server,
                    caFile: nil, keyStore: .file)
                try settings.write(places.settings)
            }
            return report
        } catch {
            settings = marked
            // If this does not work either, the next start does it.
            if isNew { try? finishForgetting(&settings) }
            throw error
        }
    }

    /// Imports to where the account's catalog is, or is to be; nobody may be at it.
    private func importCatalog(
        _ lines: ImportLines, _ header: ExportHeader, _ replacing: Bool, _ now: Int64,
        _ isCancelled: @escaping @Sendable () -> Bool
    ) throws -> ImportReport {
        let place = try locate(header.account, create: true)
        defer { withExtendedLifetime(place.hold) {} }
        // What is missing may be rows.
        if place.isReadOnly { throw Catalog.onlyRead("import") }
        try Directory.make(place.places.locks)
        // An engine that was just closed may be about to let go.
        guard let alone = try lockAlone([place.places], within: 1_000) else {
            throw SyncError(.busy, "import", "another program is using the account")
        }
        defer { withExtendedLifetime(alone) {} }
        let pass = ImportPass(
            lines: lines, header: header, places: place.places, now: now, isCancelled: isCancelled)
        return try pass.run(replacing: replacing)
    }

    private static func lines(_ path: String) throws -> ImportLines {
        do {
            return try ImportLines(path)
        } catch {
            throw SyncError(.invalidInput, "import", "cannot read '\(path)': \(error)")
        }
    }
}
