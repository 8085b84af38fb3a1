import CCurl

/// Translates libcurl's codes.
enum CurlCode {
    static func meaning(_ code: CURLcode, detail: String, hasHead: Bool) -> HTTPError.Code {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .dns
        // The only time limit libcurl is given is the one for connecting.
        case CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR, CURLE_OPERATION_TIMEDOUT, CURLE_PROXY,
            CURLE_INTERFACE_FAILED:
            .connect
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS:
            .certificate
        // Broken chunks have no code of their own.
        case CURLE_RECV_ERROR where detail.hasSuffix("in chunked-encoding"): .protocolViolation
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE,
            CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_FAIL_REWIND:
            .cut
        // A line of the head over libcurl's own limit ends as lack of memory.
        case CURLE_OUT_OF_MEMORY: hasHead ? .unavailable : .protocolViolation
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
            CURLE_WRITE_ERROR, CURLE_TOO_MANY_REDIRECTS:
            .protocolViolation
        default: .unavailable
        }
    }
}
