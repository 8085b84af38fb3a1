import CCurl

/// Owns an easy handle, which serves one transfer after another.
final class CurlEasy {
    let handle: UnsafeMutableRawPointer
    private let curl: Curl
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// What the callbacks get: kept here, so that it lives as long as libcurl may call.
    private(set) var call: Call?

    /// Ties a transfer to the thread that runs it.
    final class Call {
        let transfer: CurlTransfer
        let control: HTTPTransferControl

        init(_ transfer: CurlTransfer, _ thread: CurlThread) {
            self.transfer = transfer
            control = HTTPTransferControl(thread: thread, transfer: transfer)
        }
    }

    init?(_ curl: Curl) {
        guard let handle = curl.easyInit() else { return nil }
        self.handle = handle
        self.curl = curl
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl.easyCleanup(handle)
        curl.listFree(headerList)
        errorText.deallocate()
    }

    /// Forgets the transfer with all its options, so that none reaches the next one.
    func clear() {
        curl.easyReset(handle)
        curl.listFree(headerList)
        headerList = nil
        errorText.pointee = 0
        call = nil
    }

    /// What libcurl says about how the transfer ended, without anything after a question mark.
    func detail(_ code: CURLcode) -> String {
        let text =
            errorText.pointee != 0
            ? String(cString: errorText) : curl.easyText(code).map { String(cString: $0) } ?? ""
        return String(text.prefix { $0 != "?" })
    }

    /// Whether a connection was found and is ready for the request.
    var hasConnection: Bool {
        var microseconds: curl_off_t = 0
        curl_getinfo_off(
            curl.easyGetinfo, handle, CURLINFO_PRETRANSFER_TIME_T, &microseconds)
        return microseconds > 0
    }

    /// How much of the body this attempt has given to the connection.
    var uploadedBytes: Int {
        var count: curl_off_t = 0
        curl_getinfo_off(curl.easyGetinfo, handle, CURLINFO_SIZE_UPLOAD_T, &count)
        return Int(count)
    }

    /// Sets every option of this hop of the transfer; the handle is cleared or new.
    func prepare(
        _ transfer: CurlTransfer, on thread: CurlThread, _ configuration: HTTPConfiguration
    ) {
        let call = Call(transfer, thread)
        self.call = call
        let context = Unmanaged.passUnretained(call).toOpaque()
        setPointer(CURLOPT_PRIVATE, context)
        setPointer(CURLOPT_ERRORBUFFER, errorText)
        setLong(CURLOPT_NOSIGNAL, 1)
        // Otherwise whoever cancels a transfer, and all others, wait for a resolver that hangs.
        setLong(CURLOPT_QUICK_EXIT, 1)
        setString(CURLOPT_URL, transfer.url.string)
        setLong(CURLOPT_PATH_AS_IS, 1)
        setString(CURLOPT_USERAGENT, configuration.userAgent)
        prepareConnection(transfer.url, thread.style, configuration)
        prepareMethod(transfer, context)
        prepareHeaders(transfer)

        // At each pause libcurl copies what the buffer still holds, and the limit makes many. A
        // stream of HTTP/2 keeps room for its whole body, or it would hold up its connection.
        let isLimited = thread.style == .exclusive && configuration.limitRate != nil
        let most = isLimited ? 16 << 10 : 512 << 10
        let buffer = min(max(transfer.request.bodyLimit, 16 << 10), most)
        setLong(CURLOPT_BUFFERSIZE, CLong(buffer))
        if transfer.request.compressed { setString(CURLOPT_ACCEPT_ENCODING, curl.encodings) }
        setLong(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        setPointer(CURLOPT_HEADERDATA, context)
        curl_setopt_write(curl.easySetopt, handle, CURLOPT_HEADERFUNCTION, receiveHeader)
        setPointer(CURLOPT_WRITEDATA, context)
        curl_setopt_write(curl.easySetopt, handle, CURLOPT_WRITEFUNCTION, receiveBody)
    }

    private func prepareConnection(
        _ url: HTTPURL, _ style: CurlThread.Style, _ configuration: HTTPConfiguration
    ) {
        setLong(CURLOPT_CONNECTTIMEOUT_MS, CLong(configuration.connectTimeout * 1000))
        setLong(CURLOPT_TCP_KEEPALIVE, 1)
        if !configuration.usesProxyFromEnvironment || url.isLoopback {
            setString(CURLOPT_PROXY, "")
        }
        guard url.isSecure else {
            setLong(CURLOPT_HTTP_VERSION, CLong(CURL_HTTP_VERSION_1_1))
            return
        }
        // Verification is libcurl's default; said again because everything rests on it.
        setLong(CURLOPT_SSL_VERIFYPEER, 1)
        setLong(CURLOPT_SSL_VERIFYHOST, 2)
        setLong(CURLOPT_SSLVERSION, CLong(CURL_SSLVERSION_TLSv1_2))
        if let file = configuration.caFile { setString(CURLOPT_CAINFO, file) }
        switch style {
        case .shared:
            setLong(CURLOPT_HTTP_VERSION, CLong(CURL_HTTP_VERSION_2TLS))
            setLong(CURLOPT_PIPEWAIT, 1)
        case .exclusive:
            setLong(CURLOPT_HTTP_VERSION, CLong(CURL_HTTP_VERSION_1_1))
        }
    }

    private func prepareMethod(_ transfer: CurlTransfer, _ context: UnsafeMutableRawPointer) {
        let method = transfer.request.method
        switch method {
        case .get: setLong(CURLOPT_HTTPGET, 1)
        case .head: setLong(CURLOPT_NOBODY, 1)
        case .delete: setString(CURLOPT_CUSTOMREQUEST, method.rawValue)
        case .post, .put, .patch:
            setLong(CURLOPT_UPLOAD, 1)
            setString(CURLOPT_CUSTOMREQUEST, method.rawValue)
            let count = transfer.body?.count ?? 0
            curl_setopt_off(
                curl.easySetopt, handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(count))
            if count > 1 << 20, !transfer.isLimited {
                setLong(CURLOPT_UPLOAD_BUFFERSIZE, 512 << 10)
            }
            setPointer(CURLOPT_READDATA, context)
            curl_setopt_read(curl.easySetopt, handle, CURLOPT_READFUNCTION, sendBody)
            setPointer(CURLOPT_SEEKDATA, context)
            curl_setopt_seek(curl.easySetopt, handle, CURLOPT_SEEKFUNCTION, rewindBody)
        }
    }

    private func prepareHeaders(_ transfer: CurlTransfer) {
        let headers = transfer.request.headers
        headers.bytes.withUnsafeBytes { bytes in
            for mark in headers.marks {
                if !transfer.isAuthorized, headers.isNamed(mark, "authorization") { continue }
                guard mark.valueCount > 0 else {
                    // libcurl reads "name:" as a wish to leave a header out.
                    let name = String(decoding: bytes[mark.name], as: UTF8.self)
                    headerList = curl.listAppend(headerList, name + ";")
                    continue
                }
                let line = bytes.baseAddress?.advanced(by: mark.start)
                headerList = curl.listAppend(
                    headerList, line?.assumingMemoryBound(to: CChar.self))
            }
        }
        // A small body is sent at once; over 1 MiB libcurl asks first, and so does the protocol.
        if let body = transfer.body, body.count <= 1 << 20 {
            headerList = curl.listAppend(headerList, "Expect:")
        }
        curl_setopt_slist(curl.easySetopt, handle, CURLOPT_HTTPHEADER, headerList)
    }

    private func setLong(_ option: CURLoption, _ value: CLong) {
        curl_setopt_long(curl.easySetopt, handle, option, value)
    }

    private func setString(_ option: CURLoption, _ value: String) {
        curl_setopt_string(curl.easySetopt, handle, option, value)
    }

    private func setPointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
        curl_setopt_pointer(curl.easySetopt, handle, option, value)
    }
}

/// What a callback returns to end a transfer: never a number of bytes it could have taken.
private let refusal = Int(CURL_WRITEFUNC_ERROR)

private func call(_ context: UnsafeMutableRawPointer) -> CurlEasy.Call {
    Unmanaged<CurlEasy.Call>.fromOpaque(context).takeUnretainedValue()
}

private let receiveHeader: curl_write_callback = { bytes, size, count, context in
    guard let bytes, let context else { return refusal }
    let call = call(context)
    return UnsafeRawBufferPointer(start: bytes, count: size * count).withMemoryRebound(
        to: UInt8.self
    ) { call.transfer.receiveHeader($0, call.control) ? $0.count : refusal }
}

private let receiveBody: curl_write_callback = { bytes, size, count, context in
    guard let bytes, let context else { return refusal }
    let transfer = call(context).transfer
    return UnsafeRawBufferPointer(start: bytes, count: size * count).withMemoryRebound(
        to: UInt8.self
    ) {
        switch transfer.receiveBody($0) {
        case .taken: $0.count
        case .pause: Int(CURL_WRITEFUNC_PAUSE)
        case .fail: refusal
        }
    }
}

private let sendBody: curl_read_callback = { bytes, size, count, context in
    guard let bytes, let context else { return Int(CURL_READFUNC_ABORT) }
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return switch call(context).transfer.sendBody(into: buffer) {
    case .bytes(let count): count
    case .pause: Int(CURL_READFUNC_PAUSE)
    case .fail: Int(CURL_READFUNC_ABORT)
    }
}

private let rewindBody: curl_seek_callback = { context, offset, origin in
    guard let context, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    return call(context).transfer.rewindBody(to: Int(offset))
        ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
