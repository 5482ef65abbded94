#include "tests/ssl/oracle/ir_random.h"
#include "base/check.h"

enum { POOL_MAX = 512, DEPTH_MAX = 3, ARRAY_COUNT = 4, CALL_ARGS = 3, FUNCS_MAX = 8 };

typedef struct Pool {
    IrValue values[POOL_MAX];
    uint32_t count;
} Pool;

typedef struct Gen {
    const RandomDesc *desc;
    uint64_t state;
    IrBuilder *b;
    Pool floats, ints, bools, closures, arrays;
    IrFuncId funcs[FUNCS_MAX];
    uint32_t func_count, depth, loop_weight; /* loop_weight: trips that may multiply */
} Gen;

uint32_t random_next(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % bound;
}

static uint32_t pick(Gen *g, uint32_t bound)
{
    return random_next(&g->state, bound);
}

static void put(Pool *p, IrValue v)
{
    if (p->count < POOL_MAX)
        p->values[p->count++] = v;
}

/* Recent values are likelier. */
static IrValue get(Gen *g, const Pool *p)
{
    uint32_t a = pick(g, p->count), b = pick(g, p->count);
    return p->values[a > b ? a : b];
}

static Pool *pool_of(Gen *g, IrType type)
{
    if (ir_is_array(type))
        return &g->arrays;
    switch (ir_kind(type)) {
    case IR_BOOL:
        return &g->bools;
    case IR_INT:
        return &g->ints;
    case IR_FLOAT:
        return &g->floats;
    case IR_CLOSURE:
        break;
    }
    return &g->closures;
}

static void statements(Gen *g, uint32_t count);

/* --- statements ------------------------------------------------------------------------------- */

static void float_op(Gen *g)
{
    static const IrOp smooth[] = {IR_FADD, IR_FSUB, IR_FMUL, IR_SIN,   IR_COS,  IR_TANH, IR_ATAN,
                                  IR_FMIN, IR_FMAX, IR_FABS, IR_HYPOT, IR_FNEG, IR_ATAN2};
    IrOp op = g->desc->smooth ? smooth[pick(g, SORT_COUNT_OF(smooth))]
                              : (IrOp)(IR_FNEG + pick(g, IR_TANH - IR_FNEG + 1));
    IrValue x = get(g, &g->floats);
    if (ir_op_info(op)->signature[1] == '>')
        x = ir_build1(g->b, op, x);
    else
        x = ir_build2(g->b, op, x, get(g, &g->floats));
    if (op == IR_FMUL && g->desc->smooth) /* keeps numbers small */
        x = ir_build1(g->b, IR_TANH, x);
    put(&g->floats, x);
}

/* exp, log, sqrt, pow, division and so on, at arguments where they are tame. */
static void tamed_op(Gen *g)
{
    static const IrOp ops[] = {IR_EXP,  IR_LOG,   IR_SQRT,  IR_INVSQRT, IR_CBRT, IR_LOG2,
                               IR_EXP2, IR_LOG1P, IR_EXPM1, IR_ASIN,    IR_ACOS, IR_SINH,
                               IR_COSH, IR_TAN,   IR_LOG10, IR_FDIV,    IR_FMOD, IR_POW};
    IrOp op = ops[pick(g, SORT_COUNT_OF(ops))];
    IrBuilder *b = g->b;
    IrValue x = ir_build1(b, IR_TANH, get(g, &g->floats)); /* in [-1, 1] */
    IrValue y = get(g, &g->floats);
    IrValue half = ir_build2(b, IR_FMUL, x, ir_const_float(b, 0.5f));
    IrValue positive = ir_build2(b, IR_FADD, half, ir_const_float(b, 1.0f)); /* in [0.5, 1.5] */
    bool any_sign = op == IR_EXP || op == IR_EXP2 || op == IR_EXPM1 || op == IR_SINH ||
                    op == IR_COSH || op == IR_TAN || op == IR_ASIN || op == IR_ACOS;
    if (op == IR_FDIV || op == IR_FMOD)
        put(&g->floats, ir_build2(b, op, y, positive));
    else if (op == IR_POW)
        put(&g->floats, ir_build2(b, op, positive, half));
    else
        put(&g->floats, ir_build1(b, op, any_sign ? half : positive));
}

static void int_op(Gen *g)
{
    IrOp op = (IrOp)(IR_INEG + pick(g, IR_IUSHR - IR_INEG + 1));
    IrValue x = get(g, &g->ints);
    bool unary = ir_op_info(op)->signature[1] == '>';
    put(&g->ints, unary ? ir_build1(g->b, op, x) : ir_build2(g->b, op, x, get(g, &g->ints)));
}

static void bool_op(Gen *g)
{
    IrBuilder *b = g->b;
    switch (pick(g, 4)) {
    case 0:
        put(&g->bools, ir_build2(b, (IrOp)(IR_FEQ + pick(g, IR_FGE - IR_FEQ + 1)),
                                 get(g, &g->floats), get(g, &g->floats)));
        break;
    case 1:
        put(&g->bools, ir_build2(b, (IrOp)(IR_IEQ + pick(g, IR_IGE - IR_IEQ + 1)), get(g, &g->ints),
                                 get(g, &g->ints)));
        break;
    case 2:
        put(&g->bools,
            ir_build2(b, (IrOp)(IR_BAND + pick(g, 3)), get(g, &g->bools), get(g, &g->bools)));
        break;
    default:
        put(&g->bools, ir_build1(b, IR_BNOT, get(g, &g->bools)));
    }
}

static void choose(Gen *g)
{
    Pool *p = pick(g, 4) == 0 ? &g->closures : pick(g, 4) == 0 ? &g->ints : &g->floats;
    IrValue x = get(g, p), y = get(g, p);
    put(p, ir_build_select(g->b, get(g, &g->bools), x, y));
}

static void input(Gen *g)
{
    IrBuilder *b = g->b;
    switch (pick(g, 6)) {
    case 0:
        put(&g->floats, ir_build_global(b, IR_FLOAT, G_P, 0, pick(g, 3)));
        break;
    case 1:
        put(&g->floats, ir_build_global(b, IR_FLOAT, G_X1 + pick(g, 2), 0, 0));
        break;
    case 2:
        put(&g->floats, ir_build_global(b, IR_FLOAT, G_FLAT, 0, 0));
        break;
    case 3:
        put(&g->floats, ir_build_param_read(b, IR_FLOAT, PARAM_K, 0));
        put(&g->bools, ir_build_param_read(b, IR_BOOL, PARAM_FLAG, 0));
        break;
    case 4:
        put(&g->floats, ir_const_float(b, ((float)pick(g, 33) - 16.0f) / 8.0f));
        put(&g->ints, ir_const_int(b, (int32_t)pick(g, 9) - 4));
        break;
    default:
        put(&g->ints, ir_build_global(b, IR_INT, G_INT, 0, 0));
        put(&g->bools, ir_build_global(b, IR_BOOL, G_BOOL, 0, 0));
    }
}

static void closure_op(Gen *g)
{
    IrBuilder *b = g->b;
    IrValue args[6];
    for (uint32_t i = 0; i < 6; ++i)
        args[i] = get(g, &g->floats);
    switch (pick(g, 5)) {
    case 0:
        put(&g->closures, ir_build_closure(b, C_LAMBERT, args, 6));
        break;
    case 1:
        put(&g->closures, ir_build_closure(b, C_EMIT, args, 1));
        break;
    case 2: {
        IrValue x = g->closures.values[pick(g, g->closures.count)];
        if (g->loop_weight == 1) /* a sum that goes round a loop would grow */
            put(&g->closures,
                ir_build2(b, IR_CLOSURE_ADD, x, ir_build_closure(b, C_CLEAR, NULL, 0)));
        break;
    }
    default:
        put(&g->closures,
            ir_build_closure_scale(b, get(g, &g->closures), args[0], args[1], args[2]));
    }
}

static void array_op(Gen *g)
{
    IrBuilder *b = g->b;
    IrValue index = ir_build_bounds(b, get(g, &g->ints), ARRAY_COUNT, 1);
    if (pick(g, 3) == 0)
        index = ir_const_int(b, (int32_t)pick(g, ARRAY_COUNT));
    if (pick(g, 2))
        put(&g->floats, ir_build2(b, IR_ARRAY_GET, get(g, &g->arrays), index));
    else
        put(&g->arrays, ir_build3(b, IR_ARRAY_SET, get(g, &g->arrays), index, get(g, &g->floats)));
}

static void texture(Gen *g)
{
    IrValue rgba[4], coord[7];
    for (uint32_t i = 0; i < 7; ++i)
        coord[i] = get(g, &g->floats);
    if (pick(g, 4))
        ir_build_tex_auto(g->b, pick(g, 2), coord, rgba);
    else
        ir_build_tex(g->b, pick(g, 2), coord, rgba);
    put(&g->floats, rgba[pick(g, 4)]);
    put(&g->floats, rgba[2]);
}

static void call(Gen *g)
{
    static const IrType types[] = {IR_FLOAT, IR_FLOAT, IR_INT, IR_CLOSURE};
    if (!g->func_count)
        return;
    IrValue args[CALL_ARGS + 1], results[4];
    for (uint32_t i = 0; i < CALL_ARGS; ++i)
        args[i] = get(g, &g->floats);
    args[CALL_ARGS] = get(g, &g->ints);
    ir_build_call(g->b, g->funcs[pick(g, g->func_count)], args, CALL_ARGS + 1, types, 4, results);
    for (uint32_t i = 0; i < 4; ++i)
        if (types[i] != IR_CLOSURE || g->loop_weight == 1)
            put(pool_of(g, types[i]), results[i]);
}

/* --- regions ---------------------------------------------------------------------------------- */

typedef struct Marks {
    uint32_t counts[5];
} Marks;

static Pool *pool_at(Gen *g, uint32_t i)
{
    Pool *const pools[5] = {&g->floats, &g->ints, &g->bools, &g->closures, &g->arrays};
    return pools[i];
}

static Marks mark(Gen *g)
{
    Marks m;
    for (uint32_t i = 0; i < 5; ++i)
        m.counts[i] = pool_at(g, i)->count;
    return m;
}

static void forget(Gen *g, Marks m)
{
    for (uint32_t i = 0; i < 5; ++i)
        pool_at(g, i)->count = m.counts[i];
}

static const IrType border[] = {IR_FLOAT, IR_FLOAT,   IR_INT,
                                IR_BOOL,  IR_CLOSURE, IR_FLOAT | ARRAY_COUNT << 2};
enum { BORDER = SORT_COUNT_OF(border) };

static void get_border(Gen *g, IrValue *out)
{
    for (uint32_t i = 0; i < BORDER; ++i)
        out[i] = get(g, pool_of(g, border[i]));
}

static void branch(Gen *g)
{
    IrValue values[BORDER];
    ir_if_begin(g->b, get(g, &g->bools));
    Marks m = mark(g);
    statements(g, 1 + pick(g, 5));
    get_border(g, values);
    forget(g, m);
    ir_if_else(g->b, values, BORDER);
    statements(g, pick(g, 5));
    get_border(g, values);
    forget(g, m);
    ir_if_end(g->b, values, BORDER, values);
    for (uint32_t i = 0; i < BORDER; ++i)
        put(pool_of(g, border[i]), values[i]);
}

/* A counter bounds the turns; a random condition may end them sooner. */
static void loop(Gen *g)
{
    IrBuilder *b = g->b;
    uint32_t trips = 1 + pick(g, 4);
    IrValue values[BORDER + 1], state[BORDER + 1];
    if (g->loop_weight * trips > 24)
        return;
    get_border(g, values);
    values[BORDER] = ir_const_int(b, 0);
    ir_loop_begin(b, 0, values, BORDER + 1, state);
    Marks m = mark(g);
    g->loop_weight *= trips + 1;
    for (uint32_t i = 0; i < BORDER; ++i)
        put(pool_of(g, border[i]), state[i]);
    statements(g, 1 + pick(g, 6));
    get_border(g, values);
    values[4] = pick(g, 2) ? state[4] : ir_build_closure(b, C_EMIT, &values[0], 1);
    if (pick(g, 4) == 0)
        values[0] = state[0];
    IrValue next = ir_build2(b, IR_IADD, state[BORDER], ir_const_int(b, 1));
    IrValue go = ir_build2(b, IR_ILT, next, ir_const_int(b, (int32_t)trips));
    if (pick(g, 2))
        go = ir_build2(b, IR_BAND, go, get(g, &g->bools));
    values[BORDER] = next;
    g->loop_weight /= trips + 1;
    forget(g, m);
    ir_loop_end(b, go, values, BORDER + 1, values);
    for (uint32_t i = 0; i < BORDER; ++i)
        put(pool_of(g, border[i]), values[i]);
}

static void statement(Gen *g)
{
    uint32_t kind = pick(g, 40);
    if (kind < 14)
        float_op(g);
    else if (kind < 17)
        tamed_op(g);
    else if (kind < 19)
        int_op(g);
    else if (kind < 21)
        bool_op(g);
    else if (kind < 24)
        choose(g);
    else if (kind < 27)
        input(g);
    else if (kind < 29)
        closure_op(g);
    else if (kind < 31)
        array_op(g);
    else if (kind < 32)
        texture(g);
    else if (kind < 34 && g->desc->with_derivatives)
        put(&g->floats, ir_build1(g->b, pick(g, 2) ? IR_DDX : IR_DDY, get(g, &g->floats)));
    else if (kind < 36)
        call(g);
    else if (g->depth < DEPTH_MAX) {
        ++g->depth;
        if (kind < 38)
            branch(g);
        else
            loop(g);
        --g->depth;
    }
}

static void statements(Gen *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        statement(g);
}

/* --- modules ---------------------------------------------------------------------------------- */

static void begin_body(Gen *g)
{
    IrBuilder *b = g->b;
    Marks none = {0};
    forget(g, none);
    IrValue x = ir_build_global(b, IR_FLOAT, G_X1, 0, 0);
    put(&g->floats, x);
    put(&g->floats, ir_build_global(b, IR_FLOAT, G_X2, 0, 0));
    put(&g->ints, ir_build_global(b, IR_INT, G_INT, 0, 0));
    put(&g->bools, ir_build_global(b, IR_BOOL, G_BOOL, 0, 0));
    put(&g->closures, ir_build_closure(b, C_EMIT, &x, 1));
    put(&g->arrays,
        ir_build_array(b, IR_FLOAT, (IrValue[]){x, g->floats.values[1], ir_const_float(b, 2), x},
                       ARRAY_COUNT));
    g->loop_weight = 1;
}

static void random_func(Gen *g, Fixture *f)
{
    static const IrType params[CALL_ARGS + 1] = {IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_INT};
    IrFuncId id = fixture_func(f, "helper", params, CALL_ARGS + 1, &g->b);
    begin_body(g);
    for (uint32_t i = 0; i < CALL_ARGS; ++i)
        put(&g->floats, ir_build_param(g->b, i));
    put(&g->ints, ir_build_param(g->b, CALL_ARGS));
    statements(g, g->desc->statements);
    IrValue results[4] = {get(g, &g->floats), get(g, &g->floats), get(g, &g->ints),
                          get(g, &g->closures)};
    ir_build_end(g->b, results, 4);
    g->funcs[g->func_count++] = id;
}

void random_module(Fixture *f, const RandomDesc *desc)
{
    Gen g = {.desc = desc, .state = desc->seed * 0x9e3779b97f4a7c15u + 1};
    CHECK(desc->functions <= FUNCS_MAX);
    for (uint32_t i = 0; i < desc->functions; ++i)
        random_func(&g, f);
    g.b = f->b;
    begin_body(&g);
    statements(&g, desc->statements);
    IrValue out[7];
    for (uint32_t i = 0; i < 4; ++i)
        out[i] = get(&g, &g.floats);
    if (desc->with_derivatives) {
        out[0] = ir_build1(g.b, IR_DDX, out[1]);
        out[3] = ir_build1(g.b, IR_DDY, out[2]);
    }
    out[4] = get(&g, &g.ints);
    out[5] = get(&g, &g.bools);
    out[6] = get(&g, &g.closures);
    fixture_outputs(f, out, 7);
}

void random_point(Fixture *f, uint64_t *state)
{
    for (uint32_t row = 0; row < G_COUNT; ++row)
        for (uint32_t shadow = 0; shadow < 3; ++shadow)
            for (uint32_t i = 0; i < 3; ++i)
                f->point.globals[row][shadow][i] = ((double)random_next(state, 4001) - 2000) / 1024;
    f->point.globals[G_BOOL][0][0] = random_next(state, 2);
    f->point.globals[G_INT][0][0] = (double)random_next(state, 9) - 2;
    for (uint32_t i = 0; i < PARAM_COUNT; ++i) {
        EvalScalar *s = &f->point.params[i][0];
        s->b = random_next(state, 2);
        s->i = (int32_t)random_next(state, 7) - 3;
        s->f = ((float)random_next(state, 65) - 32) / 16;
        s->v = (double)s->f;
    }
}
