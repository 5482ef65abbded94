/* The text form of a module, for `sslc dump`:
 *
 *   func eval(%1: float, %2: float) -> float
 *       %3 = fmul %1, %2
 *       %5, %6 = if %4
 *       then
 *           yield %1, %3
 *       else
 *           yield %2, %3
 *       yield %5 */
#include "ssl/ir/ir.h"
#include <inttypes.h>

typedef struct Printer {
    const IrModule *module;
    const IrFunc *func;
    StrBuf *out;
    uint32_t depth;
} Printer;

static void print_type(StrBuf *out, IrType type)
{
    static const char *const kinds[] = {"bool", "int", "float", "closure"};
    strbuf_append_c(out, kinds[ir_kind(type)]);
    if (ir_is_array(type))
        strbuf_printf(out, "[%u]", ir_count(type));
}

static void print_indent(Printer *p)
{
    for (uint32_t i = 0; i < p->depth; ++i)
        strbuf_append_c(p->out, "    ");
}

static void print_values(Printer *p, IrValue first, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(p->out, "%s%%%u", i ? ", " : "", first + i);
}

static void print_params(Printer *p, const IrRegion *r)
{
    for (uint32_t i = 0; i < r->param_count; ++i) {
        strbuf_printf(p->out, "%s%%%u: ", i ? ", " : "", r->param_first + i);
        print_type(p->out, ir_type(p->func, r->param_first + i));
    }
}

static void print_component(StrBuf *out, SslType type, uint32_t component)
{
    if (ssl_type_scalars(type) > 4 || type == SSL_STRUCT || type == SSL_ARRAY)
        strbuf_printf(out, "[%u]", component);
    else if (ssl_type_scalars(type) > 1)
        strbuf_printf(out, ".%c", "xyzw"[component]);
}

/* Prints the immediate and the site, which stand between the mnemonic and the arguments. */
static void print_imm(Printer *p, const IrInst *inst)
{
    static const char *const shadows[] = {"", ".ddx", ".ddy", ".exists"};
    const IrModule *m = p->module;
    StrBuf *out = p->out;
    switch (inst->op) {
    case IR_CONST_BOOL:
        strbuf_append_c(out, inst->imm ? " true" : " false");
        break;
    case IR_CONST_INT:
        strbuf_printf(out, " %" PRId32, (int32_t)(uint32_t)inst->imm);
        break;
    case IR_CONST_FLOAT:
        strbuf_printf(out, " %.9g", (double)ir_imm_float(inst));
        break;
    case IR_GLOBAL: {
        const SslGlobalRow *row = &m->globals[ir_global_row(inst->imm)];
        strbuf_printf(out, " %s", row->name);
        print_component(out, row->type, ir_global_component(inst->imm));
        strbuf_append_c(out, shadows[ir_global_shadow(inst->imm)]);
        break;
    default:
        strbuf_append_c(out, inst->imm == IR_FUSED ? " fused" : "");
        break;
    }
    case IR_ATTRIBUTE: {
        const SslAttributeInfo *row = &m->info.attributes[ir_global_row(inst->imm)];
        strbuf_printf(out, " %s", row->name);
        print_component(out, row->type, ir_global_component(inst->imm));
        strbuf_append_c(out, shadows[ir_global_shadow(inst->imm)]);
        break;
    }
    case IR_PARAM: {
        const SslParamInfo *param = &m->info.params[ir_param_index(inst->imm)];
        strbuf_printf(out, " %s", param->name);
        print_component(out, param->type, ir_param_component(inst->imm));
        break;
    }
    case IR_TABLE:
        strbuf_printf(out, " %" PRIu64 " [%u]", inst->imm, m->tables.data[inst->imm].count);
        break;
    case IR_BOUNDS:
        strbuf_printf(out, " [%" PRIu64 "] fault %u", inst->imm, inst->site);
        break;
    case IR_LOOP:
        strbuf_printf(out, " fault %u", inst->site);
        break;
    case IR_TEX_AUTO:
    case IR_TEX_AUTO_D:
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEXELS:
    case IR_TEX_ADJ:
        strbuf_printf(out, " %s site %u",
                      m->info.textures[m->texture_sites.data[inst->site].texture], inst->site);
        break;
    case IR_ASK:
        strbuf_printf(out, " %s", m->questions[inst->imm].name);
        break;
    case IR_CLOSURE_MAKE:
        strbuf_printf(out, " %s", m->closures[inst->imm].name);
        break;
    case IR_CALL: {
        const IrFunc *callee = m->funcs.data[inst->imm];
        strbuf_printf(out, " @%" PRIu64 " %s", inst->imm, callee ? callee->name : "?");
        break;
    }
    }
}

static void print_region(Printer *p, IrRegionId id);

static void print_inst(Printer *p, IrInstId id)
{
    const IrInst *inst = ir_inst(p->func, id);
    print_indent(p);
    if (inst->result_count) {
        print_values(p, inst->result_first, inst->result_count);
        strbuf_append_c(p->out, " = ");
    }
    strbuf_append_c(p->out, ir_op_info((IrOp)inst->op)->mnemonic);
    print_imm(p, inst);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        strbuf_printf(p->out, "%s%%%u", i ? ", " : " ", ir_args(p->func, inst)[i]);
    strbuf_append_char(p->out, '\n');
    for (uint32_t i = 0; i < inst->region_count; ++i) {
        print_indent(p);
        if (inst->op == IR_IF) {
            strbuf_append_c(p->out, i ? "else\n" : "then\n");
        } else {
            strbuf_append_c(p->out, "do (");
            print_params(p, ir_region(p->func, inst->region_first + i));
            strbuf_append_c(p->out, ")\n");
        }
        ++p->depth;
        print_region(p, inst->region_first + i);
        --p->depth;
    }
}

static void print_region(Printer *p, IrRegionId id)
{
    for (IrInstId i = ir_region(p->func, id)->first; i; i = ir_inst(p->func, i)->next)
        print_inst(p, i);
}

static void print_func(Printer *p, IrFuncId id)
{
    const IrFunc *f = p->func;
    strbuf_printf(p->out, "%sfunc @%u %s(", id == p->module->entry ? "entry " : "", id, f->name);
    print_params(p, ir_region(f, f->body));
    strbuf_append_c(p->out, ") -> (");
    for (uint32_t i = 0; i < f->result_count; ++i) {
        strbuf_append_c(p->out, i ? ", " : "");
        print_type(p->out, f->result_types[i]);
    }
    strbuf_append_c(p->out, ")\n");
    p->depth = 1;
    print_region(p, f->body);
}

void ir_print_module(const IrModule *m, StrBuf *out)
{
    Printer p = {.module = m, .out = out};
    for (IrFuncId i = 1; i < m->funcs.count; ++i) {
        p.func = m->funcs.data[i];
        if (p.func)
            print_func(&p, i);
    }
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *o = &m->outputs.data[i];
        if (o->result_count)
            strbuf_printf(out, "output %s: results %u..%u\n", o->name, o->result_first,
                          o->result_first + o->result_count - 1);
    }
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *s = &m->slots.data[i];
        strbuf_printf(out, "slot %u: %s of %s, results %u..%u", i, m->closures[s->closure].name,
                      m->outputs.data[s->output].name, s->result_first,
                      s->result_first + 3 + s->arg_count);
        if (s->parent >= 0)
            strbuf_printf(out, ", in slot %d", s->parent);
        strbuf_append_char(out, '\n');
    }
}
