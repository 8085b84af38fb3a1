import Glibc

extension File {
    /// What is noted about a file beside its bytes, in its extended attributes.
    package enum Attribute: String, Sendable {
        /// Whether a program that makes backups should take the file: `true` or `false`.
        case backup = "user.xdg.robots.backup"
    }

    /// Notes something about the file; false if it cannot be noted there.
    ///
    /// Many file systems know no attributes, so nothing may depend on them.
    @discardableResult
    package func note(_ attribute: Attribute, _ value: String) -> Bool {
        guard let set = ExtendedAttributes.set else { return false }
        return Array(value.utf8).withUnsafeBytes {
            set(descriptor, attribute.rawValue, $0.baseAddress, $0.count, 0) == 0
        }
    }

    /// What is noted about the file; nil if nothing is.
    package func noted(_ attribute: Attribute) -> String? {
        guard let get = ExtendedAttributes.get else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes {
            get(descriptor, attribute.rawValue, $0.baseAddress, $0.count)
        }
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// The two functions of `<sys/xattr.h>`, which is not among the headers of Glibc's module.
private enum ExtendedAttributes {
    typealias Set =
        @convention(c) (
            Int32, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32
        ) -> Int32
    typealias Get =
        @convention(c) (
            Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int
        ) -> Int

    static let set = dlsym(nil, "fsetxattr").map { unsafeBitCast($0, to: Set.self) }
    static let get = dlsym(nil, "fgetxattr").map { unsafeBitCast($0, to: Get.self) }
}
