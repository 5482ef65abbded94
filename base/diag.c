/* Diagnostics are kept as data; lines and columns are computed only in diag_print.
 *
 * A source line is shown in display columns: a UTF-8 character takes one, a tab goes to the next
 * multiple of four, and what is not printable (control characters, broken UTF-8) shows as '?', so
 * that a hostile file cannot drive the terminal. Lines past LINE_COLUMNS are cut around the
 * span. */
#include "base/diag.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/check.h"

#include <stdio.h>
#include <string.h>

enum {
    TAB_COLUMNS = 4,
    LINE_COLUMNS = 120, /* the most columns of source text shown */
    LEAD_COLUMNS = 40,  /* columns kept before the span when a line is cut */
    WARNINGS_MAX = 100
};

typedef struct Source {
    const char *name;
    Str text;
    ARRAY(uint32_t) lines; /* the offset at which each line begins */
} Source;

struct DiagList {
    Arena *arena; /* holds all texts */
    ARRAY(Source) sources;
    ARRAY(Diag) diags;
    uint32_t error_count, warning_count;
    uint32_t errors_dropped, warnings_dropped;
    bool is_last_kept;
    bool failed; /* memory ran out */
};

static const char out_of_memory[] = "(out of memory for this message)";

DiagList *diag_list_create(void)
{
    DiagList *list = MEM_NEW(DiagList);
    if (!list)
        return NULL;
    list->arena = arena_create(4096, 0);
    if (!list->arena) {
        mem_free(list);
        return NULL;
    }
    return list;
}

void diag_list_destroy(DiagList *list)
{
    if (!list)
        return;
    arena_destroy(list->arena);
    mem_free(list);
}

/* Records where lines begin, so that a place is found without reading the text before it: there may be one
 * place for each instruction. */
static bool find_lines(Arena *arena, Source *source)
{
    const char *text = source->text.data, *end = text + source->text.size_bytes, *at = text;
    while (at) {
        if (!array_push(arena, &source->lines, (uint32_t)(at - text)))
            return false;
        const char *line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        at = line_end ? line_end + 1 : NULL;
    }
    return true;
}

uint32_t diag_add_source(DiagList *list, const char *name, Str text)
{
    CHECK(text.size_bytes <= UINT32_MAX);
    Source source = {
        .name = arena_strndup(list->arena, name, strlen(name)),
        .text = {arena_strndup(list->arena, text.data, text.size_bytes), text.size_bytes}};
    if (!source.name || !source.text.data || !find_lines(list->arena, &source) ||
        !array_push(list->arena, &list->sources, source)) {
        list->failed = true;
        return 0;
    }
    return list->sources.count;
}

SORT_PRINTF(2, 0)
static const char *format_text(DiagList *list, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : arena_alloc(list->arena, (size_t)length + 1, 1);
    list->failed |= !text;
    if (text)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text ? text : out_of_memory;
}

/* Counts a diagnostic and returns whether it is to be kept. */
static bool admit(DiagList *list, DiagSeverity severity)
{
    switch (severity) {
    case DIAG_ERROR:
        if (list->error_count++ < DIAG_MAX_ERRORS)
            return true;
        ++list->errors_dropped;
        return false;
    case DIAG_WARNING:
        if (list->warning_count++ < WARNINGS_MAX)
            return true;
        ++list->warnings_dropped;
        return false;
    case DIAG_NOTE:
        return list->is_last_kept;
    }
    UNREACHABLE();
}

void diag_add(DiagList *list, DiagSeverity severity, const char *code, Span span,
              const char *format, ...)
{
    list->is_last_kept = admit(list, severity);
    if (!list->is_last_kept)
        return;
    Diag diag = {.severity = severity, .span = span};
    (void)snprintf(diag.code, sizeof diag.code, "%.7s", code ? code : "");
    va_list args;
    va_start(args, format);
    diag.message = format_text(list, format, args);
    va_end(args);
    list->is_last_kept = array_push(list->arena, &list->diags, diag);
    list->failed |= !list->is_last_kept;
    if (!list->is_last_kept && severity == DIAG_ERROR)
        ++list->errors_dropped;
}

void diag_label(DiagList *list, const char *format, ...)
{
    if (!list->is_last_kept)
        return;
    va_list args;
    va_start(args, format);
    list->diags.data[list->diags.count - 1].label = format_text(list, format, args);
    va_end(args);
}

bool diag_list_failed(const DiagList *list)
{
    return list->failed;
}

void diag_list_fail(DiagList *list)
{
    list->failed = true;
}

uint32_t diag_count(const DiagList *list)
{
    return list->diags.count;
}

const Diag *diag_get(const DiagList *list, uint32_t index)
{
    CHECK(index < list->diags.count);
    return &list->diags.data[index];
}

uint32_t diag_error_count(const DiagList *list)
{
    return list->error_count;
}

static const Source *source_of(const DiagList *list, uint32_t file)
{
    CHECK(file >= 1 && file <= list->sources.count);
    return &list->sources.data[file - 1];
}

uint32_t diag_source_count(const DiagList *list)
{
    return list->sources.count;
}

const char *diag_source_name(const DiagList *list, uint32_t file)
{
    return source_of(list, file)->name;
}

/* Returns the length in bytes of the character at `at`. *out_is_printable is false for control characters and
 * for bytes that are not well-formed UTF-8 (each of which counts as a character). */
static uint32_t character_at(Str text, uint32_t at, bool *out_is_printable)
{
    const unsigned char *bytes = (const unsigned char *)text.data + at;
    uint32_t length = str_utf8_length(text, at);
    /* C1 control characters */
    bool is_control =
        bytes[0] < 0x20 || bytes[0] == 0x7f || (length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0);
    *out_is_printable = length > 0 && !is_control;
    return length > 0 ? length : 1;
}

/* A line of a source: bytes [begin, end) without the line end. */
typedef struct Line {
    uint32_t number, begin, end;
} Line;

static Line line_at(const Source *source, uint32_t offset)
{
    Str text = source->text;
    uint32_t first = 0, past = source->lines.count;
    while (past - first > 1) {
        uint32_t middle = first + (past - first) / 2;
        if (source->lines.data[middle] <= offset)
            first = middle;
        else
            past = middle;
    }
    Line line = {.number = first + 1, .begin = source->lines.data[first]};
    bool is_last = first + 1 == source->lines.count;
    line.end = is_last ? (uint32_t)text.size_bytes : source->lines.data[first + 1] - 1;
    if (line.end > line.begin && text.data[line.end - 1] == '\r')
        --line.end;
    return line;
}

static uint32_t clamp_offset(Str text, uint32_t offset)
{
    return offset < text.size_bytes ? offset : (uint32_t)text.size_bytes;
}

static uint32_t column_of(Str text, uint32_t line_begin, uint32_t offset)
{
    uint32_t column = 1;
    bool is_printable;
    for (uint32_t at = line_begin; at < offset; ++column) {
        at += character_at(text, at, &is_printable);
        if (at > offset) /* an offset inside a character means that character's column */
            break;
    }
    return column;
}

void diag_position(const DiagList *list, uint32_t file, uint32_t offset, uint32_t *out_line,
                   uint32_t *out_column)
{
    const Source *source = source_of(list, file);
    offset = clamp_offset(source->text, offset);
    Line line = line_at(source, offset);
    *out_line = line.number;
    *out_column = column_of(source->text, line.begin, offset);
}

void diag_position_in(Str text, uint32_t offset, uint32_t *out_line, uint32_t *out_column)
{
    uint32_t begin = 0;
    offset = clamp_offset(text, offset);
    *out_line = 1;
    for (uint32_t at = 0; at < offset; ++at)
        if (text.data[at] == '\n') {
            begin = at + 1;
            ++*out_line;
        }
    *out_column = column_of(text, begin, offset);
}

static uint32_t columns_of(Str text, uint32_t at, uint32_t column, uint32_t *out_bytes,
                           bool *out_is_printable)
{
    *out_bytes = character_at(text, at, out_is_printable);
    return text.data[at] == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS : 1;
}

/* Computes the display columns, from 0, at which the bytes [begin, end) of a line start and stop. */
static void measure(Str text, Line line, uint32_t begin, uint32_t end, uint32_t *out_first,
                    uint32_t *out_last, uint32_t *out_total)
{
    uint32_t column = 0, bytes;
    bool is_printable, has_first = false, has_last = false;
    *out_first = *out_last = 0;
    for (uint32_t at = line.begin; at < line.end; at += bytes) {
        uint32_t width = columns_of(text, at, column, &bytes, &is_printable);
        if (!has_first && begin < at + bytes) {
            *out_first = column;
            has_first = true;
        }
        if (!has_last && end <= at) {
            *out_last = column;
            has_last = true;
        }
        column += width;
    }
    if (!has_first)
        *out_first = column;
    if (!has_last)
        *out_last = column;
    *out_total = column;
}

/* Prints the display columns [from, to) of a line. */
static void print_columns(Str text, Line line, uint32_t from, uint32_t to, StrBuf *out)
{
    uint32_t column = 0, bytes;
    bool is_printable;
    for (uint32_t at = line.begin; at < line.end && column < to; at += bytes) {
        uint32_t width = columns_of(text, at, column, &bytes, &is_printable);
        for (uint32_t i = 0; i < width; ++i, ++column) {
            if (column < from || column >= to)
                continue;
            if (text.data[at] == '\t')
                strbuf_append_char(out, ' ');
            else if (is_printable)
                strbuf_append(out, (Str){text.data + at, bytes});
            else
                strbuf_append_char(out, '?');
        }
    }
}

static void print_repeated(StrBuf *out, char c, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        strbuf_append_char(out, c);
}

/* Prints a line of source, and below it the marks for the bytes [begin, end). */
static void print_excerpt(Str text, Line line, uint32_t begin, uint32_t end, bool has_caret,
                          const char *label, StrBuf *out)
{
    static const char ellipsis[] = "...";
    uint32_t first, last, total;
    measure(text, line, begin, end, &first, &last, &total);
    if (last <= first)
        last = first + 1; /* an empty span is shown as one column */
    uint32_t from = 0, to = total;
    if (total > LINE_COLUMNS) {
        from = first > LEAD_COLUMNS ? first - LEAD_COLUMNS : 0;
        to = from + LINE_COLUMNS < total ? from + LINE_COLUMNS : total;
    }
    strbuf_printf(out, "%5u | %s", line.number, from > 0 ? ellipsis : "");
    print_columns(text, line, from, to, out);
    strbuf_append_c(out, to < total ? "...\n" : "\n");
    if (last > to && last > first + 1)
        last = to > first ? to : first + 1;
    strbuf_append_c(out, "      | ");
    print_repeated(out, ' ', first - from + (from > 0 ? (uint32_t)strlen(ellipsis) : 0));
    strbuf_append_char(out, has_caret ? '^' : '~');
    print_repeated(out, '~', last - first - 1);
    if (label) {
        strbuf_append_char(out, ' ');
        strbuf_append_printable(out, str_from(label));
    }
    strbuf_append_char(out, '\n');
}

/* Returns the first byte of a line that is not blank; line.end if there is none. */
static uint32_t skip_blanks(Str text, Line line)
{
    uint32_t at = line.begin;
    while (at < line.end && (text.data[at] == ' ' || text.data[at] == '\t'))
        ++at;
    return at;
}

static void print_span(const Source *source, Span span, const char *label, StrBuf *out)
{
    Str text = source->text;
    uint32_t begin = clamp_offset(text, span.begin);
    uint32_t end = clamp_offset(text, span.end > span.begin ? span.end : span.begin);
    Line first = line_at(source, begin);
    Line last = line_at(source, end > begin ? end - 1 : end);
    if (last.number == first.number) {
        print_excerpt(text, first, begin, end, true, label, out);
        return;
    }
    print_excerpt(text, first, begin, first.end, true, NULL, out);
    if (last.number > first.number + 1)
        strbuf_append_c(out, "  ... |\n");
    print_excerpt(text, last, skip_blanks(text, last), end, false, label, out);
}

static void print_diag(const DiagList *list, const Diag *diag, StrBuf *out)
{
    static const char *const severities[] = {"error", "warning", "note"};
    if (diag->span.file != 0) {
        uint32_t line, column;
        diag_position(list, diag->span.file, diag->span.begin, &line, &column);
        strbuf_append_printable(out, str_from(diag_source_name(list, diag->span.file)));
        strbuf_printf(out, ":%u:%u: ", line, column);
    }
    strbuf_append_c(out, severities[diag->severity]);
    if (diag->code[0])
        strbuf_printf(out, "[%s]", diag->code);
    strbuf_append_c(out, ": ");
    strbuf_append_printable(out, str_from(diag->message));
    strbuf_append_char(out, '\n');
    if (diag->span.file != 0)
        print_span(source_of(list, diag->span.file), diag->span, diag->label, out);
}

void diag_print(const DiagList *list, StrBuf *out)
{
    for (uint32_t i = 0; i < list->diags.count; ++i)
        print_diag(list, &list->diags.data[i], out);
    if (list->errors_dropped > 0)
        strbuf_printf(out, "%u more error%s not shown\n", list->errors_dropped,
                      list->errors_dropped == 1 ? " is" : "s are");
    if (list->warnings_dropped > 0)
        strbuf_printf(out, "%u more warning%s not shown\n", list->warnings_dropped,
                      list->warnings_dropped == 1 ? " is" : "s are");
}
