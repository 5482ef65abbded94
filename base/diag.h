/* Diagnostics in source text: spans, codes, carets.
 *
 *   cloth.ssl:14:26: error[S0207]: no overload of 'mix' accepts (color, closure, float)
 *      14 |     Ci = mix(base_color, diffuse(N), k);
 *         |                          ^~~~~~~~~~ this is a closure
 *   note: candidates are ...
 *
 * A DiagList owns its messages and keeps a copy of every source text that was added to it, so it
 * outlives the compilation. One thread at a time. */
#ifndef SORT_BASE_DIAG_H
#define SORT_BASE_DIAG_H

#include "base/str.h"

/* Bytes [begin, end) of source `file`, an index from diag_add_source that starts at 1. File 0 means no place,
 * as for synthesised code. Line and column are computed only for printing. */
typedef struct Span {
    uint32_t file, begin, end;
} Span;

typedef enum DiagSeverity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } DiagSeverity;

typedef struct Diag {
    DiagSeverity severity; /* a NOTE belongs to the diagnostic before it */
    char code[8];          /* "S0207"; empty for notes */
    Span span;
    const char *message; /* owned by the list */
    const char *label;   /* text beside the carets, may be NULL; owned by the list */
} Diag;

typedef struct DiagList DiagList;

DiagList *diag_list_create(void); /* NULL when out of memory */
void diag_list_destroy(DiagList *list);
/* Adds a source; copies name and text. Returns its index for spans; 0 when out of memory. */
uint32_t diag_add_source(DiagList *list, const char *name, Str text);
/* After DIAG_MAX_ERRORS errors, further errors are counted but not kept. */
enum { DIAG_MAX_ERRORS = 20 };
void diag_add(DiagList *list, DiagSeverity severity, const char *code, Span span,
              const char *format, ...) SORT_PRINTF(5, 6);
/* Puts a label at the carets of the last diagnostic. */
void diag_label(DiagList *list, const char *format, ...) SORT_PRINTF(2, 3);

/* Returns true if memory ran out at some time, so that a source or a message is missing. */
bool diag_list_failed(const DiagList *list);
void diag_list_fail(DiagList *list); /* marks the list as incomplete, as if memory had run out */

uint32_t diag_count(const DiagList *list);
const Diag *diag_get(const DiagList *list, uint32_t index);
uint32_t diag_error_count(const DiagList *list); /* counts all errors, kept or not */
/* Computes line and column, from 1. Columns count UTF-8 characters; a tab is one. */
void diag_position(const DiagList *list, uint32_t file, uint32_t offset, uint32_t *out_line,
                   uint32_t *out_column);
/* Computes them in a text that is in no list. Needs no memory, but reads the text up to the place. */
void diag_position_in(Str text, uint32_t offset, uint32_t *out_line, uint32_t *out_column);
uint32_t diag_source_count(const DiagList *list); /* file indices are 1 to this count */
const char *diag_source_name(const DiagList *list, uint32_t file);
/* Prints all diagnostics as shown above. Tabs are expanded to 4 columns, long lines are cut around the span,
 * and the number of errors that were not kept is stated. */
void diag_print(const DiagList *list, StrBuf *out);

#endif
