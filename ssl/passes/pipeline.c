/* The order of the passes, with the verifier after the last one, and the report. Builds with assertions verify after
 * each pass, which says which one is wrong. */
#include "ssl/passes/pass.h"

typedef struct Run {
    IrModule *module;
    const IrPipelineDesc *desc;
    Error *err;
} Run;

static Status verify(Run *r, const char *pass)
{
    return ir_verify(r->module, r->err) == STATUS_OK ? STATUS_OK
                                                     : error_prefix(r->err, "after pass %s", pass);
}

static Status after_pass(Run *r, const char *pass)
{
    if (SORT_ASSERTIONS)
        TRY(verify(r, pass));
    if (r->desc->observe)
        r->desc->observe(r->desc->observe_data, pass, r->module);
    return STATUS_OK;
}

static void report_globals(const IrFunc *f, IrReport *report)
{
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        if (inst->op != IR_GLOBAL)
            continue;
        uint64_t bit = (uint64_t)1 << ir_global_row(inst->imm);
        if (ir_global_shadow(inst->imm) == IR_SHADOW_VALUE)
            report->globals_value |= bit;
        else
            report->globals_derivs |= bit;
    }
}

static uint32_t saturate(uint64_t x)
{
    return x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}

Status ir_pipeline_specialise(IrModule *m, const IrPipelineDesc *desc, DiagList *diags,
                              IrReport *out_report, Error *err)
{
    Run r = {m, desc, err};
    IrDerivativeCounts counts;
    *out_report = (IrReport){0};
    TRY(after_pass(&r, "lower"));
    ir_specialise(m, desc->constants, desc->constant_count);
    if (desc->constant_count)
        ir_simplify(m);
    TRY(after_pass(&r, "specialise"));
    ir_split_arrays(m);
    TRY(after_pass(&r, "split_arrays"));
    TRY(ir_forward(m, desc->without_derivatives, desc->merged_summaries, diags, &counts));
    TRY(after_pass(&r, "forward"));
    TRY(ir_inline(m, diags));
    ir_simplify(m);
    out_report->values = saturate(counts.values);
    out_report->values_shadowed = saturate(counts.shadowed);
    out_report->visits = counts.visits;
    return after_pass(&r, "inline");
}

Status ir_pipeline_kernel(IrModule *m, const IrPipelineDesc *desc, DiagList *diags,
                          IrReport *report, Error *err)
{
    Run r = {m, desc, err};
    TRY(ir_closure_slots(m, desc->kind, diags));
    ir_simplify(m);
    TRY(after_pass(&r, "closure_slots"));
    if (!SORT_ASSERTIONS)
        TRY(verify(&r, "closure_slots"));
    report->instructions = ir_count_instructions(m);
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (m->funcs.data[id])
            report_globals(m->funcs.data[id], report);
    return STATUS_OK;
}

Status ir_pipeline(IrModule *m, const IrPipelineDesc *desc, DiagList *diags, IrReport *out_report,
                   Error *err)
{
    TRY(ir_pipeline_specialise(m, desc, diags, out_report, err));
    return ir_pipeline_kernel(m, desc, diags, out_report, err);
}
