/* Strings as numbers. SSL computes nothing with strings but whether two are equal, and which one a string
 * parameter is, is known when a program is specialised. So in the IR a string is an int, by which all
 * comparisons fold. Numbers are never given back, and differ from run to run: none may be left in code
 * that is cached. */
#ifndef SSL_STRING_IDS_H
#define SSL_STRING_IDS_H

#include "base/error.h"

typedef struct StringIds StringIds; /* any thread */

StringIds *string_ids_create(void); /* NULL when out of memory */
void string_ids_destroy(StringIds *ids);
/* The number of the text, the same for the same text. False: out of memory. */
bool string_ids_find(StringIds *ids, const char *text, int32_t *out_id) SORT_MUST_CHECK;

#endif
