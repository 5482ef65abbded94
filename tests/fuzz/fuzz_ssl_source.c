/* Fuzzes the compiler's front half: any bytes as SSL source, through lexer, parser, checker, lowering and
 * the passes. No crash, no hang, no leak, no memory beyond MEMORY_LIMIT; a source without an error makes IR that the verifier accepts
 * (lowering reports S0901 when not), and every span that is reported lies in its source. Run it with
 * -dict=tests/fuzz/ssl.dict and the folders of tests/ssl as corpus. */
#include "base/check.h"
#include "ssl/lower/lower.h"
#include "ssl/passes/pass.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MEMORY_LIMIT = 256 << 20 };

static StdLib *library;

static const SslGlobalRow globals[] = {{"x", SSL_FLOAT, true, "", ""},
                                       {"P", SSL_POINT, true, "", ""},
                                       {"n", SSL_INT, false, "", ""},
                                       {"b", SSL_BOOL, false, "", ""}};
static const SslClosureArg lambert[] = {{"albedo", SSL_COLOR}, {"N", SSL_NORMAL}};
static const SslClosureArg coat[] = {{"weight", SSL_FLOAT}, {"base", SSL_CLOSURE}};
static const SslClosureRow closures[] = {{"Lambert", lambert, 2, 0, "", ""},
                                         {"Coat", coat, 2, 0, "", ""}};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    SORT_UNUSED(argc);
    SORT_UNUSED(argv);
    CHECK(stdlib_create(&library, NULL) == STATUS_OK);
    return 0;
}

static void check_diags(const DiagList *diags, size_t size)
{
    for (uint32_t i = 0; i < diag_count(diags); ++i) {
        const Diag *d = diag_get(diags, i);
        CHECK(d->span.begin <= d->span.end);
        CHECK(d->span.file != 1 || d->span.end <= size);
        CHECK(strcmp(d->code, "S0901") != 0);
    }
}

static void compile(Arena *arena, DiagList *diags, Str text)
{
    jmp_buf no_memory;
    if (setjmp(no_memory))
        CHECK(false); /* a short source needs little memory */
    arena_on_no_memory(arena, &no_memory);
    const LowerTables tables = {.globals = globals,
                                .closures = closures,
                                .global_count = SORT_COUNT_OF(globals),
                                .closure_count = SORT_COUNT_OF(closures)};
    const SslSource source = {.name = "fuzz.ssl", .text = text};
    const IrPipelineDesc pipeline = {.kind = SSL_KERNEL_SHADE};
    IrModule *m;
    IrReport report;
    Error err = {0};
    Status status = lower_shader(library, &tables, &source, arena, diags, &m);
    CHECK((status == STATUS_OK) == (diag_error_count(diags) == 0) || status == STATUS_NO_MEMORY);
    if (status == STATUS_OK) {
        status = ir_derive(m, diags, &err);
        CHECK(status == STATUS_OK || status == STATUS_SOURCE);
    }
    if (status == STATUS_OK) {
        status = ir_pipeline(m, &pipeline, diags, &report, &err);
        CHECK(status != STATUS_INTERNAL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_create(0, MEMORY_LIMIT);
    DiagList *diags = diag_list_create();
    if (arena && diags)
        compile(arena, diags, (Str){(const char *)data, size});
    check_diags(diags, size);
    diag_list_destroy(diags);
    arena_destroy(arena);
    return 0;
}
