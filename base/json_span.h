/* Where a value stands in the text that it was parsed from: the parsed tree keeps no positions, and only
 * messages need them, so the text is read again up to there. */
#ifndef SORT_BASE_JSON_SPAN_H
#define SORT_BASE_JSON_SPAN_H

#include "base/str.h"

/* `path` as json_path writes it: "nodes.mix.parameters[2]". Bytes [*out_begin, *out_end) of `text`, which
 * json_parse has accepted, are the value. False: no such value (or the path was cut). */
bool json_find_span(Str text, const char *path, uint32_t *out_begin, uint32_t *out_end);

#endif
