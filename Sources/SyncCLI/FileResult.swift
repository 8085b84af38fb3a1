import LazySync

/// What `open` and `thumb` say of a file: where it is, or why it is not.
enum FileResult: Sendable {
    case here(MaterializedFile)
    /// The bytes were read, and no file of all of them needs to be here.
    case read(MaterializedFile, BlobState)
    case unavailable(AttachmentKey, size: Int64?, UnavailableReason)

    var json: JSON {
        switch self {
        case .here(let file):
            [
                "id": .string(file.key.id.description),
                "path": .string(file.path),
                "size": .integer(file.size),
                "state": .string(BlobState.here.name),
                "bytesFetched": .integer(file.bytesFetched),
                "requests": .integer(file.requests),
            ]
        case .read(let file, let state):
            [
                "id": .string(file.key.id.description),
                "path": .null,
                "size": .integer(file.size),
                "state": .string(state.name),
                "bytesFetched": .integer(file.bytesFetched),
                "requests": .integer(file.requests),
            ]
        case .unavailable(let key, let size, let reason):
            [
                "id": .string(key.id.description),
                "path": .null,
                "size": size.map { .integer($0) } ?? .null,
                "state": .string(BlobState.unavailable(reason).name),
                "reason": .string(reason.rawValue),
                "bytesFetched": .null,
                "requests": .null,
            ]
        }
    }
}

extension Context {
    /// Fetches a file and prints where it is; with `--json`, also that it cannot come.
    ///
    /// The engine is asked for the size of what cannot come; a thumbnail's is not known.
    /// If the file's bytes go to standard output, nothing else may: the object goes to standard
    /// error then, and the path is not printed.
    func present(
        _ key: AttachmentKey, sizeFrom engine: SyncEngine? = nil, toOutput: Bool = false,
        fetch: () async throws -> MaterializedFile
    ) async throws -> ExitCode {
        do {
            let file = try await fetch()
            if file.path.isEmpty, console.output.json {
                let state = try? await engine?.explain(key).attachment.state
                present(.read(file, state ?? .remote), path: nil, toOutput: toOutput)
            } else {
                present(.here(file), path: file.path, toOutput: toOutput)
            }
            console.detail("fetched \(Quantity.size(file.bytesFetched)), \(file.requests) requests")
            return .done
        } catch let error as SyncError {
            if console.output.json, case .unavailable(let reason) = error.code {
                let size = try? await engine?.explain(key).attachment.size
                present(.unavailable(key, size: size, reason), path: nil, toOutput: toOutput)
            }
            throw error
        }
    }

    private func present(_ result: FileResult, path: String?, toOutput: Bool) {
        if console.output.json {
            console.print([result.json.text], to: toOutput ? .error : .output)
        } else if let path, !toOutput {
            console.print([path])
        }
    }
}
