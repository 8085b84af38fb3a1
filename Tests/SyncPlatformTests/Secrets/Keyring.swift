import Foundation

/// A desktop session with a bus and an unlocked key store of its own, for one process.
///
/// GLib finds the bus by the environment and keeps it, so each test has a process to itself. The
/// session ends with that process: its shell waits for the end of a pipe.
final class Keyring {
    private let scratch: Scratch
    private let session: Child
    private var frozen: pid_t?

    static let isPossible = [
        "/usr/bin/dbus-run-session", "/usr/bin/gnome-keyring-daemon", "/usr/bin/gdbus",
    ]
    .allSatisfy(FileManager.default.isExecutableFile(atPath:))

    /// Starts the session; without a key store if `isEmpty`.
    init(isEmpty: Bool = false) throws {
        scratch = try Scratch()
        var environment = ProcessInfo.processInfo.environment
        for name in [
            "HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
        ] {
            environment[name] = scratch.path
        }
        environment["DBUS_SESSION_BUS_ADDRESS"] = nil
        environment["DISPLAY"] = nil
        // A bus of its own configuration starts no services by itself.
        let configuration = """
            <busconfig><type>session</type><listen>unix:tmpdir=\(scratch.path)</listen>
            <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
            <allow own="*"/></policy></busconfig>
            """
        let file = scratch("bus.conf")
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
        let store = """
            printf 'pw\\n' | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null &
            gdbus wait --session --timeout 20 org.freedesktop.secrets
            """
        let script = """
            \(isEmpty ? "" : store)
            echo $DBUS_SESSION_BUS_ADDRESS
            cat >/dev/null
            kill -KILL %1
            """
        session = try Child(
            [
                "/usr/bin/dbus-run-session", "--config-file=\(file)", "--",
                "/bin/bash", "-m", "-c", script,
            ], environment: environment)
        guard let address = session.line() else { throw CocoaError(.fileReadUnknown) }
        setenv("DBUS_SESSION_BUS_ADDRESS", address, 1)
        unsetenv("DISPLAY")
    }

    /// Stops the key store's process in the middle of whatever it does.
    func freeze() throws {
        let call = try Child([
            "/usr/bin/gdbus", "call", "--session", "--dest", "org.freedesktop.DBus",
            "--object-path", "/org/freedesktop/DBus",
            "--method", "org.freedesktop.DBus.GetConnectionUnixProcessID",
            "org.freedesktop.secrets",
        ])
        // "(uint32 1234,)"
        let digits = (call.line() ?? "").drop { $0 != " " }.filter(\.isNumber)
        guard let process = pid_t(digits), kill(process, SIGSTOP) == 0 else {
            throw CocoaError(.executableLoad)
        }
        frozen = process
    }

    /// Ends the session with its bus.
    func end() {
        if let frozen { kill(frozen, SIGCONT) }
        session.finish()
    }

    /// Locks the collection that new items go to.
    func lock() throws {
        let call = try Child([
            "/usr/bin/gdbus", "call", "--session", "--dest", "org.freedesktop.secrets",
            "--object-path", "/org/freedesktop/secrets",
            "--method", "org.freedesktop.Secret.Service.Lock",
            "[objectpath '/org/freedesktop/secrets/collection/login']",
        ])
        call.process.waitUntilExit()
        guard call.process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }
}
