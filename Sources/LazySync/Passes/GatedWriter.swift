internal import SyncPlatform

/// The server behind its gate, for who sends: no call goes out while the host asked to wait.
struct GatedWriter: WritableRemote {
    let remote: any WritableRemote
    let gate: HostGate
    let host: String

    func push(_ push: ManifestPush) async throws(RemoteFailure) -> PushAnswer {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.push(push)
        }
    }

    func head(after: UInt64, wait seconds: Int) async throws(RemoteFailure) -> Head? {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.head(after: after, wait: seconds)
        }
    }

    func put(_ record: String, _ body: UploadBody) async throws(RemoteFailure) -> UploadAnswer {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.put(record, body)
        }
    }

    func uploadOffset(_ record: String) async throws(RemoteFailure) -> UInt64? {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.uploadOffset(record)
        }
    }

    func patch(
        _ record: String, offset: UInt64, length: UInt64, _ body: UploadBody
    ) async throws(RemoteFailure) -> UploadAnswer {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.patch(record, offset: offset, length: length, body)
        }
    }

    func size(of record: String) async throws(RemoteFailure) -> UInt64? {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.size(of: record)
        }
    }

    func delete(_ record: String) async throws(RemoteFailure) {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.delete(record)
        }
    }

    func blobs(after: String?, limit: Int) async throws(RemoteFailure) -> BlobList {
        try await gate.passing(host) { () async throws(RemoteFailure) in
            try await remote.blobs(after: after, limit: limit)
        }
    }
}
