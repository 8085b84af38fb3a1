/// The uploads of an account that are not whole yet.
///
/// One request at a time adds to an upload; a newer one takes it over from one that hangs.
final class UploadBook: Sendable {
    /// What a request may add to: the upload, and which request that is.
    struct Hold: Sendable {
        let upload: Upload
        let owner: Int
        /// Where the upload stands.
        let offset: UInt64
    }

    /// One upload that is not whole yet.
    final class Upload: Sendable {
        fileprivate struct State: Sendable {
            var owner = 0
            /// When the last bytes came, in seconds since 1970.
            var touched: Double
        }

        let name: String
        let length: UInt64
        let space: any UploadSpace
        fileprivate let state: Guarded<State>

        fileprivate init(
            _ name: String, length: UInt64, _ space: any UploadSpace, touched: Double
        ) {
            self.name = name
            self.length = length
            self.space = space
            state = Guarded(State(touched: touched))
        }

        /// Makes a request the one that adds.
        fileprivate func takeOver() -> Hold {
            state.with { state in
                state.owner += 1
                return Hold(upload: self, owner: state.owner, offset: space.count)
            }
        }

        /// Does something as the request that adds; nil when a newer one has taken over.
        func asOwner<Result>(
            _ owner: Int, now: Double, _ body: () throws(StoreFailure) -> Result
        ) throws(StoreFailure) -> Result? {
            try state.with { state throws(StoreFailure) -> Result? in
                guard state.owner == owner else { return nil }
                state.touched = now
                return try body()
            }
        }

        /// Whether no newer request has taken over.
        func isOwned(by owner: Int) -> Bool { state.with { $0.owner == owner } }
    }

    /// Seconds that an upload lives after its last bytes.
    static let lifetime = 24.0 * 3600

    private let uploads = Guarded<[String: Upload]>([:])

    /// The bytes that all of them will have.
    var promised: UInt64 {
        uploads.with { $0.values.reduce(0) { $0 + $1.length } }
    }

    /// Takes over the upload of that name; nil when none has begun or it has died.
    func takeOver(_ name: String, now: Double) -> Hold? {
        guard let upload = uploads.with({ $0[name] }) else { return nil }
        let hold = upload.takeOver()
        guard now - upload.state.with({ $0.touched }) > UploadBook.lifetime else { return hold }
        uploads.with { $0[name] = nil }
        upload.space.discard()
        return nil
    }

    /// Begins an upload.
    func begin(_ name: String, length: UInt64, _ space: any UploadSpace, now: Double) -> Hold {
        let upload = Upload(name, length: length, space, touched: now)
        uploads.with { $0[name] = upload }
        return upload.takeOver()
    }

    /// Has an upload of before go on.
    func restore(_ name: String, length: UInt64, _ space: any UploadSpace, touched: Double) {
        let upload = Upload(name, length: length, space, touched: touched)
        uploads.with { $0[name] = upload }
    }

    /// Forgets an upload, and hands it over; no request adds to it any more.
    @discardableResult
    func remove(_ name: String) -> Upload? {
        let upload = uploads.with { $0.removeValue(forKey: name) }
        _ = upload?.takeOver()
        return upload
    }
}
