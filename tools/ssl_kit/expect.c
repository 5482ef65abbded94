/* One line, one directive: `// word: rest`. Each word has a function that reads the rest through a
 * small scanner; the first mistake in a line is reported with the place and ends the line. */
#include "tools/ssl_kit/expect.h"
#include "base/check.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    Arena *arena;
    DiagList *report;
    ExpectFile *out;
    uint32_t file;
    const char *at;   /* in a NUL-terminated copy of the line */
    const char *line; /* that copy */
    uint32_t offset;  /* of the line in the file */
    Span span;        /* of the directive */
    bool is_bad;
} Reader;

/* --- scanner ---------------------------------------------------------------------------------- */

static void complain(Reader *r, const char *what)
{
    if (!r->is_bad) {
        uint32_t at = r->offset + (uint32_t)(r->at - r->line);
        diag_add(r->report, DIAG_ERROR, "", (Span){r->file, at, at + 1}, "%s", what);
    }
    r->is_bad = true;
}

static void skip_blanks(Reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        ++r->at;
}

static bool accept(Reader *r, const char *token)
{
    skip_blanks(r);
    size_t length = strlen(token);
    if (strncmp(r->at, token, length) != 0)
        return false;
    bool is_word = isalpha((unsigned char)token[0]) != 0;
    if (is_word && (isalnum((unsigned char)r->at[length]) || r->at[length] == '_'))
        return false;
    r->at += length;
    return true;
}

static void require(Reader *r, const char *token, const char *complaint)
{
    if (!accept(r, token))
        complain(r, complaint);
}

static bool at_end(Reader *r)
{
    skip_blanks(r);
    return *r->at == '\0';
}

static const char *read_name(Reader *r)
{
    skip_blanks(r);
    const char *first = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        ++r->at;
    if (r->at == first) {
        complain(r, "a name is missing here");
        return "";
    }
    return arena_strndup(r->arena, first, (size_t)(r->at - first));
}

/* A parameter of a group has dots in its name: "node.input". */
static const char *read_path(Reader *r)
{
    const char *name = read_name(r);
    while (!r->is_bad && *r->at == '.') {
        ++r->at;
        name = arena_printf(r->arena, "%s.%s", name, read_name(r));
    }
    return name;
}

static const char *read_rest(Reader *r)
{
    skip_blanks(r);
    size_t length = strlen(r->at);
    while (length && isspace((unsigned char)r->at[length - 1]))
        --length;
    const char *rest = arena_strndup(r->arena, r->at, length);
    r->at += length;
    return rest;
}

static bool scan_number(const char **at, double *out_x)
{
    static const struct {
        const char *word;
        double x;
    } words[] = {{"true", 1}, {"false", 0}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(words); ++i) {
        size_t length = strlen(words[i].word);
        if (strncmp(*at, words[i].word, length) == 0 && !isalnum((unsigned char)(*at)[length])) {
            *out_x = words[i].x;
            *at += length;
            return true;
        }
    }
    char *end;
    *out_x = strtod(*at, &end);
    if (end == *at || isspace((unsigned char)**at))
        return false;
    *at = end;
    return true;
}

/* A number or a bracketed list. */
static bool scan_numbers(const char **at, ExpectNumbers *out)
{
    *out = (ExpectNumbers){0};
    *at += strspn(*at, " \t");
    if (**at != '(') {
        out->count = 1;
        return scan_number(at, &out->x[0]);
    }
    ++*at;
    for (;;) {
        *at += strspn(*at, " \t,");
        if (**at == ')') {
            ++*at;
            return out->count > 0;
        }
        if (out->count == SORT_COUNT_OF(out->x) || !scan_number(at, &out->x[out->count++]))
            return false;
    }
}

static ExpectNumbers read_numbers(Reader *r)
{
    ExpectNumbers numbers;
    if (!scan_numbers(&r->at, &numbers))
        complain(r, "a number, true, false or a list like (1 2 3) is missing here");
    return numbers;
}

static uint32_t read_count(Reader *r)
{
    ExpectNumbers numbers = read_numbers(r);
    if (numbers.count != 1 || !(numbers.x[0] >= 0 && numbers.x[0] <= 4e9) ||
        numbers.x[0] != floor(numbers.x[0])) {
        complain(r, "a number that is not negative and whole is missing here");
        return 0;
    }
    return (uint32_t)numbers.x[0];
}

bool expect_parse_numbers(const char *text, ExpectNumbers *out_numbers)
{
    if (!scan_numbers(&text, out_numbers))
        return false;
    return text[strspn(text, " \t")] == '\0';
}

bool expect_to_value(const ExpectNumbers *numbers, SslType type, SslValue *out_value)
{
    if (type == SSL_STRUCT || type == SSL_ARRAY) {
        *out_value = (SslValue){.type = type, .list = numbers->x, .count = numbers->count};
        return true; /* how many it must be, ssl_params_set says */
    }
    uint32_t scalars = ssl_type_scalars(type);
    *out_value = (SslValue){.type = type};
    if (scalars == 0 || (numbers->count != 1 && numbers->count != scalars))
        return false;
    if (type == SSL_BOOL) {
        out_value->b = numbers->x[0] != 0;
        return numbers->x[0] == 0 || numbers->x[0] == 1;
    }
    if (type == SSL_INT) {
        out_value->i = (int32_t)numbers->x[0];
        return numbers->x[0] == (double)out_value->i;
    }
    for (uint32_t i = 0; i < scalars; ++i)
        out_value->f[i] = (float)numbers->x[numbers->count == 1 ? 0 : i];
    return true;
}

/* --- settings --------------------------------------------------------------------------------- */

static ExpectCase *present_case(Reader *r)
{
    return &r->out->cases.data[r->out->cases.count - 1];
}

static void add_setting(Reader *r, ExpectSetting setting)
{
    setting.span = r->span;
    if (!r->is_bad)
        array_push(r->arena, &present_case(r)->settings, setting);
}

static bool type_from_name(const char *name, SslType *out_type)
{
    for (uint32_t type = SSL_BOOL; type <= SSL_NORMAL; ++type)
        if (strcmp(ssl_type_name((SslType)type), name) == 0) {
            *out_type = (SslType)type;
            return true;
        }
    return false;
}

/* TYPE NAME = VALUE [ddx V] [ddy V]; without TYPE: another value for what is declared already. True if there
 * was a type. */
static bool read_input(Reader *r, ExpectSettingKind kind, const char **out_name, SslType *out_type)
{
    ExpectSetting setting = {.kind = kind, .name = read_path(r)};
    bool is_declaration = type_from_name(setting.name, out_type);
    if (is_declaration)
        setting.name = read_path(r);
    require(r, "=", "'=' is missing here");
    setting.value = read_numbers(r);
    if (accept(r, "ddx"))
        setting.ddx = read_numbers(r);
    if (accept(r, "ddy"))
        setting.ddy = read_numbers(r);
    add_setting(r, setting);
    *out_name = setting.name;
    return is_declaration && !r->is_bad;
}

static void read_global(Reader *r)
{
    SslGlobalRow row = {.space = "", .doc = ""};
    if (!read_input(r, EXPECT_SET_GLOBAL, &row.name, &row.type))
        return;
    row.has_derivs = row.type != SSL_BOOL && row.type != SSL_INT;
    array_push(r->arena, &r->out->globals, row);
}

static void read_attribute(Reader *r)
{
    SslAttributeRow row = {.doc = ""};
    if (!read_input(r, EXPECT_SET_ATTRIBUTE, &row.name, &row.type))
        return;
    row.has_derivs = row.type != SSL_BOOL && row.type != SSL_INT;
    array_push(r->arena, &r->out->attributes, row);
}

/* NAME(TYPE NAME, ...) */
static void read_closure_row(Reader *r)
{
    ARRAY(SslClosureArg) args = {0};
    SslClosureRow row = {.name = read_name(r), .doc = "", .citation = ""};
    require(r, "(", "'(' is missing here");
    while (!r->is_bad && args.count < SSL_MAX_CLOSURE_ARGS && !accept(r, ")")) {
        SslClosureArg arg = {.type = SSL_CLOSURE};
        const char *type = read_name(r);
        if (strcmp(type, "closure") != 0 && !type_from_name(type, &arg.type))
            complain(r, "a type is missing here");
        arg.name = read_name(r);
        array_push(r->arena, &args, arg);
        accept(r, ",");
    }
    row.args = args.data;
    row.arg_count = args.count;
    if (!r->is_bad)
        array_push(r->arena, &r->out->closures, row);
}

/* NAME = ..., of which the value follows. */
static ExpectSetting read_assignment(Reader *r, ExpectSettingKind kind)
{
    ExpectSetting setting = {.kind = kind, .name = read_path(r)};
    require(r, "=", "'=' is missing here");
    return setting;
}

static void read_param(Reader *r)
{
    ExpectSetting setting = read_assignment(r, EXPECT_SET_PARAM);
    setting.value = read_numbers(r);
    add_setting(r, setting);
}

static void read_constant(Reader *r)
{
    ExpectSetting setting = read_assignment(r, EXPECT_SET_CONSTANT);
    if (accept(r, "\"")) {
        const char *first = r->at;
        while (*r->at && *r->at != '"')
            ++r->at;
        setting.text = arena_strndup(r->arena, first, (size_t)(r->at - first));
        require(r, "\"", "the closing quote is missing");
    } else {
        setting.value = read_numbers(r);
    }
    add_setting(r, setting);
}

static void read_texture(Reader *r)
{
    ExpectSetting setting = read_assignment(r, EXPECT_SET_TEXTURE);
    setting.text = read_rest(r);
    add_setting(r, setting);
}

static void read_shader(Reader *r)
{
    ExpectSetting setting = {.kind = EXPECT_SET_SHADER, .name = read_name(r)};
    add_setting(r, setting);
}

static void read_group(Reader *r)
{
    ExpectSetting setting = {.kind = EXPECT_SET_GROUP, .name = read_name(r)};
    add_setting(r, setting);
}

static void read_budget(Reader *r)
{
    ExpectSetting setting = {.kind = EXPECT_SET_BUDGET};
    setting.value = (ExpectNumbers){1, {(double)read_count(r)}};
    add_setting(r, setting);
}

static void read_stack(Reader *r)
{
    ExpectSetting setting = {.kind = EXPECT_SET_STACK};
    setting.value = (ExpectNumbers){1, {(double)read_count(r)}};
    add_setting(r, setting);
}

static void read_case(Reader *r)
{
    ExpectCase new_case = {.name = read_rest(r)};
    array_push(r->arena, &r->out->cases, new_case);
}

/* --- expectations ------------------------------------------------------------------------------- */

static void add_expectation(Reader *r, Expectation expectation)
{
    expectation.span = r->span;
    if (!r->is_bad)
        array_push(r->arena, &present_case(r)->expectations, expectation);
}

static void read_component(Reader *r, Expectation *e)
{
    e->component = -1;
    if (accept(r, "[")) {
        e->component = (int32_t)read_count(r);
        require(r, "]", "']' is missing here");
    } else if (accept(r, ".")) {
        static const char letters[] = "xyzwrgba";
        const char *found = *r->at ? strchr(letters, *r->at) : NULL;
        if (!found) {
            complain(r, "a component is one of x y z w r g b a");
            return;
        }
        e->component = (int32_t)(found - letters) % 4;
        ++r->at;
    }
}

/* OUTPUT[.c] = VALUE [+- T], or ddx(OUTPUT)[.c] = ..., or ddy */
static void read_expect(Reader *r)
{
    Expectation e = {.kind = EXPECT_VALUE};
    e.name = read_name(r);
    if (strcmp(e.name, "ddx") == 0 || strcmp(e.name, "ddy") == 0) {
        const char *after_name = r->at;
        if (accept(r, "(")) {
            e.kind = e.name[2] == 'x' ? EXPECT_DDX : EXPECT_DDY;
            e.name = read_name(r);
            require(r, ")", "')' is missing here");
        } else {
            r->at = after_name; /* an output of that name */
        }
    }
    read_component(r, &e);
    require(r, "=", "'=' is missing here");
    e.value = read_numbers(r);
    if (accept(r, "+-")) {
        ExpectNumbers tolerance = read_numbers(r);
        e.tolerance = tolerance.x[0];
        e.has_tolerance = true;
    }
    add_expectation(r, e);
}

/* NAME weight (r g b) [args (...)] [under NAME], or `none` */
static void read_closure(Reader *r)
{
    Expectation e = {.kind = EXPECT_CLOSURE};
    if (!accept(r, "none")) {
        e.name = read_name(r);
        require(r, "weight", "'weight' is missing here");
        e.value = read_numbers(r);
        while (accept(r, "args") || (e.args.count && !at_end(r) && *r->at == '(')) {
            ExpectNumbers more = read_numbers(r);
            for (uint32_t i = 0; i < more.count && e.args.count < SORT_COUNT_OF(e.args.x); ++i)
                e.args.x[e.args.count++] = more.x[i];
        }
        if (accept(r, "under"))
            e.under = read_name(r);
    }
    add_expectation(r, e);
}

/* TEXTURE at (s t) [ddx (ds dt)] [ddy (ds dt)], or `none` */
static void read_lookup(Reader *r)
{
    Expectation e = {.kind = EXPECT_LOOKUP};
    if (!accept(r, "none")) {
        e.name = read_path(r);
        require(r, "at", "'at' is missing here");
        e.value = read_numbers(r);
        if (accept(r, "ddx"))
            e.ddx = read_numbers(r);
        if (accept(r, "ddy"))
            e.ddy = read_numbers(r);
    }
    add_expectation(r, e);
}

static void read_position(Reader *r, uint32_t *out_line, uint32_t *out_column)
{
    *out_line = read_count(r);
    require(r, ":", "':' is missing here");
    *out_column = read_count(r);
}

/* index @ LINE:COLUMN, and the other kinds of ssl-test. */
static void read_fault(Reader *r)
{
    static const char *const kinds[] = {"index", "loop", "recursion", "closures", "tape"};
    Expectation e = {.kind = EXPECT_FAULT, .name = read_name(r)};
    bool is_known = false;
    for (uint32_t i = 0; i < SORT_COUNT_OF(kinds); ++i)
        is_known |= strcmp(e.name, kinds[i]) == 0;
    if (!is_known)
        complain(r, "a fault is 'index', 'loop', 'recursion', 'closures' or 'tape'");
    require(r, "@", "'@' is missing here");
    read_position(r, &e.line, &e.column);
    add_expectation(r, e);
}

static void read_shadowed(Reader *r)
{
    Expectation e = {.kind = EXPECT_SHADOWED};
    e.value = (ExpectNumbers){1, {(double)read_count(r)}};
    add_expectation(r, e);
}

static void read_accept(Reader *r)
{
    add_expectation(r, (Expectation){.kind = EXPECT_ACCEPT});
}

/* CODE @ L:C-L:C: part of the message */
static void read_diag(Reader *r, DiagSeverity severity)
{
    ExpectDiag diag = {.severity = severity, .span = r->span};
    const char *code = read_name(r);
    size_t length = strlen(code);
    if (length < sizeof diag.code)
        memcpy(diag.code, code, length + 1);
    else
        complain(r, "a code is like S0207");
    require(r, "@", "'@' is missing here");
    read_position(r, &diag.first_line, &diag.first_column);
    require(r, "-", "'-' is missing here");
    read_position(r, &diag.last_line, &diag.last_column);
    require(r, ":", "':' and a part of the message are missing here");
    diag.message = read_rest(r);
    if (!*diag.message)
        complain(r, "a part of the message is missing here");
    if (!r->is_bad)
        array_push(r->arena, &r->out->diags, diag);
}

/* Part of a note to the error or warning before it. */
static void read_note(Reader *r)
{
    struct ExpectNote note = {.span = r->span, .text = read_rest(r)};
    if (!*note.text)
        complain(r, "a part of the note is missing here");
    if (r->out->diags.count == 0)
        complain(r, "a note follows the error or warning that it belongs to");
    if (r->is_bad)
        return;
    ExpectDiag *diag = &r->out->diags.data[r->out->diags.count - 1];
    struct ExpectNote *notes = ARENA_ARRAY(r->arena, struct ExpectNote, diag->note_count + 1);
    for (uint32_t i = 0; i < diag->note_count; ++i)
        notes[i] = diag->notes[i];
    notes[diag->note_count++] = note;
    diag->notes = notes;
}

static void read_error(Reader *r)
{
    read_diag(r, DIAG_ERROR);
}

static void read_warning(Reader *r)
{
    read_diag(r, DIAG_WARNING);
}

/* --- lines ------------------------------------------------------------------------------------ */

static const struct {
    const char *word;
    void (*read)(Reader *r);
} directives[] = {
    {"global", read_global},
    {"attribute", read_attribute},
    {"closure", read_closure_row},
    {"param", read_param},
    {"constant", read_constant},
    {"texture", read_texture},
    {"shader", read_shader},
    {"group", read_group},
    {"loop-budget", read_budget},
    {"stack-bytes", read_stack},
    {"case", read_case},
    {"expect", read_expect},
    {"expect-closure", read_closure},
    {"expect-lookup", read_lookup},
    {"expect-fault", read_fault},
    {"expect-shadowed", read_shadowed},
    {"expect-accept", read_accept},
    {"expect-error", read_error},
    {"expect-warning", read_warning},
    {"expect-note", read_note},
};

/* A word that is nearly a directive is taken for a mistake, so that no expectation is lost to a
 * misspelling; other words with a colon are prose. */
static void reject_unknown(Reader *r, const char *word)
{
    const char *names[SORT_COUNT_OF(directives)];
    for (uint32_t i = 0; i < SORT_COUNT_OF(directives); ++i)
        names[i] = directives[i].word;
    const char *nearest = suggest_nearest(word, names, SORT_COUNT_OF(names));
    if (!nearest && strncmp(word, "expect", 6) != 0)
        return;
    diag_add(r->report, DIAG_ERROR, "", r->span, "there is no directive '%s'", word);
    if (nearest)
        diag_label(r->report, "did you mean '%s'?", nearest);
}

static void read_line(Reader *r)
{
    skip_blanks(r);
    r->span = (Span){r->file, r->offset + (uint32_t)(r->at - r->line), 0};
    if (!accept(r, "//"))
        return;
    skip_blanks(r);
    size_t length = 0;
    while (islower((unsigned char)r->at[length]) || r->at[length] == '-')
        ++length;
    if (length == 0 || r->at[length] != ':')
        return;
    r->span.end = r->offset + (uint32_t)strlen(r->line);
    const char *word = arena_strndup(r->arena, r->at, length);
    r->at += length + 1;
    for (uint32_t i = 0; i < SORT_COUNT_OF(directives); ++i)
        if (strcmp(directives[i].word, word) == 0) {
            directives[i].read(r);
            if (!at_end(r))
                complain(r, "nothing more is expected on this line");
            return;
        }
    reject_unknown(r, word);
}

/* Group NAME {JSON} in block comments that begin a line. */
static void find_groups(Reader *r, Str text)
{
    static const char opening[] = "/* group ";
    const char *end = text.data + text.size_bytes;
    for (const char *line = text.data; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next + 1 : end;
        size_t length = sizeof opening - 1;
        if ((size_t)(end - line) > length && memcmp(line, opening, length) == 0) {
            const char *name = line + length, *json = name, *close;
            while (json < end && (isalnum((unsigned char)*json) || *json == '_'))
                ++json;
            for (close = json; close + 1 < end && (close[0] != '*' || close[1] != '/');)
                ++close;
            ExpectGroup group = {.name = arena_strndup(r->arena, name, (size_t)(json - name)),
                                 .json = {json, (size_t)(close - json)},
                                 .offset = (uint32_t)(json - text.data)};
            array_push(r->arena, &r->out->groups, group);
        }
        line = next;
    }
}

void expect_parse(Str text, uint32_t file, Arena *arena, DiagList *report, ExpectFile *out_file)
{
    *out_file = (ExpectFile){0};
    array_push(arena, &out_file->cases, (ExpectCase){.name = ""});
    Reader r = {.arena = arena, .report = report, .out = out_file, .file = file};
    find_groups(&r, text);
    const char *end = text.data + text.size_bytes;
    for (const char *line = text.data; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        line_end = line_end ? line_end : end;
        size_t length = (size_t)(line_end - line);
        if (length && line[length - 1] == '\r')
            --length;
        r.line = r.at = arena_strndup(arena, line, length);
        r.offset = (uint32_t)(line - text.data);
        r.is_bad = false;
        read_line(&r);
        line = line_end + 1;
    }
}
