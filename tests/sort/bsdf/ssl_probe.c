#include "tests/sort/bsdf/ssl_probe.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/str.h"
#include "sort/bsdf/bsdf_program.h"
#include <stdio.h>

enum { ARGS_MAX = 16, STATE_MAX = 32 };

struct SslProbe {
    SslContext *ctx;
    BsdfBuild *build;
};

static Status build(SslProbe *p, const StrBuf *text, DiagList *diags, Error *err)
{
    SslContextDesc desc = {.size_bytes = sizeof desc};
    SslSource source = {.name = "probe.ssl", .text = {text->data, text->size_bytes}};
    SslBsdfInfo info;
    uint32_t count;
    TRY(ssl_context_create(&desc, &p->ctx, err));
    TRY(ssl_source_bsdfs(p->ctx, &source, diags, &info, 1, &count));
    return bsdf_build(p->ctx, &source, &info, 1, diags, &p->build, err);
}

SslProbe *ssl_probe_create(const char *args, const char *value)
{
    Error err = {0};
    StrBuf text = {0}, problems = {0};
    SslProbe *p = MEM_NEW(SslProbe);
    DiagList *diags = diag_list_create();
    CHECK(p && diags);
    *p = (SslProbe){0};
    strbuf_printf(&text,
                  "bsdf Probe(%s) { lobe diffuse reflection { albedo = %s; eval { f_cos = "
                  "color(0); pdf = 0; } } }",
                  args, value);
    bool is_built = build(p, &text, diags, &err) == STATUS_OK;
    if (!is_built) {
        diag_print(diags, &problems);
        fprintf(stderr, "%s%s\n", strbuf_text(&problems), err.text);
    }
    CHECK(is_built);
    const BsdfDef *def = bsdf_build_def(p->build);
    CHECK(def->arg_rows <= ARGS_MAX && def->state_rows <= STATE_MAX);
    strbuf_free(&text);
    strbuf_free(&problems);
    diag_list_destroy(diags);
    return p;
}

float3 ssl_probe_at(const SslProbe *probe, const float *args)
{
    const BsdfDef *def = bsdf_build_def(probe->build);
    BsdfView view = {.wo = {{0}, {0}, {1.0f}}, .Ng = {{0}, {0}, {1.0f}}};
    _Alignas(64) BsdfRow arg_rows[ARGS_MAX], state[STATE_MAX], share[BSDF_SHARE_SELECT + 1] = {{0}},
                                                                                         fault;
    for (uint32_t r = 0; r < def->arg_rows; ++r)
        arg_rows[r][0] = args[r];
    BsdfRows rows = {{[BSDF_LIST_VIEW] = &view,
                      [BSDF_LIST_ARGS] = arg_rows,
                      [BSDF_LIST_SHARE] = share,
                      [BSDF_LIST_STATE] = state,
                      [BSDF_LIST_FAULT] = fault}};
    bsdf_program_run(def, BSDF_PREPARE, &rows, 1);
    uint16_t row = def->lobes[0].albedo;
    return f3(state[row][0], state[row + 1][0], state[row + 2][0]);
}

void ssl_probe_destroy(SslProbe *probe)
{
    bsdf_build_destroy(probe->build);
    ssl_context_destroy(probe->ctx);
    mem_free(probe);
}
