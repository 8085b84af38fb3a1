@testable import LazySync
@testable import TestSupport

extension TestStore {
    /// These bytes in the middle of a file.
    func source(_ bytes: [UInt8]) throws -> UploadSource {
        UploadSource(path: try spool(bytes), offset: 100, length: UInt64(bytes.count))
    }

    /// A transfer with the usual policy, and a clock that waits for nothing.
    func upload(
        _ record: String, _ source: UploadSource, via remote: (any WritableRemote)? = nil
    ) -> BlobUpload {
        BlobUpload(
            record: record, source: source, remote: remote ?? self.remote, policy: Backoff(),
            clock: clock)
    }
}
