#include "ssl/output_derivs.h"
#include "base/check.h"
#include "ssl/ir/ir_build.h"

bool output_derivs_exist(SslType type)
{
    return type >= SSL_FLOAT && type <= SSL_MATRIX;
}

/* The results of the new entry, in the order of the table of outputs. */
typedef struct Results {
    ARRAY(IrValue) values;
} Results;

static void add_row(IrModule *m, Results *results, const IrOutput *of, const char *function)
{
    IrOutput row = *of;
    row.name = arena_printf(m->arena, "%s(%s)", function, of->name);
    row.result_first = results->values.count;
    array_push(m->arena, &m->outputs, row);
}

static void add_derivative(IrModule *m, IrBuilder *b, Results *results, uint32_t output, IrOp op)
{
    ASSERT(output < m->outputs.count && m->outputs.data);
    IrOutput of = m->outputs.data[output];
    add_row(m, results, &of, op == IR_DDX ? "ddx" : "ddy");
    for (uint32_t i = 0; i < of.result_count; ++i) {
        ASSERT(results->values.data);
        IrValue value = results->values.data[of.result_first + i];
        array_push(m->arena, &results->values, ir_build1(b, op, value));
    }
}

/* Extends the description of the outputs to match the table. */
static void extend_info(IrModule *m)
{
    SslOutputInfo *infos = ARENA_ARRAY(m->arena, SslOutputInfo, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; ++i)
        infos[i] =
            (SslOutputInfo){.name = m->outputs.data[i].name, .type = m->outputs.data[i].type};
    for (uint32_t i = 0; i < m->info.output_count; ++i)
        infos[i] = m->info.outputs[i];
    m->info.outputs = infos;
    m->info.output_count = m->outputs.count;
}

void output_derivs_add(IrModule *m)
{
    const IrFunc *shader = ir_func(m, m->entry);
    IrFuncId id = ir_reserve_func(m);
    IrBuilder *b = ir_build_begin(m, id, shader->name, NULL, 0);
    ir_build_func(b)->span = shader->span;
    ir_build_span(b, (Span){0}); /* code that has no place in a source gets no warnings */
    IrValue *of_shader = ARENA_ARRAY(m->arena, IrValue, shader->result_count);
    ir_build_call(b, m->entry, NULL, 0, shader->result_types, shader->result_count, of_shader);
    Results results = {0};
    for (uint32_t i = 0; i < shader->result_count; ++i)
        array_push(m->arena, &results.values, of_shader[i]);
    uint32_t output_count = m->outputs.count;
    for (uint32_t i = 0; i < output_count; ++i) {
        if (!output_derivs_exist(m->outputs.data[i].type))
            continue;
        add_derivative(m, b, &results, i, IR_DDX);
        add_derivative(m, b, &results, i, IR_DDY);
    }
    ir_build_end(b, results.values.data, results.values.count);
    m->entry = id;
    extend_info(m);
}
