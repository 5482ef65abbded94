/* Writes a .stex file row by row. Levels may be fed in any interleaving, each from its top row down; only one
 * row of tiles of each level is held in memory. The file appears under its name when it is finished. Calls come
 * from one thread; compression uses several. */
#ifndef SORT_TEXTURES_FORMAT_STEX_WRITE_H
#define SORT_TEXTURES_FORMAT_STEX_WRITE_H

#include "textures/format/stex_format.h"

typedef struct StexWriter StexWriter;

/* Begins a file. Of `format`, the fields width, height, channel_count, texel_type, color_space, wraps and flags
 * are read; the rest is computed. The bytes do not depend on thread_count, which is at least 1. On success
 * *out_writer is the caller's (finish or abandon). */
Status stex_writer_begin(const char *path, const StexHeader *format, uint32_t thread_count,
                         StexWriter **out_writer, Error *err) SORT_MUST_CHECK;
/* Sets zlib's level, 1 (fast) to 9 (small), for the tiles that follow, in a file with STEX_COMPRESSED. */
void stex_writer_set_level(StexWriter *w, uint32_t level);
const StexHeader *stex_writer_header(const StexWriter *w);
/* Feeds the next row of `level`, in native texels. */
Status stex_writer_row(StexWriter *w, uint32_t level, const void *texels,
                       Error *err) SORT_MUST_CHECK;
/* Completes the file after all rows of all levels have been fed. `notes` are those of TexInfo, cut if there is
 * no room. Frees the writer, on failure too. */
Status stex_writer_finish(StexWriter *w, const float average_rgba[4], const uint8_t digest[16],
                          const char *notes, uint64_t *out_constant_tiles, uint64_t *out_file_bytes,
                          Error *err) SORT_MUST_CHECK;
/* Discards the file and frees the writer. NULL is allowed. */
void stex_writer_abandon(StexWriter *w);

#endif
