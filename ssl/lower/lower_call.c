/* Calls of functions, of builtin operations, and texture lookups. */
#include "base/check.h"
#include "ssl/lower/emit.h"

static const uint16_t builtin_ops[BUILTIN_COUNT] = {
#define BUILTIN_F_F(name, op, fold, cost, domain, derivative)  IR_##op,
#define BUILTIN_FF_F(name, op, fold, cost, domain, derivative) IR_##op,
#define BUILTIN_F_B(name, op, fold, cost, domain, derivative)  IR_##op,
#define BUILTIN_F_I(name, op, fold, cost, domain, derivative)  IR_##op,
#define BUILTIN_II_I(name, op, fold, cost, domain, derivative) IR_##op,
#include "ssl/ssl_builtins.inc"
#undef BUILTIN_F_F
#undef BUILTIN_FF_F
#undef BUILTIN_F_B
#undef BUILTIN_F_I
#undef BUILTIN_II_I
};

IrFuncId lower_func_id(Lowering *l, const FuncDecl *f, uint32_t array_size)
{
    if (!f->is_sized && l->func_ids[f->id])
        return l->func_ids[f->id];
    for (uint32_t i = 0; i < l->queue.count && f->is_sized; ++i)
        if (l->queue.data[i].func == f && l->queue.data[i].array_size == array_size)
            return l->queue.data[i].id;
    FuncInstance instance = {f, array_size, ir_reserve_func(l->module)};
    if (!f->is_sized)
        l->func_ids[f->id] = instance.id;
    if (f->derivative_of)
        lower_derivative(l, f, instance.id);
    else
        array_push(l->arena, &l->queue, instance);
    if (f->forward || f->backward || f->substitute || f->is_constant || f->is_kept)
        lower_diff_facts(l, f, instance.id);
    return instance.id;
}

/* Returns the size of the arguments for parameters T[], or 0 if the function has none. */
static uint32_t call_array_size(const Emit *m, const Expr *e)
{
    const FuncDecl *f = e->callee.func;
    for (uint32_t i = 0; i < f->params.count && f->is_sized; ++i)
        if (type_is_unsized(f->params.items[i]->type)) {
            const Type *from = e->args.items[i]->type;
            return type_is_unsized(from) ? m->array_size : from->count;
        }
    return 0;
}

static Value lower_builtin(Emit *m, const Expr *e)
{
    IrOp op = (IrOp)builtin_ops[e->callee.builtin - builtins];
    Value x = lower_expr(m, e->args.items[0]);
    Value y = e->args.count > 1 ? lower_expr(m, e->args.items[1]) : x;
    IrValue *leaf = value_leaves(m, e->type);
    lower_set_span(m, e->span);
    for (uint32_t i = 0; i < e->type->leaves; ++i) {
        IrValue p = x.leaf[x.type->leaves == 1 ? 0 : i], q = y.leaf[y.type->leaves == 1 ? 0 : i];
        leaf[i] = e->args.count > 1 ? ir_build2(m->b, op, p, q) : ir_build1(m->b, op, p);
    }
    return (Value){e->type, leaf};
}

/* A call's arguments as computed: values of `in`, places of `out` and `inout`. */
typedef struct Arguments {
    Value *values; /* [params]; type NULL: an `out` */
    Place *places;
} Arguments;

static Arguments lower_arguments(Emit *m, const Expr *e)
{
    const FuncDecl *f = e->callee.func;
    Arguments a = {.values = ARENA_ARRAY(m->arena, Value, f->params.count),
                   .places = ARENA_ARRAY(m->arena, Place, f->params.count)};
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const VarDecl *param = f->params.items[i];
        if (i >= e->args.count) {
            a.values[i] = value_constant(m, param->constant);
        } else if (param->direction == DIRECTION_IN) {
            a.values[i] = lower_expr(m, e->args.items[i]);
        } else {
            a.places[i] = place_of(m, e->args.items[i]);
            if (param->direction == DIRECTION_INOUT)
                a.values[i] = place_load(m, &a.places[i]);
        }
    }
    return a;
}

/* One CALL; `component` picks that of vectors where the function is applied by component. Results: those
 * of the return type, then of each `out` and `inout` in order. */
static IrValue *emit_call(Emit *m, const Expr *e, const Arguments *a, uint32_t component)
{
    const FuncDecl *f = e->callee.func;
    ARRAY(IrValue) args = {0};
    uint32_t result_count = f->return_type->leaves;
    for (uint32_t i = 0; i < f->params.count; ++i) {
        const Value *v = &a->values[i];
        bool is_split = e->callee.width > 1 && f->params.items[i]->type->leaves == 1;
        if (f->params.items[i]->direction != DIRECTION_IN)
            result_count += f->params.items[i]->type->leaves;
        if (f->params.items[i]->direction == DIRECTION_OUT)
            continue;
        if (is_split)
            array_push(m->arena, &args, v->leaf[v->type->leaves == 1 ? 0 : component]);
        for (uint32_t k = 0; k < v->type->leaves && !is_split; ++k)
            array_push(m->arena, &args, v->leaf[k]);
    }
    IrType *types = ARENA_ARRAY(m->arena, IrType, result_count);
    IrType *next = leaf_types(f->return_type, types);
    for (uint32_t i = 0; i < f->params.count; ++i)
        if (f->params.items[i]->direction != DIRECTION_IN)
            next = leaf_types(f->params.items[i]->type, next);
    IrValue *results = ARENA_ARRAY(m->arena, IrValue, result_count);
    ir_build_call(m->b, lower_func_id(m->lowering, f, call_array_size(m, e)), args.data, args.count,
                  types, result_count, results);
    return results;
}

Value lower_call(Emit *m, const Expr *e)
{
    if (e->callee.builtin)
        return lower_builtin(m, e);
    const FuncDecl *f = e->callee.func;
    Arguments a = lower_arguments(m, e);
    lower_set_span(m, e->span);
    if (e->callee.width > 1) {
        IrValue *leaf = value_leaves(m, e->type);
        for (uint32_t i = 0; i < e->callee.width; ++i)
            leaf[i] = emit_call(m, e, &a, i)[0];
        return (Value){e->type, leaf};
    }
    IrValue *results = emit_call(m, e, &a, 0);
    const IrValue *next = results + f->return_type->leaves;
    for (uint32_t i = 0; i < f->params.count; ++i) {
        if (f->params.items[i]->direction == DIRECTION_IN)
            continue;
        place_store(m, &a.places[i], (Value){f->params.items[i]->type, next});
        next += f->params.items[i]->type->leaves;
    }
    return (Value){e->type, results};
}

/* --- textures --- */

/* Texts of options are pointers into the checker's tables. */
static bool same_site(const SslTextureSite *a, const SslTextureSite *b)
{
    for (uint32_t i = 0; i < 4; ++i)
        if (a->missing_color[i] != b->missing_color[i])
            return false;
    return a->texture == b->texture && a->filter == b->filter && a->wrap_s == b->wrap_s &&
           a->wrap_t == b->wrap_t && a->has_missing_color == b->has_missing_color;
}

/* Calls with equal options share a site, so that equal lookups are one: colour and alpha, say. */
static uint32_t texture_site(Emit *m, const Expr *e)
{
    const IrModule *module = m->lowering->module;
    SslTextureSite site = e->texture->site;
    site.texture = e->texture->slot;
    site.span = lower_span(m->lowering, e->span);
    for (uint32_t i = 0; i < module->texture_sites.count; ++i)
        if (same_site(&module->texture_sites.data[i], &site))
            return i;
    return ir_add_texture_site(m->lowering->module, &site);
}

Value lower_texture(Emit *m, const Expr *e)
{
    const TextureCall *call = e->texture;
    IrValue coord[7] = {0}, rgba[4];
    uint32_t count = e->args.count;
    for (uint32_t i = 0; i < count; ++i)
        coord[i] = lower_scalar(m, e->args.items[i]);
    IrValue blur = call->blur ? lower_scalar(m, call->blur) : ir_const_float(m->b, 0.0f);
    IrValue width = call->width ? lower_scalar(m, call->width) : 0;
    lower_set_span(m, e->span);
    if (width) { /* the footprint, scaled */
        for (uint32_t i = 2; i < 6 && count == 2; ++i)
            coord[i] = ir_build1(m->b, i < 4 ? IR_DDX : IR_DDY, coord[i % 2]);
        for (uint32_t i = 2; i < 6; ++i)
            coord[i] = ir_build2(m->b, IR_FMUL, coord[i], width);
        count = 6;
    }
    coord[count] = blur;
    uint32_t site = texture_site(m, e);
    if (count == 2)
        ir_build_tex_auto(m->b, site, coord, rgba);
    else
        ir_build_tex(m->b, site, coord, rgba);
    IrValue *leaf = value_leaves(m, e->type);
    for (uint32_t i = 0; i < e->type->leaves; ++i) {
        uint32_t own = call->form == TOKEN_SAMPLE_ALPHA ? 3 : i;
        leaf[i] = rgba[call->channel >= 0 ? (uint32_t)call->channel : own];
    }
    return (Value){e->type, leaf};
}
