/* Building a program from a unit: a copy of the unit's IR goes through the passes and gets a layout and a kernel. The
 * facts that the host needs are then copied out, and the IR is freed. */
#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/clock.h"
#include "ssl/constants.h"
#include "ssl/memory_guard.h"
#include "ssl/output_derivs.h"
#include "ssl/passes/pipeline.h"
#include <string.h>

/* --- the description for the host --------------------------------------------------------------- */

static const char *copy_text(Arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

typedef struct Uses {
    bool *param, *texture, *texels;
    uint64_t globals_value, globals_derivs, questions;
} Uses;

static void add_uses(const IrModule *m, const IrFunc *f, Uses *uses)
{
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op == IR_PARAM) {
            uses->param[ir_param_index(inst->imm)] = true;
        } else if (inst->op == IR_TEX || inst->op == IR_TEX_D) {
            uses->texture[m->texture_sites.data[inst->site].texture] = true;
        } else if (inst->op == IR_TEX_ADJ) {
            uses->texels[m->texture_sites.data[inst->site].texture] = true;
        } else if (inst->op == IR_ASK) {
            uses->questions |= (uint64_t)1 << inst->imm;
        } else if (inst->op == IR_GLOBAL) {
            uint64_t bit = (uint64_t)1 << ir_global_row(inst->imm);
            if (ir_global_shadow(inst->imm) == IR_SHADOW_VALUE)
                uses->globals_value |= bit;
            else
                uses->globals_derivs |= bit;
        }
    }
}

static Uses find_uses(const IrModule *m, Arena *arena)
{
    Uses uses = {.param = ARENA_ARRAY(arena, bool, m->info.param_count),
                 .texture = ARENA_ARRAY(arena, bool, m->info.texture_count),
                 .texels = ARENA_ARRAY(arena, bool, m->info.texture_count)};
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (m->funcs.data[id])
            add_uses(m, m->funcs.data[id], &uses);
    return uses;
}

static const SslTextureSite *copy_texture_sites(const IrModule *m, Arena *arena)
{
    SslTextureSite *sites = ARENA_ARRAY(arena, SslTextureSite, m->texture_sites.count);
    for (uint32_t i = 0; i < m->texture_sites.count; ++i) {
        sites[i] = m->texture_sites.data[i];
        sites[i].filter = copy_text(arena, sites[i].filter);
        sites[i].wrap_s = copy_text(arena, sites[i].wrap_s);
        sites[i].wrap_t = copy_text(arena, sites[i].wrap_t);
    }
    return sites;
}

/* Passes may drop, renumber or add fault sites, so the unit's places are found by span. */
static SslFaultInfo *copy_faults(const SslUnit *unit, const IrModule *m, Arena *arena)
{
    SslFaultInfo *faults = ARENA_ARRAY(arena, SslFaultInfo, m->fault_sites.count);
    for (uint32_t i = 0; i < m->fault_sites.count; ++i)
        faults[i] = ssl_unit_fault(unit, &m->fault_sites.data[i]);
    return faults;
}

/* Describes the rows that output_derivs_add appended to the shader's outputs. */
static void fill_output_derivs(SslProgram *p, const KernelLayout *layout)
{
    const SslUnitInfo *unit_info = p->info.unit;
    SslOutputSlot *ddx = ARENA_ARRAY(p->arena, SslOutputSlot, unit_info->output_count);
    SslOutputSlot *ddy = ARENA_ARRAY(p->arena, SslOutputSlot, unit_info->output_count);
    uint32_t row = unit_info->output_count;
    for (uint32_t i = 0; i < unit_info->output_count; ++i) {
        if (!output_derivs_exist(unit_info->outputs[i].type))
            continue;
        ddx[i].offset = layout->output_offset[row++];
        ddy[i].offset = layout->output_offset[row++];
    }
    p->info.outputs_ddx = ddx;
    p->info.outputs_ddy = ddy;
}

static void fill_info(SslProgram *p, const IrModule *m, const KernelLayout *layout,
                      const IrReport *report)
{
    Arena *arena = p->arena;
    const SslUnitInfo *unit_info = ssl_unit_info(p->unit);
    Uses uses = find_uses(m, arena);
    SslParamSlot *params = ARENA_ARRAY(arena, SslParamSlot, unit_info->param_count);
    for (uint32_t i = 0; i < unit_info->param_count; ++i)
        params[i] = (SslParamSlot){layout->param_offset[i], uses.param[i]};
    SslOutputSlot *outputs = ARENA_ARRAY(arena, SslOutputSlot, unit_info->output_count);
    CHECK(m->outputs.count >= unit_info->output_count);
    for (uint32_t i = 0; i < unit_info->output_count; ++i)
        outputs[i].offset = layout->output_offset[i];
    SslLobeSlot *lobes = ARENA_ARRAY(arena, SslLobeSlot, m->slots.count);
    memcpy(lobes, layout->lobes, m->slots.count * sizeof *lobes);
    SslAttributeSlot *attributes = ARENA_ARRAY(arena, SslAttributeSlot, m->info.attribute_count);
    if (m->info.attribute_count)
        memcpy(attributes, layout->attributes, m->info.attribute_count * sizeof *attributes);
    p->fault = copy_faults(p->unit, m, arena);
    p->info = (SslProgramInfo){.unit = unit_info,
                               .params = params,
                               .texture_is_used = uses.texture,
                               .texels_have_adjoints = uses.texels,
                               .outputs = outputs,
                               .lobes = lobes,
                               .attributes = attributes,
                               .attributes_stride_bytes = layout->attributes_stride_bytes,
                               .texture_sites = copy_texture_sites(m, arena),
                               .lobe_count = m->slots.count,
                               .texture_site_count = m->texture_sites.count,
                               .params_bytes = layout->params_bytes,
                               .result_stride_bytes = layout->result_stride_bytes,
                               .fault_offset = layout->fault_offset,
                               .fault_site_count = m->fault_sites.count,
                               .globals_value = uses.globals_value,
                               .globals_derivs = uses.globals_derivs,
                               .questions = uses.questions,
                               .values = report->values,
                               .values_shadowed = report->values_shadowed,
                               .visits = report->visits,
                               .ir_instructions = report->instructions};
}

/* --- specialising ----------------------------------------------------------------------------- */

struct SslSpecialised {
    SslUnit *unit;    /* a reference */
    Arena *arena;     /* owned; has the module */
    IrModule *module; /* after ir_pipeline_specialise */
    IrReport report;
};

/* Runs the passes that all kinds of kernels share over a copy of the unit's IR. */
static Status specialise(const SslUnit *unit, const SslBuildDesc *how, Arena *arena,
                         DiagList *diags, IrModule **out_module, IrReport *out_report, Error *err)
{
    IrPipelineDesc passes = {.without_derivatives = how->without_derivatives,
                             .merged_summaries = how->merged_summaries};
    TRY(constants_bind(unit, how, arena, &passes.constants, &passes.constant_count, err));
    IrModule *m = *out_module = ir_module_clone(unit->module, arena);
    if (how->output_derivatives)
        output_derivs_add(m);
    return ir_pipeline_specialise(m, &passes, diags, out_report, err);
}

typedef struct Specialising {
    const SslBuildDesc *how;
    SslSpecialised *out;
    Arena *ir; /* freed once the module is copied out of it, without what the passes left behind */
    DiagList *diags;
    Error *err;
} Specialising;

static Status specialise_apart(void *data)
{
    const Specialising *s = data;
    IrModule *m;
    TRY(specialise(s->out->unit, s->how, s->ir, s->diags, &m, &s->out->report, s->err));
    s->out->module = ir_module_clone(m, s->out->arena);
    return STATUS_OK;
}

/* Ends a call of the host: its own list gets what the passes said about `unit`. */
static Status finish(Status status, const SslUnit *unit, DiagList *from, DiagList *to, Error *err)
{
    if (status == STATUS_OK && diag_list_failed(from))
        status = STATUS_NO_MEMORY;
    if (status == STATUS_NO_MEMORY)
        status = error_set(err, status, "out of memory");
    if (from && to)
        unit_forward_diags(unit, from, to);
    diag_list_destroy(from);
    return status;
}

Status ssl_unit_specialise(const SslUnit *unit, const SslBuildDesc *how, DiagList *diags,
                           SslSpecialised **out, Error *err)
{
    CHECK(how->size_bytes == sizeof *how);
    SslSpecialised *made = MEM_NEW(SslSpecialised);
    Status status = STATUS_NO_MEMORY;
    Specialising s = {.how = how, .out = made, .diags = diag_list_create(), .err = err};
    *out = NULL;
    if (made) {
        made->unit = ssl_unit_retain(cast_away_const(unit)); /* changes only the count */
        made->arena = arena_create(0, SSL_COMPILE_MAX_BYTES);
        s.ir = arena_create(0, SSL_COMPILE_MAX_BYTES);
    }
    if (made && made->arena && s.ir && s.diags)
        status = memory_guard_run(s.ir, made->arena, specialise_apart, &s);
    arena_destroy(s.ir);
    status = finish(status, unit, s.diags, diags, err);
    if (status != STATUS_OK) {
        ssl_specialised_destroy(made);
        return status;
    }
    *out = made;
    return STATUS_OK;
}

void ssl_specialised_destroy(SslSpecialised *s)
{
    if (!s)
        return;
    ssl_unit_release(s->unit);
    arena_destroy(s->arena);
    mem_free(s);
}

/* --- building --------------------------------------------------------------------------------- */

typedef struct Build {
    SslProgram *program;
    const SslBuildDesc *how;
    const SslSpecialised *special; /* NULL: the program's unit is to be specialised, too */
    Arena *ir;                     /* freed once the kernel is built */
    DiagList *diags;               /* for the passes */
    Error *err;
} Build;

static Status get_specialised(const Build *b, IrModule **out_module, IrReport *out_report)
{
    if (!b->special)
        return specialise(b->program->unit, b->how, b->ir, b->diags, out_module, out_report,
                          b->err);
    *out_module = ir_module_clone(b->special->module, b->ir);
    *out_report = b->special->report;
    return STATUS_OK;
}

static Status build(void *data)
{
    Build *b = data;
    SslProgram *p = b->program;
    const IrPipelineDesc passes = {.kind = b->how->kind};
    IrModule *m;
    IrReport report;
    KernelLayout layout;
    uint64_t start_ns = clock_now_ns();
    TRY(get_specialised(b, &m, &report));
    TRY(ir_pipeline_kernel(m, &passes, b->diags, &report, b->err));
    TRY(kernel_rows_check(m, b->how->rows, b->err));
    kernel_layout_compute(m, b->how->rows, b->ir, &layout);
    fill_info(p, m, &layout, &report);
    if (b->how->output_derivatives)
        fill_output_derivs(p, &layout);
    p->info.times.ir_ms = clock_seconds_since(start_ns) * 1e3;
    if (b->how->without_code)
        return STATUS_OK;
    JitOptions options = {.llvm_level = b->how->llvm_level, .lanes = b->how->lanes};
    return jit_acquire(p->unit->ctx->jit, m, &layout, options, &p->kernel, &p->info.times, b->err);
}

static SslProgram *new_program(SslUnit *unit)
{
    Arena *arena = arena_create(4096, 0);
    SslProgram *p = arena ? ARENA_NEW(arena, SslProgram) : NULL;
    if (!p) {
        arena_destroy(arena);
        return NULL;
    }
    p->arena = arena;
    p->unit = unit;
    atomic_init(&p->holders, 1);
    ssl_unit_retain(unit);
    return p;
}

/* special: NULL, or `unit` with the constants of `how`. */
static Status build_program(const SslUnit *unit, const SslSpecialised *special,
                            const SslBuildDesc *how, DiagList *diags, SslProgram **out_program,
                            Error *err)
{
    *out_program = NULL;
    Build b = {.how = how, .special = special, .err = err};
    b.program = new_program(cast_away_const(unit)); /* changes only the reference count */
    b.ir = arena_create(0, SSL_COMPILE_MAX_BYTES);
    b.diags = diag_list_create();
    Status status = STATUS_NO_MEMORY;
    if (b.program && b.ir && b.diags)
        status = memory_guard_run(b.ir, b.program->arena, build, &b);
    status = finish(status, unit, b.diags, diags, err);
    arena_destroy(b.ir);
    if (status == STATUS_OK)
        *out_program = b.program;
    else
        ssl_program_release(b.program);
    return status;
}

Status ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                         DiagList *diags, SslProgram **out_program, Error *err)
{
    const SslBuildDesc defaults = {.size_bytes = sizeof defaults};
    CHECK(unit->ctx == ctx);
    CHECK(!how || how->size_bytes == sizeof *how);
    return build_program(unit, NULL, how ? how : &defaults, diags, out_program, err);
}

Status ssl_specialised_build(const SslSpecialised *special, const SslBuildDesc *how,
                             DiagList *diags, SslProgram **out_program, Error *err)
{
    CHECK(how->size_bytes == sizeof *how);
    return build_program(special->unit, special, how, diags, out_program, err);
}

const SslProgramInfo *ssl_program_info(const SslProgram *p)
{
    return &p->info;
}

SslKernelFn ssl_program_kernel(const SslProgram *p)
{
    return p->kernel ? jit_kernel_entry(p->kernel) : NULL;
}

SslProgram *ssl_program_retain(SslProgram *p)
{
    atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return p;
}

void ssl_program_release(SslProgram *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) != 1)
        return;
    SslUnit *unit = p->unit;
    jit_release(unit->ctx->jit, p->kernel);
    arena_destroy(p->arena); /* also frees the program itself */
    ssl_unit_release(unit);
}

void ssl_texture_site_place(const SslProgram *p, uint32_t site, const char **out_source,
                            uint32_t *out_line, uint32_t *out_column)
{
    CHECK(site < p->info.texture_site_count);
    IrFaultSite place = {.span = p->info.texture_sites[site].span};
    SslFaultInfo found = ssl_unit_fault(p->unit, &place);
    *out_source = found.source_name;
    *out_line = found.line;
    *out_column = found.column;
}

void ssl_fault_describe(const SslProgram *p, uint32_t site, SslFaultInfo *out_info)
{
    CHECK(site < p->info.fault_site_count);
    *out_info = p->fault[site];
}
