/* Writing a .stex file row by row. Levels may be fed in any interleaving, each from its top row
 * down; a level is held in memory only for one row of tiles. The file appears under its name when
 * it is finished, not before. Called from one thread; compresses on several. */
#ifndef SORT_TEXTURES_FORMAT_STEX_WRITE_H
#define SORT_TEXTURES_FORMAT_STEX_WRITE_H

#include "textures/format/stex_format.h"

typedef struct StexWriter StexWriter;

/* `format`: width, height, channel_count, texel_type, color_space, wraps and flags are read, the rest
 * is computed. The bytes do not depend on thread_count (at least 1). On success *out_writer is the caller's
 * (finish or abandon). */
Status stex_writer_begin(const char *path, const StexHeader *format, uint32_t thread_count,
                         StexWriter **out_writer, Error *err) SORT_MUST_CHECK;
/* zlib's level, 1 (fast) to 9 (small), for tiles that are still to come; of a file with STEX_COMPRESSED. */
void stex_writer_set_level(StexWriter *w, uint32_t level);
const StexHeader *stex_writer_header(const StexWriter *w);
/* The next row of `level`, in native texels. */
Status stex_writer_row(StexWriter *w, uint32_t level, const void *texels,
                       Error *err) SORT_MUST_CHECK;
/* All rows of all levels have been fed. notes: as TexInfo has them, cut where there is no room. Frees the writer, on failure too. */
Status stex_writer_finish(StexWriter *w, const float average_rgba[4], const uint8_t digest[16],
                          const char *notes, uint64_t *out_constant_tiles, uint64_t *out_file_bytes,
                          Error *err) SORT_MUST_CHECK;
/* Nothing is left on disk. NULL is fine. */
void stex_writer_abandon(StexWriter *w);

#endif
