/* The byte layout of the trace file, version 2; docs/reference/texture-statistics.md specifies it.
 *
 *   header   64 bytes
 *   blocks   each a header of 48 bytes and a payload, in no stated order; the last one is of kind END
 *
 * Payloads of REQUESTS and READS are records of variable-length numbers (seven bits a byte, the lowest
 * first; the eighth bit says that more follow). Each block can be decoded by itself:
 *
 *   request  order - that of the record before (the block's first: 0) | flags | [texture] | count |
 *            count x { (zigzag(tile - tile before) << 1 | is_many) | [taps - 2] }
 *   read     order as above | texture | tile << 2 | outcome | microseconds
 *
 * All fixed numbers are little-endian. */
#ifndef SORT_TEXTURES_TRACE_TRACE_FORMAT_H
#define SORT_TEXTURES_TRACE_TRACE_FORMAT_H

#include "textures/format/stex_format.h"
#include "textures/tex_trace.h"

/* like STEX_MAGIC, not text, and damaged by line-end conversion */
#define TRACE_MAGIC "\x93STXTR\r\n"
enum {
    TRACE_BLOCK_MAGIC = 0x424c4b31,
    TRACE_PAYLOAD_MAX = 64 * 1024,
    TRACE_NUMBER_BYTES_MAX = 10,
    /* The longest record: order, flags, texture, count, tiles with their taps. */
    TRACE_RECORD_BYTES_MAX = 3 * TRACE_NUMBER_BYTES_MAX + 1 + TEX_TRACE_TILES_MAX * 12
};

typedef enum TraceBlockKind {
    TRACE_BLOCK_TEXTURE = 1,
    TRACE_BLOCK_REQUESTS,
    TRACE_BLOCK_READS,
    TRACE_BLOCK_END
} TraceBlockKind;

/* Flags of a request record. */
enum { TRACE_DEPTH_MASK = 7, TRACE_HAS_TEXTURE = 8, TRACE_IS_CONTINUED = 16, TRACE_FLAGS_ALL = 31 };
_Static_assert(TEX_DEPTH_BUCKETS == 8, "three bits");

typedef struct TraceHeader {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t budget_bytes;
    uint32_t io_thread_count;
    uint32_t reserved[8];
    uint32_t crc; /* CRC-32C of the bytes before */
} TraceHeader;
_Static_assert(sizeof(TraceHeader) == 64, "on disk");

typedef struct TraceBlock {
    uint32_t magic, kind, stream, record_count;
    uint32_t payload_bytes, payload_crc;
    uint64_t first_order; /* order of the first record */
    uint64_t begin_ns;    /* when the block was begun */
    uint32_t reserved;
    uint32_t crc; /* CRC-32C of the bytes before */
} TraceBlock;
_Static_assert(sizeof(TraceBlock) == 48, "on disk");

/* Payload of TEXTURE. The path follows, path_bytes without a NUL. The block's `stream` is the texture's number. */
typedef struct TraceTexture {
    uint32_t tile_bytes, tile_count, level_count, path_bytes;
    uint32_t tail_count, tail_bytes[TEX_TRACE_TAILS_MAX], reserved;
    TexTraceLevel levels[TEX_MAX_LEVELS];
} TraceTexture;

/* Payload of END. */
typedef struct TraceEnd {
    uint64_t order_count, request_count, read_count, tile_count, table_bytes, duration_ns;
    uint32_t texture_count, reserved;
} TraceEnd;
_Static_assert(sizeof(TraceEnd) == 56, "on disk");

#endif
