#include "base/check.h"
#include "tests/ssl/random/random_case.h"
#include <string.h>

Status random_host_create(RandomHost *out_host, Error *err)
{
    *out_host = (RandomHost){0};
    const SslContextDesc desc = {.size_bytes = sizeof desc,
                                 .globals = random_tables.globals,
                                 .closures = random_tables.closures,
                                 .global_count = random_tables.global_count,
                                 .closure_count = random_tables.closure_count};
    TRY(ssl_context_create(&desc, &out_host->ctx, err));
    return stdlib_create(&out_host->lib, err);
}

void random_host_destroy(RandomHost *host)
{
    ssl_context_destroy(host->ctx);
    stdlib_destroy(host->lib);
}

void random_tally_add(RandomTally *sum, const RandomTally *t)
{
    uint64_t *to = &sum->programs;
    const uint64_t *from = &t->programs;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; ++i)
        to[i] += from[i];
}

/* --- building ----------------------------------------------------------------------------------- */

static bool is_limit(const char *code)
{
    static const char *const codes[] = {"S0149", "S0406", "S0412", "S0602",
                                        "S0603", "S0604", "S0606", "S0820"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(codes); ++i)
        if (strcmp(codes[i], code) == 0)
            return true;
    return false;
}

RandomVerdict random_refuse(const DiagList *diags, const Error *err, Status status, StrBuf *report)
{
    bool is_fine = status == STATUS_SOURCE;
    for (uint32_t i = 0; i < diag_count(diags); ++i)
        is_fine = is_fine && (diag_get(diags, i)->severity != DIAG_ERROR ||
                              is_limit(diag_get(diags, i)->code));
    if (is_fine)
        return RANDOM_REFUSED;
    strbuf_printf(report, "not compiled: %s %s\n", status_name(status), err->text);
    diag_print(diags, report);
    return RANDOM_BAD;
}

static RandomVerdict build(Check *c, const SslUnit *unit, const SslBuildDesc *how, DiagList *diags,
                           Shot *shot, SslProgram **out_program)
{
    Error err = {0};
    Status status = ssl_program_build(c->ctx, unit, how, diags, out_program, &err);
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, c->report);
    shot->info = ssl_program_info(*out_program);
    CHECK(grid_host_create(*out_program, random_tables.globals, random_tables.global_count, POINTS,
                           &shot->grid, &err) == STATUS_OK);
    random_set_inputs(c, *out_program, shot->grid);
    grid_host_run(shot->grid);
    return RANDOM_GOOD;
}

/* The seed says how: summaries merged or not, switches baked, derivatives only where the source asks, and how
 * many lanes are computed at once with optimisation; without it's one, code with real branches. What is known of arguments,
 * merged summaries and baked switches, decides what derivatives of [Fused] shaders fuse, so that is the same for both builds then. */
static void describe_builds(Check *c, const SslUnitInfo *unit, SslBuildDesc how[2],
                            SslConstant *constants)
{
    static const uint32_t lanes[4] = {1, 4, 8, 16};
    uint64_t bits = c->seed * 0x9e3779b97f4a7c15u >> 40;
    uint32_t count = 0;
    bool is_fused = c->shader->is_fused;
    for (uint32_t i = 0; i < unit->param_count; ++i)
        if (c->param[i].type <= SSL_FLOAT)
            constants[count++] = (SslConstant){unit->params[i].name, c->param[i]};
    for (uint32_t i = 0; i < 2; ++i)
        how[i] = (SslBuildDesc){.size_bytes = sizeof *how,
                                .llvm_level = i == 0          ? 1
                                              : bits >> 8 & 1 ? 3
                                                              : 0,
                                .lanes = i ? lanes[bits >> 6 & 3] : 1,
                                .merged_summaries = bits >> (is_fused ? 0 : i) & 1,
                                .output_derivatives = i == 0 || (bits >> 2 & 3) != 0,
                                .constants = constants,
                                .constant_count = bits >> (is_fused ? 4 : 4 + i) & 1 ? count : 0};
}

/* One program of so many has gradients over edges, and another one is filtered: five kernels more each. */
enum { EDGES_EVERY = 4 };

static RandomVerdict run_compiled(Check *c, const SslSource *source, DiagList *diags)
{
    static const char *const levels[] = {"O0", "O2"};
    Error err = {0};
    SslUnit *unit;
    Status status = ssl_unit_compile(c->ctx, source, diags, &unit);
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, c->report);
    SslProgram *programs[2] = {0};
    SslBuildDesc how[2];
    SslConstant constants[8];
    Shot shots[2] = {{.check = c, .level = levels[0]}, {.check = c, .level = levels[1]}};
    RandomVerdict verdict = RANDOM_GOOD;
    describe_builds(c, ssl_unit_info(unit), how, constants);
    for (uint32_t i = 0; i < 2 && verdict == RANDOM_GOOD; ++i)
        verdict = build(c, unit, &how[i], diags, &shots[i], &programs[i]);
    for (uint32_t i = 0; i < 2 && verdict == RANDOM_GOOD; ++i)
        for (uint32_t point = 0; point < POINTS; ++point)
            random_compare_point(&shots[i], point);
    if (verdict == RANDOM_GOOD)
        random_compare_levels(c, &shots[0], &shots[1],
                              how[0].merged_summaries == how[1].merged_summaries &&
                                  how[0].output_derivatives == how[1].output_derivatives &&
                                  how[0].constant_count == how[1].constant_count);
    if (verdict == RANDOM_GOOD && c->seed % EDGES_EVERY == 0)
        verdict = random_check_edges(c, unit);
    if (verdict == RANDOM_GOOD && c->seed % EDGES_EVERY == 2)
        verdict = random_check_filter(c, unit, source);
    for (uint32_t i = 0; i < 2; ++i) {
        grid_host_destroy(shots[i].grid);
        ssl_program_release(programs[i]);
    }
    ssl_unit_release(unit);
    return verdict == RANDOM_GOOD && c->is_bad ? RANDOM_BAD : verdict;
}

/* --- all of it ---------------------------------------------------------------------------------- */

/* Adds the closures that the source defines to those of the host, with a context that knows them. */
static Status add_closures(Check *c, const SslSource *source, DiagList *diags, Error *err)
{
    SslBsdfInfo infos[8];
    uint32_t count;
    c->closure_count = random_tables.closure_count;
    memcpy(c->closures, random_tables.closures, c->closure_count * sizeof *c->closures);
    c->ctx = c->host->ctx;
    TRY(ssl_source_bsdfs(NULL, source, diags, infos, SORT_COUNT_OF(infos), &count));
    for (uint32_t i = 0; i < count; ++i)
        TRY(ssl_source_closure(NULL, source, infos[i].name, diags, c->arena,
                               &c->closures[c->closure_count++]));
    const SslContextDesc desc = {.size_bytes = sizeof desc,
                                 .globals = random_tables.globals,
                                 .closures = c->closures,
                                 .global_count = random_tables.global_count,
                                 .closure_count = c->closure_count};
    if (count == 0)
        return STATUS_OK;
    c->ctx = NULL;
    return ssl_context_create(&desc, &c->ctx, err);
}

/* Checks the source for the interpreter, which sees the libraries that the compiler would. */
static const Module *check_module(Check *c, Str text, DiagList *diags, uint32_t *out_file)
{
    const SemaTables tables = {.globals = random_tables.globals,
                               .closures = c->closures,
                               .global_count = random_tables.global_count,
                               .closure_count = c->closure_count};
    const Module *library;
    CHECK(stdlib_module_for(c->host->lib, text, &library) == STATUS_OK);
    *out_file = diag_add_source(diags, "random.ssl", text);
    const SemaSource source = {text, *out_file};
    return sema_check(library, &tables, &source, 1, c->arena, diags);
}

static void interpret(Check *c)
{
    c->param = ARENA_ARRAY(c->arena, SslValue, c->shader->params.count);
    random_choose_inputs(c);
    for (uint32_t point = 0; point < POINTS; ++point) {
        random_interpret(c, point, 0, 0, &c->result[point]);
        bool is_doubtful = c->result[point].decisions.is_doubtful;
        ++c->tally->points;
        c->tally->points_skipped += is_doubtful;
        for (uint32_t k = 0; k < 2 && point < POINTS_DIFFERENCED && !is_doubtful; ++k)
            random_compare_differences(c, point, k);
    }
}

/* Beside the plain shaders of its bsdfs a random program has one other. */
static const FuncDecl *find_shader(Check *c, uint32_t file, DiagList *diags)
{
    return sema_find_shader(c->module, c->ctx == c->host->ctx ? NULL : "random", file, c->arena,
                            diags);
}

static RandomVerdict check_checked(Check *c, Str text, DiagList *diags)
{
    SslSource source = {.name = "random.ssl", .text = text};
    Error err = {0};
    uint32_t file;
    DiagList *own = diag_list_create();
    RandomVerdict verdict = RANDOM_BAD;
    Status status = add_closures(c, &source, own, &err);
    if (status == STATUS_OK) {
        c->module = check_module(c, text, own, &file);
        c->shader = diag_error_count(own) == 0 ? find_shader(c, file, own) : NULL;
    }
    if (c->shader) {
        source.shader = c->shader->name;
        interpret(c);
        verdict = run_compiled(c, &source, diags);
        if (verdict == RANDOM_GOOD)
            verdict = random_check_bsdfs(c, &source, diags);
    } else {
        verdict = random_refuse(own, &err, status == STATUS_OK ? STATUS_SOURCE : status, c->report);
    }
    diag_list_destroy(own);
    return verdict;
}

RandomVerdict random_check(const RandomHost *host, Str text, uint64_t seed, RandomTally *tally,
                           StrBuf *report)
{
    jmp_buf no_memory;
    Arena *volatile arena = arena_create(0, 0);
    DiagList *volatile diags = diag_list_create();
    volatile RandomVerdict verdict = RANDOM_BAD;
    CHECK(arena && diags);
    if (setjmp(no_memory) == 0) {
        arena_on_no_memory(arena, &no_memory);
        Check *c = ARENA_NEW(arena, Check);
        *c = (Check){.host = host, .arena = arena, .seed = seed, .tally = tally, .report = report};
        verdict = check_checked(c, text, diags);
        if (c->ctx != host->ctx)
            ssl_context_destroy(c->ctx);
    } else {
        strbuf_append_c(report, "out of memory\n");
    }
    ++tally->programs;
    tally->refused += verdict == RANDOM_REFUSED;
    diag_list_destroy(diags);
    arena_destroy(arena);
    return verdict;
}
