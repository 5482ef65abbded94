/* Reads and writes of parts of variables: a.b[i].xy. A place and its indices are computed once, and then loaded and
 * stored as often as the operator needs. */
#include "base/check.h"
#include "ssl/lower/emit.h"

/* The most alternatives that a chain of selects chooses among; more are chosen through an array. */
enum { SELECTS_MAX = 4 };
_Static_assert((int)SELECTS_MAX <= (int)PLACE_ALTERNATIVES, "a place has room for them");

static IrValue read_leaf(Emit *m, const Place *p, uint32_t leaf)
{
    return p->slot == NO_SLOT ? p->temporary[p->leaf + leaf]
                              : m->env.data[p->slot + p->leaf + leaf];
}

static void write_leaf(Emit *m, const Place *p, uint32_t leaf, IrValue v)
{
    ASSERT(p->slot != NO_SLOT);
    m->env.data[p->slot + p->leaf + leaf] = v;
}

/* index * count + element */
static IrValue element_index(Emit *m, IrValue index, uint32_t count, uint32_t element)
{
    IrValue first = ir_build2(m->b, IR_IMUL, index, ir_const_int(m->b, (int32_t)count));
    return ir_build2(m->b, IR_IADD, first, ir_const_int(m->b, (int32_t)element));
}

static IrValue read_element(Emit *m, const Place *p, uint32_t leaf, IrValue index)
{
    if (p->table)
        return value_table_element(m, p->table, p->leaf + leaf, index);
    return ir_build2(m->b, IR_ARRAY_GET, read_leaf(m, p, leaf), index);
}

/* A leaf at the place's index: one element, or the inner array that stands there. */
static IrValue load_leaf(Emit *m, const Place *p, const Type *type, uint32_t leaf)
{
    IrType inner = leaf_type(type, leaf);
    if (!p->index)
        return p->table ? value_constant(m, p->table->constant).leaf[p->leaf + leaf]
                        : read_leaf(m, p, leaf);
    if (!ir_is_array(inner))
        return read_element(m, p, leaf, p->index);
    uint32_t count = ir_count(inner);
    IrValue *element = ARENA_ARRAY(m->arena, IrValue, count);
    for (uint32_t k = 0; k < count; ++k)
        element[k] = read_element(m, p, leaf, element_index(m, p->index, count, k));
    return ir_build_array(m->b, ir_kind(inner), element, count);
}

static void store_leaf(Emit *m, const Place *p, const Type *type, uint32_t leaf, IrValue v)
{
    IrType inner = leaf_type(type, leaf);
    if (!p->index) {
        write_leaf(m, p, leaf, v);
        return;
    }
    IrValue whole = read_leaf(m, p, leaf);
    if (!ir_is_array(inner)) {
        write_leaf(m, p, leaf, ir_build3(m->b, IR_ARRAY_SET, whole, p->index, v));
        return;
    }
    uint32_t count = ir_count(inner);
    for (uint32_t k = 0; k < count; ++k) {
        IrValue element = ir_build2(m->b, IR_ARRAY_GET, v, ir_const_int(m->b, (int32_t)k));
        whole = ir_build3(m->b, IR_ARRAY_SET, whole, element_index(m, p->index, count, k), element);
    }
    write_leaf(m, p, leaf, whole);
}

static IrValue is_choice(Emit *m, const Place *p, uint32_t alternative)
{
    return ir_build2(m->b, IR_IEQ, p->choice, ir_const_int(m->b, (int32_t)alternative));
}

static IrValue load_component(Emit *m, const Place *p, uint32_t component)
{
    IrValue value[PLACE_ALTERNATIVES] = {0};
    uint32_t count = p->alternative_count;
    for (uint32_t a = 0; a < count; ++a)
        value[a] = load_leaf(m, p, type_of_lanes(1), p->lane[a][component]);
    if (count > SELECTS_MAX)
        return ir_build2(m->b, IR_ARRAY_GET, ir_build_array(m->b, IR_FLOAT, value, count),
                         p->choice);
    IrValue chosen = value[count - 1];
    for (uint32_t a = count - 1; a-- > 0;)
        chosen = ir_build_select(m->b, is_choice(m, p, a), value[a], chosen);
    return chosen;
}

Value place_load(Emit *m, const Place *p)
{
    IrValue *leaf = value_leaves(m, p->type);
    for (uint32_t i = 0; i < p->type->leaves; ++i)
        leaf[i] = p->component_count > 0 ? load_component(m, p, i) : load_leaf(m, p, p->type, i);
    Value v = {p->type, leaf};
    return p->is_no_diff ? value_detached(m, v) : v;
}

void place_store(Emit *m, const Place *p, Value v)
{
    for (uint32_t i = 0; i < p->type->leaves; ++i) {
        if (p->component_count == 0) {
            store_leaf(m, p, p->type, i, v.leaf[i]);
            continue;
        }
        for (uint32_t a = 0; a < p->alternative_count; ++a) {
            uint8_t lane = p->lane[a][i];
            IrValue next = v.leaf[i];
            if (p->alternative_count > 1)
                next = ir_build_select(m->b, is_choice(m, p, a), next,
                                       load_leaf(m, p, type_of_lanes(1), lane));
            store_leaf(m, p, type_of_lanes(1), lane, next);
        }
    }
}

/* --- making places --- */

/* A whole vector as a choice of its components. */
static void open_components(Place *p)
{
    if (p->component_count > 0)
        return;
    p->component_count = (uint8_t)p->type->scalars;
    p->alternative_count = 1;
    for (uint8_t i = 0; i < p->component_count && i < 4; ++i)
        p->lane[0][i] = i;
}

static void select_components(Place *p, const Expr *e)
{
    ASSERT(e->swizzle.count >= 1 && e->swizzle.count <= 4);
    open_components(p);
    for (uint32_t a = 0; a < p->alternative_count; ++a) {
        uint8_t lane[4] = {0};
        for (uint32_t i = 0; i < e->swizzle.count; ++i)
            lane[i] = p->lane[a][e->swizzle.lane[i]];
        for (uint32_t i = 0; i < 4; ++i)
            p->lane[a][i] = lane[i];
    }
    p->component_count = e->swizzle.count;
}

/* Selects candidate `index` of `count` candidates of `width` components each. `candidates` has those of the first
 * alternative so far, then those of the second, and so on. */
static void select_candidate(Emit *m, Place *p, IrValue index, uint32_t count, uint32_t width,
                             const uint8_t *candidates)
{
    int32_t known;
    uint8_t lanes[PLACE_ALTERNATIVES][4] = {{0}};
    uint32_t old = p->alternative_count;
    bool is_known = ir_is_const_int(m->b, index, &known) && known >= 0 && (uint32_t)known < count;
    uint32_t kept = is_known ? 1 : count;
    ASSERT(old * kept <= PLACE_ALTERNATIVES);
    for (uint32_t a = 0; a < old; ++a)
        for (uint32_t k = 0; k < kept; ++k)
            for (uint32_t i = 0; i < width; ++i) {
                uint32_t candidate = is_known ? (uint32_t)known : k;
                lanes[a * kept + k][i] = candidates[(a * count + candidate) * width + i];
            }
    if (!is_known)
        p->choice =
            old == 1
                ? index
                : ir_build2(m->b, IR_IADD,
                            ir_build2(m->b, IR_IMUL, p->choice, ir_const_int(m->b, (int32_t)count)),
                            index);
    p->alternative_count = (uint8_t)(old * kept);
    p->component_count = (uint8_t)width;
    for (uint32_t a = 0; a < p->alternative_count; ++a)
        for (uint32_t i = 0; i < 4; ++i)
            p->lane[a][i] = lanes[a][i];
}

static void index_vector(Emit *m, Place *p, IrValue index)
{
    uint8_t candidates[PLACE_ALTERNATIVES * 4];
    open_components(p);
    uint32_t count = p->component_count;
    for (uint32_t a = 0; a < p->alternative_count; ++a)
        for (uint32_t k = 0; k < count; ++k)
            candidates[a * count + k] = p->lane[a][k];
    select_candidate(m, p, index, count, 1, candidates);
}

static void index_matrix(Emit *m, Place *p, IrValue index)
{
    uint8_t candidates[16];
    for (uint8_t i = 0; i < 16; ++i)
        candidates[i] = i;
    p->alternative_count = 1;
    select_candidate(m, p, index, 4, 4, candidates);
}

static IrValue safe_index(Emit *m, const Expr *e, uint32_t count)
{
    IrValue index = lower_scalar(m, e);
    int32_t known;
    if (ir_is_const_int(m->b, index, &known) && known >= 0 && (uint32_t)known < count)
        return index;
    lower_set_span(m, e->span);
    Span span = lower_span(m->lowering, e->span);
    return ir_build_bounds(m->b, index, count,
                           ir_add_fault_site(m->lowering->module, SSL_FAULT_INDEX, span));
}

static Place index_place(Emit *m, const Expr *e)
{
    Place p = place_of(m, e->a);
    const Type *t = e->a->type;
    uint32_t count = type_is_unsized(t)       ? m->array_size
                     : t->kind == TYPE_ARRAY  ? t->count
                     : type_is(t, SSL_MATRIX) ? 4
                                              : t->scalars;
    IrValue index = safe_index(m, e->b, count);
    lower_set_span(m, e->span);
    if (t->kind == TYPE_ARRAY) {
        IrValue outer =
            p.index ? ir_build2(m->b, IR_IMUL, p.index, ir_const_int(m->b, (int32_t)count)) : 0;
        p.index = outer ? ir_build2(m->b, IR_IADD, outer, index) : index;
    } else if (type_is(t, SSL_MATRIX)) {
        index_matrix(m, &p, index);
    } else {
        index_vector(m, &p, index);
    }
    p.type = e->type;
    return p;
}

static Place member_place(Emit *m, const Expr *e)
{
    Place p = place_of(m, e->a);
    if (e->a->type->kind == TYPE_STRUCT) {
        const VarDecl *member = e->a->type->decl->members.items[e->member];
        p.leaf += member->leaf;
        p.is_no_diff = p.is_no_diff || member->is_no_diff;
    } else {
        select_components(&p, e);
    }
    p.type = e->type;
    return p;
}

Place place_of(Emit *m, const Expr *e)
{
    if (e->kind == EXPR_INDEX)
        return index_place(m, e);
    if (e->kind == EXPR_MEMBER)
        return member_place(m, e);
    Place p = {.type = e->type, .slot = NO_SLOT};
    if (e->kind == EXPR_NAME && e->var->kind != VAR_CONSTANT) {
        p.slot = m->slot_of[e->var->index];
        ASSERT(p.slot != NO_SLOT);
    } else if (e->kind == EXPR_NAME && value_is_table(e->var)) {
        p.table = e->var;
    } else {
        p.temporary = lower_expr(m, e).leaf;
    }
    return p;
}
