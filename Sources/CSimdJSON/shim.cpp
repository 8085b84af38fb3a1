#include "shim.h"

#include <new>
#include <simdjson.h>

struct sync_json_parser {
    simdjson::dom::parser parser;
    size_t max_depth;
    sync_json_parser(size_t max_bytes, size_t depth) : parser(max_bytes), max_depth(depth) {}
};

sync_json_parser *sync_json_parser_new(size_t max_bytes, size_t max_depth) {
    return new (std::nothrow) sync_json_parser(max_bytes, max_depth);
}

void sync_json_parser_free(sync_json_parser *parser) { delete parser; }

int sync_json_parse(
    sync_json_parser *parser, const uint8_t *bytes, size_t length,
    const uint64_t **tape, const uint8_t **strings) {
    // Without an allocation of its own the parser takes simdjson's default depth of 1,024.
    if (parser->parser.capacity() < length || parser->parser.max_depth() != parser->max_depth) {
        auto error = parser->parser.allocate(length, parser->max_depth);
        if (error) { return error; }
    }
    auto result = parser->parser.parse(bytes, length);
    if (result.error()) { return result.error(); }
    *tape = parser->parser.doc.tape.get();
    *strings = parser->parser.doc.string_buf.get();
    return 0;
}
