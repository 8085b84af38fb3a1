import Foundation

/// A desktop session with a bus and an unlocked key store of its own, which commands reach by their
/// environment.
final class Keyring: Sendable {
    private let scratch: Scratch
    private let session: Program
    /// What makes a command part of the session.
    let environment: [String: String]

    static let isPossible = [
        "/usr/bin/dbus-run-session", "/usr/bin/gnome-keyring-daemon", "/usr/bin/gdbus",
    ].allSatisfy(FileManager.default.isExecutableFile(atPath:))

    init() async throws {
        scratch = try Scratch()
        // A bus of its own configuration starts no services by itself.
        let configuration = """
            <busconfig><type>session</type><listen>unix:tmpdir=\(scratch.path)</listen>
            <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
            <allow own="*"/></policy></busconfig>
            """
        try Data(configuration.utf8).write(to: scratch["bus.conf"])
        var homes: [String: String] = [:]
        for name in [
            "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
        ] { homes[name] = scratch.path }
        // The daemon is back in the background before it has its name. The session ends when the
        // shell's input does.
        let script = """
            printf 'pw\\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
            gdbus wait --session --timeout 20 org.freedesktop.secrets
            echo "$DBUS_SESSION_BUS_ADDRESS"
            exec cat >/dev/null
            """
        session = try Program(
            "/usr/bin/dbus-run-session",
            ["--config-file=\(scratch["bus.conf"].path)", "--", "/bin/sh", "-c", script],
            environment: homes,
            without: ["DISPLAY"])
        environment = ["DBUS_SESSION_BUS_ADDRESS": try await session.line()]
    }

    /// Locks the collection that new items go to.
    func lock() async throws {
        try await call("Lock", "[objectpath '/org/freedesktop/secrets/collection/login']")
    }

    /// Whether there are items with some attributes.
    func hasItems(_ attributes: String) async throws -> Bool {
        try await call("SearchItems", attributes).contains("/org/freedesktop/secrets/")
    }

    @discardableResult
    private func call(_ method: String, _ argument: String) async throws -> String {
        try await run(
            "/usr/bin/gdbus",
            [
                "call", "--session", "--dest", "org.freedesktop.secrets",
                "--object-path", "/org/freedesktop/secrets",
                "--method", "org.freedesktop.Secret.Service.\(method)", argument,
            ], environment: environment)
    }
}
