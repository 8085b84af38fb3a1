#ifndef CSIMDJSON_SHIM_H
#define CSIMDJSON_SHIM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/// One reusable parser: its buffers grow to the largest document it has read.
typedef struct sync_json_parser sync_json_parser;

sync_json_parser *sync_json_parser_new(size_t max_bytes, size_t max_depth);
void sync_json_parser_free(sync_json_parser *parser);

/// Parses `length` bytes; 0 or simdjson's error code. `tape` and `strings` are simdjson's own
/// (its doc/tape.md) and stay valid until the next call or the free.
int sync_json_parse(
    sync_json_parser *parser, const uint8_t *bytes, size_t length,
    const uint64_t **tape, const uint8_t **strings);

#ifdef __cplusplus
}
#endif
#endif
