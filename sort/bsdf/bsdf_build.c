/* Makes the table of a scattering function from the programs that the compiler made of it. Rows are known by the names that
 * ssl/front/parse_bsdf.c gives them. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_table.h"
#include "ssl/ssl_limits.h"
#include <stdio.h>
#include <string.h>

enum { PROGRAMS_MAX = 1 + 2 * SSL_MAX_BSDF_LOBES, STATE_MAX = 160, STATE_ROWS_MAX = 1024 };

struct BsdfBuild {
    BsdfDef def;
    char name[sizeof((SslBsdfInfo *)0)->name];
    BsdfLobeDef lobes[SSL_MAX_BSDF_LOBES];
    BsdfPort ports[PROGRAMS_MAX][2][BSDF_PORTS_MAX];
    SslProgram *programs[PROGRAMS_MAX];
    uint32_t program_count;
};

/* A row of the state, or an argument, by name. */
typedef struct Named {
    char name[SSL_MAX_NAME_BYTES + 16];
    BsdfPort port;
} Named;

typedef struct Builder {
    BsdfBuild *build;
    SslContext *ctx;
    const SslSource *source;
    uint32_t lanes;
    DiagList *diags;
    Error *err;
    Named named[STATE_MAX];
    uint32_t named_count;
} Builder;

static const struct {
    const char *name;
    BsdfPortKind kind;
} fixed_inputs[] = {
    {"_wo", BSDF_PORT_WO},          {"_Ng", BSDF_PORT_NG},    {"outside", BSDF_PORT_OUTSIDE},
    {"options", BSDF_PORT_OPTIONS}, {"blur", BSDF_PORT_BLUR}, {"_unbent", BSDF_PORT_UNBENT},
    {"_wi", BSDF_PORT_WI},          {"_u", BSDF_PORT_U},
};

static const struct {
    const char *name;
    BsdfPortKind kind;
} fixed_outputs[] = {
    {"_f_cos", BSDF_PORT_F_COS},   {"_pdf", BSDF_PORT_PDF},
    {"_wi", BSDF_PORT_WI},         {"_eta", BSDF_PORT_ETA},
    {"_weight", BSDF_PORT_WEIGHT}, {"_probability", BSDF_PORT_PROBABILITY},
};

static Status add_named(Builder *b, const char *name, BsdfPortKind kind, uint32_t row)
{
    if (b->named_count == STATE_MAX || strlen(name) >= sizeof b->named[0].name)
        return error_set(b->err, STATUS_LIMIT, "bsdf '%s' has too much state", b->build->def.name);
    Named *named = &b->named[b->named_count++];
    snprintf(named->name, sizeof named->name, "%s", name);
    named->port = (BsdfPort){(uint16_t)kind, (uint16_t)row};
    return STATUS_OK;
}

static const Named *find_named(const Builder *b, const char *name)
{
    for (uint32_t i = 0; i < b->named_count; ++i)
        if (strcmp(b->named[i].name, name) == 0)
            return &b->named[i];
    return NULL;
}

static Status input_port(const Builder *b, const char *name, BsdfPort *out_port)
{
    for (size_t i = 0; i < SORT_COUNT_OF(fixed_inputs); ++i)
        if (strcmp(fixed_inputs[i].name, name) == 0) {
            *out_port = (BsdfPort){(uint16_t)fixed_inputs[i].kind, 0};
            return STATUS_OK;
        }
    const Named *named = find_named(b, name);
    if (!named)
        return error_set(b->err, STATUS_INTERNAL, "bsdf '%s' reads '%s', which nothing writes",
                         b->build->def.name, name);
    *out_port = named->port;
    return STATUS_OK;
}

static Status output_port(Builder *b, const SslOutputInfo *output, BsdfPort *out_port)
{
    for (size_t i = 0; i < SORT_COUNT_OF(fixed_outputs); ++i)
        if (strcmp(fixed_outputs[i].name, output->name) == 0) {
            *out_port = (BsdfPort){(uint16_t)fixed_outputs[i].kind, 0};
            return STATUS_OK;
        }
    *out_port = (BsdfPort){BSDF_PORT_STATE, (uint16_t)b->build->def.state_rows};
    b->build->def.state_rows += ssl_value_scalars(output->type, output->shape);
    if (b->build->def.state_rows > STATE_ROWS_MAX)
        return error_set(b->err, STATUS_LIMIT,
                         "eval and sample of bsdf '%s' read more than %d numbers of its state",
                         b->build->def.name, STATE_ROWS_MAX);
    return add_named(b, output->name, BSDF_PORT_STATE, out_port->row);
}

static Status describe(Builder *b, const SslProgramInfo *info, BsdfProgram *out)
{
    if (info->unit->param_count > BSDF_PORTS_MAX || info->unit->output_count >= BSDF_PORTS_MAX)
        return error_set(b->err, STATUS_LIMIT,
                         "bsdf '%s' passes more than %d values from its state to a lobe",
                         b->build->def.name, BSDF_PORTS_MAX);
    ASSERT(b->build->program_count > 0);
    BsdfPort *in = b->build->ports[b->build->program_count - 1][0];
    BsdfPort *outs = b->build->ports[b->build->program_count - 1][1];
    for (uint32_t i = 0; i < info->unit->param_count; ++i)
        if (info->params[i].is_used)
            TRY(input_port(b, info->unit->params[i].name, &in[i]));
    for (uint32_t i = 0; i < info->unit->output_count; ++i)
        TRY(output_port(b, &info->unit->outputs[i], &outs[i]));
    outs[info->unit->output_count] = (BsdfPort){BSDF_PORT_FAULT, 0};
    out->in = in;
    out->out = outs;
    out->in_count = (uint16_t)info->unit->param_count;
    out->out_count = (uint16_t)(info->unit->output_count + 1);
    return STATUS_OK;
}

/* The arguments are the parameters of `prepare` that are not fixed, in order. */
static Status name_arguments(Builder *b, const SslUnitInfo *info)
{
    for (uint32_t i = 0; i < info->param_count; ++i) {
        bool is_fixed = false;
        for (size_t k = 0; k < SORT_COUNT_OF(fixed_inputs); ++k)
            is_fixed = is_fixed || strcmp(fixed_inputs[k].name, info->params[i].name) == 0;
        if (is_fixed)
            continue;
        TRY(add_named(b, info->params[i].name, BSDF_PORT_ARG, b->build->def.arg_rows));
        b->build->def.arg_rows += ssl_value_scalars(info->params[i].type, info->params[i].shape);
        if (b->build->def.arg_rows > CLOSURE_MAX_SCALARS)
            return error_set(b->err, STATUS_LIMIT,
                             "the arguments of bsdf '%s' are more than %d numbers",
                             b->build->def.name, CLOSURE_MAX_SCALARS);
    }
    return STATUS_OK;
}

static Status build_program(Builder *b, const char *suffix, bool is_prepare, BsdfProgram *out)
{
    char name[128];
    SslUnit *unit;
    snprintf(name, sizeof name, "%s.%s", b->build->def.name, suffix);
    SslSource source = *b->source;
    source.shader = name;
    Status status = ssl_unit_compile(b->ctx, &source, b->diags, &unit);
    if (status != STATUS_OK)
        return status == STATUS_SOURCE
                   ? error_set(b->err, status, "bsdf '%s' has errors", b->build->def.name)
                   : error_set(b->err, status, "out of memory");
    SslBuildDesc how = {
        .size_bytes = sizeof how, .lanes = b->lanes, .without_derivatives = true, .has_rows = true};
    SslProgram **program = &b->build->programs[b->build->program_count];
    status = ssl_program_build(b->ctx, unit, &how, b->diags, program, b->err);
    if (status == STATUS_OK) {
        ++b->build->program_count;
        if (is_prepare)
            status = name_arguments(b, ssl_unit_info(unit));
    }
    if (status == STATUS_OK)
        status = describe(b, ssl_program_info(*program), out);
    if (status == STATUS_OK)
        out->run = ssl_program_kernel(*program);
    ssl_unit_release(unit);
    return status;
}

static uint16_t state_row(const Builder *b, const char *name)
{
    const Named *named = find_named(b, name);
    return named ? named->port.row : BSDF_NO_ROW;
}

static Status build_all(Builder *b, const SslBsdfInfo *info)
{
    BsdfDef *def = &b->build->def;
    char name[64];
    TRY(build_program(b, "prepare", true, &def->prepare));
    def->frame = state_row(b, "_frame");
    def->base_factor = state_row(b, "_base_factor");
    for (uint32_t k = 0; k < info->lobe_count; ++k) {
        BsdfLobeDef *lobe = &b->build->lobes[k];
        lobe->flags = info->lobe_flags[k];
        snprintf(name, sizeof name, "_albedo_%u", k);
        lobe->albedo = state_row(b, name);
        snprintf(name, sizeof name, "_reflected_%u", k);
        lobe->reflected = state_row(b, name);
        snprintf(name, sizeof name, "_medium_%u", k);
        lobe->medium = state_row(b, name);
        snprintf(name, sizeof name, "eval.%u", k);
        if (!(lobe->flags & SSL_LOBE_DELTA))
            TRY(build_program(b, name, false, &lobe->eval));
        snprintf(name, sizeof name, "sample.%u", k);
        TRY(build_program(b, name, false, &lobe->sample));
    }
    return STATUS_OK;
}

Status bsdf_build(SslContext *ctx, const SslSource *source, const SslBsdfInfo *info, uint32_t lanes,
                  DiagList *diags, BsdfBuild **out_build, Error *err)
{
    *out_build = NULL;
    BsdfBuild *build = MEM_NEW(BsdfBuild);
    Builder *b = MEM_NEW(Builder);
    Status status = build && b ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        *b = (Builder){build, ctx, source, lanes, diags, err, {{{0}, {0}}}, 0};
        snprintf(build->name, sizeof build->name, "%s", info->name);
        build->def.name = build->name;
        build->def.lobes = build->lobes;
        build->def.lobe_count = info->lobe_count;
        status = build_all(b, info);
    }
    mem_free(b);
    if (status == STATUS_OK)
        *out_build = build;
    else
        bsdf_build_destroy(build);
    return status;
}

const BsdfDef *bsdf_build_def(const BsdfBuild *build)
{
    return &build->def;
}

void bsdf_build_destroy(BsdfBuild *build)
{
    if (!build)
        return;
    for (uint32_t i = 0; i < build->program_count; ++i)
        ssl_program_release(build->programs[i]);
    mem_free(build);
}
