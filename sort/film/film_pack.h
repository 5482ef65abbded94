/* Inside sort/film/: sums as few bytes. Most of a sum's 16 bytes say nothing: a sum of light is far below its largest, and a
 * sum of few samples far above its last bit. Of each 16 bytes those at both ends are left out that follow from the others:
 * zeros in front, and behind what the last byte's sign bit repeats.
 *
 *   control byte: skipped | kept << 4, then the kept bytes; 0xff: all 16 are kept */
#ifndef SORT_FILM_FILM_PACK_H
#define SORT_FILM_FILM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What film_pack makes of so many bytes at most. */
static inline size_t film_packed_max(size_t size_bytes)
{
    return size_bytes + size_bytes / 16 + 1;
}

/* Returns the bytes that film_pack would write. */
size_t film_packed_size(const uint8_t *data, size_t size_bytes);

/* Returns the bytes written to out, which has room for film_packed_max(size_bytes). */
size_t film_pack(const uint8_t *data, size_t size_bytes, uint8_t *out);

/* Undoes film_pack: false if that never wrote the like. Reads packed[packed_bytes] and writes data[size_bytes] only. */
bool film_unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *data, size_t size_bytes);

#endif
