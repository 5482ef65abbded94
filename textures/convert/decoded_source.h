/* Tiles of foreign files that are tiled and mip-mapped, such as those that `maketx` writes. A header like that
 * of a paged texture is built from the decoder's description of the file; from then on the texture is treated
 * like any other, except that its tiles come from a decoder process. */
#ifndef SORT_TEXTURES_CONVERT_DECODED_SOURCE_H
#define SORT_TEXTURES_CONVERT_DECODED_SOURCE_H

#include "textures/convert/decode_client.h"
#include "textures/format/texel.h"

/* Opens a foreign file. SORT_COLOR_UNKNOWN selects the colour space that the file states, as for a conversion.
 * Errors: STATUS_UNSUPPORTED if the file has to be converted; the text says why. */
Status decoded_open(DecodePool *pool, const char *path, SortColorSpace color_space,
                    StexHeader *out_header, StexStamp *out_stamp, Error *err) SORT_MUST_CHECK;

typedef struct DecodedFile {
    DecodePool *pool;
    const char *path;
    const StexStamp *stamp;
    const StexHeader *header;
    TexelFormat format;
} DecodedFile;

/* Reads levels [first, end) of the tail, laid out as in a paged texture. Values that are not finite are
 * repaired, as in decoded_read_tile(). Returns false on failure; *out_failure holds the reason. */
bool decoded_read_levels(const DecodedFile *file, uint32_t first, uint32_t end, void *out_texels,
                         TileFailure *out_failure) SORT_MUST_CHECK;
/* Reads a whole tile; at the edges the last row and column are repeated. Returns false on failure; *out_failure
 * holds the reason. */
bool decoded_read_tile(const DecodedFile *file, uint64_t tile, void *out_texels,
                       TileFailure *out_failure) SORT_MUST_CHECK;

#endif
