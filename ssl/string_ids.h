/* Numbers for strings. The only operation on strings is a comparison, and the value of a string parameter is known when
 * a program is specialised. In the IR a string is therefore an int, and all comparisons fold to constants. Numbers
 * are never freed, and differ from run to run, so none may remain in code that is cached. */
#ifndef SSL_STRING_IDS_H
#define SSL_STRING_IDS_H

#include "base/error.h"

typedef struct StringIds StringIds; /* any thread */

StringIds *string_ids_create(void); /* NULL when out of memory */
void string_ids_destroy(StringIds *ids);
/* Finds the number of a text; equal texts have equal numbers. Returns false if it runs out of memory. */
bool string_ids_find(StringIds *ids, const char *text, int32_t *out_id) SORT_MUST_CHECK;

#endif
