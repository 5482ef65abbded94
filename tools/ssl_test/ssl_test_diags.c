/* Errors and warnings of the compiler against those that are expected. */
#include "base/check.h"
#include "tools/ssl_test/ssl_test.h"
#include <string.h>

typedef struct Position {
    uint32_t first_line, first_column, last_line, last_column; /* the end is exclusive */
} Position;

static Position position_of(const DiagList *diags, const Diag *diag)
{
    Position p = {0};
    if (diag->span.file) {
        diag_position(diags, diag->span.file, diag->span.begin, &p.first_line, &p.first_column);
        diag_position(diags, diag->span.file, diag->span.end, &p.last_line, &p.last_column);
    }
    return p;
}

static bool is_at(Position p, const ExpectDiag *expected)
{
    return p.first_line == expected->first_line && p.first_column == expected->first_column &&
           p.last_line == expected->last_line && p.last_column == expected->last_column;
}

/* Returns a bit for each expected part that the diagnostic has: LIKENESS_ALL if it has every part. */
static uint32_t likeness(const DiagList *diags, const Diag *diag, const ExpectDiag *expected)
{
    if (diag->severity == DIAG_NOTE)
        return 0;
    uint32_t same = 0;
    same |= diag->span.file && is_at(position_of(diags, diag), expected) ? 8 : 0;
    same |= strcmp(diag->code, expected->code) == 0 ? 4 : 0;
    same |= strstr(diag->message, expected->message) ? 2 : 0;
    same |= diag->severity == expected->severity ? 1 : 0;
    return same;
}

enum { LIKENESS_ALL = 15, LIKENESS_LEAST = 2 };

/* Returns the diagnostic that is most like the expected one, or the count if none is like it at all. */
static uint32_t most_alike(const DiagList *diags, const bool *is_taken, const ExpectDiag *expected)
{
    uint32_t count = diag_count(diags), best = count, most = LIKENESS_LEAST - 1;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t alike = is_taken[i] ? 0 : likeness(diags, diag_get(diags, i), expected);
        if (alike > most) {
            most = alike;
            best = i;
        }
    }
    return best;
}

/* Writes the diagnostic as the comment that would expect it. */
static const char *as_directive(Arena *arena, const DiagList *diags, const Diag *diag)
{
    Position p = position_of(diags, diag);
    return arena_printf(arena, "%s: %s @ %u:%u-%u:%u: %s",
                        diag->severity == DIAG_ERROR ? "error" : "warning", diag->code,
                        p.first_line, p.first_column, p.last_line, p.last_column, diag->message);
}

/* Shows it at its place in the file. */
static void show(TestRun *run, DiagSeverity severity, const DiagList *diags, const Diag *diag,
                 const char *what)
{
    const char *found = as_directive(run->arena, diags, diag);
    uint32_t file = diag->span.file;
    bool is_here = file && strcmp(diag_source_name(diags, file), run->file->path) == 0;
    if (is_here) { /* the first source of the report; here it may be there more than once */
        diag_add(run->report, severity, "", (Span){1, diag->span.begin, diag->span.end}, "%s",
                 what);
        diag_label(run->report, "found %s", found);
    } else {
        diag_add(run->report, severity, "", (Span){0}, "%s: %s: found %s", run->file->path, what,
                 found);
    }
}

static const char *difference(Arena *arena, const DiagList *diags, const Diag *diag,
                              const ExpectDiag *expected)
{
    Position p = position_of(diags, diag);
    uint32_t same = likeness(diags, diag, expected);
    ASSERT(diag->severity != DIAG_NOTE);
    const char *text = "";
    if (!(same & 1))
        text = diag->severity == DIAG_ERROR ? " an error," : " a warning,";
    if (!(same & 4))
        text = arena_printf(arena, "%s code %s,", text, diag->code);
    if (!(same & 8))
        text = arena_printf(arena, "%s %u:%u-%u:%u,", text, p.first_line, p.first_column,
                            p.last_line, p.last_column);
    if (!(same & 2))
        text = arena_printf(arena, "%s another message,", text);
    return arena_strndup(arena, text, strlen(text) - 1);
}

/* The first of the expected notes that is not among those that follow diagnostic `at`; NULL: all are. */
static const struct ExpectNote *missing_note(const DiagList *diags, uint32_t at,
                                             const ExpectDiag *expected)
{
    for (uint32_t n = 0; n < expected->note_count; ++n) {
        bool is_there = false;
        for (uint32_t i = at + 1; i < diag_count(diags); ++i) {
            const Diag *note = diag_get(diags, i);
            if (note->severity != DIAG_NOTE)
                break;
            is_there = is_there || strstr(note->message, expected->notes[n].text);
        }
        if (!is_there)
            return &expected->notes[n];
    }
    return NULL;
}

/* Returns a diagnostic that matches the expected one, or the count if there is none. A match that has the expected notes comes
 * first, since two errors may differ in their notes alone. */
static uint32_t find_exact(const DiagList *diags, const bool *is_taken, const ExpectDiag *expected)
{
    uint32_t count = diag_count(diags), found = count;
    for (uint32_t i = count; i-- > 0;)
        if (!is_taken[i] && likeness(diags, diag_get(diags, i), expected) == LIKENESS_ALL &&
            (found == count || missing_note(diags, found, expected) ||
             !missing_note(diags, i, expected)))
            found = i;
    return found;
}

static void report_note(TestRun *run, const DiagList *diags, uint32_t at,
                        const struct ExpectNote *note)
{
    StrBuf found = {0};
    diag_add(run->report, DIAG_ERROR, "", note->span, "this note did not come");
    for (uint32_t i = at + 1; i < diag_count(diags) && diag_get(diags, i)->severity == DIAG_NOTE;
         ++i) {
        strbuf_append_c(&found, found.size_bytes ? "; " : "");
        strbuf_append_c(&found, diag_get(diags, i)->message);
    }
    if (found.size_bytes)
        diag_label(run->report, "found instead: %s", strbuf_text(&found));
    else
        diag_label(run->report, "found no notes");
    strbuf_free(&found);
}

static void report_missing(TestRun *run, const DiagList *diags, bool *is_taken,
                           const ExpectDiag *expected)
{
    diag_add(run->report, DIAG_ERROR, "", expected->span, "this did not come");
    uint32_t at = most_alike(diags, is_taken, expected);
    if (at == diag_count(diags))
        return;
    is_taken[at] = true;
    const Diag *found = diag_get(diags, at);
    diag_label(run->report, "found instead:%s", difference(run->arena, diags, found, expected));
    show(run, DIAG_NOTE, diags, found, "this came");
}

void test_check_diags(TestRun *run, const DiagList *diags)
{
    uint32_t count = diag_count(diags), expected_count = run->expect.diags.count, missing = 0;
    bool *is_taken = ARENA_ARRAY(run->arena, bool, count);
    bool *has_come = ARENA_ARRAY(run->arena, bool, expected_count);
    for (uint32_t i = 0; i < expected_count; ++i) {
        const ExpectDiag *expected = &run->expect.diags.data[i];
        uint32_t at = find_exact(diags, is_taken, expected);
        has_come[i] = at < count;
        if (has_come[i]) {
            const struct ExpectNote *note = missing_note(diags, at, expected);
            is_taken[at] = true;
            if (note)
                report_note(run, diags, at, note);
            run->file->passed += !note;
            run->file->failed += note != NULL;
        }
        missing += !has_come[i];
    }
    for (uint32_t i = 0; i < expected_count; ++i)
        if (!has_come[i])
            report_missing(run, diags, is_taken, &run->expect.diags.data[i]);
    bool has_more = false;
    for (uint32_t i = 0; i < count; ++i) {
        const Diag *diag = diag_get(diags, i);
        if (is_taken[i] || diag->severity == DIAG_NOTE)
            continue;
        show(run, DIAG_ERROR, diags, diag, "this is not expected");
        has_more = true;
    }
    run->file->failed += missing + (has_more && missing == 0);
}
