/* Random shaders with [Filtered] before all functions: where globals do not change from pixel to pixel they give the bits of the shader
 * as it was, but for the sign of zeros, since a derivative may be known to be zero in one of both, and computed to be in the other; and else
 * the same bits at all widths. */
#include "base/check.h"
#include "tests/ssl/random/random_case.h"

#include <string.h>

enum { SEEN_LANES = 3 };

static bool has_word(const char *line, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; ++i)
        if (memcmp(line + i, word, length) == 0)
            return true;
    return false;
}

/* Whether a line begins a function: the writer puts nothing else with these names at the start of a line. */
static bool is_function(const char *line, size_t size)
{
    if (size >= 7 && memcmp(line, "shader ", 7) == 0)
        return true;
    bool is_named = has_word(line, size, " f0(") || has_word(line, size, " f1(") ||
                    has_word(line, size, " f2(") || has_word(line, size, " f3(");
    return is_named && line[0] >= 'a' && line[0] <= 'z' && line[size - 1] == ')' &&
           !has_word(line, size, "=");
}

static void mark_functions(Str text, StrBuf *out)
{
    for (size_t at = 0; at < text.size_bytes;) {
        const char *line = text.data + at, *end = memchr(line, '\n', text.size_bytes - at);
        size_t size = end ? (size_t)(end - line) : text.size_bytes - at;
        if (size > 0 && is_function(line, size))
            strbuf_append_c(out, "[Filtered] ");
        strbuf_printf(out, "%.*s\n", (int)size, line);
        at += size + 1;
    }
}

RandomVerdict random_check_filter(Check *c, const SslUnit *unit, const SslSource *source)
{
    static const uint32_t lanes[SEEN_LANES] = {1, 8, 16};
    if (has_word(source->text.data, source->text.size_bytes, "\n[Fused] "))
        return RANDOM_GOOD; /* functions that are [Filtered] are not fused: their numbers differ in the last bits */
    StrBuf text = {0};
    mark_functions(source->text, &text);
    const SslSource marked = {
        .name = source->name, .text = str_from(strbuf_text(&text)), .shader = source->shader};
    DiagList *diags = diag_list_create();
    RandomNumbers plain = {0}, flat = {0}, seen[SEEN_LANES] = {0};
    SslUnit *made;
    Status status = ssl_unit_compile(c->ctx, &marked, diags, &made);
    RandomVerdict verdict = status == STATUS_OK
                                ? random_run_numbers(c, unit, 1, true, &plain)
                                : random_refuse(diags, &(Error){0}, status, c->report);
    if (verdict == RANDOM_GOOD)
        verdict = random_run_numbers(c, made, 1, true, &flat);
    for (uint32_t i = 0; i < SEEN_LANES && verdict == RANDOM_GOOD; ++i)
        verdict = random_run_numbers(c, made, lanes[i], false, &seen[i]);
    if (verdict == RANDOM_GOOD &&
        (!random_same_numbers(c, "without [Filtered]", &flat, &plain, RANDOM_EQUAL) ||
         !random_same_numbers(c, "filtered with 8 lanes", &seen[0], &seen[1], RANDOM_BITS) ||
         !random_same_numbers(c, "filtered with 16 lanes", &seen[0], &seen[2], RANDOM_BITS)))
        verdict = RANDOM_BAD;
    c->tally->filtered += verdict == RANDOM_GOOD;
    if (status == STATUS_OK)
        ssl_unit_release(made);
    diag_list_destroy(diags);
    strbuf_free(&text);
    return verdict == RANDOM_REFUSED ? RANDOM_GOOD : verdict;
}
