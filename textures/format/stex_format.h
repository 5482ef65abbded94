/* The byte layout of the paged texture file, `.stex`, version 2, and of version 1, which can be read, too.
 * docs/reference/texture-file.md specifies it.
 *
 *   0            header: one page with its own check sum, level table included
 *   4096         tile index: one record a tile, level 0 first, row by row
 *   tail_offset  the small levels, packed (levels that fit in one tile)
 *   data_offset  tile payloads, uncompressed ones aligned to a page
 *
 * Everything needed to open a file stands at its beginning, at offsets that follow from width, height
 * and texel format alone: stex_layout() computes them, and the reader compares. A truncated file
 * therefore opens, and only the tiles behind the cut are lost.
 *
 * All numbers are little-endian; structs are read and written as they are. Rows run from the top of
 * the image down, tiles likewise; texels are interleaved channels. Tiles at the right and lower edge
 * are whole tiles: the texels beyond the level repeat its last column and row. */
#ifndef SORT_TEXTURES_FORMAT_STEX_FORMAT_H
#define SORT_TEXTURES_FORMAT_STEX_FORMAT_H

#include "textures/format/predict.h"
#include "textures/texcache.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error                                                                                         \
        "stex files are read and written as they lie in memory, which needs a little-endian machine"
#endif

enum {
    STEX_VERSION = 2, /* version 1 had square tiles and no prediction */
    STEX_VERSION_OLDEST = 1,
    STEX_PAGE_BYTES = 4096,
    STEX_TILE_BYTES_MAX = 16384,
    STEX_TEXEL_BYTES_MAX = 16,
    STEX_SIZE_MAX = 1 << 19, /* texels along an axis */
    STEX_TILE_COUNT_MAX = 1 << 28
};

/* A magic number that is not text and that line-end conversion damages. */
#define STEX_MAGIC "\x93STEX\r\n\x1a"

enum {
    STEX_PREMULTIPLIED = 1u << 0,
    STEX_COMPRESSED = 1u << 1, /* payloads may be compressed, and are not page-aligned */
    STEX_FLAGS_ALL = STEX_PREMULTIPLIED | STEX_COMPRESSED
};

typedef struct StexLevel {
    uint32_t width, height;
    uint32_t tiles_x, tiles_y; /* 0 for a level in the tail */
    uint64_t first_tile;       /* number of the level's first tile; meaningless in the tail */
    uint64_t tail_offset;      /* bytes from the tail's start; 0 for paged levels */
} StexLevel;
_Static_assert(sizeof(StexLevel) == 32, "on disk");

#define STEX_HEADER_FIELDS                                                                         \
    char magic[8];                                                                                 \
    uint32_t version;                                                                              \
    uint32_t header_crc; /* CRC-32C of the page with this field zero */                            \
    uint64_t file_bytes;                                                                           \
    uint32_t width, height;                                                                        \
    uint8_t channel_count, texel_type, color_space;                                                \
    /* log2 of a tile's width, and of its height shifted left by 4; version 1: of both */          \
    uint8_t tile_log2;                                                                             \
    uint8_t wrap_s, wrap_t, level_count, first_tail_level;                                         \
    uint32_t flags;                                                                                \
    uint32_t tail_crc; /* CRC-32C of the tail */                                                   \
    uint64_t tile_count;                                                                           \
    uint64_t index_offset;                                                                         \
    uint64_t tail_offset, tail_bytes;                                                              \
    uint64_t data_offset;                                                                          \
    float average_rgba[4]; /* linear */                                                            \
    uint8_t source_digest[16];

/* A header without the fields that can be computed from the others. */
typedef struct StexBrief {
    STEX_HEADER_FIELDS
} StexBrief;

typedef struct StexHeader {
    STEX_HEADER_FIELDS
    StexLevel levels[TEX_MAX_LEVELS];
    char notes[TEX_NOTES_BYTES]; /* TexInfo.notes, padded with zeros */
} StexHeader;
_Static_assert(offsetof(StexHeader, average_rgba) == 88 && offsetof(StexHeader, levels) == 120 &&
                   offsetof(StexHeader, notes) == 760 &&
                   sizeof(StexHeader) == 760 + TEX_NOTES_BYTES &&
                   sizeof(StexHeader) <= STEX_PAGE_BYTES &&
                   sizeof(StexBrief) == offsetof(StexHeader, levels),
               "on disk");

enum {
    STEX_TILE_CONSTANT = 1u << 0, /* all texels equal `constant`; there is no payload */
    STEX_TILE_ZLIB = 1u << 1,     /* the payload is a zlib stream of the tile's bytes */
    /* The prediction method of a compressed payload, from version 2 on (predict.h). */
    STEX_TILE_METHOD_SHIFT = 8,
    STEX_TILE_METHOD_ALL = PREDICT_METHODS_ALL << STEX_TILE_METHOD_SHIFT,
    STEX_TILE_FLAGS_ALL = STEX_TILE_CONSTANT | STEX_TILE_ZLIB | STEX_TILE_METHOD_ALL
};

typedef struct StexTile {
    uint64_t offset;       /* file offset of the payload */
    uint32_t stored_bytes; /* size of the payload; 0 for a constant tile */
    uint32_t payload_crc;  /* CRC-32C of the stored bytes */
    uint32_t flags;
    uint8_t constant[STEX_TEXEL_BYTES_MAX]; /* one native texel, zero-padded */
    uint32_t record_crc;                    /* CRC-32C of the fields above and the tile's number */
} StexTile;
_Static_assert(sizeof(StexTile) == 40 && offsetof(StexTile, record_crc) == 36, "on disk");

static inline uint32_t stex_tile_method(const StexTile *t)
{
    return (t->flags & STEX_TILE_METHOD_ALL) >> STEX_TILE_METHOD_SHIFT;
}

/* Sizes in bytes of one component, of one texel, and of one tile of the file. */
uint32_t stex_component_bytes(SortTexelType type);
uint32_t stex_texel_bytes(const StexHeader *h);
uint32_t stex_tile_bytes(const StexHeader *h);

/* Binary logarithms of a tile's width and height in texels. */
uint32_t stex_tile_width_log2(const StexHeader *h);
uint32_t stex_tile_height_log2(const StexHeader *h);
/* Returns a tile's shape for prediction. */
PredictShape stex_tile_shape(const StexHeader *h);

/* Computes tile_log2, the levels, tile_count and all offsets from version, width, height, channel_count and
 * texel_type, which must be in range. Returns false if there are more than STEX_TILE_COUNT_MAX tiles. */
bool stex_layout(StexHeader *h);

/* Convert a header to the form kept in memory and back. The notes are lost. */
void stex_shorten(const StexHeader *h, StexBrief *out_brief);
void stex_restore(const StexBrief *brief, StexHeader *out_header);

uint32_t stex_header_crc(const StexHeader *h);
uint32_t stex_record_crc(const StexTile *t, uint64_t tile);
/* Returns the level, column and row of tile number `tile`, for messages. */
void stex_tile_place(const StexHeader *h, uint64_t tile, uint32_t *out_level, uint32_t *out_x,
                     uint32_t *out_y);
/* Fills *out_info except for the fields that only the tile index determines. */
void stex_describe(const StexHeader *h, TexInfo *out_info);

#endif
