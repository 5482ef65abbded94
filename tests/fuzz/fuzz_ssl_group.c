/* Fuzzes descriptions of groups: any bytes as JSON, linked with a handful of units and taken through the
 * passes. No crash, no hang, no leak; a group without an error makes IR that the verifier accepts (S0901
 * when not), and every span lies in the description. The corpus is tests/fuzz/ssl_group. */
#include "base/check.h"
#include "ssl/ssl_group.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const SslGlobalRow globals[] = {{"x", SSL_FLOAT, true, "", ""},
                                       {"P", SSL_POINT, true, "", ""}};
static const SslClosureArg lambert[] = {{"albedo", SSL_COLOR}};
static const SslClosureRow closures[] = {{"Lambert", lambert, 1, 0, "", ""}};

static const char source[] =
    "texture2d image;\n"
    "struct Ray { point from; vector along; };\n"
    "shader read(out float x, out point P) { x = global_value<x>; P = global_value<P>; }\n"
    "shader add(float a = 1, float b, bool twice = false, out float o) { o = twice ? 2 * a : a + "
    "b; }\n"
    "shader look(float u = 0, string mode = \"r\", out color c)\n"
    "{ c = mode == \"r\" ? texture2d_sample<image>(u, ddx(u)) : color(u); }\n"
    "shader matte(color albedo = color(1), closure under, out closure surface)\n"
    "{ surface = make_closure<Lambert>(albedo) + 0.5 * under; }\n"
    "shader make(int n = 3, out Ray r, out float list[3]) { r.from = point(n); list[n] = 1; }\n"
    "attribute float heat = 2;\n"
    "shader warm(out float o) { o = ddx(attribute<heat>); }\n"
    "shader use(Ray r, float list[3], out float o) { o = r.from.x; for (int i = 0; i < 3; i++) o "
    "+= list[i]; }\n";
static const char *const names[] = {"read", "add", "look", "matte", "make", "use", "warm"};
static SslContext *ctx;
static SslUnit *units[SORT_COUNT_OF(names)];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    SORT_UNUSED(argc);
    SORT_UNUSED(argv);
    const SslContextDesc tables = {.size_bytes = sizeof tables,
                                   .globals = globals,
                                   .closures = closures,
                                   .global_count = SORT_COUNT_OF(globals),
                                   .closure_count = SORT_COUNT_OF(closures)};
    CHECK(ssl_context_create(&tables, &ctx, NULL) == STATUS_OK);
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i) {
        DiagList *diags = diag_list_create();
        const SslSource one = {.name = "units.ssl", .text = str_from(source), .shader = names[i]};
        CHECK(ssl_unit_compile(ctx, &one, diags, &units[i]) == STATUS_OK);
        diag_list_destroy(diags);
    }
    return 0;
}

static Status find_unit(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    SORT_UNUSED(data);
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i) {
        *out_unit = units[i];
        if (node->entry && strcmp(names[i], node->entry) == 0)
            return STATUS_OK;
    }
    return STATUS_NOT_FOUND;
}

static void check_diags(const DiagList *diags, size_t size)
{
    for (uint32_t i = 0; i < diag_count(diags); ++i) {
        const Diag *d = diag_get(diags, i);
        CHECK(d->span.begin <= d->span.end);
        CHECK(d->span.file == 0 || d->span.end <= size);
        CHECK(strcmp(d->code, "S0901") != 0);
    }
}

static void run_passes(const SslUnit *unit, DiagList *diags)
{
    const SslBuildDesc how = {.size_bytes = sizeof how, .bake_switches = true};
    StrBuf text = {0};
    Error err = {0};
    Status status = ssl_unit_dump(unit, &how, SSL_DUMP_IR_FINAL, diags, &text, &err);
    CHECK(status != STATUS_INTERNAL);
    strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DiagList *diags = diag_list_create(), *later = diag_list_create();
    SslGroupFile *file = NULL;
    SslUnit *unit = NULL;
    const Str json = {(const char *)data, size};
    if (diags && later) {
        const SslGroupText text = {
            .name = "fuzz.json", .json = json, .file = diag_add_source(diags, "fuzz.json", json)};
        Status status = ssl_group_file_read(&text, NULL, diags, &file);
        if (status == STATUS_OK)
            status = ssl_group_file_link(ctx, file, find_unit, NULL, diags, &unit);
        CHECK((status == STATUS_OK) == (diag_error_count(diags) == 0) ||
              status == STATUS_NO_MEMORY);
        if (status == STATUS_OK)
            run_passes(unit, later);
        check_diags(diags, size);
    }
    ssl_unit_release(unit);
    ssl_group_file_destroy(file);
    diag_list_destroy(diags);
    diag_list_destroy(later);
    return 0;
}
