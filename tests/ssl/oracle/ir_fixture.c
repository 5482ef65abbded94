#include "tests/ssl/oracle/ir_fixture.h"
#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const SslGlobalRow globals[G_COUNT] = {
    [G_X1] = {"x1", SSL_FLOAT, true, "", ""},    [G_X2] = {"x2", SSL_FLOAT, true, "", ""},
    [G_P] = {"p", SSL_FLOAT3, true, "", ""},     [G_FLAT] = {"flat", SSL_FLOAT, false, "", ""},
    [G_INT] = {"count", SSL_INT, false, "", ""}, [G_BOOL] = {"flag", SSL_BOOL, false, "", ""},
};

static const SslClosureArg lambert_args[] = {{"color", SSL_COLOR}, {"normal", SSL_NORMAL}};
static const SslClosureArg emit_args[] = {{"strength", SSL_FLOAT}};
static const SslClosureArg coat_args[] = {{"roughness", SSL_FLOAT}, {"base", SSL_CLOSURE}};
static const SslClosureRow closures[C_COUNT] = {
    [C_LAMBERT] = {"Lambert", lambert_args, 2, 0, "", ""},
    [C_EMIT] = {"Emit", emit_args, 1, SSL_CLOSURE_EMISSION, "", ""},
    [C_CLEAR] = {"Clear", NULL, 0, SSL_CLOSURE_TRANSPARENT, "", ""},
    [C_COAT] = {"Coat", coat_args, 2, 0, "", ""},
};

static const SslParamInfo params[PARAM_COUNT] = {
    [PARAM_FLAG] = {.name = "flag", .type = SSL_BOOL},
    [PARAM_INT] = {.name = "n", .type = SSL_INT},
    [PARAM_K] = {.name = "k", .type = SSL_FLOAT},
    [PARAM_COLOR] = {.name = "tint", .type = SSL_COLOR},
};
static const char *const textures[] = {"g_albedo", "g_bump"};

void fixture_begin(Fixture *f)
{
    memset(f, 0, sizeof *f);
    f->arena = arena_create(0, 0);
    f->diags = diag_list_create();
    CHECK(f->arena && f->diags);
    f->module = ir_module_create(f->arena);
    f->module->globals = globals;
    f->module->global_count = G_COUNT;
    f->module->closures = closures;
    f->module->closure_count = C_COUNT;
    f->module->info = (SslUnitInfo){.name = "fixture",
                                    .params = params,
                                    .param_count = PARAM_COUNT,
                                    .textures = textures,
                                    .texture_count = SORT_COUNT_OF(textures)};
    f->module->entry = ir_reserve_func(f->module);
    f->b = ir_build_begin(f->module, f->module->entry, "main", NULL, 0);
    ir_add_fault_site(f->module, SSL_FAULT_LOOP, (Span){0});
    ir_add_fault_site(f->module, SSL_FAULT_INDEX, (Span){0});
    ir_add_texture_site(f->module, &(SslTextureSite){.texture = 0});
    ir_add_texture_site(f->module, &(SslTextureSite){.texture = 1});
    f->point.texture = ramp_texture;
}

void fixture_end(Fixture *f)
{
    diag_list_destroy(f->diags);
    arena_destroy(f->arena);
}

IrFuncId fixture_func(Fixture *f, const char *name, const IrType *types, uint32_t count,
                      IrBuilder **out_builder)
{
    IrFuncId id = ir_reserve_func(f->module);
    *out_builder = ir_build_begin(f->module, id, name, types, count);
    return id;
}

void fixture_outputs(Fixture *f, const IrValue *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        IrKind kind = ir_kind(ir_build_type(f->b, values[i]));
        SslType type = kind == IR_BOOL      ? SSL_BOOL
                       : kind == IR_INT     ? SSL_INT
                       : kind == IR_CLOSURE ? SSL_CLOSURE
                                            : SSL_FLOAT;
        array_push(f->arena, &f->module->outputs,
                   (IrOutput){arena_printf(f->arena, "o%u", i), type, i, 1});
    }
    ir_build_end(f->b, values, count);
    Error err = {0};
    if (ir_verify(f->module, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

void fixture_run(Fixture *f, const IrPipelineDesc *desc)
{
    Error err = {0};
    IrPipelineDesc defaults = {0};
    Status status = ir_pipeline(f->module, desc ? desc : &defaults, f->diags, &f->report, &err);
    if (status != STATUS_OK)
        fail_msg("%s: %s\n%s", status_name(status), err.text, fixture_text(f));
}

const char *fixture_text(Fixture *f)
{
    StrBuf text = {0};
    ir_print_module(f->module, &text);
    const char *copy = arena_strndup(f->arena, strbuf_text(&text), text.size_bytes);
    strbuf_free(&text);
    return copy;
}

EvalResult fixture_eval(Fixture *f, EvalMode mode)
{
    f->point.mode = mode;
    return ir_eval(f->module, &f->point, f->arena);
}

double fixture_value(Fixture *f, EvalMode mode, uint32_t index)
{
    EvalResult r = fixture_eval(f, mode);
    return eval_number(&f->point, &r, index);
}

IrValue fixture_global(Fixture *f, uint32_t row, uint32_t component)
{
    IrKind kind = row == G_INT ? IR_INT : row == G_BOOL ? IR_BOOL : IR_FLOAT;
    return ir_build_global(f->b, kind, row, IR_SHADOW_VALUE, component);
}

uint32_t count_op(const IrModule *m, IrOp op)
{
    uint32_t count = 0;
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        for (IrInstId i = 1; m->funcs.data[id] && i < m->funcs.data[id]->insts.count; ++i)
            count += ir_inst(m->funcs.data[id], i)->op == op;
    return count;
}

uint32_t count_shadow_reads(const IrModule *m, uint32_t shadow)
{
    uint32_t count = 0;
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        for (IrInstId i = 1; m->funcs.data[id] && i < m->funcs.data[id]->insts.count; ++i) {
            const IrInst *inst = ir_inst(m->funcs.data[id], i);
            count += inst->op == IR_GLOBAL && ir_global_shadow(inst->imm) == shadow;
        }
    return count;
}

void ramp_texture(void *data, const SslTextureSite *site, const double coord[7], double out[12])
{
    SORT_UNUSED(data);
    SORT_UNUSED(site);
    double s = coord[0], t = coord[1];
    const double values[12] = {s, t, s * t, 1, 1, 0, t, 0, 0, 1, s, 0};
    memcpy(out, values, sizeof values);
}
