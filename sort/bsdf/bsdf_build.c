/* Makes the table of a scattering function from the programs that the compiler made of it. Rows are known by the names that
 * ssl/front/parse_bsdf.c gives them. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_table.h"
#include "ssl/ssl_limits.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_MAX = 160, STATE_ROWS_MAX = 1024, PLACES_MAX = 192 };

struct BsdfBuild {
    BsdfDef def;
    char name[sizeof((SslBsdfInfo *)0)->name];
    BsdfLobeDef lobes[SSL_MAX_BSDF_LOBES];
    SslRowPlace places[BSDF_PROGRAMS][2][PLACES_MAX]; /* of parameters, of outputs */
    SslRows rows[BSDF_PROGRAMS];
    SslProgram *programs[BSDF_PROGRAMS];
};

/* A row of the state, or an argument, by name. */
typedef struct Named {
    char name[SSL_MAX_NAME_BYTES + 16];
    SslRowPlace place;
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

/* A value that is passed at the same place by all scattering functions. */
typedef struct Fixed {
    const char *name;
    SslRowPlace place;
} Fixed;

#define ROW_OF(type, member) (uint16_t)(offsetof(type, member) / sizeof(BsdfRow))

static const Fixed fixed_inputs[] = {
    {"_wo", {BSDF_LIST_VIEW, ROW_OF(BsdfView, wo)}},
    {"_Ng", {BSDF_LIST_VIEW, ROW_OF(BsdfView, Ng)}},
    {"_unbent", {BSDF_LIST_VIEW, ROW_OF(BsdfView, unbent)}},
    {"blur", {BSDF_LIST_VIEW, ROW_OF(BsdfView, blur)}},
    {"outside", {BSDF_LIST_VIEW, ROW_OF(BsdfView, outside)}},
    {"options", {BSDF_LIST_VIEW, ROW_OF(BsdfView, options)}},
    {"_weight", {BSDF_LIST_SHARE, 0}},
    {"_wi", {BSDF_LIST_WI, 0}},
    {"_f_sum", {BSDF_LIST_SUM, ROW_OF(BsdfValue, f_cos)}},
    {"_pdf_sum", {BSDF_LIST_SUM, ROW_OF(BsdfValue, pdf)}},
    {"_u", {BSDF_LIST_DRAW, ROW_OF(BsdfDraw, u)}},
    {"_chosen", {BSDF_LIST_DRAW, ROW_OF(BsdfDraw, chosen)}},
    {NULL, {0}},
};

static const Fixed fixed_outputs[] = {
    {"_f_cos", {BSDF_LIST_VALUE, ROW_OF(BsdfValue, f_cos)}},
    {"_pdf", {BSDF_LIST_VALUE, ROW_OF(BsdfValue, pdf)}},
    {"_wi", {BSDF_LIST_DRAWN, ROW_OF(BsdfDrawn, wi)}},
    {"_eta", {BSDF_LIST_DRAWN, ROW_OF(BsdfDrawn, eta)}},
    {"_weight", {BSDF_LIST_DRAWN, ROW_OF(BsdfDrawn, weight)}},
    {"_probability", {BSDF_LIST_DRAWN, ROW_OF(BsdfDrawn, pdf)}},
    {NULL, {0}},
};

/* Returns whether the value is one of the list, or a lobe's row of the share, and where it is. */
static bool find_fixed(const Fixed *list, const char *name, SslRowPlace *out_place)
{
    static const char select[] = "_select_";
    for (; list->name; ++list)
        if (strcmp(list->name, name) == 0) {
            *out_place = list->place;
            return true;
        }
    if (strncmp(name, select, sizeof select - 1) != 0)
        return false;
    unsigned long lobe = strtoul(name + sizeof select - 1, NULL, 10);
    *out_place = (SslRowPlace){BSDF_LIST_SHARE, (uint16_t)(BSDF_SHARE_SELECT + lobe)};
    return true;
}

static Status add_named(Builder *b, const char *name, BsdfRowList list, uint32_t row)
{
    if (b->named_count == STATE_MAX || strlen(name) >= sizeof b->named[0].name)
        return error_set(b->err, STATUS_LIMIT, "bsdf '%s' has too much state", b->build->def.name);
    Named *named = &b->named[b->named_count++];
    snprintf(named->name, sizeof named->name, "%s", name);
    named->place = (SslRowPlace){(uint16_t)list, (uint16_t)row};
    return STATUS_OK;
}

static const Named *find_named(const Builder *b, const char *name)
{
    for (uint32_t i = 0; i < b->named_count; ++i)
        if (strcmp(b->named[i].name, name) == 0)
            return &b->named[i];
    return NULL;
}

static Status find_input(const Builder *b, const char *name, SslRowPlace *out_place)
{
    if (find_fixed(fixed_inputs, name, out_place))
        return STATUS_OK;
    const Named *named = find_named(b, name);
    if (!named)
        return error_set(b->err, STATUS_INTERNAL, "bsdf '%s' reads '%s', which nothing writes",
                         b->build->def.name, name);
    *out_place = named->place;
    return STATUS_OK;
}

/* Finds the place of an output; what is no fixed one is state, and gets the next rows. */
static Status place_output(Builder *b, const SslOutputInfo *output, SslRowPlace *out_place)
{
    BsdfDef *def = &b->build->def;
    if (find_fixed(fixed_outputs, output->name, out_place))
        return STATUS_OK;
    *out_place = (SslRowPlace){BSDF_LIST_STATE, (uint16_t)def->state_rows};
    def->state_rows += ssl_value_scalars(output->type, output->shape);
    if (def->state_rows > STATE_ROWS_MAX)
        return error_set(b->err, STATUS_LIMIT,
                         "eval and sample of bsdf '%s' read more than %d numbers of its state",
                         def->name, STATE_ROWS_MAX);
    return add_named(b, output->name, BSDF_LIST_STATE, out_place->row);
}

static Status place_rows(Builder *b, const SslUnitInfo *unit, BsdfProgram program)
{
    SslRowPlace *in = b->build->places[program][0], *out = b->build->places[program][1];
    if (unit->param_count > PLACES_MAX || unit->output_count >= PLACES_MAX)
        return error_set(b->err, STATUS_LIMIT,
                         "bsdf '%s' passes more than %d values from its state to its lobes",
                         b->build->def.name, PLACES_MAX);
    for (uint32_t i = 0; i < unit->param_count; ++i)
        TRY(find_input(b, unit->params[i].name, &in[i]));
    for (uint32_t i = 0; i < unit->output_count; ++i)
        TRY(place_output(b, &unit->outputs[i], &out[i]));
    out[unit->output_count] = (SslRowPlace){BSDF_LIST_FAULT, 0};
    b->build->rows[program] = (SslRows){in, out};
    return STATUS_OK;
}

/* The arguments are the parameters of `prepare` that are not fixed, in order. */
static Status name_arguments(Builder *b, const SslUnitInfo *info)
{
    SslRowPlace place;
    for (uint32_t i = 0; i < info->param_count; ++i) {
        if (find_fixed(fixed_inputs, info->params[i].name, &place))
            continue;
        TRY(add_named(b, info->params[i].name, BSDF_LIST_ARGS, b->build->def.arg_rows));
        b->build->def.arg_rows += ssl_value_scalars(info->params[i].type, info->params[i].shape);
        if (b->build->def.arg_rows > CLOSURE_MAX_SCALARS)
            return error_set(b->err, STATUS_LIMIT,
                             "the arguments of bsdf '%s' are more than %d numbers",
                             b->build->def.name, CLOSURE_MAX_SCALARS);
    }
    return STATUS_OK;
}

const char *bsdf_program_name(BsdfProgram program)
{
    static const char *const names[BSDF_PROGRAMS] = {"prepare", "eval", "sample"};
    ASSERT(program < BSDF_PROGRAMS);
    return names[program];
}

static Status build_unit(Builder *b, SslUnit *unit, BsdfProgram program)
{
    SslProgram **out = &b->build->programs[program];
    if (program == BSDF_PREPARE)
        TRY(name_arguments(b, ssl_unit_info(unit)));
    TRY(place_rows(b, ssl_unit_info(unit), program));
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .lanes = b->lanes,
                        .without_derivatives = true,
                        .rows = &b->build->rows[program]};
    TRY(ssl_program_build(b->ctx, unit, &how, b->diags, out, b->err));
    b->build->def.programs[program] = ssl_program_kernel(*out);
    uint32_t sites = ssl_program_info(*out)->fault_site_count;
    _Atomic uint64_t **faults = &b->build->def.faults[program];
    if (sites > 0)
        *faults = mem_alloc(sites, sizeof **faults);
    return sites == 0 || *faults ? STATUS_OK : error_set(b->err, STATUS_NO_MEMORY, "out of memory");
}

static Status build_program(Builder *b, BsdfProgram program)
{
    char name[128];
    SslUnit *unit;
    snprintf(name, sizeof name, "%s.%s", b->build->def.name, bsdf_program_name(program));
    SslSource source = *b->source;
    source.shader = name;
    Status status = ssl_unit_compile(b->ctx, &source, b->diags, &unit);
    if (status != STATUS_OK)
        return status == STATUS_SOURCE
                   ? error_set(b->err, status, "bsdf '%s' has errors", b->build->def.name)
                   : error_set(b->err, status, "out of memory");
    status = build_unit(b, unit, program);
    ssl_unit_release(unit);
    return status;
}

static uint16_t state_row(const Builder *b, const char *name)
{
    const Named *named = find_named(b, name);
    return named ? named->place.row : BSDF_NO_ROW;
}

static uint16_t argument_row(const Builder *b, const char *name)
{
    const Named *named = find_named(b, name);
    return named && named->place.list == BSDF_LIST_ARGS ? named->place.row : BSDF_NO_ROW;
}

static uint16_t row_of_lobe(const Builder *b, const char *name, uint32_t lobe)
{
    char text[64];
    snprintf(text, sizeof text, "_%s_%u", name, lobe);
    return state_row(b, text);
}

static Status build_all(Builder *b, const SslBsdfInfo *info)
{
    BsdfDef *def = &b->build->def;
    bool has_eval = false;
    TRY(build_program(b, BSDF_PREPARE));
    def->frame = state_row(b, "_frame");
    def->base_factor = state_row(b, "_base_factor");
    def->roughness = argument_row(b, "roughness");
    def->place = argument_row(b, "place");
    def->along = argument_row(b, "along");
    ASSERT(def->frame != BSDF_NO_ROW && info->lobe_count <= SSL_MAX_BSDF_LOBES);
    for (uint32_t k = 0; k < info->lobe_count; ++k) {
        b->build->lobes[k] = (BsdfLobeDef){.flags = info->lobe_flags[k],
                                           .albedo = row_of_lobe(b, "albedo", k),
                                           .reflected = row_of_lobe(b, "reflected", k),
                                           .medium = row_of_lobe(b, "medium", k)};
        has_eval = has_eval || !(info->lobe_flags[k] & SSL_LOBE_DELTA);
    }
    if (has_eval)
        TRY(build_program(b, BSDF_EVAL));
    return build_program(b, BSDF_SAMPLE);
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

const SslRows *bsdf_build_rows(const BsdfBuild *build, BsdfProgram program)
{
    ASSERT(program < BSDF_PROGRAMS);
    return &build->rows[program];
}

void bsdf_build_destroy(BsdfBuild *build)
{
    if (!build)
        return;
    for (uint32_t i = 0; i < BSDF_PROGRAMS; ++i) {
        ssl_program_release(build->programs[i]);
        mem_free(build->def.faults[i]);
    }
    mem_free(build);
}

/* --- faults ----------------------------------------------------------------------------------- */

/* A place in the source: a function may be a part of several programs. */
typedef struct FaultPlace {
    SslFaultInfo info;
    uint64_t times;
} FaultPlace;

static bool is_same_place(const SslFaultInfo *a, const SslFaultInfo *b)
{
    return a->kind == b->kind && a->line == b->line && a->column == b->column &&
           strcmp(a->source_name, b->source_name) == 0;
}

static void add_fault(FaultPlace *places, uint32_t *count, const SslFaultInfo *info, uint64_t times)
{
    uint32_t at = 0;
    while (at < *count && !is_same_place(&places[at].info, info))
        ++at;
    if (at == *count)
        places[(*count)++] = (FaultPlace){.info = *info};
    places[at].times += times;
}

/* Returns how many fault sites the program has. */
static uint32_t site_count(const BsdfBuild *build, uint32_t program)
{
    return build->def.faults[program] ? ssl_program_info(build->programs[program])->fault_site_count
                                      : 0;
}

void bsdf_build_clear_faults(BsdfBuild *build)
{
    for (uint32_t p = 0; p < BSDF_PROGRAMS; ++p)
        for (uint32_t site = 0; site < site_count(build, p); ++site)
            atomic_store(&build->def.faults[p][site], 0);
}

void bsdf_build_faults(const BsdfBuild *build, StrBuf *out)
{
    uint32_t sites = 0, count = 0;
    for (uint32_t p = 0; p < BSDF_PROGRAMS; ++p)
        sites += site_count(build, p);
    FaultPlace *places = MEM_ARRAY(FaultPlace, sites + 1);
    out->failed = out->failed || !places;
    for (uint32_t p = 0; places && p < BSDF_PROGRAMS; ++p)
        for (uint32_t site = 0; site < site_count(build, p); ++site) {
            SslFaultInfo info;
            uint64_t times = atomic_load(&build->def.faults[p][site]);
            ssl_fault_describe(build->programs[p], site, &info);
            if (times > 0)
                add_fault(places, &count, &info, times);
        }
    for (uint32_t i = 0; i < count; ++i) {
        const SslFaultInfo *f = &places[i].info;
        strbuf_append_printable(out, str_from(f->source_name));
        strbuf_printf(out, ":%u:%u: %s (closure '%s', %llu times)\n", f->line, f->column, f->text,
                      build->name, (unsigned long long)places[i].times);
    }
    mem_free(places);
}
