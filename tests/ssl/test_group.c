/* Linking units: random groups against the same code written by hand in one shader, bit for bit, with
 * derivatives and texture lookups; what is left out, what is shared, limits, and out of memory. */
#include "base/alloc.h"
#include "base/cast.h"
#include "base/file.h"
#include "base/hash.h"
#include "ssl/ssl_group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "x", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "P", .type = SSL_POINT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "uvw", .type = SSL_FLOAT3, .has_derivs = true, .space = "", .doc = ""},
    {.name = "normal", .type = SSL_NORMAL, .has_derivs = true, .space = "", .doc = ""},
};
static const SslClosureArg oren_nayar[] = {
    {"albedo", SSL_COLOR}, {"roughness", SSL_FLOAT}, {"N", SSL_NORMAL}};
static const SslClosureRow closures[] = {
    {.name = "OrenNayar", .args = oren_nayar, .arg_count = 3},
};
static const SslAttributeRow attributes[] = {
    {.name = "edge_distance", .type = SSL_FLOAT, .doc = ""},
};
static const SslContextDesc tables = {.size_bytes = sizeof tables,
                                      .globals = globals,
                                      .closures = closures,
                                      .global_count = SORT_COUNT_OF(globals),
                                      .closure_count = SORT_COUNT_OF(closures),
                                      .attributes = attributes,
                                      .attribute_count = SORT_COUNT_OF(attributes)};

static SslContext *ctx;

static int setup(void **state)
{
    Error err = {0};
    SORT_UNUSED(state);
    if (ssl_context_create(&tables, &ctx, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int teardown(void **state)
{
    SORT_UNUSED(state);
    ssl_context_destroy(ctx);
    return 0;
}

static void fail_with(const DiagList *diags, const char *source)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    print_error("%s\n%s\n", source, strbuf_text(&text));
    strbuf_free(&text);
    fail();
}

static SslUnit *compile(const char *text, const char *shader)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    SslSource source = {.name = "test.ssl", .text = str_from(text), .shader = shader};
    if (ssl_unit_compile(ctx, &source, diags, &unit) != STATUS_OK)
        fail_with(diags, text);
    diag_list_destroy(diags);
    return unit;
}

static SslUnit *link_group(const SslGroupDesc *desc)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    if (ssl_group_link(ctx, desc, NULL, diags, &unit) != STATUS_OK)
        fail_with(diags, desc->name);
    diag_list_destroy(diags);
    return unit;
}

/* The code of the only error. */
static void expect_refusal(const SslGroupDesc *desc, const char *code)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    assert_int_equal(ssl_group_link(ctx, desc, NULL, diags, &unit), STATUS_SOURCE);
    assert_null(unit);
    assert_string_equal(diag_get(diags, 0)->code, code);
    diag_list_destroy(diags);
}

static SslProgram *build(const SslUnit *unit, uint32_t llvm_level, bool has_derivs)
{
    Error err = {0};
    SslProgram *program;
    const SslBuildDesc how = {.size_bytes = sizeof how,
                              .llvm_level = llvm_level,
                              .output_derivatives = has_derivs,
                              .bake_switches = !has_derivs};
    if (ssl_program_build(ctx, unit, &how, NULL, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return program;
}

/* --- running ---------------------------------------------------------------------------------- */

enum { LOOKUPS_MAX = 64, RESULTS_MAX = 512 };

typedef struct Run {
    uint32_t count, lookup_count;
    float results[RESULTS_MAX];    /* values, d/dx, d/dy of all outputs */
    float lookups[LOOKUPS_MAX][6]; /* coordinates and their derivatives */
    char pad[64];
} Run;

static void look_up(SslHost *host, const SslTexCall *call)
{
    Run *run = (Run *)(void *)host;
    uint32_t n = call->lane_count;
    for (uint32_t lane = 0; lane < n; ++lane) {
        if (!(call->lane_mask >> lane & 1))
            continue;
        float s = call->coord[lane], t = call->coord[n + lane];
        if (run->lookup_count < LOOKUPS_MAX)
            for (uint32_t i = 0; i < 6; ++i)
                run->lookups[run->lookup_count][i] = call->coord[i * n + lane];
        ++run->lookup_count;
        const float rows[12] = {s, t, s * t, 1, 1, 0, t, 0, 0, 1, s, 0};
        for (uint32_t i = 0; i < (call->flags & SSL_TEX_WANT_DERIVS ? 12u : 4u); ++i)
            call->result[i * n + lane] = rows[i];
    }
}

static void fill_globals(float *block, uint64_t seed)
{
    SslGlobalsLayout layout;
    ssl_globals_layout(globals, SORT_COUNT_OF(globals), &layout);
    for (uint32_t i = 0; i < layout.stride_bytes / sizeof(float); ++i)
        block[i] = (float)(hash_mix64(seed + i) >> 40) / (float)(1 << 23) - 1.0f;
}

static void collect(Run *run, const char *result, const SslProgramInfo *info,
                    const SslOutputSlot *slots)
{
    for (uint32_t i = 0; i < info->unit->output_count; ++i) {
        const SslOutputInfo *output = &info->unit->outputs[i];
        for (uint32_t k = 0; k < ssl_value_scalars(output->type, output->shape); ++k) {
            assert_true(run->count < RESULTS_MAX);
            memcpy(&run->results[run->count++], result + slots[i].offset + k * SSL_BLOCK * 4, 4);
        }
    }
}

/* Gives the tangents of a forward derivative, each by the first letters and the digits of its parameter's name, which are the same by hand. */
static void aim(const SslProgram *program, void *params)
{
    const SslUnitInfo *info = ssl_program_info(program)->unit;
    for (uint32_t i = 0; i < info->param_count; ++i) {
        const char *name = info->params[i].name;
        if (strncmp(name, "tangent(", 8) != 0)
            continue;
        uint64_t sum = 0;
        for (const char *at = name; *at; ++at)
            sum = hash_mix64(sum + (*at == '.' ? '_' : (uint64_t)*at));
        SslValue value = {.type = info->params[i].type};
        for (uint32_t k = 0; k < ssl_type_scalars(value.type); ++k)
            value.f[k] = (float)(hash_mix64(sum + k) >> 40) / (float)(1 << 23) - 1.0f;
        assert_int_equal(ssl_params_set(program, params, i, &value, NULL), STATUS_OK);
    }
}

/* Lane 0 of one block. */
static void run_program(const SslProgram *program, uint64_t seed, Run *out)
{
    const SslProgramInfo *info = ssl_program_info(program);
    const SslServices services = {.size_bytes = sizeof services, .tex_lookup = look_up};
    const uint16_t live = 1;
    float *block = mem_alloc_aligned(1 << 14, 64);
    char *result = mem_alloc_aligned(info->result_stride_bytes + 64, 64);
    void *params = mem_alloc_aligned(info->params_bytes + 64, 64);
    float *tangents = mem_alloc_aligned(info->attributes_stride_bytes + 64, 64); /* of x */
    for (uint32_t i = 0; i < info->attributes_stride_bytes / sizeof(float); ++i)
        tangents[i] = 0.75f;
    uint32_t *textures = MEM_ARRAY(uint32_t, info->unit->texture_count + 1);
    memset(out, 0, sizeof *out);
    memset(result, 0, info->result_stride_bytes);
    fill_globals(block, seed);
    ssl_params_init(program, params);
    aim(program, params);
    const SslBatch batch = {.globals = block,
                            .live = &live,
                            .result = result,
                            .params = params,
                            .attributes = tangents,
                            .textures = textures,
                            .services = &services,
                            .host = (SslHost *)(void *)out,
                            .block_count = 1,
                            .loop_budget = 1000};
    ssl_program_kernel(program)(&batch);
    collect(out, result, info, info->outputs);
    if (info->outputs_ddx) {
        collect(out, result, info, info->outputs_ddx);
        collect(out, result, info, info->outputs_ddy);
    }
    mem_free(block);
    mem_free(result);
    mem_free(tangents);
    mem_free(params);
    mem_free(textures);
}

/* --- random groups ---------------------------------------------------------------------------- */

typedef struct Port {
    const char *name;
    SslType type;
} Port;

/* What comes before all shaders. */
static const char functions[] =
    "texture2d image;\n"
    "diff_pair<float> turned_forward(diff_pair<float> x) { return diff_pair(x.p, 0.5 * x.d); }\n"
    "[ForwardDerivative(turned_forward)] float turned(float x) { return x; }\n"
    "[Differentiable] float risen(float x) { return x * x * cos(x); }\n"
    "[Differentiable] float seen(float s) { return texture2d_sample<image>(s * s, 0.25).r; }\n";

/* Each is a shader, and a function for the shader by hand. */
static const struct {
    const char *name, *body;
    Port inputs[4], outputs[3];
} kinds[] = {
    {"read",
     "{ x = global_value<x>; P = global_value<P>; }",
     {{0}},
     {{"x", SSL_FLOAT}, {"P", SSL_POINT}}},
    {"add", "{ o = a + b; }", {{"a", SSL_FLOAT}, {"b", SSL_FLOAT}}, {{"o", SSL_FLOAT}}},
    {"product", "{ o = a * b; }", {{"a", SSL_FLOAT3}, {"b", SSL_FLOAT}}, {{"o", SSL_FLOAT3}}},
    {"wave",
     "{ s = sin(3 * a + b); c = cos(a) * b; }",
     {{"a", SSL_FLOAT}, {"b", SSL_FLOAT}},
     {{"s", SSL_FLOAT}, {"c", SSL_FLOAT}}},
    {"tint",
     "{ o = a * b + 0.25; l = a.y < 0 ? 0.5 : sqrt(a.x * a.x + f); }",
     {{"a", SSL_COLOR}, {"b", SSL_COLOR}, {"f", SSL_FLOAT}},
     {{"o", SSL_COLOR}, {"l", SSL_FLOAT}}},
    {"fold",
     "{ o = v; for (int i = 0; i < 3; i++) o = o * 0.5 + abs(o.zxy) * f; }",
     {{"v", SSL_VECTOR}, {"f", SSL_FLOAT}},
     {{"o", SSL_VECTOR}}},
    {"look",
     "{ c = texture2d_sample<image>(u, v); }",
     {{"u", SSL_FLOAT}, {"v", SSL_FLOAT}},
     {{"c", SSL_COLOR}}},
    {"slope", "{ o = float3(ddx(a), ddy(a), a); }", {{"a", SSL_FLOAT}}, {{"o", SSL_FLOAT3}}},
    {"turn",
     "{ o = turned(a) * detach(b); }",
     {{"a", SSL_FLOAT}, {"b", SSL_FLOAT}},
     {{"o", SSL_FLOAT}}},
    {"rise",
     "{ o = b + fwd_diff(risen)(diff_pair(a, 1.0)).d; }",
     {{"a", SSL_FLOAT}, {"b", SSL_FLOAT}},
     {{"o", SSL_FLOAT}}},
    {"edge",
     "{ o = a + detach(fwd_diff(seen)(diff_pair(a, 1.0)).d); }",
     {{"a", SSL_FLOAT}},
     {{"o", SSL_FLOAT}}},
};

enum { KINDS = SORT_COUNT_OF(kinds), NODES_MAX = 24 };

typedef struct Random {
    uint64_t state;
} Random;

static uint32_t below(Random *r, uint32_t n)
{
    r->state = hash_mix64(r->state + 1);
    return (uint32_t)((r->state >> 33) % n);
}

static void print_signature(StrBuf *out, uint32_t kind, bool has_defaults)
{
    const char *comma = "";
    for (const Port *p = kinds[kind].inputs; p->name; ++p, comma = ", ")
        strbuf_printf(out, "%s%s %s%s", comma, ssl_type_name(p->type), p->name,
                      !has_defaults          ? ""
                      : p->type == SSL_FLOAT ? " = 0.5"
                                             : " = float3(0.5)");
    for (const Port *p = kinds[kind].outputs; p->name; ++p, comma = ", ")
        strbuf_printf(out, "%sout %s %s", comma, ssl_type_name(p->type), p->name);
}

/* A conversion as the linker makes it, in SSL. */
static void print_converted(StrBuf *out, const char *text, SslType from, SslType to)
{
    bool is_triple = from != SSL_FLOAT;
    if (to == SSL_FLOAT && from == SSL_COLOR)
        strbuf_printf(out, "luminance(%s)", text);
    else if (to == SSL_FLOAT && is_triple)
        strbuf_printf(out, "(%s.x + %s.y + %s.z) / 3", text, text, text);
    else if (to != SSL_FLOAT && !is_triple)
        strbuf_printf(out, "float3(%s)", text);
    else
        strbuf_append_c(out, text);
}

typedef struct RandomGroup {
    SslGroupNode nodes[NODES_MAX];
    SslGroupWire wires[NODES_MAX * 4];
    SslGroupOutput outputs[NODES_MAX * 2];
    char names[NODES_MAX][16], output_names[NODES_MAX * 2][16];
    SslGroupDesc desc;
    StrBuf parameters, body, by_hand;
} RandomGroup;

static void add_input(RandomGroup *g, Random *r, const uint32_t *kind_of, uint32_t node,
                      const Port *input)
{
    char text[64];
    if (node == 0 || below(r, 4) == 0) { /* the default, as data */
        bool is_float = input->type == SSL_FLOAT;
        strbuf_printf(&g->parameters, "%s n%u_%s = %s, ", ssl_type_name(input->type), node,
                      input->name, is_float ? "0.5" : "float3(0.5)");
        strbuf_printf(&g->body, "n%u_%s, ", node, input->name);
        return;
    }
    uint32_t from = below(r, node), port = 0;
    const Port *outputs = kinds[kind_of[from]].outputs;
    if (outputs[1].name)
        port = below(r, 2);
    g->wires[g->desc.wire_count++] = (SslGroupWire){.from_node = g->names[from],
                                                    .from = outputs[port].name,
                                                    .to_node = g->names[node],
                                                    .to = input->name};
    snprintf(text, sizeof text, "n%u_%s", from, outputs[port].name);
    print_converted(&g->body, text, outputs[port].type, input->type);
    strbuf_append_c(&g->body, ", ");
}

static void add_output(RandomGroup *g, StrBuf *outs, uint32_t node, const Port *p)
{
    uint32_t i = g->desc.output_count++;
    snprintf(g->output_names[i], sizeof g->output_names[i], "o%u", i);
    g->outputs[i] =
        (SslGroupOutput){.name = g->output_names[i], .node = g->names[node], .output = p->name};
    strbuf_printf(outs, "%sout %s o%u", i ? ", " : "", ssl_type_name(p->type), i);
    strbuf_printf(&g->body, "    o%u = n%u_%s;\n", i, node, p->name);
}

static void make_random(RandomGroup *g, Random *r, SslUnit *const *units)
{
    uint32_t count = 4 + below(r, NODES_MAX - 4), kind_of[NODES_MAX];
    StrBuf outs = {0};
    memset(g, 0, sizeof *g);
    g->desc = (SslGroupDesc){.size_bytes = sizeof g->desc,
                             .name = "random",
                             .nodes = g->nodes,
                             .wires = g->wires,
                             .outputs = g->outputs,
                             .node_count = count};
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t kind = kind_of[i] = i == 0 ? 0 : below(r, KINDS);
        snprintf(g->names[i], sizeof g->names[i], "n%u", i);
        g->nodes[i] = (SslGroupNode){.name = g->names[i], .unit = units[kind]};
        for (const Port *p = kinds[kind].outputs; p->name; ++p)
            strbuf_printf(&g->body, "    %s n%u_%s;\n", ssl_type_name(p->type), i, p->name);
        strbuf_printf(&g->body, "    f_%s(", kinds[kind].name);
        for (const Port *p = kinds[kind].inputs; p->name; ++p)
            add_input(g, r, kind_of, i, p);
        for (const Port *p = kinds[kind].outputs; p->name; ++p)
            strbuf_printf(&g->body, "n%u_%s%s", i, p->name, p[1].name ? ", " : ");\n");
    }
    for (uint32_t i = count - 3; i < count; ++i)
        add_output(g, &outs, i, &kinds[kind_of[i]].outputs[0]);
    strbuf_append_c(&g->by_hand, functions);
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
        strbuf_printf(&g->by_hand, "void f_%s(", kinds[kind].name);
        print_signature(&g->by_hand, kind, false);
        strbuf_printf(&g->by_hand, ")\n%s\n", kinds[kind].body);
    }
    strbuf_printf(&g->by_hand, "shader by_hand(%s%s)\n{\n%s}\n", strbuf_text(&g->parameters),
                  strbuf_text(&outs), strbuf_text(&g->body));
    strbuf_free(&outs);
}

static void free_random(RandomGroup *g)
{
    strbuf_free(&g->parameters);
    strbuf_free(&g->body);
    strbuf_free(&g->by_hand);
}

static int compare_lookups(const void *a, const void *b)
{
    return memcmp(a, b, 6 * sizeof(float));
}

/* Lookups may come in another order: that of the outputs' needs, not of the source. */
static void assert_same_run(Run *a, Run *b, const RandomGroup *g, uint32_t level)
{
    qsort(a->lookups, a->lookup_count, sizeof a->lookups[0], compare_lookups);
    qsort(b->lookups, b->lookup_count, sizeof b->lookups[0], compare_lookups);
    bool is_same = a->count == b->count && a->lookup_count == b->lookup_count &&
                   memcmp(a->results, b->results, sizeof a->results) == 0 &&
                   memcmp(a->lookups, b->lookups, sizeof a->lookups) == 0;
    if (!is_same)
        fail_msg("linked and by hand differ at level %u (%u and %u lookups)\n%s", level,
                 a->lookup_count, b->lookup_count, strbuf_text(cast_away_const(&g->by_hand)));
}

static void make_units(SslUnit *units[KINDS])
{
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
        StrBuf text = {0};
        strbuf_printf(&text, "%sshader %s(", functions, kinds[kind].name);
        print_signature(&text, kind, true);
        strbuf_printf(&text, ")\n%s\n", kinds[kind].body);
        units[kind] = compile(strbuf_text(&text), NULL);
        strbuf_free(&text);
    }
}

enum { CODE_BYTES = 8 };

/* Takes a forward derivative of all outputs by the global x and by all parameters that the group has, of the group itself or of the code
 * by hand. Returns NULL if an operation has none; out_code is that of the error. */
static SslUnit *differentiate(const SslUnit *unit, const SslUnit *linked, char out_code[CODE_BYTES])
{
    enum { INPUTS_MAX = NODES_MAX * 4 };
    const SslUnitInfo *info = ssl_unit_info(linked);
    static char names[INPUTS_MAX][16];
    SslDerivativeInput inputs[INPUTS_MAX + 1] = {{SSL_INPUT_GLOBAL, "x"}};
    const char *outputs[NODES_MAX * 2];
    SslDerivativeDesc how = {.size_bytes = sizeof how,
                             .inputs = inputs,
                             .outputs = outputs,
                             .input_count = 1,
                             .output_count = info->output_count};
    for (uint32_t i = 0; i < info->param_count; ++i) {
        snprintf(names[i], sizeof names[i], "%s", info->params[i].name);
        if (unit != linked)
            *strchr(names[i], '.') = '_';
        inputs[how.input_count++] = (SslDerivativeInput){SSL_INPUT_PARAM, names[i]};
    }
    for (uint32_t i = 0; i < info->output_count; ++i)
        outputs[i] = info->outputs[i].name;
    Error err = {0};
    SslUnit *made;
    DiagList *diags = diag_list_create();
    Status status = ssl_unit_differentiate(unit, &how, diags, &made, &err);
    if (status != STATUS_OK && status != STATUS_SOURCE)
        fail_msg("%s", err.text);
    snprintf(out_code, CODE_BYTES, "%s", made ? "none" : diag_get(diags, 0)->code);
    diag_list_destroy(diags);
    return made;
}

/* Holds derivatives of the group against those of the code by hand. */
static bool compare_derivatives(const RandomGroup *g, const SslUnit *linked, const SslUnit *by_hand,
                                uint64_t seed)
{
    char codes[2][CODE_BYTES];
    SslUnit *of_linked = differentiate(linked, linked, codes[0]);
    SslUnit *of_hand = differentiate(by_hand, linked, codes[1]);
    assert_string_equal(codes[0], codes[1]);
    if (!of_linked)
        return false;
    SslProgram *a = build(of_linked, 1, false), *b = build(of_hand, 1, false);
    static Run x, y;
    run_program(a, seed, &x);
    run_program(b, seed, &y);
    assert_same_run(&x, &y, g, 1);
    ssl_program_release(a);
    ssl_program_release(b);
    ssl_unit_release(of_linked);
    ssl_unit_release(of_hand);
    return true;
}

static void test_group_random_graphs_are_the_code_by_hand(void **state)
{
    enum { GROUPS = 24 };
    static const uint32_t levels[] = {1, 3};
    SORT_UNUSED(state);
    SslUnit *units[KINDS];
    Random r = {2024};
    uint32_t lookups = 0, derivatives = 0;
    make_units(units);
    for (uint32_t i = 0; i < GROUPS; ++i) {
        static RandomGroup g;
        make_random(&g, &r, units);
        SslUnit *linked = link_group(&g.desc);
        SslUnit *by_hand = compile(strbuf_text(&g.by_hand), NULL);
        for (uint32_t k = 0; k < SORT_COUNT_OF(levels); ++k) {
            SslProgram *a = build(linked, levels[k], true), *b = build(by_hand, levels[k], true);
            static Run x, y;
            run_program(a, i, &x);
            run_program(b, i, &y);
            assert_same_run(&x, &y, &g, levels[k]);
            lookups += x.lookup_count;
            ssl_program_release(a);
            ssl_program_release(b);
        }
        derivatives += compare_derivatives(&g, linked, by_hand, i);
        ssl_unit_release(linked);
        ssl_unit_release(by_hand);
        free_random(&g);
    }
    assert_true(lookups > GROUPS && derivatives > GROUPS / 3);
    for (uint32_t kind = 0; kind < KINDS; ++kind)
        ssl_unit_release(units[kind]);
}

/* --- what is left out, what is shared ------------------------------------------------------------- */

static const char *const parts =
    "texture2d image;\n"
    "shader add(float a = 1, float b = 2, bool twice = false, out float o)\n"
    "{ o = twice ? 2 * (a + b) : a + b; }\n"
    "shader look(float u = 0.25, out float o) { o = texture2d_sample<image>(u, 0).x; }\n";

typedef struct Pair {
    SslGroupValue values[2];
    SslGroupTexture texture;
    SslGroupNode nodes[3];
    SslGroupWire wire;
    SslGroupOutput output;
    SslGroupDesc desc;
} Pair;

/* look -> add, and a second add that nothing needs. */
static void make_pair(Pair *p, const SslUnit *add, const SslUnit *look, float a, bool twice,
                      uint32_t texture, bool has_dead)
{
    *p = (Pair){.values = {{.param = "a", .value = {.type = SSL_FLOAT, .f = {a}}},
                           {.param = "twice", .value = {.type = SSL_BOOL, .b = twice}}},
                .texture = {.texture = "image", .id = texture},
                .wire = {.from_node = "look", .from = "o", .to_node = "add", .to = "b"},
                .output = {.name = "o", .node = "add", .output = "o"}};
    SslGroupNode adds = {.name = "add", .unit = add, .values = p->values, .value_count = 2};
    SslGroupNode looks = {
        .name = "look", .unit = look, .textures = &p->texture, .texture_count = 1};
    p->nodes[has_dead ? 2 : 0] = adds;
    p->nodes[1] = looks;
    if (has_dead)
        p->nodes[0] = (SslGroupNode){.name = "dead", .unit = look};
    p->desc = (SslGroupDesc){.size_bytes = sizeof p->desc,
                             .name = "pair",
                             .nodes = p->nodes,
                             .wires = &p->wire,
                             .outputs = &p->output,
                             .node_count = has_dead ? 3 : 2,
                             .wire_count = 1,
                             .output_count = 1};
}

static SslProgram *build_pair(const SslUnit *add, const SslUnit *look, float a, bool twice,
                              uint32_t texture, bool has_dead)
{
    Pair pair;
    make_pair(&pair, add, look, a, twice, texture, has_dead);
    SslUnit *unit = link_group(&pair.desc);
    SslProgram *program = build(unit, 0, false);
    ssl_unit_release(unit);
    return program;
}

static void test_group_shares_kernels_and_leaves_out(void **state)
{
    SORT_UNUSED(state);
    SslUnit *add = compile(parts, "add"), *look = compile(parts, "look");
    SslProgram *first = build_pair(add, look, 0.5f, false, 7, false);
    SslProgram *other_values = build_pair(add, look, 0.75f, false, 8, false);
    SslProgram *other_switch = build_pair(add, look, 0.5f, true, 7, false);
    SslProgram *with_dead = build_pair(add, look, 0.5f, false, 7, true);
    assert_true(ssl_program_kernel(first) == ssl_program_kernel(other_values));
    assert_true(ssl_program_kernel(first) == ssl_program_kernel(with_dead));
    assert_true(ssl_program_kernel(first) != ssl_program_kernel(other_switch));
    const SslProgramInfo *info = ssl_program_info(with_dead);
    const SslUnitInfo *unit = info->unit;
    assert_int_equal(unit->texture_count, 2); /* "add.image", which its file declares, too */
    assert_string_equal(unit->textures[0], "look.image");
    assert_true(info->texture_is_used[0] && !info->texture_is_used[1]);
    assert_int_equal(unit->texture_ids[0], 7);
    assert_int_equal(unit->texture_ids[1], SSL_TEXTURE_UNBOUND);
    assert_int_equal(ssl_program_info(other_values)->unit->texture_ids[0], 8);
    assert_int_equal(info->ir_instructions, ssl_program_info(first)->ir_instructions);
    assert_int_equal(unit->param_count, 3);
    assert_string_equal(unit->params[0].name, "look.u");
    assert_string_equal(unit->params[1].name, "add.a");
    assert_true(unit->params[1].default_value.f[0] == 0.5f);
    ssl_program_release(first);
    ssl_program_release(other_values);
    ssl_program_release(other_switch);
    ssl_program_release(with_dead);
    ssl_unit_release(add);
    ssl_unit_release(look);
}

/* A unit that is a group already, and holds what it is made of. */
static void test_group_of_linked_groups(void **state)
{
    SORT_UNUSED(state);
    SslUnit *unit = compile(parts, "add");
    for (uint32_t depth = 1; depth <= 8; ++depth) {
        SslGroupNode nodes[2] = {{.name = "a", .unit = unit}, {.name = "b", .unit = unit}};
        SslGroupWire wire = {
            .from_node = "a", .from = "o", .to_node = "b", .to = depth == 1 ? "a" : "in"};
        SslGroupParam param = {.name = "in"};
        SslGroupWire wires[2] = {wire,
                                 {.from = "in", .to_node = "a", .to = depth == 1 ? "a" : "in"}};
        SslGroupOutput output = {.name = "o", .node = "b", .output = "o"};
        SslGroupDesc desc = {.size_bytes = sizeof desc,
                             .name = "twice",
                             .nodes = nodes,
                             .wires = wires,
                             .params = &param,
                             .outputs = &output,
                             .node_count = 2,
                             .wire_count = 2,
                             .param_count = 1,
                             .output_count = 1};
        SslUnit *linked = link_group(&desc);
        ssl_unit_release(unit); /* the group holds it */
        unit = linked;
    }
    SslProgram *program = build(unit, 0, false);
    static Run run;
    run_program(program, 1, &run);
    assert_true(run.results[0] == 1 + 2 * 256.0f); /* 256 times + 2, from 1 */
    ssl_program_release(program);
    ssl_unit_release(unit);
}

/* A wire of Pair<color> from one file to another takes what the files call it as the language does: vectors are one type, others are
 * not, and the name of the struct and the types that no member has count. */
static void test_group_wires_generic_structs(void **state)
{
    SORT_UNUSED(state);
    static const char *const inputs[][2] = {
        {"struct Pair<T> { T a, b; };\nshader s(Pair<point> p, out float o) { o = p.a.x + p.b.y; "
         "}\n",
         NULL},
        {"struct Pair<T> { T a, b; };\nshader s(Pair<float> p, out float o) { o = p.a + p.b; }\n",
         "S0710"},
        {"struct Duo<T> { T a, b; };\nshader s(Duo<color> p, out float o) { o = p.a.x + p.b.y; }\n",
         "S0710"},
        {"struct Pair { color a, b; };\nshader s(Pair p, out float o) { o = p.a.x + p.b.y; }\n",
         "S0710"},
        {"struct Pair<T> { color a, b; };\nshader s(Pair<int> p, out float o) { o = p.a.x + p.b.y; "
         "}\n",
         "S0710"},
    };
    SslUnit *from = compile("struct Pair<T> { T a, b; };\n"
                            "shader s(out Pair<color> o) { o.a = color(1); o.b = color(2); }\n",
                            "s");
    for (size_t i = 0; i < SORT_COUNT_OF(inputs); ++i) {
        SslUnit *to = compile(inputs[i][0], "s");
        const SslGroupNode nodes[2] = {{.name = "a", .unit = from}, {.name = "b", .unit = to}};
        const SslGroupWire wire = {.from_node = "a", .from = "o", .to_node = "b", .to = "p"};
        const SslGroupOutput output = {.name = "o", .node = "b", .output = "o"};
        const SslGroupDesc desc = {.size_bytes = sizeof desc,
                                   .name = "pairs",
                                   .nodes = nodes,
                                   .wires = &wire,
                                   .outputs = &output,
                                   .node_count = 2,
                                   .wire_count = 1,
                                   .output_count = 1};
        if (inputs[i][1])
            expect_refusal(&desc, inputs[i][1]);
        else
            ssl_unit_release(link_group(&desc));
        ssl_unit_release(to);
    }
    ssl_unit_release(from);
}

/* What a node binds its attributes to stands in the linked unit, through groups inside groups; an outer one
 * may say otherwise, by the inner name. */
static void test_group_binds_attributes(void **state)
{
    SORT_UNUSED(state);
    SslUnit *unit = compile("attribute float heat, layer;\n"
                            "shader read(out float o) { o = attribute<heat> + attribute<layer>; }",
                            "read");
    const SslGroupAttribute heat = {.attribute = "heat", .binds = "temperature"};
    const SslGroupAttribute inner = {.attribute = "a.layer", .binds = "weight"};
    SslGroupNode node = {.name = "a", .unit = unit, .attributes = &heat, .attribute_count = 1};
    SslGroupOutput output = {.name = "o", .node = "a", .output = "o"};
    SslGroupDesc desc = {.size_bytes = sizeof desc,
                         .name = "group",
                         .nodes = &node,
                         .outputs = &output,
                         .node_count = 1,
                         .output_count = 1};
    SslUnit *linked = link_group(&desc);
    const SslAttributeInfo *infos = ssl_unit_info(linked)->attributes;
    assert_int_equal(ssl_unit_info(linked)->attribute_count, 2);
    assert_string_equal(infos[0].name, "a.heat");
    assert_string_equal(infos[0].binds, "temperature");
    assert_string_equal(infos[1].binds, "layer");

    node = (SslGroupNode){.name = "b", .unit = linked, .attributes = &inner, .attribute_count = 1};
    output.node = "b";
    SslUnit *outer = link_group(&desc);
    infos = ssl_unit_info(outer)->attributes;
    assert_string_equal(infos[0].name, "b.a.heat");
    assert_string_equal(infos[0].binds, "temperature");
    assert_string_equal(infos[1].binds, "weight");
    ssl_unit_release(outer);
    ssl_unit_release(linked);
    ssl_unit_release(unit);
}

/* In the unit of a group, what a node declares stands behind the host's rows that nodes before it read. */
static void test_group_binds_attributes_behind_rows(void **state)
{
    SORT_UNUSED(state);
    SslUnit *unit = compile("attribute float heat;\n"
                            "shader read(float x = 0.0, out float o)\n"
                            "{ o = x + attribute<heat> + attribute<edge_distance>; }",
                            "read");
    const SslGroupAttribute heat = {.attribute = "b.heat", .binds = "temperature"};
    SslGroupNode nodes[] = {{.name = "a", .unit = unit}, {.name = "b", .unit = unit}};
    SslGroupWire wire = {.from_node = "a", .from = "o", .to_node = "b", .to = "x"};
    SslGroupOutput output = {.name = "o", .node = "b", .output = "o"};
    SslGroupDesc desc = {.size_bytes = sizeof desc,
                         .name = "group",
                         .nodes = nodes,
                         .wires = &wire,
                         .outputs = &output,
                         .node_count = 2,
                         .wire_count = 1,
                         .output_count = 1};
    SslUnit *linked = link_group(&desc);
    SslGroupNode node = {.name = "c", .unit = linked, .attributes = &heat, .attribute_count = 1};
    desc.nodes = &node;
    desc.node_count = 1;
    desc.wire_count = 0;
    output.node = "c";
    SslUnit *outer = link_group(&desc);
    const SslUnitInfo *info = ssl_unit_info(outer);
    uint32_t bound = 0;
    for (uint32_t i = 0; i < info->attribute_count; ++i)
        bound += strcmp(info->attributes[i].binds, "temperature") == 0;
    assert_int_equal(bound, 1);
    ssl_unit_release(outer);
    ssl_unit_release(linked);
    ssl_unit_release(unit);
}

/* --- limits ----------------------------------------------------------------------------------- */

enum { LEVELS = 40 };

typedef struct Tower {
    SslGroupNode nodes[LEVELS][2];
    SslGroupWire wires[LEVELS];
    SslGroupOutput outputs[LEVELS];
    SslGroupDesc descs[LEVELS];
} Tower;

/* Each level holds the one below `width` times. */
static void make_tower(Tower *t, const SslUnit *unit, uint32_t levels, uint32_t width)
{
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < levels; ++i) {
        SslGroupNode node = {
            .name = "a", .unit = i ? NULL : unit, .group = i ? &t->descs[i - 1] : NULL};
        t->nodes[i][0] = t->nodes[i][1] = node;
        t->nodes[i][1].name = "b";
        t->wires[i] = (SslGroupWire){.from_node = "a", .from = "o", .to_node = "b", .to = "b"};
        t->outputs[i] =
            (SslGroupOutput){.name = "o", .node = width == 2 ? "b" : "a", .output = "o"};
        t->descs[i] = (SslGroupDesc){.size_bytes = sizeof t->descs[i],
                                     .name = "level",
                                     .nodes = t->nodes[i],
                                     .wires = t->wires,
                                     .outputs = &t->outputs[i],
                                     .node_count = width,
                                     .wire_count = i == 0 && width == 2 ? 1 : 0,
                                     .output_count = 1};
        if (width == 2 && i > 0) { /* through the inner node's open input */
            t->wires[i].to = "b.b";
            t->descs[i].wires = &t->wires[i];
        }
    }
}

static void test_group_limits(void **state)
{
    SORT_UNUSED(state);
    static Tower tower;
    static SslGroupNode nodes[4097];
    static char names[4097][8];
    SslUnit *unit = compile(parts, "add");
    make_tower(&tower, unit, 32, 1);
    ssl_unit_release(link_group(&tower.descs[31]));
    make_tower(&tower, unit, 33, 1);
    expect_refusal(&tower.descs[32], "S0721");
    SslUnit *linked = link_group(&tower.descs[31]);
    SslGroupNode outer = {.name = "a", .unit = linked};
    SslGroupDesc desc = tower.descs[0];
    desc.nodes = &outer;
    expect_refusal(&desc, "S0721");
    ssl_unit_release(linked);
    for (uint32_t i = 0; i < 4097; ++i) {
        snprintf(names[i], sizeof names[i], "n%u", i);
        nodes[i] = (SslGroupNode){.name = names[i], .unit = unit};
    }
    SslGroupOutput output = {.name = "o", .node = "n4095", .output = "o"};
    desc = (SslGroupDesc){.size_bytes = sizeof desc,
                          .name = "wide",
                          .nodes = nodes,
                          .outputs = &output,
                          .node_count = 4096,
                          .output_count = 1};
    ssl_unit_release(link_group(&desc));
    desc.node_count = 4097;
    expect_refusal(&desc, "S0722");
    ssl_unit_release(unit);
}

/* Two of each level: 2^20 units, refused before they are made. */
static void test_group_that_doubles_is_refused(void **state)
{
    SORT_UNUSED(state);
    static SslGroupDesc descs[20];
    static SslGroupNode nodes[20][2];
    static SslGroupOutput outputs[20][2];
    SslUnit *unit = compile(parts, "add");
    for (uint32_t i = 0; i < 20; ++i) {
        for (uint32_t k = 0; k < 2; ++k) {
            const char *name = k ? "b" : "a";
            nodes[i][k] = (SslGroupNode){
                .name = name, .unit = i ? NULL : unit, .group = i ? &descs[i - 1] : NULL};
            outputs[i][k] = (SslGroupOutput){.name = k ? "p" : "o", .node = name, .output = "o"};
        }
        descs[i] = (SslGroupDesc){.size_bytes = sizeof descs[i],
                                  .name = "double",
                                  .nodes = nodes[i],
                                  .outputs = outputs[i],
                                  .node_count = 2,
                                  .output_count = 2};
    }
    expect_refusal(&descs[19], "S0722");
    ssl_unit_release(unit);
}

static void test_group_names_places(void **state)
{
    SORT_UNUSED(state);
    SslUnit *unit = compile(parts, "add");
    const SslGroupNode node = {.name = "a", .unit = unit, .place = "nodes.a"};
    const SslGroupOutput output = {.name = "o", .node = "b", .output = "o", .place = "here"};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .nodes = &node,
                               .outputs = &output,
                               .node_count = 1,
                               .output_count = 1};
    DiagList *diags = diag_list_create();
    StrBuf text = {0};
    SslUnit *linked;
    assert_int_equal(ssl_group_link(ctx, &desc, NULL, diags, &linked), STATUS_SOURCE);
    diag_print(diags, &text);
    assert_string_equal(strbuf_text(&text), "error[S0703]: the group has no node 'b'\n"
                                            "note: at here\n");
    strbuf_free(&text);
    diag_list_destroy(diags);
    ssl_unit_release(unit);
}

/* --- out of memory ---------------------------------------------------------------------------- */

static const char *const description =
    "{\"groups\": {\"g\": {\"nodes\": {\"n\": {\"entry\": \"add\"}}, \"outputs\": {\"o\": "
    "\"n.o\"}}},"
    " \"nodes\": {\"a\": {\"group\": \"g\"}, \"b\": {\"entry\": \"add\", \"parameters\": {\"a\": "
    "3}}},"
    " \"wires\": [[\"a.o\", \"b.b\"]], \"outputs\": {\"o\": \"b.o\"}}";

static Status find_add(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    SORT_UNUSED(node);
    *out_unit = data;
    return STATUS_OK;
}

static Status link_description(SslUnit *add, SslUnit **out_unit)
{
    DiagList *diags = diag_list_create();
    SslGroupFile *file = NULL;
    *out_unit = NULL;
    if (!diags)
        return STATUS_NO_MEMORY;
    const SslGroupText text = {.name = "g.json",
                               .json = str_from(description),
                               .file = diag_add_source(diags, "g.json", str_from(description))};
    Status status = ssl_group_file_read(&text, NULL, diags, &file);
    if (status == STATUS_OK)
        status = ssl_group_file_link(ctx, file, find_add, add, diags, out_unit);
    ssl_group_file_destroy(file);
    diag_list_destroy(diags);
    return status;
}

static void test_group_out_of_memory(void **state)
{
    SORT_UNUSED(state);
    SslUnit *add = compile(parts, "add"), *unit;
    uint32_t failures = 0;
    bool has_failed = true;
    arena_test_chunk_bytes(512); /* many small allocations */
    for (uint64_t n = 1; has_failed; ++n) {
        mem_fail_nth(n);
        Status status = link_description(add, &unit);
        has_failed = mem_allocation_count() >= n;
        mem_fail_nth(0);
        /* A source that cannot be kept for messages is no failure. */
        assert_true(status == STATUS_OK || status == STATUS_NO_MEMORY);
        assert_true((status == STATUS_OK) == (unit != NULL));
        failures += status != STATUS_OK;
        ssl_unit_release(unit);
    }
    arena_test_chunk_bytes(0);
    if (failures < 20)
        fail_msg("only %u failures", failures);
    ssl_unit_release(add);
}

/* --- the fuzzer's corpus --------------------------------------------------------------------------- */

static const char *const fuzz_units =
    "texture2d image;\n"
    "struct Ray { point from; vector along; };\n"
    "shader read(out float x, out point P) { x = global_value<x>; P = global_value<P>; }\n"
    "shader add(float a = 1, float b, bool twice = false, out float o) { o = twice ? a : b; }\n"
    "shader look(float u = 0, string mode = \"r\", out color c) { c = color(u); }\n"
    "shader matte(color albedo = color(1), closure under, out closure surface)\n"
    "{ surface = make_closure<OrenNayar>(albedo, 0.5, normal(0, 0, 1)) + under; }\n"
    "shader make(int n = 3, out Ray r, out float list[3]) { list[n] = 1; }\n"
    "shader use(Ray r, float list[3], out float o) { o = r.from.x + list[1]; }\n";

typedef struct FuzzUnits {
    SslUnit *units[32];
    uint32_t count;
} FuzzUnits;

static Status find_fuzz_unit(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    FuzzUnits *found = data;
    const SslSource source = {
        .name = "units.ssl", .text = str_from(fuzz_units), .shader = node->entry};
    DiagList *diags = diag_list_create();
    assert_true(found->count < SORT_COUNT_OF(found->units));
    Status status = STATUS_NOT_FOUND;
    *out_unit = NULL;
    if (!node->shader)
        status = ssl_unit_compile(ctx, &source, diags, &found->units[found->count]);
    if (status == STATUS_OK)
        *out_unit = found->units[found->count++];
    diag_list_destroy(diags);
    return status == STATUS_OK ? status : STATUS_NOT_FOUND;
}

/* The corpus must stay useful: half of it links, half has errors, and nothing crashes. */
static void test_group_corpus(void **state)
{
    SORT_UNUSED(state);
    static const char folder[] = "tests/fuzz/ssl_group";
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count, linked = 0;
    assert_int_equal(file_list_directory(folder, arena, &names, &count, NULL), STATUS_OK);
    for (uint32_t i = 0; i < count; ++i) {
        FuzzUnits found = {.count = 0};
        DiagList *diags = diag_list_create();
        SslGroupFile *file = NULL;
        SslUnit *unit = NULL;
        char *text;
        size_t size;
        const char *path = arena_printf(arena, "%s/%s", folder, names[i]);
        assert_int_equal(file_read(path, 1 << 20, &text, &size, NULL), STATUS_OK);
        const SslGroupText json = {.name = path,
                                   .json = {text, size},
                                   .file = diag_add_source(diags, path, (Str){text, size})};
        Status status = ssl_group_file_read(&json, NULL, diags, &file);
        if (status == STATUS_OK)
            status = ssl_group_file_link(ctx, file, find_fuzz_unit, &found, diags, &unit);
        assert_true((status == STATUS_OK) == (diag_error_count(diags) == 0));
        linked += status == STATUS_OK;
        ssl_unit_release(unit);
        while (found.count)
            ssl_unit_release(found.units[--found.count]);
        ssl_group_file_destroy(file);
        diag_list_destroy(diags);
        mem_free(text);
    }
    assert_true(linked >= 6 && linked < count);
    arena_destroy(arena);
}

/* --- the manual ------------------------------------------------------------------------------- */

typedef struct Manual {
    char source[8192];
    SslUnit *units[16];
    uint32_t count;
} Manual;

static Status find_in_manual(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    Manual *m = data;
    assert_string_equal(node->shader, "wood.ssl");
    *out_unit = m->units[m->count++] = compile(m->source, node->entry);
    return STATUS_OK;
}

static void link_example(Manual *m, Str json)
{
    DiagList *diags = diag_list_create();
    SslGroupFile *file;
    SslUnit *unit = NULL;
    const SslGroupText text = {
        .name = "manual", .json = json, .file = diag_add_source(diags, "manual", json)};
    if (ssl_group_file_read(&text, NULL, diags, &file) != STATUS_OK ||
        ssl_group_file_link(ctx, file, find_in_manual, m, diags, &unit) != STATUS_OK)
        fail_with(diags, "docs/reference/ssl-groups.md");
    SslProgram *program = build(unit, 0, false);
    assert_true(ssl_program_info(program)->lobe_count > 0);
    ssl_program_release(program);
    ssl_unit_release(unit);
    while (m->count)
        ssl_unit_release(m->units[--m->count]);
    ssl_group_file_destroy(file);
    diag_list_destroy(diags);
}

static void test_group_examples_of_the_manual(void **state)
{
    SORT_UNUSED(state);
    static Manual manual;
    Error err = {0};
    char *text;
    size_t size;
    uint32_t examples = 0;
    if (file_read("docs/reference/ssl-groups.md", 1 << 20, &text, &size, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    char *copy = mem_alloc(size + 1, 1);
    memcpy(copy, text, size);
    for (const char *at = copy; (at = strstr(at, "\n```")) != NULL;) {
        const char *begin = strchr(at + 4, '\n'), *end = strstr(begin, "\n```");
        size_t bytes = (size_t)(end - begin);
        if (strncmp(at + 4, "ssl", 3) == 0) {
            assert_true(strlen(manual.source) + bytes < sizeof manual.source);
            strncat(manual.source, begin, bytes);
        } else if (strncmp(at + 4, "json", 4) == 0) {
            link_example(&manual, (Str){begin, bytes});
            ++examples;
        }
        at = end + 4;
    }
    assert_int_equal(examples, 2);
    mem_free(copy);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_random_graphs_are_the_code_by_hand),
        cmocka_unit_test(test_group_shares_kernels_and_leaves_out),
        cmocka_unit_test(test_group_of_linked_groups),
        cmocka_unit_test(test_group_wires_generic_structs),
        cmocka_unit_test(test_group_binds_attributes),
        cmocka_unit_test(test_group_binds_attributes_behind_rows),
        cmocka_unit_test(test_group_limits),
        cmocka_unit_test(test_group_that_doubles_is_refused),
        cmocka_unit_test(test_group_names_places),
        cmocka_unit_test(test_group_out_of_memory),
        cmocka_unit_test(test_group_corpus),
        cmocka_unit_test(test_group_examples_of_the_manual),
    };
    return cmocka_run_group_tests_name("ssl_group", tests, setup, teardown);
}
