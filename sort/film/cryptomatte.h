/* Cryptomatte [Friedman2015, specification 1.2.0]: names become 32-bit numbers, which a picture stores as floats
 * beside the share of each pixel that they cover, so that a compositor can select things by name afterwards.
 * Values: any thread. */
#ifndef SORT_FILM_CRYPTOMATTE_H
#define SORT_FILM_CRYPTOMATTE_H

#include "base/str.h"

/* MurmurHash3 for 32 bits, seed 0, of the name's UTF-8 bytes; with one exponent bit flipped where the number would
 * be no normal float ("uint32_to_float32"). */
uint32_t cryptomatte_id(const char *name);
/* Returns the float that has the bits of `id`. */
float cryptomatte_float(uint32_t id);
/* The first 7 hexadecimal digits of the hash of a layer's name, which its metadata is filed under. */
void cryptomatte_layer_key(const char *layer, char out[8]);
/* {"name":"1a2b3c4d",...} for `count` names. */
void cryptomatte_manifest(const char *const *names, uint32_t count, StrBuf *out);

#endif
