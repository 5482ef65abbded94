/* Where a value stands in the text that it was parsed from: the parsed tree keeps no positions, and only
 * messages need them, so the text is read again up to there. */
#ifndef SORT_BASE_JSON_SPAN_H
#define SORT_BASE_JSON_SPAN_H

#include "base/str.h"

/* `path` as json_path writes it: "nodes.mix.parameters[2]". Bytes [*out_begin, *out_end) of `text`, which
 * json_parse has accepted, are the value. False: no such value (or the path was cut). */
bool json_find_span(Str text, const char *path, uint32_t *out_begin, uint32_t *out_end);

/* The elements of an array, one after the other. *at: the place of its '[', later of what is behind the last element.
 * False: there is no further one, and *at is the place of the ']', or SIZE_MAX when this is no array. The elements need
 * not be sound. */
bool json_next_element(Str text, size_t *at, Str *out_element);

#endif
