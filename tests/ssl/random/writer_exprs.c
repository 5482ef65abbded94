/* Expressions: each writes one of the type that it is asked for. Alternative 0 is the simplest. */
#include "base/check.h"
#include "tests/ssl/random/source_writer.h"

static void text(Gen *g, const char *s)
{
    strbuf_append_c(g->out, s);
}

/* "name(" e ", " e ... ")" */
static void apply(Gen *g, const char *name, uint32_t count, const GenType *args, uint32_t depth)
{
    strbuf_printf(g->out, "%s(", name);
    for (uint32_t i = 0; i < count; ++i) {
        if (i > 0)
            text(g, ", ");
        writer_expr(g, args[i], depth);
    }
    text(g, ")");
}

static void apply_same(Gen *g, const char *name, uint32_t count, GenType t, uint32_t depth)
{
    const GenType args[] = {t, t, t, t};
    apply(g, name, count, args, depth);
}

static void call_or_leaf(Gen *g, GenType t, uint32_t depth)
{
    if (!writer_call(g, t, depth))
        writer_leaf(g, t);
}

/* --- by type ----------------------------------------------------------------------------------- */

static void binary(Gen *g, GenType a, const char *op, GenType b, uint32_t depth)
{
    text(g, "(");
    writer_expr(g, a, depth);
    strbuf_printf(g->out, " %s ", op);
    writer_expr(g, b, depth);
    text(g, ")");
}

static void choice(Gen *g, GenType t, uint32_t depth)
{
    text(g, "(");
    writer_expr(g, writer_basic(GEN_BOOL), depth);
    text(g, " ? ");
    writer_expr(g, t, depth);
    text(g, " : ");
    writer_expr(g, t, depth);
    text(g, ")");
}

/* (place = value), (place += value): an expression with an effect. */
static bool effect(Gen *g, GenType t, uint32_t depth)
{
    size_t start = g->out->size_bytes;
    text(g, "(");
    if (!writer_place(g, t, true, depth)) {
        g->out->size_bytes = start;
        g->out->data[start] = '\0';
        return false;
    }
    static const char *const ops[] = {" = ", " += ", " -= "};
    if (t.base == GEN_INT && writer_pick(g, 2)) {
        text(g, "++)");
        return true;
    }
    text(g, t.base == GEN_MATRIX ? " = " : WRITER_ONE_OF(g, ops));
    writer_expr(g, t, depth);
    text(g, ")");
    return true;
}

static void quotient(Gen *g, GenType t, uint32_t depth)
{
    text(g, "(");
    writer_expr(g, t, depth);
    if (writer_one_in(g, 4)) {
        text(g, " / ");
        writer_expr(g, t, depth);
    } else {
        text(g, " / (1.5 + ");
        apply_same(g, "sin", 1, t, depth);
        text(g, ")");
    }
    text(g, ")");
}

/* Functions of one float or vector, most of them kept where they are well behaved. */
static void function1(Gen *g, GenType t, uint32_t depth)
{
    static const char *const tame[] = {"sin",   "cos",      "atan",    "tanh",    "abs",
                                       "floor", "fract",    "ceil",    "round",   "trunc",
                                       "sign",  "saturate", "degrees", "radians", "cbrt"};
    static const char *const wild[] = {"tan",  "asin", "acos",  "sinh",  "cosh",       "exp",
                                       "exp2", "log",  "expm1", "log2",  "log10",      "log1p",
                                       "sqrt", "fabs", "sqrt",  "expm1", "inversesqrt"};
    static const char *const inner[] = {"saturate", "sin", "fract", "tanh"};
    if (writer_pick(g, 2) == 0) {
        apply_same(g, WRITER_ONE_OF(g, tame), 1, t, depth);
        return;
    }
    const char *name = WRITER_ONE_OF(g, wild);
    if (writer_one_in(g, 5)) {
        apply_same(g, name, 1, t, depth);
        return;
    }
    strbuf_printf(g->out, "%s(%s + ", name, writer_pick(g, 2) ? "0.5" : "1.125");
    apply_same(g, WRITER_ONE_OF(g, inner), 1, t, depth);
    text(g, " * 0.375)");
}

static void function2(Gen *g, GenType t, uint32_t depth)
{
    static const char *const names[] = {"min", "max", "hypot", "atan2", "fmod", "mod", "step"};
    static const char *const three[] = {"mix", "clamp", "smoothstep", "linearstep"};
    switch (writer_pick(g, 4)) {
    default:
        apply_same(g, WRITER_ONE_OF(g, names), 2, t, depth);
        break;
    case 1:
        apply_same(g, WRITER_ONE_OF(g, three), 3, t, depth);
        break;
    case 2:
        text(g, "pow(0.75 + ");
        apply_same(g, "saturate", 1, t, depth);
        text(g, ", ");
        writer_expr(g, writer_pick(g, 2) ? t : writer_basic(GEN_FLOAT), depth);
        text(g, ")");
        break;
    case 3:
        text(g, "pow(");
        writer_expr(g, t, depth);
        strbuf_printf(g->out, ", %u.0)", writer_pick(g, 4));
        break;
    }
}

static GenType some_vector(Gen *g)
{
    return writer_basic((GenBase)(GEN_FLOAT2 + writer_pick(g, 3)));
}

static bool has_bsdfs(const Gen *g)
{
    return g->is_pure && !g->is_differentiable;
}

/* ddx, or where functions are differentiated, what these may do with derivatives. */
static void derivative_of_any_kind(Gen *g, GenType t, uint32_t depth)
{
    static const char *const detached[] = {"detach", "no_diff "};
    if (!g->is_differentiable)
        apply_same(g, writer_pick(g, 2) ? "ddx" : "ddy", 1, t, depth);
    else if (g->detaches && writer_one_in(g, 3))
        apply_same(g, WRITER_ONE_OF(g, detached), 1, t, depth);
    else if (!writer_derivative(g, t, depth))
        writer_leaf(g, t);
}

/* Functions of ssl/stdlib/bsdf, which sources with a bsdf see. */
static void bsdf_function(Gen *g, GenType t, uint32_t depth)
{
    enum { F = GEN_FLOAT, F2 = GEN_FLOAT2, V = GEN_FLOAT3, I = GEN_INT, B = GEN_BOOL };
    static const struct {
        const char *name, *member;
        uint8_t result, count, args[6];
    } rows[] = {
        {"bsdf_cosine_pdf", "", F, 1, {F}},
        {"bsdf_alpha", "", F, 2, {F, F}},
        {"bsdf_schlick_weight", "", F, 1, {F}},
        {"bsdf_fresnel", ".reflectance", F, 2, {F, F}},
        {"bsdf_fresnel", ".cos_t", F, 2, {F, F}},
        {"bsdf_fresnel_metal", "", F, 3, {F, F, F}},
        {"ggx_d", "", F, 2, {V, F2}},
        {"ggx_stretch", "", F, 2, {V, F2}},
        {"ggx_reflection", ".value", F, 4, {V, F, V, F2}},
        {"ggx_albedo", ".e1", F, 2, {F, F}},
        {"ggx_albedo_average", ".b", F, 1, {F}},
        {"dielectric_albedo", "", F, 3, {F, F, F}},
        {"beckmann_d", "", F, 2, {V, F2}},
        {"microfacet_reflection", ".pdf", F, 5, {B, V, F, V, F2}},
        {"cloth_albedo", "", F, 2, {F, F}},
        {"bsdf_index_below", "", F, 2, {F, B}},
        {"bsdf_refraction_scale", "", F, 2, {F, I}},
        {"bsdf_reflection_chance", "", F, 3, {F, V, V}},
        {"bsdf_fibre_cone", ".low", F, 3, {V, F, F}},
        {"bsdf_cone_pdf", "", F, 1, {F}},
        {"bsdf_default_pdf", "", F, 2, {V, I}},
        {"bsdf_circle", "", F2, 1, {F}},
        {"bsdf_disk", "", F2, 1, {F2}},
        {"bsdf_anisotropic_alpha", "", F2, 3, {F, F, F}},
        {"bsdf_cosine_hemisphere", "", V, 1, {F2}},
        {"bsdf_uniform_hemisphere", "", V, 1, {F2}},
        {"bsdf_cone", "", V, 2, {F2, F}},
        {"bsdf_mirrored", "", V, 2, {V, V}},
        {"bsdf_lerp", "", V, 3, {V, V, F}},
        {"bsdf_schlick", "", V, 3, {V, V, F}},
        {"bsdf_fresnel_metal_average", "", V, 2, {V, V}},
        {"bsdf_refracted", "", V, 5, {V, V, F, F, F}},
        {"bsdf_frame_of", ".s", V, 1, {V}},
        {"bsdf_frame", ".n", V, 4, {V, V, V, B}},
        {"ggx_visible_normal", "", V, 4, {V, F, F2, F2}},
        {"beckmann_visible_normal", "", V, 3, {V, F2, F2}},
        {"bsdf_complement", ".average", V, 3, {F, V, V}},
        {"bsdf_metal_tint", "", V, 2, {V, F}},
        {"bsdf_default_sample", "", V, 2, {V, I}},
    };
    GenType args[6];
    uint32_t of_type = 0, at = 0;
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        of_type += rows[i].result == t.base;
    for (uint32_t left = writer_pick(g, of_type); rows[at].result != t.base || left-- > 0;)
        ++at;
    for (uint32_t i = 0; i < rows[at].count; ++i)
        args[i] = writer_basic((GenBase)rows[at].args[i]);
    apply(g, rows[at].name, rows[at].count, args, depth);
    text(g, rows[at].member);
}

static void texture(Gen *g, const char *form, uint32_t depth)
{
    ASSERT(!g->is_pure);
    strbuf_printf(g->out, "%s<%s>(", form, writer_pick(g, 2) ? "tb" : "ta");
    bool has_footprint = writer_one_in(g, 4);
    for (uint32_t i = 0; i < (has_footprint ? 6 : 2); ++i) {
        text(g, i ? ", " : "");
        writer_expr(g, writer_basic(GEN_FLOAT), i < 2 ? depth : 0);
    }
    if (writer_one_in(g, 5)) {
        text(g, ", width = ");
        writer_expr(g, writer_basic(GEN_FLOAT), 0);
    }
    if (writer_one_in(g, 5))
        strbuf_printf(g->out, ", channel = %u", writer_pick(g, 4));
    text(g, ")");
}

static void scalar_of_vectors(Gen *g, uint32_t depth)
{
    static const char *const two[] = {"dot", "distance"};
    GenType v = some_vector(g);
    switch (writer_pick(g, 7)) {
    default:
        apply_same(g, WRITER_ONE_OF(g, two), 2, v, depth);
        break;
    case 1:
        apply_same(g, "length", 1, v, depth);
        break;
    case 2:
        text(g, "(");
        writer_expr(g, v, depth);
        text(g, ").y");
        break;
    case 3:
        apply_same(g, "luminance", 1, writer_basic(GEN_FLOAT3), depth);
        break;
    case 4:
        apply_same(g, "snoise", 1, writer_pick(g, 2) ? v : writer_basic(GEN_FLOAT), depth);
        break;
    case 5:
        apply_same(g, "determinant", 1, writer_basic(GEN_MATRIX), depth);
        break;
    case 6:
        text(g, "cellnoise(");
        writer_expr(g, v, depth);
        text(g, ")");
        break;
    }
}

static void float_expr(Gen *g, uint32_t depth)
{
    static const char *const ops[] = {"*", "+", "-"};
    GenType t = writer_basic(GEN_FLOAT);
    switch (writer_pick(g, has_bsdfs(g) ? 21 : 19)) {
    case 0:
        writer_leaf(g, t);
        break;
    default:
        binary(g, t, WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 4:
    case 5:
        function1(g, t, depth);
        break;
    case 6:
        function2(g, t, depth);
        break;
    case 7:
        quotient(g, t, depth);
        break;
    case 8:
        choice(g, t, depth);
        break;
    case 9:
        text(g, "float(");
        writer_expr(g, writer_basic(writer_pick(g, 2) ? GEN_BOOL : GEN_INT), depth);
        text(g, ")");
        break;
    case 10: /* int beside float */
        binary(g, writer_basic(GEN_INT), WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 11:
        scalar_of_vectors(g, depth);
        break;
    case 12:
    case 13:
        call_or_leaf(g, t, depth);
        break;
    case 14:
        derivative_of_any_kind(g, t, depth);
        break;
    case 15:
        if (g->is_differentiable)
            derivative_of_any_kind(g, t, depth);
        else if (g->is_pure)
            bsdf_function(g, t, depth);
        else
            texture(g, "texture2d_sample_alpha", depth);
        break;
    case 16:
        text(g, "-");
        text(g, "(");
        writer_expr(g, t, depth);
        text(g, ")");
        break;
    case 17:
        if (!effect(g, t, depth))
            writer_leaf(g, t);
        break;
    case 18:
        if (!writer_place(g, t, false, depth))
            writer_leaf(g, t);
        break;
    case 19:
    case 20:
        bsdf_function(g, t, depth);
        break;
    }
}

static void pieces(Gen *g, GenType t, uint32_t depth)
{
    uint32_t left = t.base - GEN_FLOAT + 1u;
    strbuf_printf(g->out, "float%u(", left);
    while (left > 0) {
        uint32_t now = 1 + writer_pick(g, left < 3 ? left : 3);
        if (now == t.base - GEN_FLOAT + 1u)
            --now;
        writer_expr(g, writer_basic((GenBase)(GEN_FLOAT + now - 1)), depth);
        left -= now;
        text(g, left ? ", " : "");
    }
    text(g, ")");
}

static void special_vector(Gen *g, GenType t, uint32_t depth)
{
    static const char *const triples[] = {"cross",      "reflect",    "rgb_to_hsv",
                                          "hsv_to_rgb", "hsl_to_rgb", "rgb_to_hsl"};
    const GenType rotation[] = {t, writer_basic(GEN_FLOAT), t};
    const GenType transformed[] = {writer_basic(GEN_MATRIX), t};
    if (t.base == GEN_FLOAT4) {
        if (!g->is_pure && writer_pick(g, 2))
            texture(g, "texture2d_sample_rgba", depth);
        else
            binary(g, writer_basic(GEN_MATRIX), "*", t, depth);
        return;
    }
    if (t.base != GEN_FLOAT3) {
        apply_same(g, "normalize", 1, t, depth);
        return;
    }
    switch (writer_pick(g, 5)) {
    case 0:
        apply_same(g, "normalize", 1, t, depth);
        break;
    case 1: {
        uint32_t which = writer_pick(g, SORT_COUNT_OF(triples));
        apply_same(g, triples[which], which < 2 ? 2 : 1, t, depth);
        break;
    default:
        break;
    }
    case 2:
        apply(g, "rotate", 3, rotation, depth);
        break;
    case 3:
        apply(g, "transform", 2, transformed, depth);
        break;
    case 4:
        if (g->is_differentiable)
            derivative_of_any_kind(g, t, depth);
        else if (g->is_pure)
            bsdf_function(g, t, depth);
        else
            texture(g, "texture2d_sample", depth);
        break;
    }
}

static void vector_expr(Gen *g, GenType t, uint32_t depth)
{
    static const char *const ops[] = {"+", "*", "-"};
    GenType f = writer_basic(GEN_FLOAT);
    bool has_library = has_bsdfs(g) && t.base != GEN_FLOAT4;
    switch (writer_pick(g, has_library ? 18 : 16)) {
    case 0:
        writer_leaf(g, t);
        break;
    default:
        binary(g, t, WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 3:
        binary(g, t, "*", f, depth);
        break;
    case 4:
        binary(g, f, WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 5:
        function1(g, t, depth);
        break;
    case 6:
        function2(g, t, depth);
        break;
    case 7:
        quotient(g, t, depth);
        break;
    case 8:
        choice(g, t, depth);
        break;
    case 9:
        pieces(g, t, depth);
        break;
    case 10:
        call_or_leaf(g, t, depth);
        break;
    case 11:
        special_vector(g, t, depth);
        break;
    case 12:
        derivative_of_any_kind(g, t, depth);
        break;
    case 13:
        text(g, "(");
        writer_expr(g, some_vector(g), depth);
        text(g, ")");
        text(g, ".");
        for (uint32_t i = 0; i < t.base - GEN_FLOAT + 1u; ++i)
            strbuf_append_char(g->out, "xy"[writer_pick(g, 2)]);
        break;
    case 14:
        if (!effect(g, t, depth))
            writer_leaf(g, t);
        break;
    case 15:
        if (!writer_place(g, t, false, depth))
            writer_leaf(g, t);
        break;
    case 16:
    case 17:
        bsdf_function(g, t, depth);
        break;
    }
}

static void int_expr(Gen *g, uint32_t depth)
{
    static const char *const ops[] = {"+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"};
    static const char *const functions[] = {"min", "max", "ushr", "hash"};
    GenType t = writer_basic(GEN_INT), f = writer_basic(GEN_FLOAT);
    switch (writer_pick(g, 11)) {
    case 0:
        writer_leaf(g, t);
        break;
    default:
        binary(g, t, WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 3:
        text(g, writer_pick(g, 2) ? "~" : "-");
        text(g, "(");
        writer_expr(g, t, depth);
        text(g, ")");
        break;
    case 4:
        text(g, "int(10 * ");
        writer_expr(g, f, depth);
        text(g, ")");
        break;
    case 5:
        choice(g, t, depth);
        break;
    case 6:
        apply_same(g, WRITER_ONE_OF(g, functions), 2, t, depth);
        break;
    case 7:
        call_or_leaf(g, t, depth);
        break;
    case 8:
        if (!effect(g, t, depth))
            writer_leaf(g, t);
        break;
    case 9:
        if (!writer_place(g, t, false, depth))
            writer_leaf(g, t);
        break;
    case 10:
        text(g, "int(");
        writer_expr(g, writer_basic(GEN_BOOL), depth);
        text(g, ")");
        break;
    }
}

static void bool_expr(Gen *g, uint32_t depth)
{
    static const char *const orders[] = {"<", ">", "<=", ">=", "==", "!="};
    static const char *const equalities[] = {"==", "!="};
    static const char *const logic[] = {"&&", "||"};
    GenType t = writer_basic(GEN_BOOL);
    switch (writer_pick(g, 9)) {
    case 0:
        writer_leaf(g, t);
        break;
    default:
        binary(g, writer_basic(GEN_FLOAT), orders[writer_pick(g, 4)], writer_basic(GEN_FLOAT),
               depth);
        break;
    case 3:
    case 4:
        binary(g, writer_basic(GEN_INT), WRITER_ONE_OF(g, orders), writer_basic(GEN_INT), depth);
        break;
    case 5:
        binary(g, t, WRITER_ONE_OF(g, logic), t, depth);
        break;
    case 6:
        text(g, "!");
        text(g, "(");
        writer_expr(g, t, depth);
        text(g, ")");
        break;
    case 7: {
        GenType both = writer_pick(g, 2) ? t : some_vector(g);
        binary(g, both, WRITER_ONE_OF(g, equalities), both, depth);
        break;
    }
    case 8:
        call_or_leaf(g, t, depth);
        break;
    }
}

static void matrix_expr(Gen *g, uint32_t depth)
{
    static const char *const ops[] = {"+", "-", "*"};
    GenType t = writer_basic(GEN_MATRIX), row = writer_basic(GEN_FLOAT4);
    const GenType rows[] = {row, row, row, row};
    switch (writer_pick(g, g->is_differentiable ? 9 : 7)) {
    default:
        writer_leaf(g, t);
        break;
    case 7:
        derivative_of_any_kind(g, t, depth);
        break;
    case 8:
        apply_same(g, "inverse", 1, t, depth);
        break;
    case 2:
        binary(g, t, WRITER_ONE_OF(g, ops), t, depth);
        break;
    case 3:
        binary(g, t, "*", writer_basic(GEN_FLOAT), depth);
        break;
    case 4:
        apply(g, "matrix", 4, rows, depth ? depth - 1 : 0);
        break;
    case 5:
        apply_same(g, "transpose", 1, t, depth);
        break;
    case 6:
        call_or_leaf(g, t, depth);
        break;
    }
}

/* make_closure of a bsdf of the source. */
static void own_closure(Gen *g, uint32_t depth)
{
    uint32_t at = writer_pick(g, g->bsdfs.count);
    const GenBsdf b = g->bsdfs.data[at];
    strbuf_printf(g->out, "make_closure<B%u>(", at);
    for (uint32_t i = 0; i < b.arg_count; ++i) {
        text(g, i ? ", " : "");
        writer_expr(g, writer_basic(b.arg[i]), depth);
    }
    text(g, ")");
}

static void closure_expr(Gen *g, uint32_t depth)
{
    GenType t = writer_basic(GEN_CLOSURE), c = writer_basic(GEN_FLOAT3),
            f = writer_basic(GEN_FLOAT);
    const GenType lambert[] = {c, c}, coat[] = {f, t}, mixed[] = {t, t, f};
    switch (writer_pick(g, g->bsdfs.count ? 11 : 8)) {
    case 0:
        writer_leaf(g, t);
        break;
    default:
        apply(g, "make_closure<Lambert>", 2, lambert, depth);
        break;
    case 2:
        apply(g, "make_closure<Coat>", 2, coat, depth);
        break;
    case 3:
        binary(g, t, writer_pick(g, 2) ? "+" : "-", t, depth);
        break;
    case 4:
        binary(g, writer_pick(g, 2) ? f : c, "*", t, depth);
        break;
    case 5:
        apply(g, "mix", 3, mixed, depth);
        break;
    case 6:
        choice(g, t, depth);
        break;
    case 7:
        call_or_leaf(g, t, depth);
        break;
    case 8:
    case 9:
    case 10:
        own_closure(g, depth);
        break;
    }
}

/* Structs: a variable, a constructor, a call. Arrays: only variables, of which there is one wherever an
 * array is asked for. */
static void aggregate(Gen *g, GenType t, uint32_t depth)
{
    if (t.dims == 0 && writer_pick(g, 3) == 2 && writer_call(g, t, depth))
        return;
    if (t.dims > 0 || writer_pick(g, 2))
        if (writer_place(g, t, false, depth))
            return;
    CHECK(t.dims == 0);
    const GenStruct *s = &g->structs.data[t.base - GEN_STRUCT];
    strbuf_printf(g->out, "S%u(", t.base - GEN_STRUCT);
    for (uint32_t i = 0; i < s->count; ++i) {
        text(g, i ? ", " : "");
        writer_expr(g, g->structs.data[t.base - GEN_STRUCT].member[i], depth);
    }
    text(g, ")");
}

void writer_expr(Gen *g, GenType t, uint32_t depth)
{
    if (t.dims > 0 || t.base >= GEN_STRUCT) {
        aggregate(g, t, depth ? depth - 1 : 0);
        return;
    }
    if (depth == 0 || g->nodes_left == 0) {
        writer_leaf(g, t);
        return;
    }
    --depth;
    --g->nodes_left;
    switch ((int)t.base) {
    case GEN_BOOL:
        bool_expr(g, depth);
        break;
    case GEN_INT:
        int_expr(g, depth);
        break;
    case GEN_FLOAT:
        float_expr(g, depth);
        break;
    case GEN_MATRIX:
        matrix_expr(g, depth);
        break;
    case GEN_CLOSURE:
        closure_expr(g, depth);
        break;
    default:
        vector_expr(g, t, depth);
        break;
    }
}
