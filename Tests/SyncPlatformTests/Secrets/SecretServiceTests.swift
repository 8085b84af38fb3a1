import Foundation
import Testing

@testable import SyncPlatform

@Suite(.enabled(if: Keyring.isPossible, "needs dbus-run-session and gnome-keyring"))
struct SecretServiceTests {
    @Test func `a secret comes back byte for byte until it is removed`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try Keyring()
            let store = SecretService(accountID: "a", installID: "i")
            #expect(try store.read(item: "key") == nil)
            #expect(try store.items() == [])
            let secrets: [[UInt8]] = [[0, 255, 10, 0], [], Array("über".utf8), Array(0...255)]
            for secret in secrets {
                try store.write(item: "key", secret)
                #expect(try store.read(item: "key") == secret)
            }
            try store.write(item: "token", [1])
            #expect(try store.items() == ["key", "token"])
            #expect(try store.read(item: "key") == secrets.last)
            try store.remove(item: "key")
            try store.remove(item: "key")
            #expect(try store.read(item: "key") == nil)
            #expect(try store.items() == ["token"])
            withExtendedLifetime(keyring) {}
        }
    }

    @Test func `another account or installation sees nothing of it`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try Keyring()
            try SecretService(accountID: "a", installID: "i").write(item: "key", [1])
            for (account, install) in [("b", "i"), ("a", "j")] {
                let other = SecretService(accountID: account, installID: install)
                #expect(try other.read(item: "key") == nil)
                #expect(try other.items() == [])
                try other.write(item: "key", [2])
                try other.remove(item: "key")
            }
            #expect(try SecretService(accountID: "a", installID: "i").read(item: "key") == [1])
            withExtendedLifetime(keyring) {}
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a locked store is locked, whether it has the item or not`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try Keyring()
            let store = SecretService(accountID: "a", installID: "i")
            try store.write(item: "key", [1])
            try keyring.lock()
            for item in ["key", "other"] {
                let calls: [() throws -> Void] = [
                    { _ = try store.read(item: item) }, { try store.write(item: item, [2]) },
                    { try store.remove(item: item) }, { _ = try store.items() },
                ]
                for call in calls {
                    let error = #expect(throws: SecretError.self) { try call() }
                    #expect(error?.code == .locked)
                }
            }
            withExtendedLifetime(keyring) {}
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a session without a key store has none available`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try Keyring(isEmpty: true)
            let store = SecretService(accountID: "a", installID: "i")
            let error = #expect(throws: SecretError.self) { try store.read(item: "key") }
            #expect(error?.code == .unavailable)
            withExtendedLifetime(keyring) {}
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a store that does not answer is given up`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try Keyring()
            let store = SecretService(accountID: "a", installID: "i", patience: 1)
            try store.write(item: "key", [1])
            try keyring.freeze()
            let start = System.monotonicNanoseconds
            let error = #expect(throws: SecretError.self) { try store.read(item: "key") }
            #expect(error?.code == .unavailable)
            #expect(System.monotonicNanoseconds - start < 20_000_000_000)
            keyring.end()
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["unix:path=/nonexistent/bus", nil])
    func `without a bus there is no store`(address: String?) async {
        await #expect(processExitsWith: .success) { [address] in
            unsetenv("DISPLAY")
            setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
            if let address {
                setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
            } else {
                unsetenv("DBUS_SESSION_BUS_ADDRESS")
            }
            let store = SecretService(accountID: "a", installID: "i")
            let error = #expect(throws: SecretError.self) { try store.write(item: "key", [1]) }
            #expect(error?.code == .unavailable)
            #expect(!String(describing: error).contains("01"))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a bus that goes away does not take the process along`() async {
        await #expect(processExitsWith: .success) {
            let store = SecretService(accountID: "a", installID: "i")
            let keyring = try Keyring()
            try store.write(item: "key", [1])
            keyring.end()
            let error = #expect(throws: SecretError.self) { try store.read(item: "key") }
            #expect(error?.code == .unavailable)
        }
    }
}
