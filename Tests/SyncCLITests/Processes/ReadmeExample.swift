import LazySync

/// The example of README.md, word for word, so that a change that breaks it does not compile.
func readmeExample() async throws {
    let engine = try await SyncEngine.open()
    let report = try await engine.restore()
    print("\(report.attachments) attachments, \(report.addressesMissing) without an address")

    let newest = try await engine.attachments(AttachmentQuery(type: "image", limit: 50))
    for attachment in newest {
        print(attachment.name, attachment.size, attachment.state.name)
    }

    // Brings the bytes here unless they are; what lies at the path was verified to the last byte.
    if let photo = newest.first {
        let file = try await engine.materialize(photo.key)
        print(file.path)
    }

    // Reads anywhere in a large one without bringing all of it: one request for the chunks it needs.
    let films = try await engine.attachments(AttachmentQuery(type: "video"))
    if let film = films.first(where: { $0.size > 100_000_000 }) {
        let reader = try await engine.reader(for: film.key)
        let middle = try await reader.read(at: film.size / 2, count: 65_536)
        print(middle.count)
    }

    // A list that updates itself: each change says which row to draw again.
    for await change in engine.changes() {
        redraw(change)
    }
}

/// The second example of README.md, word for word.
func readmeListExample(server: String, key: AttachmentKey) async throws {
    var rows: [AttachmentKey: Row] = [:]
    let opened: SyncEngine
    do {
        opened = try await SyncEngine.open()
    } catch {
        guard error.code == .notLoggedIn else { throw error }
        let secret = LoginRequest.Secret.passphrase(Array(try askForPassphrase().utf8))
        opened = try await SyncEngine.login(
            LoginRequest(server: server, account: "mina", device: "laptop", secret: secret))
    }

    // As long as it runs, what was wanted and did not come is asked for again by itself.
    let trying = Task { await opened.keepTrying() }
    defer { trying.cancel() }

    // A list of thumbnails; each comes when its row is shown.
    for attachment in try await opened.attachments(AttachmentQuery(limit: 50)) {
        var row = Row(title: attachment.name, isPinned: attachment.isPinned)
        if attachment.thumbnail != nil {
            row.picture = try? await opened.thumbnail(attachment.key).path
        }
        rows[attachment.key] = row
    }

    // A row with a bar while its bytes come, and a reason with a button if they cannot.
    for await progress in opened.states(of: key) {
        switch progress.state {
        case .remote: rows[key]?.line = "\(progress.size) bytes, not here"
        case .pending: rows[key]?.line = "receiving, \(progress.bytes) of \(progress.size)"
        case .here: rows[key]?.line = "here"
        case .unavailable(let reason):
            rows[key]?.line = "\(reason.rawValue): \(reason.help)"
            rows[key]?.tryAgain = {
                let now = try await opened.retry(key)
                return now.attachment.state == .here
            }
        }
        if progress.state == .here { break }
    }

    // Why it is not here: the server's answer, the tries, the address, and more.
    let why = try await opened.explain(key)
    print(why.evidence.status ?? 0, why.evidence.attempts, why.recordName ?? "no address")

    // Streams verified bytes, also of what is larger than the cache.
    _ = try await opened.stream(key) { bytes in play(bytes) }

    // A switch "make available offline": for one, and for everything, also what is still to come.
    do {
        _ = try await opened.pin(key)
    } catch {
        print(error.detail, error.hint ?? "it stays pinned, and comes when it can")
    }
    try await opened.setAllPinned(true)
    let kept = try await opened.keepPinned { print("\($0.done) of \($0.total), \($0.bytes) bytes") }
    print(kept.missing.map { "\($0.key.id): \($0.value.help)" })
    try await opened.setAllPinned(false)

    // Used space, its limit, and a button that frees it.
    let use = try await opened.cacheUse()
    print("\(use.bytes) of \(use.limit) bytes, \(use.pinned) of them pinned")
    try await opened.setCacheLimit(500 << 20)
    print("freed \(try await opened.evictAll().bytes) bytes")
    _ = rows
}

/// A line of an app's list.
private struct Row {
    var title: String
    var isPinned: Bool
    var picture: String?
    var line = ""
    var tryAgain: (() async throws -> Bool)?
}

/// What an app does with a change.
private func redraw(_ change: StateChange) {}

/// How an app asks for a passphrase.
private func askForPassphrase() throws -> String { "" }

/// What an app does with the bytes of a film.
private func play(_ bytes: Span<UInt8>) {}
