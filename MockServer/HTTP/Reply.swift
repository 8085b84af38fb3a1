import CMicroHTTPD
import Glibc

/// Turns an answer into MHD's response, by the fastest way that its delivery allows.
enum Reply {
    /// Queues `answer` on the connection.
    static func queue(
        _ answer: Answer, on connection: OpaquePointer, _ parking: Parking, _ exchange: Exchange
    ) -> MHD_Result {
        guard let response = response(answer, connection, parking, exchange) else { return .NO }
        defer { MHD_destroy_response(response) }
        for header in answer.headers {
            MHD_add_response_header(response, header.name, header.value)
        }
        return MHD_queue_response(connection, UInt32(answer.status), response)
    }

    private static func response(
        _ answer: Answer, _ connection: OpaquePointer, _ parking: Parking, _ exchange: Exchange
    ) -> OpaquePointer? {
        let count = answer.body.count
        if answer.delivery.isPlain {
            if count <= 32 << 10 {
                var bytes = answer.body.bytes()
                return MHD_create_response_from_buffer(bytes.count, &bytes, .RESPMEM_MUST_COPY)
            }
            if let (file, offset) = file(answer.body) {
                let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
                guard descriptor >= 0 else { return nil }
                return MHD_create_response_from_fd_at_offset64(count, descriptor, offset)
            }
        }
        let stream = BodyStream(answer, connection, parking, exchange)
        let size: UInt64 =
            switch answer.delivery.framing {
            case .length: count
            case .claimed(let claim) where claim >= count: claim
            case .claimed, .chunked, .untilClose: MHD_size_unknown
            }
        let response = MHD_create_response_from_callback(
            size, 256 << 10,
            { context, offset, buffer, room in
                guard let context, let buffer else { return MHD_reader_error }
                let stream = Unmanaged<BodyStream>.fromOpaque(context).takeUnretainedValue()
                return stream.read(at: offset, into: .init(start: buffer, count: room))
            }, Unmanaged.passRetained(stream).toOpaque(),
            { context in
                if let context { Unmanaged<BodyStream>.fromOpaque(context).release() }
            })
        switch answer.delivery.framing {
        case .untilClose:
            MHD_set_response_flags(response, .RF_HTTP_1_0_COMPATIBLE_STRICT)
        case .claimed(let claim) where claim < count:
            // MHD keeps to a size that it knows; to one that it does not, the header can say anything.
            let flags =
                MHD_ResponseFlags.RF_INSANITY_HEADER_CONTENT_LENGTH.rawValue
                | MHD_ResponseFlags.RF_HTTP_1_0_COMPATIBLE_STRICT.rawValue
            MHD_set_response_flags(response, MHD_ResponseFlags(rawValue: flags))
            MHD_add_response_header(response, "Content-Length", String(claim))
        default: break
        }
        return response
    }

    /// The file and the place in it, if that is all the body is.
    private static func file(_ body: any ByteSource) -> (FileBytes, UInt64)? {
        if let file = body as? FileBytes { return (file, 0) }
        if let slice = body as? SlicedBytes, let (file, offset) = file(slice.base) {
            return (file, offset + slice.offset)
        }
        return nil
    }
}
