#include "shim.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <simdjson.h>

const int sync_json_too_deep = simdjson::DEPTH_ERROR;
const int sync_json_too_large = simdjson::CAPACITY;
const int sync_json_no_memory = simdjson::MEMALLOC;

struct sync_json_parser {
    simdjson::dom::parser parser;
    std::unique_ptr<uint8_t[]> padded;
    size_t room = 0;
    const size_t max_bytes, max_depth;

    sync_json_parser(size_t bytes, size_t depth)
        : parser(std::max<size_t>(bytes, 64)), max_bytes(bytes), max_depth(depth) {}

    // Room is made for a power of two: documents that grow a little each time would otherwise
    // allocate every time. Nothing here depends on what a failed attempt left behind: `room` says
    // that all of it is there.
    int reserve(size_t length) {
        size_t wanted = 4096;
        while (wanted < length) { wanted *= 2; }
        wanted = std::max(std::min(wanted, max_bytes), size_t(64));
        room = 0;
        padded.reset(new (std::nothrow) uint8_t[wanted + simdjson::SIMDJSON_PADDING]);
        if (!padded) { return simdjson::MEMALLOC; }
        if (auto error = parser.doc.allocate(wanted)) { return error; }
        // Without an allocation of its own the parser takes simdjson's default depth of 1,024.
        if (auto error = parser.allocate(wanted, max_depth)) { return error; }
        room = wanted;
        return SYNC_JSON_OK;
    }

    int parse(const uint8_t *bytes, size_t length) {
        if (length > max_bytes) { return simdjson::CAPACITY; }
        if (room == 0 || room < length) {
            if (int error = reserve(length)) { return error; }
        }
        // simdjson reads past the end; what it reads there must be memory, and must not be text
        // that an earlier document left.
        if (length > 0) { std::memcpy(padded.get(), bytes, length); }
        std::memset(padded.get() + length, ' ', simdjson::SIMDJSON_PADDING);
        return parser.parse(padded.get(), length, false).error();
    }
};

sync_json_parser *sync_json_parser_new(size_t max_bytes, size_t max_depth) {
    try {
        return new (std::nothrow) sync_json_parser(max_bytes, max_depth);
    } catch (...) {
        return nullptr;
    }
}

void sync_json_parser_free(sync_json_parser *parser) { delete parser; }

int sync_json_parse(
    sync_json_parser *parser, const uint8_t *bytes, size_t length,
    const uint64_t **tape, const uint8_t **strings) {
    try {
        if (int error = parser->parse(bytes, length)) { return error; }
        *tape = parser->parser.doc.tape.get();
        *strings = parser->parser.doc.string_buf.get();
        return SYNC_JSON_OK;
    } catch (...) {
        return SYNC_JSON_EXCEPTION;
    }
}
