#ifndef CSIMDJSON_SHIM_H
#define CSIMDJSON_SHIM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/// One reusable parser: its buffers grow to the largest document it has read.
typedef struct sync_json_parser sync_json_parser;

/// What a call answers besides simdjson's own error codes, which are positive.
enum { SYNC_JSON_OK = 0, SYNC_JSON_EXCEPTION = -1 };

/// simdjson's codes that mean more than "not JSON".
extern const int sync_json_too_deep, sync_json_too_large, sync_json_no_memory;

/// Null when there is no memory.
sync_json_parser *sync_json_parser_new(size_t max_bytes, size_t max_depth);
void sync_json_parser_free(sync_json_parser *parser);

/// Parses `length` bytes, which need no padding. `tape` and `strings` are simdjson's own (its
/// doc/tape.md) and stay valid until the next call or the free. No C++ exception gets out.
int sync_json_parse(
    sync_json_parser *parser, const uint8_t *bytes, size_t length,
    const uint64_t **tape, const uint8_t **strings);

#ifdef __cplusplus
}
#endif
#endif
