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
    if let film = newest.first(where: { $0.size > 100_000_000 }) {
        let reader = try await engine.reader(for: film.key)
        let middle = try await reader.read(at: film.size / 2, count: 65_536)
        print(middle.count)
    }

    // A list that updates itself: each change says which row to draw again.
    for await change in engine.changes() {
        redraw(change)
    }
}

/// What an app does with a change.
private func redraw(_ change: StateChange) {}
