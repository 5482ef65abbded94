/* Finds a value's position in the text that it was parsed from. The parsed tree keeps no positions, since only
 * messages need them, so the text is scanned again. */
#ifndef SORT_BASE_JSON_SPAN_H
#define SORT_BASE_JSON_SPAN_H

#include "base/str.h"

/* Finds the value at `path`, written as by json_path: "nodes.mix.parameters[2]". It is bytes [*out_begin,
 * *out_end) of `text`, which json_parse has accepted. Returns false if there is no such value (or the path was
 * cut). */
bool json_find_span(Str text, const char *path, uint32_t *out_begin, uint32_t *out_end);

/* Iterates over the elements of an array. *at is the position of its '[', later the one after the last element.
 * Returns false at the end, with *at at the ']', or SIZE_MAX if this is no array. The elements need not be
 * valid JSON. */
bool json_next_element(Str text, size_t *at, Str *out_element);

#endif
