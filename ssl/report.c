#include "ssl/report.h"
#include "base/check.h"

#include <string.h>

static const struct {
    const char *code, *text;
    DiagSeverity severity;
} rows[] = {
#define SSL_DIAG(name, code, severity, text) {code, text, severity},
#include "ssl/ssl_diag.inc"
#undef SSL_DIAG
};

/* Copies `text` with {n} replaced; "{{" stands for "{". */
static void fill_in(const char *text, const char *const *args, size_t count, StrBuf *out)
{
    for (const char *at = text; *at; ++at) {
        if (at[0] == '{' && at[1] == '{') {
            strbuf_append_char(out, '{');
            ++at;
        } else if (at[0] == '{') {
            size_t index = (size_t)(at[1] - '0');
            ASSERT(index < count && args[index] && at[2] == '}');
            strbuf_append_c(out, args[index]);
            at += 2;
        } else {
            strbuf_append_char(out, *at);
        }
    }
}

/* Instances of a generic function are checked one by one, and have its warnings in common. */
static bool is_repeated(const DiagList *list, SslDiag diag, Span span)
{
    bool may_be = span.file != 0 && rows[diag].severity == DIAG_WARNING;
    for (uint32_t i = diag_count(list); may_be && i-- > 0;) {
        const Diag *other = diag_get(list, i);
        if (other->span.begin == span.begin && other->span.end == span.end &&
            other->span.file == span.file && strcmp(other->code, rows[diag].code) == 0)
            return true;
    }
    return false;
}

void report_args(DiagList *list, SslDiag diag, Span span, const char *const *args, size_t count)
{
    if (is_repeated(list, diag, span))
        return;
    StrBuf message = {0};
    fill_in(rows[diag].text, args, count, &message);
    if (span_is_library(span))
        span = (Span){0};
    diag_add(list, rows[diag].severity, rows[diag].code, span, "%s", strbuf_text(&message));
    if (message.failed)
        diag_list_fail(list);
    strbuf_free(&message);
}

bool report_is_full(const DiagList *list)
{
    return diag_error_count(list) >= DIAG_MAX_ERRORS;
}

bool report_foreign(DiagList *list, const char *name)
{
    static const struct {
        const char *word, *instead;
    } words[] = {
#define SSL_FOREIGN(word, instead) {word, instead},
#include "ssl/ssl_foreign.inc"
#undef SSL_FOREIGN
    };
    static const struct {
        const char *word, *instead;
    } syntax[] = {
#define SSL_FOREIGN_SYNTAX(word, place, instead) {word, instead},
#include "ssl/ssl_foreign_syntax.inc"
#undef SSL_FOREIGN_SYNTAX
    };
    for (size_t i = 0; i < SORT_COUNT_OF(words); ++i)
        if (strcmp(words[i].word, name) == 0) {
            report(list, NOTE_FOREIGN, (Span){0}, name, words[i].instead);
            return true;
        }
    for (size_t i = 0; i < SORT_COUNT_OF(syntax); ++i)
        if (strcmp(syntax[i].word, name) == 0) {
            report(list, NOTE_FOREIGN_SYNTAX, (Span){0}, name, syntax[i].instead);
            return true;
        }
    return false;
}

void report_suggestion(DiagList *list, const char *name, const char *const *candidates,
                       size_t count)
{
    const char *nearest =
        report_foreign(list, name) ? NULL : suggest_nearest(name, candidates, count);
    bool is_detail = nearest && nearest[0] == '_' &&
                     name[0] != '_'; /* most likely a private name of the library */
    if (nearest && !is_detail)
        report(list, NOTE_DID_YOU_MEAN, (Span){0}, nearest);
}
