import CCurl
import Glibc

/// Holds libcurl's functions, loaded on first use so that nobody else pays for its 38 libraries.
struct Curl: @unchecked Sendable {
    // Sendable: addresses of functions, never changed after loading; the library is never unloaded.
    let easyInit: @convention(c) () -> UnsafeMutableRawPointer?
    let easyCleanup: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let easyReset: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let easyPause: @convention(c) (UnsafeMutableRawPointer?, CInt) -> CURLcode
    let easyText: @convention(c) (CURLcode) -> UnsafePointer<CChar>?
    let multiInit: @convention(c) () -> UnsafeMutableRawPointer?
    let multiCleanup: @convention(c) (UnsafeMutableRawPointer?) -> CURLMcode
    let multiAdd: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CURLMcode
    let multiRemove:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> CURLMcode
    let multiPerform:
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<CInt>?) -> CURLMcode
    let multiPoll:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<curl_waitfd>?, CUnsignedInt, CInt,
            UnsafeMutablePointer<CInt>?
        ) -> CURLMcode
    let multiWakeup: @convention(c) (UnsafeMutableRawPointer?) -> CURLMcode
    let multiInfoRead:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<CInt>?
        ) -> UnsafeMutablePointer<CURLMsg>?
    let listAppend:
        @convention(c) (
            UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?
        ) -> UnsafeMutablePointer<curl_slist>?
    let listFree: @convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void
    /// Variadic, hence untyped here: the shims take them as their first argument.
    let easySetopt: UnsafeMutableRawPointer
    let easyGetinfo: UnsafeMutableRawPointer
    let multiSetopt: UnsafeMutableRawPointer
    /// What to offer as Accept-Encoding: only what this libcurl can unpack.
    let encodings: String

    /// The library, or why there is none; made once for the process.
    static let loaded: Result<Curl, HTTPError> = Result { () throws(HTTPError) in
        guard let library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL) else {
            throw HTTPError(
                .unavailable, operation: "load libcurl.so.4",
                detail: "install the package libcurl4")
        }
        return try Curl(library)
    }

    private init(_ library: UnsafeMutableRawPointer) throws(HTTPError) {
        func address(_ name: String) throws(HTTPError) -> UnsafeMutableRawPointer {
            guard let address = dlsym(library, name) else {
                throw HTTPError(
                    .unavailable, operation: "load libcurl.so.4", detail: "it lacks \(name)")
            }
            return address
        }
        func function<Function>(_ name: String) throws(HTTPError) -> Function {
            unsafeBitCast(try address(name), to: Function.self)
        }

        // OpenSSL tidies up when the process exits, under the feet of a thread that still talks
        // TLS. Asked first, it leaves that out. Other TLS libraries lack the function.
        if let initialise = dlsym(library, "OPENSSL_init_crypto") {
            typealias Initialise = @convention(c) (UInt64, UnsafeRawPointer?) -> CInt
            let withoutExitHandler: UInt64 = 0x0008_0000
            _ = unsafeBitCast(initialise, to: Initialise.self)(withoutExitHandler, nil)
        }
        let globalInit: @convention(c) (CLong) -> CURLcode = try function("curl_global_init")
        guard globalInit(CLong(CURL_GLOBAL_ALL)) == CURLE_OK else {
            throw HTTPError(.unavailable, operation: "curl_global_init")
        }
        typealias Version =
            @convention(c) (CURLversion) -> UnsafeMutablePointer<curl_version_info_data>?
        let versionInfo: Version = try function("curl_version_info")
        let features = versionInfo(CURLVERSION_FIRST)?.pointee.features ?? 0
        encodings = features & CURL_VERSION_ZSTD != 0 ? "zstd, gzip" : "gzip"

        easyInit = try function("curl_easy_init")
        easyCleanup = try function("curl_easy_cleanup")
        easyReset = try function("curl_easy_reset")
        easyPause = try function("curl_easy_pause")
        easyText = try function("curl_easy_strerror")
        multiInit = try function("curl_multi_init")
        multiCleanup = try function("curl_multi_cleanup")
        multiAdd = try function("curl_multi_add_handle")
        multiRemove = try function("curl_multi_remove_handle")
        multiPerform = try function("curl_multi_perform")
        multiPoll = try function("curl_multi_poll")
        multiWakeup = try function("curl_multi_wakeup")
        multiInfoRead = try function("curl_multi_info_read")
        listAppend = try function("curl_slist_append")
        listFree = try function("curl_slist_free_all")
        easySetopt = try address("curl_easy_setopt")
        easyGetinfo = try address("curl_easy_getinfo")
        multiSetopt = try address("curl_multi_setopt")
    }
}
