internal import SyncPlatform

/// A person has decided for the server's account as it is: it is read anew.
extension Catalog {
    /// Whether a person has decided for the server's account as it is, and it is being read.
    func isTrusting() async throws(SyncError) -> Bool {
        try await read("look for a decision") { try $0.isTrusting() }
    }

    /// Begins to read the account anew: nothing that is here counts as what the server has.
    func beginTrusting() async throws(SyncError) {
        try await write("trust the server") { connection in
            var tally = Tally()
            let distrust = try connection.prepare(.distrustAll)
            try distrust.run()
            tally[.unconfirmed] += Int(connection.changes)
            try connection.prepare(.unstageAll).run()
            try connection.giveUpPush()
            try connection.prepare(.forgetVerified).run()
            try tally.save(connection)
        }
    }
}

extension Connection {
    /// Whether a person has decided for the server's account as it is, and it is being read.
    func isTrusting() throws -> Bool {
        let query = try prepare(.pushing)
        return try query.step() && query.int(1) == 1
    }

    func setTrusting(_ isTrusting: Bool) throws {
        let set = try prepare(.setTrusting)
        set.bind(isTrusting ? 1 : 0, at: 1)
        try set.run()
    }
}
