import CSecret
import Dispatch

extension SecretConversation {
    typealias ErrorSlot = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

    /// Makes one call of the library and turns the error it leaves into ours.
    func call<Result>(_ body: (ErrorSlot) -> Result) throws(SecretError) -> Result {
        try Self.call(operation, library, body)
    }

    static func call<Result>(
        _ operation: String, _ library: LibSecret, _ body: (ErrorSlot) -> Result
    ) throws(SecretError) -> Result {
        var failure: UnsafeMutablePointer<GError>?
        let result = body(&failure)
        guard let failure else { return result }
        defer { library.errorFree(failure) }
        let domain = library.quarkToString(failure.pointee.domain).map { String(cString: $0) } ?? ""
        let detail = failure.pointee.message.map { String(cString: $0) } ?? domain
        throw SecretError(code(domain, failure.pointee.code), operation: operation, detail: detail)
    }

    private static func code(_ domain: String, _ code: Int32) -> SecretError.Code {
        switch (domain, code) {
        // SECRET_ERROR_IS_LOCKED
        case ("secret-error", 2): .locked
        // G_DBUS_ERROR_ACCESS_DENIED, G_DBUS_ERROR_AUTH_FAILED, G_IO_ERROR_PERMISSION_DENIED
        case ("g-dbus-error-quark", 9), ("g-dbus-error-quark", 10), ("g-io-error-quark", 14):
            .denied
        // Everything else between us and the service: no bus, no service, no answer, cancelled.
        case ("g-dbus-error-quark", _), ("g-io-error-quark", _), ("g-exec-error-quark", _):
            .unavailable
        default: .other
        }
    }
}

/// Cancels what waits on it when its time is over; before that, goes quietly.
final class Deadline {
    let cancellable: GObject
    private let timer: DispatchWorkItem

    init(_ cancellable: GObject, _ library: LibSecret, after seconds: Double) {
        self.cancellable = cancellable
        timer = DispatchWorkItem { library.cancellableCancel(cancellable.pointer) }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: timer)
    }

    deinit {
        timer.cancel()
    }
}
