#include <microhttpd.h>

// Typed wrappers of variadics and cast macros: Swift imports neither.

static inline struct MHD_Daemon *MHD_start_daemon_options(
    unsigned int flags, uint16_t port, MHD_AccessHandlerCallback handler, void *context,
    struct MHD_OptionItem *options) {
    return MHD_start_daemon(
        flags, port, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static inline enum MHD_Result MHD_set_response_flags(
    struct MHD_Response *response, enum MHD_ResponseFlags flags) {
    return MHD_set_response_options(response, flags, MHD_RO_END);
}

static inline MHD_socket MHD_connection_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : MHD_INVALID_SOCKET;
}

static inline void **MHD_connection_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? (void **) &info->socket_context : NULL;
}

static const uint64_t MHD_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t MHD_reader_end = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t MHD_reader_error = MHD_CONTENT_READER_END_WITH_ERROR;
