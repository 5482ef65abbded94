#include "tests/ssl/front_fixture.h"

static jmp_buf out_of_memory;

static const SslGlobalRow globals[] = {{"x", SSL_FLOAT, true, "", ""},
                                       {"P", SSL_POINT, true, "", ""},
                                       {"n", SSL_INT, false, "", ""},
                                       {"b", SSL_BOOL, false, "", ""}};
static const SslClosureArg lambert[] = {{"albedo", SSL_COLOR}, {"N", SSL_NORMAL}};
static const SslClosureArg glow[] = {{"radiance", SSL_COLOR}};
static const SslClosureRow closures[] = {{"Lambert", lambert, 2, 0, "", ""},
                                         {"Glow", glow, 1, 0, "", ""}};
const LowerTables front_tables = {.globals = globals,
                                  .closures = closures,
                                  .global_count = SORT_COUNT_OF(globals),
                                  .closure_count = SORT_COUNT_OF(closures)};

Front front_begin(void)
{
    Front f = {arena_create(0, 0), diag_list_create()};
    assert_non_null(f.arena);
    assert_non_null(f.diags);
    if (setjmp(out_of_memory))
        fail_msg("out of memory");
    arena_on_no_memory(f.arena, &out_of_memory);
    return f;
}

void front_end(Front *f)
{
    arena_destroy(f->arena);
    diag_list_destroy(f->diags);
}

const StdLib *front_library(void)
{
    static StdLib *library;
    Error err = {0};
    if (!library && stdlib_create(&library, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return library;
}

static Status lower_text(Front *f, const char *text, const char *shader, IrModule **out_module)
{
    const SslSource source = {.name = "test.ssl", .text = str_from(text), .shader = shader};
    return lower_shader(front_library(), &front_tables, &source, f->arena, f->diags, out_module);
}

IrModule *front_compile(Front *f, const char *text)
{
    IrModule *m;
    if (lower_text(f, text, NULL, &m) != STATUS_OK) {
        StrBuf out = {0};
        diag_print(f->diags, &out);
        print_error("%s", strbuf_text(&out));
        strbuf_free(&out);
        fail_msg("the source was refused");
    }
    return m;
}

const char *front_messages(Front *f, const char *text)
{
    return front_messages_of(f, text, NULL);
}

const char *front_messages_of(Front *f, const char *text, const char *shader)
{
    IrModule *m;
    const char *all = "";
    Status status = lower_text(f, text, shader, &m);
    assert_true((status == STATUS_OK) == (diag_error_count(f->diags) == 0));
    for (uint32_t i = 0; i < diag_count(f->diags); ++i) {
        const Diag *d = diag_get(f->diags, i);
        uint32_t line = 0, column = 0;
        if (d->span.file)
            diag_position(f->diags, d->span.file, d->span.begin, &line, &column);
        all = arena_printf(f->arena, "%s%s %u:%u %s\n", all, d->code[0] ? d->code : "note", line,
                           column, d->message);
    }
    return all;
}
