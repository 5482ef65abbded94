/* Derivatives that a host asks for, of a shader's outputs by its inputs. The entry is flattened, the reads of these inputs
 * become parameters of that function, and its derivative is built like that of any other. The new entry reads what the
 * derivative takes, calls it, and gives what it gives.
 *
 * A texture is an input of four numbers, which are added to all its texels, and are zero. So what lookups have to do with it goes
 * through branches and loops as all else does, and TEX_ADJ hands each lookup's adjoint to the host on the way. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/edges.h"
#include "ssl/report.h"

typedef ARRAY(IrValue) ValueList;
typedef ARRAY(IrType) TypeList;

typedef struct Kernel {
    Derive *derive;
    const IrKernelDerivative *how;
    uint32_t
        *first; /* [input]: the first of its numbers among the parameters of the flat function */
    uint32_t number_count;
    const IrValue
        *numbers; /* [number_count]: the inputs' numbers in the flat function, with noise */
    IrBuilder *b;
    uint32_t result_count; /* of the flat function: the numbers of all outputs that are derived */
} Kernel;

/* Copies the entry with the outputs that are derived as its only results. */
static IrFuncId copy_outputs(Kernel *k)
{
    IrModule *m = k->derive->module;
    const IrFunc *f = ir_func(m, m->entry);
    IrFuncId id = ir_reserve_func(m);
    IrClone c = ir_clone_func(m, f, id, NULL, NULL);
    ir_clone_insts(&c, f->body);
    ValueList results = {0};
    for (uint32_t i = 0; i < k->how->output_count; ++i) {
        const IrOutput *output = &m->outputs.data[k->how->outputs[i]];
        for (uint32_t j = 0; j < output->result_count; ++j)
            array_push(m->arena, &results,
                       c.map[ir_yield_args(f, f->body)[output->result_first + j]]);
    }
    k->result_count = results.count;
    ir_build_end(c.to, results.data, results.count);
    return id;
}

/* Returns the input of which an instruction reads a number; NULL: none is. */
static const IrKernelInput *input_read(const Kernel *k, const IrInst *inst, uint32_t *out_number)
{
    bool is_param = inst->op == IR_PARAM;
    if (!is_param && ((inst->op != IR_GLOBAL && inst->op != IR_ATTRIBUTE) ||
                      ir_global_shadow(inst->imm) != IR_SHADOW_VALUE))
        return NULL;
    IrInputKind kind = is_param                ? IR_INPUT_PARAM
                       : inst->op == IR_GLOBAL ? IR_INPUT_GLOBAL
                                               : IR_INPUT_ATTRIBUTE;
    uint32_t index = is_param ? ir_param_index(inst->imm) : ir_global_row(inst->imm);
    *out_number = is_param ? ir_param_component(inst->imm) : ir_global_component(inst->imm);
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        if (k->how->inputs[i].kind == kind && k->how->inputs[i].index == index)
            return &k->how->inputs[i];
    return NULL;
}

/* Returns the input that is the texture of a lookup; NULL: none is. */
static const IrKernelInput *looked_up_input(const Kernel *k, const IrInst *inst)
{
    if (!ir_has_texture_site((IrOp)inst->op))
        return NULL;
    uint32_t texture = k->derive->module->texture_sites.data[inst->site].texture;
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        if (k->how->inputs[i].kind == IR_INPUT_TEXTURE && k->how->inputs[i].index == texture)
            return &k->how->inputs[i];
    return NULL;
}

/* Copies a lookup and makes its results depend on what is added to all texels. */
static void bind_lookup(IrClone *c, IrInstId id, const IrKernelInput *texture)
{
    enum { COORDS_MAX = 7, RESULTS_MAX = 12, CHANNELS = 4 };
    static const IrType types[RESULTS_MAX] = {IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT,
                                              IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT,
                                              IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT};
    const Kernel *k = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    IrValue args[COORDS_MAX + RESULTS_MAX + CHANNELS], results[RESULTS_MAX];
    uint32_t count = 0;
    ASSERT(inst->arg_count <= COORDS_MAX && inst->result_count <= RESULTS_MAX);
    ir_clone_copy(c, id);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        args[count++] = c->map[ir_args(c->from, inst)[i]];
    for (uint32_t i = 0; i < inst->result_count; ++i)
        args[count++] = c->map[inst->result_first + i];
    for (uint32_t i = 0; i < CHANNELS; ++i)
        args[count++] = k->numbers[k->first[texture - k->how->inputs] + i];
    const IrNewInst made = {.op = IR_TEXELS,
                            .site = inst->site,
                            .args = args,
                            .types = types,
                            .arg_count = count,
                            .result_count = inst->result_count};
    ir_build_span(c->to, inst->span);
    ir_build_inst(c->to, &made, results);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        c->map[inst->result_first + i] = results[i];
}

static bool bind_input(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    uint32_t number;
    const Kernel *k = c->data;
    const IrKernelInput *texture = looked_up_input(k, inst);
    if (texture) {
        bind_lookup(c, id, texture);
        return true;
    }
    const IrKernelInput *input = input_read(k, inst, &number);
    if (!input)
        return false;
    c->map[inst->result_first] = k->numbers[k->first[input - k->how->inputs] + number];
    return true;
}

/* --- noise -------------------------------------------------------------------------------------- */

static IrValue times(IrBuilder *b, IrValue x, uint32_t factor)
{
    return ir_build2(b, IR_IMUL, x, ir_const_int(b, (int32_t)factor));
}

/* x ^ x >> count */
static IrValue folded(IrBuilder *b, IrValue x, int32_t count)
{
    return ir_build2(b, IR_IXOR, x, ir_build2(b, IR_IUSHR, x, ir_const_int(b, count)));
}

/* Returns random bits of the pixel and the seed: a weighted sum and the finaliser of MurmurHash3. [Appleby2011] */
static IrValue pixel_bits(IrBuilder *b, const IrKernelDerivative *how)
{
    IrValue sum = times(b, ir_build_param_read(b, IR_INT, how->noise_seed, 0), 0x9e3779b1u);
    static const uint32_t factors[2] = {0x85ebca77u, 0xc2b2ae3du};
    for (uint32_t i = 0; i < 2; ++i) {
        IrValue x = ir_build_attribute(b, IR_FLOAT, how->noise_pixel, IR_SHADOW_VALUE, i);
        sum = ir_build2(b, IR_IADD, sum, times(b, ir_build1(b, IR_F2I, x), factors[i]));
    }
    sum = times(b, folded(b, sum, 16), 0x85ebca6bu);
    return folded(b, times(b, folded(b, sum, 13), 0xc2b2ae35u), 16);
}

/* Returns a number from -0.5 to 0.5 of the bits, another one for each index. */
static IrValue draw(IrBuilder *b, IrValue bits, uint32_t index)
{
    IrValue own = ir_build2(b, IR_IADD, bits, ir_const_int(b, (int32_t)(index * 0x9e3779b1u)));
    own = times(b, folded(b, times(b, own, 0x7feb352du), 15), 0x846ca68bu);
    IrValue whole = ir_build1(b, IR_I2F, ir_build2(b, IR_IUSHR, own, ir_const_int(b, 9)));
    whole = ir_mul(b, whole, ir_const_float(b, 0x1p-23f));
    return ir_sub(b, whole, ir_const_float(b, 0.5f));
}

/* Returns [number]: the parameters of the flat function, shaken where that is asked for. */
static const IrValue *take_numbers(Kernel *k, IrBuilder *b)
{
    const IrKernelDerivative *how = k->how;
    IrValue *numbers = ARENA_ARRAY(k->derive->module->arena, IrValue, k->number_count);
    IrValue bits = how->noise ? pixel_bits(b, how) : 0;
    for (uint32_t i = 0; i < how->input_count; ++i)
        for (uint32_t j = 0; j < how->inputs[i].number_count; ++j) {
            uint32_t at = k->first[i] + j;
            numbers[at] = ir_build_param(b, at);
            if (!how->noise || !how->noise[i] || how->inputs[i].kinds[j] != IR_FLOAT)
                continue;
            IrValue size = ir_build_param_read(b, IR_FLOAT, how->noise[i] - 1, j);
            IrValue noise = ir_mul(b, size, draw(b, bits, at));
            numbers[at] = ir_add(b, numbers[at], noise);
        }
    return numbers;
}

/* Returns a copy of a flat function in which the inputs are parameters. It is in no module's list. */
static const IrFunc *take_inputs(Kernel *k, const IrFunc *f)
{
    static const IrCloneHooks hooks = {.visit = bind_input};
    IrModule *m = k->derive->module;
    IrFuncId id = ir_reserve_func(m);
    TypeList types = {0};
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        for (uint32_t j = 0; j < k->how->inputs[i].number_count; ++j)
            array_push(m->arena, &types, ir_scalar(k->how->inputs[i].kinds[j]));
    IrBuilder *b = ir_build_begin(m, id, f->name, types.data, types.count);
    ir_build_func(b)->span = f->span;
    IrClone c = ir_clone_begin(m, f, b, &hooks, k);
    k->numbers = take_numbers(k, b);
    ir_clone_body(&c);
    const IrFunc *made = ir_func(m, id);
    m->funcs.data[id] = NULL;
    return made;
}

/* --- the new entry ------------------------------------------------------------------------------ */

static IrValue read_input(Kernel *k, const IrKernelInput *input, uint32_t number)
{
    IrKind kind = input->kinds[number];
    switch (input->kind) {
    case IR_INPUT_PARAM:
        return ir_build_param_read(k->b, kind, input->index, number);
    case IR_INPUT_GLOBAL:
        return ir_build_global(k->b, kind, input->index, IR_SHADOW_VALUE, number);
    case IR_INPUT_ATTRIBUTE:
        return ir_build_attribute(k->b, kind, input->index, IR_SHADOW_VALUE, number);
    case IR_INPUT_TEXTURE:
        break;
    }
    return ir_const_float(k->b, 0.0f);
}

static void push_values(Kernel *k, ValueList *args)
{
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        for (uint32_t j = 0; j < k->how->inputs[i].number_count; ++j)
            array_push(k->derive->module->arena, args, read_input(k, &k->how->inputs[i], j));
}

static void end_entry(Kernel *k, const ValueList *results)
{
    const IrKernelDerivative *how = k->how;
    IrModule *m = k->derive->module;
    ir_build_end(k->b, results->data, results->count);
    m->outputs.count = 0;
    for (uint32_t i = 0; i < how->row_count; ++i)
        array_push(m->arena, &m->outputs, how->rows[i]);
}

/* Results: for each input a number for each of its own, zero for those that are no floats. */
static void end_backward(Kernel *k, IrFuncId derivative)
{
    const IrKernelDerivative *how = k->how;
    Arena *arena = k->derive->module->arena;
    ValueList args = {0}, results = {0};
    TypeList types = {0};
    push_values(k, &args);
    ASSERT(args.data && args.count == k->number_count);
    for (uint32_t i = 0; i < k->number_count; ++i)
        array_push(arena, &types, ir_build_type(k->b, args.data[i]));
    for (uint32_t i = 0; i < k->number_count; ++i) /* the pairs' derivatives before the call */
        if (derive_is_float(types.data[i]))
            array_push(arena, &args, ir_const_float(k->b, 0.0f));
    for (uint32_t i = 0; i < how->output_count; ++i)
        for (uint32_t j = 0; j < how->seeds[i].number_count; ++j)
            array_push(arena, &args, read_input(k, &how->seeds[i], j));
    for (uint32_t i = 0; i < k->number_count; ++i)
        if (derive_is_float(types.data[i]))
            array_push(arena, &types, ir_scalar(IR_FLOAT));
    IrValue *given = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(k->b, derivative, args.data, args.count, types.data, types.count, given);
    for (uint32_t i = 0, at = k->number_count; i < k->number_count; ++i)
        array_push(arena, &results,
                   derive_is_float(types.data[i]) ? given[at++]
                                                  : ir_build_zero(k->b, types.data[i]));
    end_entry(k, &results);
}

/* Results: those of the outputs, then, for each direction, their tangents. Calls for several directions stand in a row, so
 * that derive_merge makes one of them. */
static void end_forward(Kernel *k, IrFuncId derivative, const IrFunc *flat)
{
    const IrKernelDerivative *how = k->how;
    Arena *arena = k->derive->module->arena;
    ValueList values = {0}, results = {0};
    ValueList *args = ARENA_ARRAY(arena, ValueList, how->direction_count);
    TypeList types = {0};
    push_values(k, &values);
    for (uint32_t d = 0; d < how->direction_count; ++d) {
        for (uint32_t i = 0; i < values.count; ++i)
            array_push(arena, &args[d], values.data[i]);
        for (uint32_t i = 0; i < how->input_count; ++i) {
            const IrKernelInput *seed = &how->seeds[d * how->input_count + i];
            for (uint32_t j = 0; j < seed->number_count; ++j)
                if (seed->kinds[j] == IR_FLOAT)
                    array_push(arena, &args[d], read_input(k, seed, j));
        }
    }
    for (uint32_t i = 0; i < flat->result_count; ++i)
        array_push(arena, &types, flat->result_types[i]);
    for (uint32_t i = 0; i < flat->result_count; ++i)
        if (derive_is_float(flat->result_types[i]))
            array_push(arena, &types, flat->result_types[i]);
    IrValue *given = ARENA_ARRAY(arena, IrValue, types.count);
    for (uint32_t d = 0; d < how->direction_count; ++d) {
        ir_build_call(k->b, derivative, args[d].data, args[d].count, types.data, types.count,
                      given);
        for (uint32_t i = 0; i < flat->result_count && d == 0; ++i)
            array_push(arena, &results, given[i]);
        for (uint32_t i = 0, at = flat->result_count; i < flat->result_count; ++i)
            array_push(arena, &results,
                       derive_is_float(flat->result_types[i])
                           ? given[at++]
                           : ir_build_zero(k->b, flat->result_types[i]));
    }
    end_entry(k, &results);
}

/* --- ddx and ddy ---------------------------------------------------------------------------------- */

static bool has_screen_derivatives(const IrFunc *f)
{
    bool has_any = false;
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        if (ir_inst(f, i)->op == IR_CALL)
            return false; /* ir_forward would give the functions other numbers */
        has_any = has_any || ir_inst(f, i)->op == IR_DDX || ir_inst(f, i)->op == IR_DDY;
    }
    return has_any;
}

/* Returns a flat function in which ddx and ddy are ordinary values of the derivatives of globals and attributes, through
 * which there is a way back; NULL after a report. */
static const IrFunc *expand_screen(Kernel *k, const IrFunc *f)
{
    IrModule *m = k->derive->module, alone = *m;
    IrDerivativeCounts counts;
    alone.funcs.data = NULL;
    alone.funcs.count = alone.funcs.capacity = 0;
    array_push(m->arena, &alone.funcs, NULL);
    alone.entry = ir_reserve_func(&alone);
    IrClone c = ir_clone_func(&alone, f, alone.entry, NULL, NULL);
    ir_clone_body(&c);
    if (ir_forward(&alone, false, false, k->derive->diags, &counts) != STATUS_OK)
        return NULL;
    ir_simplify(&alone);
    return ir_func(&alone, alone.entry);
}

/* --- functions that stay ------------------------------------------------------------------------- */

/* Returns an input that a function, or one that it calls, reads itself or by lookups; NULL: none. visited[function] */
static const IrKernelInput *input_read_by(const Kernel *k, IrFuncId id, uint8_t *visited)
{
    const IrFunc *f = ir_func(k->derive->module, id);
    const IrKernelInput *found = NULL;
    if (!f || visited[id])
        return NULL;
    visited[id] = 1;
    for (IrInstId i = 1; i < f->insts.count && !found; ++i) {
        const IrInst *inst = ir_inst(f, i);
        uint32_t component;
        found = looked_up_input(k, inst);
        if (!found)
            found = input_read(k, inst, &component);
        if (!found && inst->op == IR_CALL)
            found = input_read_by(k, (IrFuncId)inst->imm, visited);
    }
    return found;
}

typedef struct CallCut {
    const IrInst *call;
    bool cuts_detached;
} CallCut;

static bool cut_call(IrClone *c, IrInstId id)
{
    const CallCut *cut = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    bool is_call = inst == cut->call;
    if (!is_call && !(cut->cuts_detached && inst->op == IR_DETACH))
        return false;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        c->map[inst->result_first + i] =
            is_call ? ir_build_param(c->to, i)
                    : ir_build_zero(c->to, ir_type(c->from, inst->result_first + i));
    return true;
}

/* Whether a result of a flat function, which has no parameters, depends on those of a call, as far as derivatives tell. Where edges count,
 * they do so in comparisons, too. */
static bool is_call_felt(Kernel *k, const IrFunc *f, const IrInst *call)
{
    static const IrCloneHooks hooks = {.visit = cut_call};
    IrModule *m = k->derive->module;
    bool any_way = k->how->has_edges || k->how->marks_edges, is_felt = false;
    CallCut cut = {call, any_way};
    IrFuncId id = ir_reserve_func(m);
    IrType *types = ARENA_ARRAY(m->arena, IrType, call->result_count);
    uint8_t *are_active = ARENA_ARRAY(m->arena, uint8_t, call->result_count);
    for (uint32_t i = 0; i < call->result_count; ++i) {
        types[i] = ir_type(f, call->result_first + i);
        are_active[i] = 1;
    }
    IrBuilder *b = ir_build_begin(m, id, f->name, types, call->result_count);
    IrClone c = ir_clone_begin(m, f, b, &hooks, &cut);
    ir_clone_body(&c);
    const IrFunc *made = ir_func(m, id);
    m->funcs.data[id] = NULL;
    const IrRegion *body = ir_region(made, made->body);
    const uint8_t *live = ir_live_values(m, made);
    const uint8_t *active = derive_activity(k->derive, made, are_active, k->how->is_backward);
    for (uint32_t i = 0; i < body->param_count; ++i)
        is_felt = is_felt || (any_way && live[body->param_first + i]);
    for (uint32_t i = 0; i < made->result_count; ++i)
        is_felt = is_felt || active[ir_yield_args(made, made->body)[i]];
    return is_felt;
}

static void refuse_call(Kernel *k, const IrInst *call, const IrKernelInput *input)
{
    Derive *d = k->derive;
    Span span = call->span.end ? call->span : d->facts->span;
    const char *name = ir_func(d->module, (IrFuncId)call->imm)->name;
    if (input->kind == IR_INPUT_TEXTURE) {
        report(d->diags, DERIVATIVE_TEXELS, span, name);
        report(d->diags, NOTE_WRITE, (Span){0},
               "the lookup outside of it and pass on what it gives, or detach(...) around the "
               "call, if this derivative may be left out");
    } else {
        report(d->diags, DERIVATIVE_READS, span, name);
        report(d->diags, NOTE_WRITE, (Span){0},
               "the value as an argument of the call, or detach(...) around the call, if this "
               "derivative may be left out");
    }
    d->has_failed = true;
}

/* Refuses inputs that functions read which are not flattened: only their arguments and results have derivatives. */
static bool check_calls(Kernel *k, const IrFunc *f)
{
    Derive *d = k->derive;
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        if (inst->op != IR_CALL ||
            derive_call_kind(d, (IrFuncId)inst->imm, k->how->is_backward) == CALL_CONSTANT)
            continue;
        uint8_t *visited = ARENA_ARRAY(d->module->arena, uint8_t, d->module->funcs.count);
        const IrKernelInput *input = input_read_by(k, (IrFuncId)inst->imm, visited);
        if (!input || !is_call_felt(k, f, inst))
            continue;
        refuse_call(k, inst, input);
        return false;
    }
    return true;
}

/* --- the derivative ------------------------------------------------------------------------------ */

/* One port of all inputs, and one of all outputs. */
static IrDiffFacts *describe(Kernel *k, const IrFunc *shader)
{
    Arena *arena = k->derive->module->arena;
    IrPort *ports = ARENA_ARRAY(arena, IrPort, 2);
    uint8_t *in = ARENA_ARRAY(arena, uint8_t, k->number_count);
    uint8_t *out = ARENA_ARRAY(arena, uint8_t, k->result_count);
    ports[0] = (IrPort){IR_PORT_IN, k->number_count, 0, in};
    ports[1] = (IrPort){IR_PORT_RESULT, k->result_count, 0, out};
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        for (uint32_t j = 0; j < k->how->inputs[i].number_count; ++j)
            ports[0].active_count += in[k->first[i] + j] = k->how->inputs[i].kinds[j] == IR_FLOAT;
    for (uint32_t i = 0; i < k->result_count; ++i)
        ports[1].active_count += out[i] = derive_is_float(shader->result_types[i]);
    IrDiffFacts *facts = ARENA_NEW(arena, IrDiffFacts);
    *facts =
        (IrDiffFacts){.ports = ports, .port_count = 2, .name = shader->name, .span = shader->span};
    return facts;
}

/* Results: those of the outputs, then the mark. */
static void end_marks(Kernel *k, IrFuncId marks)
{
    Arena *arena = k->derive->module->arena;
    const IrFunc *f = ir_func(k->derive->module, marks);
    ValueList args = {0};
    push_values(k, &args);
    ValueList results = {.data = ARENA_ARRAY(arena, IrValue, f->result_count),
                         .count = f->result_count};
    ir_build_call(k->b, marks, args.data, args.count, f->result_types, f->result_count,
                  results.data);
    end_entry(k, &results);
}

/* Returns [number]: inputs that are read of the point differ at its neighbours. */
static const uint8_t *varying_inputs(Kernel *k)
{
    const uint8_t *active = k->derive->facts->ports[0].active;
    uint8_t *varying = ARENA_ARRAY(k->derive->module->arena, uint8_t, k->number_count);
    for (uint32_t i = 0; i < k->how->input_count; ++i)
        for (uint32_t j = 0; j < k->how->inputs[i].number_count; ++j)
            varying[k->first[i] + j] =
                k->how->inputs[i].kind != IR_INPUT_PARAM && active[k->first[i] + j];
    return varying;
}

/* Notes which inputs cannot change any output, as far as derivatives tell. */
static void find_flat(Kernel *k, IrFuncId derivative)
{
    const IrFunc *f = ir_func(k->derive->module, derivative);
    const IrValue *results = ir_yield_args(f, f->body);
    for (uint32_t i = 0, at = k->number_count; i < k->how->input_count; ++i) {
        k->how->out_is_flat[i] = true;
        for (uint32_t j = 0; j < k->how->inputs[i].number_count; ++j) {
            if (k->how->inputs[i].kinds[j] != IR_FLOAT)
                continue;
            const IrInst *inst = ir_inst(f, f->values.data[results[at++]].def);
            if (inst->op != IR_CONST_FLOAT || ir_imm_float(inst) != 0.0f)
                k->how->out_is_flat[i] = false;
        }
    }
}

static bool drop_texel(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->op != IR_TEXELS)
        return false;
    derive_pass_texels(c, inst);
    return true;
}

/* Leaves the lookups alone, where nobody asks what they have to do with texels. */
static void drop_texels(IrModule *m, IrFuncId id)
{
    static const IrCloneHooks hooks = {.visit = drop_texel};
    IrClone c = ir_clone_func(m, ir_func(m, id), id, &hooks, NULL);
    ir_clone_body(&c);
}

static const uint32_t *tangent_textures(const Kernel *k)
{
    const IrModule *m = k->derive->module;
    uint32_t *tangents = ARENA_ARRAY(m->arena, uint32_t, m->info.texture_count);
    for (uint32_t i = 0; i < k->how->input_count && !k->how->marks_edges; ++i)
        if (k->how->inputs[i].kind == IR_INPUT_TEXTURE)
            tangents[k->how->inputs[i].index] = 1 + k->how->seeds[i].index;
    return tangents;
}

void derive_kernel(Derive *d, const IrKernelDerivative *how)
{
    IrModule *m = d->module;
    Kernel k = {
        .derive = d, .how = how, .first = ARENA_ARRAY(m->arena, uint32_t, how->input_count)};
    for (uint32_t i = 0; i < how->input_count; ++i) {
        k.first[i] = k.number_count;
        k.number_count += how->inputs[i].number_count;
    }
    IrFuncId outputs = copy_outputs(&k);
    const IrFunc *shader = ir_func(m, outputs);
    const char *name = shader->name;
    d->facts = describe(&k, shader);
    d->is_for_host = true;
    d->keeps =
        !how->has_edges && !how->marks_edges; /* which look for causes in all that is computed */
    derive_start(d);
    const IrFunc *f = derive_flatten(d, outputs, how->is_backward || how->marks_edges);
    if (!f)
        return;
    if (how->is_backward && !how->has_edges && has_screen_derivatives(f))
        f = expand_screen(&k, f);
    if (!f) {
        d->has_failed = true;
        return;
    }
    if (!check_calls(&k, f)) {
        d->has_failed = true;
        return;
    }
    d->tangent_textures = how->is_backward ? NULL : tangent_textures(&k);
    f = take_inputs(&k, f);
    const uint8_t *active = d->facts->ports[0].active;
    if (how->has_edges)
        f = edges_add(d, f, active, varying_inputs(&k));
    if (!f)
        return;
    IrFuncId derivative;
    if (how->marks_edges) {
        derivative = edges_mark(d, f, active, varying_inputs(&k));
        drop_texels(m, derivative);
    } else {
        derivative = ir_reserve_func(m);
        derive_build(d, derivative, f, how->is_backward);
    }
    if (d->has_failed)
        return;
    if (how->is_backward)
        find_flat(&k, derivative);
    Span span = shader->span;
    m->entry = ir_reserve_func(m);
    k.b = ir_build_begin(m, m->entry, name, NULL, 0);
    ir_build_func(k.b)->span = span;
    ir_build_span(k.b, (Span){0}); /* code that has no place in a source gets no warnings */
    if (how->is_backward)
        end_backward(&k, derivative);
    else if (how->marks_edges)
        end_marks(&k, derivative);
    else
        end_forward(&k, derivative, f);
}
