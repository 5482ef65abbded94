/* Tiles of foreign files that hold them ready: tiled, mip-mapped images, as `maketx` writes them. A header
 * like that of a paged texture is made up from what the decoder says of the file; from there on such a
 * texture is one like any other, whose tiles come from a decoder process instead of a read. */
#ifndef SORT_TEXTURES_CONVERT_DECODED_SOURCE_H
#define SORT_TEXTURES_CONVERT_DECODED_SOURCE_H

#include "textures/convert/decode_client.h"
#include "textures/format/texel.h"

/* color_space: SORT_COLOR_UNKNOWN: what the file says, as for a conversion. STATUS_UNSUPPORTED: it has to be
 * converted to be used; the text says why. */
Status decoded_open(DecodePool *pool, const char *path, SortColorSpace color_space,
                    StexHeader *out_header, StexStamp *out_stamp, Error *err) SORT_MUST_CHECK;

typedef struct DecodedFile {
    DecodePool *pool;
    const char *path;
    const StexStamp *stamp;
    const StexHeader *header;
    TexelFormat format;
} DecodedFile;

/* Levels [first, end) of the tail, as they lie in that of a paged texture. Values that are not finite are repaired, here
 * and in tiles. False: *out_failure says why. */
bool decoded_read_levels(const DecodedFile *file, uint32_t first, uint32_t end, void *out_texels,
                         TileFailure *out_failure) SORT_MUST_CHECK;
/* A whole tile; at the edges the last row and column are repeated. False: *out_failure says why. */
bool decoded_read_tile(const DecodedFile *file, uint64_t tile, void *out_texels,
                       TileFailure *out_failure) SORT_MUST_CHECK;

#endif
