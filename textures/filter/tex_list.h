/* Looks up all lanes of a request by a list of taps, sixteen taps at a time. Private to a lookup. */
#ifndef SORT_TEXTURES_FILTER_TEX_LIST_H
#define SORT_TEXTURES_FILTER_TEX_LIST_H

#include "textures/filter/tex_place.h"

/* Returns whether lookup_by_list() serves the request: one that blends taps of four texels and asks for no derivatives. */
bool lookup_has_list(const Lookup *lk);

/* Writes the results of the lanes in `lanes`, but for those that it returns: they have no place, or a tile of theirs has failed.
 * Called within an epoch, which is left and entered again if the lookup has to wait. */
uint32_t lookup_by_list(Lookup *lk, uint32_t lanes, float *out_result);

#endif
