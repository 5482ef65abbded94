/* Every row of ssl_limits.inc fires: for each a source that is far below the limit is accepted, and one past it is
 * refused (or, for what grows while a kernel runs, faults) with a message that states the limit. A row without a case
 * does not compile. How much work the passes do grows as the source does, counted in instructions that they visit. */
#include "ssl/ssl.h"
#include "ssl/ssl_group.h"
#include "ssl/ssl_limits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow globals[] = {
    {.name = "x", .type = SSL_FLOAT, .has_derivs = true, .space = "", .doc = ""},
    {.name = "n", .type = SSL_INT, .space = "", .doc = ""},
};
static const SslClosureArg color_args[] = {{"color", SSL_COLOR}};
static const SslClosureArg wrap_args[] = {{"k", SSL_FLOAT}, {"base", SSL_CLOSURE}};
static const SslClosureRow closures[] = {
    {.name = "Emission", .args = color_args, .arg_count = 1},
    {.name = "Wrap", .args = wrap_args, .arg_count = 2},
};

static SslContext *ctx;

static int set_up(void **state)
{
    SORT_UNUSED(state);
    SslContextDesc desc = {.size_bytes = sizeof desc,
                           .globals = globals,
                           .global_count = SORT_COUNT_OF(globals),
                           .closures = closures,
                           .closure_count = SORT_COUNT_OF(closures)};
    Error err = {0};
    return ssl_context_create(&desc, &ctx, &err) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    SORT_UNUSED(state);
    ssl_context_destroy(ctx);
    return 0;
}

/* --- sources that hold n of something ----------------------------------------------------------- */

static void repeat(StrBuf *out, const char *text, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_append_c(out, text);
}

static void write_shader(StrBuf *out, const char *body)
{
    strbuf_printf(out, "shader s(out float o) { float x = global_value<x>; %s\n}\n", body);
}

#define BEGIN "shader s(out float o) { float x = global_value<x>;\n"
#define END   " o = x; }\n"

static void write_SSL_MAX_SOURCE_BYTES(StrBuf *out, uint32_t n)
{
    write_shader(out, "o = x;");
    repeat(out, " ", n - (uint32_t)out->size_bytes);
}

static void write_SSL_MAX_NAME_BYTES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "float ");
    repeat(out, "a", n);
    strbuf_append_c(out, ";" END);
}

static void write_SSL_MAX_NUMBER_BYTES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "x += 0.");
    repeat(out, "1", n - 2);
    strbuf_append_c(out, ";" END);
}

static void write_SSL_MAX_NESTING(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "x = ");
    repeat(out, "(", n);
    strbuf_append_c(out, "x");
    repeat(out, ")", n);
    strbuf_append_c(out, ";" END);
}

static void write_SSL_MAX_EXPR_DEPTH(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "x = vector(x)");
    repeat(out, ".xyz", n);
    strbuf_append_c(out, ".x;" END);
}

static void write_SSL_MAX_CALL_DEPTH(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "float f0(float x) { return x; }\n");
    for (uint32_t i = 1; i < n; ++i)
        strbuf_printf(out, "float f%u(float x) { return f%u(x); }\n", i, i - 1);
    strbuf_printf(out, BEGIN "x = f%u(x);" END, n - 1);
}

static void write_SSL_MAX_PARAMS(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "float f(float p");
    for (uint32_t i = 1; i < n; ++i)
        strbuf_printf(out, ", float p%u", i);
    strbuf_append_c(out, ") { return p; }\n");
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_TABLE_SCALARS(StrBuf *out, uint32_t n)
{
    strbuf_printf(out, "const float table[%u] = {", n);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_append_c(out, "1,");
    strbuf_append_c(out, "};\nshader s(out float o) { o = table[int(global_value<x>)]; }\n");
}

static void write_SSL_MAX_VALUE_SCALARS(StrBuf *out, uint32_t n)
{
    strbuf_printf(out, BEGIN "float a[%u];" END, n);
}

static void write_arrays(StrBuf *out, uint32_t count, uint32_t size)
{
    strbuf_append_c(out, BEGIN "int k = global_value<n>;\n");
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "float a%u[%u]; a%u[k] = x;\n", i, size, i);
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "x += a%u[k + %u];\n", i, i);
    strbuf_append_c(out, END);
}

static void write_SSL_MAX_FUNCTION_SCALARS(StrBuf *out, uint32_t n)
{
    write_arrays(out, n / 2000 + 1, 2000);
}

static void write_SSL_MAX_TEXTURES(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "texture2d t%u;\n", i);
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_ATTRIBUTES(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "attribute float t%u;\n", i);
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_STRUCT_NESTING(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "struct S1 { float a; };\n");
    for (uint32_t i = 2; i <= n; ++i)
        strbuf_printf(out, "struct S%u { S%u a; };\n", i, i - 1);
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_REGIONS(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "shader s(out float o) { float x = global_value<x>; o = 1;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "if (x > %u.0) return;\n", i);
    strbuf_append_c(out, END);
}

static void write_SSL_MAX_ARRAY_NESTING(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "float a");
    repeat(out, "[1]", n);
    strbuf_append_c(out, ";" END);
}

static void write_SSL_MAX_CLOSURE_ARRAY(StrBuf *out, uint32_t n)
{
    strbuf_printf(out, BEGIN "closure a[%u];" END, n);
}

static void write_SSL_MAX_OVERLOADS(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "struct S%u { float a; }; float f(S%u s) { return s.a; }\n", i, i);
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_METHODS(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "struct S { float a;");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "float f%u() { return a; }\n", i);
    strbuf_append_c(out, "};\n");
    write_shader(out, "S a = {x}; o = a.f0();");
}

static void write_SSL_MAX_INTERFACES(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "interface I%u { float f(); }\n", i);
    write_shader(out, "o = x;");
}

/* `n` instances of a function that is `bytes` long. */
static void write_instances(StrBuf *out, uint32_t n, uint32_t bytes)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "struct S%u { float a; };\n", i);
    strbuf_append_c(out, "float f<T>(T a) {");
    for (uint32_t i = 0; i < bytes; ++i)
        strbuf_append_char(out, i % 64 ? ' ' : '\n');
    strbuf_append_c(out, "return 1; }\nfloat g(float x) { float o = 0;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "o += f(S%u(x));\n", i);
    strbuf_append_c(out, "return o; }\n");
    write_shader(out, "o = g(x);");
}

static void write_SSL_MAX_INSTANCES(StrBuf *out, uint32_t n)
{
    write_instances(out, n, 0);
}

static void write_SSL_MAX_INSTANCE_BYTES(StrBuf *out, uint32_t n)
{
    write_instances(out, 64, n / 64);
}

static void write_SSL_MAX_INSTANCE_DEPTH(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "float f%u<T>(T a) { return f%u(a); }\n", i, i + 1);
    strbuf_printf(out, "float f%u(float a) { return a; }\n", n);
    strbuf_printf(out, "float f%u<T>(T a) { return 1; }\n", n);
    write_shader(out, "o = f0(x);");
}

static void write_SSL_MAX_STRUCT_INSTANCES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "struct P<T> { int k; };\n");
    for (uint32_t i = 1; i < n; ++i)
        strbuf_printf(out, "int f%u(P<float[%u]> p) { return p.k; }\n", i, i);
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_TYPE_BYTES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "struct P<T0");
    for (uint32_t i = 1; i < (n + 6) / 7; ++i)
        strbuf_printf(out, ", T%u", i);
    strbuf_append_c(out, "> { float a; };\nfloat f(P<float");
    repeat(out, ", float", (n + 6) / 7 - 1);
    strbuf_append_c(out, "> p) { return p.a; }\n");
    write_shader(out, "o = x;");
}

static void write_SSL_MAX_INSTRUCTIONS(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x+=%u;", i % 9 + 1);
    strbuf_append_c(out, END);
}

/* A value that is handed on through all variables, one a turn: as many walks as there are variables, over as many of
 * them, twice. */
static void write_SSL_MAX_VISITS(StrBuf *out, uint32_t n)
{
    uint32_t count = 2;
    while (2 * (uint64_t)count * count < n)
        ++count;
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "float v%u = %u.0;\n", i, i);
    strbuf_append_c(out, "for (int i = 0; i < global_value<n>; i++) {\n");
    for (uint32_t i = 0; i + 1 < count; ++i)
        strbuf_printf(out, "v%u = v%u;\n", i, i + 1);
    strbuf_printf(out, "v%u = x; }\n o = ddx(v0); }\n", count - 1);
}

static void write_SSL_MAX_KERNEL_NESTING(StrBuf *out, uint32_t n)
{
    enum { EACH = 8 };
    for (uint32_t i = 0; i <= n / EACH; ++i) {
        strbuf_printf(out, "float f%u(float x) { float y = x;\n", i);
        for (uint32_t k = 0; k < EACH; ++k)
            strbuf_printf(out, "if (y > %u.5) ", EACH * i + k);
        if (i)
            strbuf_printf(out, "y = f%u(y);\nreturn y; }\n", i - 1);
        else
            strbuf_append_c(out, "y = sin(y);\nreturn y; }\n");
    }
    strbuf_printf(out, BEGIN "x = f%u(x);" END, n / EACH);
}

static void write_SSL_MAX_LOBE_SLOTS(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "shader s(out closure o) { float x = global_value<x>; closure c;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "c += make_closure<Emission>(color(x + %u.0));\n", i);
    strbuf_append_c(out, " o = c; }\n");
}

static void write_SSL_MAX_CLOSURE_TERMS(StrBuf *out, uint32_t n)
{
    write_SSL_MAX_LOBE_SLOTS(out, n);
}

static void write_SSL_MAX_CLOSURE_DEPTH(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out,
                    "shader s(out closure o) { closure c = make_closure<Emission>(color(1));\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "c = make_closure<Wrap>(%u.5, c);\n", i);
    strbuf_append_c(out, " o = c; }\n");
}

static void write_SSL_MAX_GROWN_CLOSURES(StrBuf *out, uint32_t n)
{
    strbuf_printf(out,
                  "shader s(out closure o) { for (int i = 0; i < %u + global_value<n>; i++)\n"
                  "  o += make_closure<Emission>(color(i)); }\n",
                  n);
}

static void write_SSL_MAX_ARRAY_BYTES(StrBuf *out, uint32_t n)
{
    write_arrays(out, n / 8192 + 1, 2048);
}

/* Not optimised: each value that a branch gives has a place of its own, of some 8 bytes. */
static void write_SSL_MAX_FRAME_BYTES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "float y = x, z = x, w = x;\n");
    for (uint32_t i = 0; i < n / 32; ++i)
        strbuf_printf(out, "if (x > %u.0) { x = sin(y); y = z + x; z = w * x; w = x + %u.0; }\n", i,
                      i);
    strbuf_append_c(out, "x += y + z + w;\n");
    strbuf_append_c(out, END);
}

/* All of them are needed until the end. */
static void write_SSL_MAX_LIVE_VALUES(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "float v%u = sin(x + %u.5);\n", i, i);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x += v%u * %u.5;\n", n - 1 - i, i);
    strbuf_append_c(out, END);
}

/* Two instructions each. */
static void write_SSL_MAX_CODE(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n / 2; ++i)
        strbuf_printf(out, "x = x * x + %u.0;\n", i);
    strbuf_append_c(out, END);
}

static void write_SSL_MAX_BSDF_STATE(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "shader s(out float x) { x = 1; }\nbsdf A() {\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "float k%u = blur;\n", i);
    strbuf_append_c(out, "lobe diffuse reflection { eval { f_cos = color(0");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, " + k%u", i);
    strbuf_append_c(out, "); } } }\n");
}

/* Values that are needed until the end, over a fourth as many loops: branches may become selections. */
static void write_SSL_MAX_LIVE_INTO(StrBuf *out, uint32_t n)
{
    uint32_t loops = 2;
    while (loops * loops * 4 < n)
        ++loops;
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < 4 * loops; ++i)
        strbuf_printf(out, "float v%u = sin(x + %u.5);\n", i, i);
    for (uint32_t i = 0; i < loops; ++i)
        strbuf_append_c(out, "for (int i = 0; i < global_value<n>; i++) x = sin(x);\n");
    for (uint32_t i = 0; i < 4 * loops; ++i)
        strbuf_printf(out, "x += v%u * %u.5;\n", 4 * loops - 1 - i, i);
    strbuf_append_c(out, END);
}

/* --- groups that hold n of something ------------------------------------------------------------ */

typedef struct GroupParts {
    Arena *arena;
    SslUnit *unit; /* ten parameters; or two textures */
    SslGroupDesc desc;
} GroupParts;

static void make_nodes(GroupParts *g, uint32_t n)
{
    SslGroupNode *nodes = ARENA_ARRAY(g->arena, SslGroupNode, n);
    SslGroupOutput *outputs = ARENA_ARRAY(g->arena, SslGroupOutput, n);
    for (uint32_t i = 0; i < n; ++i) {
        const char *name = arena_printf(g->arena, "n%u", i);
        nodes[i] = (SslGroupNode){.name = name, .unit = g->unit};
        outputs[i] =
            (SslGroupOutput){.name = arena_printf(g->arena, "o%u", i), .node = name, .output = "o"};
    }
    g->desc.nodes = nodes;
    g->desc.outputs = outputs;
    g->desc.node_count = n;
    g->desc.output_count = n < SSL_MAX_GROUP_PORTS ? n : SSL_MAX_GROUP_PORTS;
}

static void group_SSL_MAX_GROUP_NODES(GroupParts *g, uint32_t n)
{
    make_nodes(g, n);
    g->desc.output_count = 1;
}

static void group_SSL_MAX_GROUP_WIRES(GroupParts *g, uint32_t n)
{
    make_nodes(g, 2);
    SslGroupWire *wires = ARENA_ARRAY(g->arena, SslGroupWire, n);
    for (uint32_t i = 0; i < n; ++i) /* the first is right, all others are that one again */
        wires[i] = (SslGroupWire){.from_node = "n0", .from = "o", .to_node = "n1", .to = "p0"};
    g->desc.wires = wires;
    g->desc.wire_count = n;
}

static void group_SSL_MAX_GROUP_PORTS(GroupParts *g, uint32_t n)
{
    make_nodes(g, 1);
    SslGroupParam *params = ARENA_ARRAY(g->arena, SslGroupParam, n);
    for (uint32_t i = 0; i < n; ++i)
        params[i] = (SslGroupParam){.name = arena_printf(g->arena, "q%u", i),
                                    .type = SSL_FLOAT,
                                    .has_default = true,
                                    .default_value = {.type = SSL_FLOAT}};
    g->desc.params = params;
    g->desc.param_count = n;
}

static void group_SSL_MAX_GROUP_PARAMS(GroupParts *g, uint32_t n)
{
    make_nodes(g, n / 10 + 1);
}

static void group_SSL_MAX_GROUP_TEXTURES(GroupParts *g, uint32_t n)
{
    make_nodes(g, n / 2 + 1);
}

static void group_SSL_MAX_GROUP_NESTING(GroupParts *g, uint32_t n)
{
    make_nodes(g, 1);
    for (uint32_t i = 1; i < n; ++i) {
        SslGroupDesc *inner = ARENA_NEW(g->arena, SslGroupDesc);
        SslGroupNode *node = ARENA_NEW(g->arena, SslGroupNode);
        SslGroupOutput *output = ARENA_NEW(g->arena, SslGroupOutput);
        *inner = g->desc;
        *node = (SslGroupNode){.name = "a", .group = inner};
        *output = (SslGroupOutput){.name = "o0", .node = "a", .output = "o0"};
        g->desc = (SslGroupDesc){.size_bytes = sizeof g->desc,
                                 .name = "outer",
                                 .nodes = node,
                                 .outputs = output,
                                 .node_count = 1,
                                 .output_count = 1};
    }
}

/* --- the table ---------------------------------------------------------------------------------- */

typedef struct LimitCase {
    void (*write)(StrBuf *out, uint32_t n);
    void (*group)(GroupParts *g, uint32_t n);
    uint32_t below_by;   /* accepted: the limit divided by this; 0: 2 */
    uint32_t llvm_level; /* as SslBuildDesc */
    bool is_fault;       /* shows while the kernel runs */
} LimitCase;

#define SOURCE(name)                  .write = write_##name
#define GROUP(name)                   .group = group_##name
#define CASE_SSL_MAX_SOURCE_BYTES     SOURCE(SSL_MAX_SOURCE_BYTES)
#define CASE_SSL_MAX_NAME_BYTES       SOURCE(SSL_MAX_NAME_BYTES)
#define CASE_SSL_MAX_NUMBER_BYTES     SOURCE(SSL_MAX_NUMBER_BYTES)
#define CASE_SSL_MAX_NESTING          SOURCE(SSL_MAX_NESTING)
#define CASE_SSL_MAX_EXPR_DEPTH       SOURCE(SSL_MAX_EXPR_DEPTH)
#define CASE_SSL_MAX_CALL_DEPTH       SOURCE(SSL_MAX_CALL_DEPTH)
#define CASE_SSL_MAX_PARAMS           SOURCE(SSL_MAX_PARAMS)
#define CASE_SSL_MAX_TABLE_SCALARS    SOURCE(SSL_MAX_TABLE_SCALARS)
#define CASE_SSL_MAX_VALUE_SCALARS    SOURCE(SSL_MAX_VALUE_SCALARS)
#define CASE_SSL_MAX_FUNCTION_SCALARS SOURCE(SSL_MAX_FUNCTION_SCALARS), .below_by = 8
#define CASE_SSL_MAX_TEXTURES         SOURCE(SSL_MAX_TEXTURES)
#define CASE_SSL_MAX_ATTRIBUTES       SOURCE(SSL_MAX_ATTRIBUTES)
#define CASE_SSL_MAX_STRUCT_NESTING   SOURCE(SSL_MAX_STRUCT_NESTING)
#define CASE_SSL_MAX_REGIONS          SOURCE(SSL_MAX_REGIONS)
#define CASE_SSL_MAX_ARRAY_NESTING    SOURCE(SSL_MAX_ARRAY_NESTING)
#define CASE_SSL_MAX_CLOSURE_ARRAY    SOURCE(SSL_MAX_CLOSURE_ARRAY)
#define CASE_SSL_MAX_OVERLOADS        SOURCE(SSL_MAX_OVERLOADS)
#define CASE_SSL_MAX_METHODS          SOURCE(SSL_MAX_METHODS)
#define CASE_SSL_MAX_INTERFACES       SOURCE(SSL_MAX_INTERFACES)
#define CASE_SSL_MAX_INSTANCES        SOURCE(SSL_MAX_INSTANCES)
#define CASE_SSL_MAX_INSTANCE_DEPTH   SOURCE(SSL_MAX_INSTANCE_DEPTH)
#define CASE_SSL_MAX_INSTANCE_BYTES   SOURCE(SSL_MAX_INSTANCE_BYTES)
#define CASE_SSL_MAX_STRUCT_INSTANCES SOURCE(SSL_MAX_STRUCT_INSTANCES)
#define CASE_SSL_MAX_TYPE_BYTES       SOURCE(SSL_MAX_TYPE_BYTES)
#define CASE_SSL_MAX_INSTRUCTIONS     SOURCE(SSL_MAX_INSTRUCTIONS), .below_by = 64
#define CASE_SSL_MAX_VISITS           SOURCE(SSL_MAX_VISITS), .below_by = 4096
#define CASE_SSL_MAX_KERNEL_NESTING   SOURCE(SSL_MAX_KERNEL_NESTING), .below_by = 4
#define CASE_SSL_MAX_LOBE_SLOTS       SOURCE(SSL_MAX_LOBE_SLOTS)
#define CASE_SSL_MAX_CLOSURE_TERMS    SOURCE(SSL_MAX_CLOSURE_TERMS), .below_by = 8
#define CASE_SSL_MAX_CLOSURE_DEPTH    SOURCE(SSL_MAX_CLOSURE_DEPTH)
#define CASE_SSL_MAX_GROWN_CLOSURES   SOURCE(SSL_MAX_GROWN_CLOSURES), .is_fault = true
#define CASE_SSL_MAX_ARRAY_BYTES      SOURCE(SSL_MAX_ARRAY_BYTES), .below_by = 4
#define CASE_SSL_MAX_FRAME_BYTES      SOURCE(SSL_MAX_FRAME_BYTES), .below_by = 8, .llvm_level = 1
#define CASE_SSL_MAX_LIVE_VALUES      SOURCE(SSL_MAX_LIVE_VALUES), .below_by = 8
#define CASE_SSL_MAX_LIVE_INTO        SOURCE(SSL_MAX_LIVE_INTO), .below_by = 32
#define CASE_SSL_MAX_CODE             SOURCE(SSL_MAX_CODE), .below_by = 16
#define CASE_SSL_MAX_BSDF_STATE       SOURCE(SSL_MAX_BSDF_STATE)
#define CASE_SSL_MAX_GROUP_NESTING    GROUP(SSL_MAX_GROUP_NESTING)
#define CASE_SSL_MAX_GROUP_NODES      GROUP(SSL_MAX_GROUP_NODES)
#define CASE_SSL_MAX_GROUP_WIRES      GROUP(SSL_MAX_GROUP_WIRES), .below_by = SSL_MAX_GROUP_WIRES
#define CASE_SSL_MAX_GROUP_PORTS      GROUP(SSL_MAX_GROUP_PORTS)
#define CASE_SSL_MAX_GROUP_PARAMS     GROUP(SSL_MAX_GROUP_PARAMS), .below_by = 32
#define CASE_SSL_MAX_GROUP_TEXTURES   GROUP(SSL_MAX_GROUP_TEXTURES), .below_by = 4

static const struct {
    const char *name;
    uint32_t value;
    LimitCase how;
} limits[] = {
#define SSL_LIMIT(name, value, text) {#name, value, {CASE_##name}},
#include "ssl/ssl_limits.inc"
#undef SSL_LIMIT
};

/* --- trying --------------------------------------------------------------------------------------- */

static const char unit_of_groups[] =
    "shader s(float p0 = 0, float p1 = 0, float p2 = 0, float p3 = 0, float p4 = 0, float p5 = 0,\n"
    "  float p6 = 0, float p7 = 0, float p8 = 0, float p9 = 0, out float o)\n"
    "{ o = p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9; }\n";

static Status compile(Str text, DiagList *diags, SslUnit **out_unit)
{
    SslSource source = {.name = "limit.ssl", .text = text};
    return ssl_unit_compile(ctx, &source, diags, out_unit);
}

static const char unit_of_textures[] =
    "texture2d t; texture2d u;\n"
    "shader s(out float o) { float x = global_value<x>;\n"
    "  o = texture2d_sample<t>(x, x).r + texture2d_sample<u>(x, x).r; }\n";

static Status make_group(const LimitCase *how, uint32_t n, DiagList *diags, SslUnit **out_unit)
{
    Arena *arena = arena_create(0, 0);
    GroupParts g = {.arena = arena,
                    .desc = {.size_bytes = sizeof g.desc, .name = "limit", .place = "here"}};
    assert_int_equal(compile(str_from(how->group == group_SSL_MAX_GROUP_TEXTURES ? unit_of_textures
                                                                                 : unit_of_groups),
                             diags, &g.unit),
                     STATUS_OK);
    how->group(&g, n);
    Status status = ssl_group_link(ctx, &g.desc, NULL, diags, out_unit);
    ssl_unit_release(g.unit);
    arena_destroy(arena);
    return status;
}

/* Runs one point of all that is 0; its fault. */
static SslFaultKind run_point(const SslProgram *program)
{
    static _Alignas(64) float inputs[64 * SSL_BLOCK];
    static _Alignas(64) char result[1 << 16];
    const SslProgramInfo *info = ssl_program_info(program);
    uint16_t live = 1;
    SslBatch batch = {.globals = inputs,
                      .live = &live,
                      .result = result,
                      .block_count = 1,
                      .loop_budget = 100000,
                      .stack_bytes = 1 << 14};
    SslFaultInfo fault = {0};
    uint32_t word;
    assert_true(info->result_stride_bytes <= sizeof result);
    ssl_program_kernel(program)(&batch);
    memcpy(&word, result + info->fault_offset, sizeof word);
    if (word)
        ssl_fault_describe(program, word - 1, &fault);
    return word ? fault.kind : SSL_FAULT_LOOP;
}

/* All stages with n of what the case is about; the first message, empty when all is well. */
static Status attempt(const LimitCase *how, uint32_t n, StrBuf *said)
{
    DiagList *diags = diag_list_create();
    StrBuf text = {0};
    SslUnit *unit = NULL;
    SslProgram *program = NULL;
    Error err = {0};
    if (how->write)
        how->write(&text, n);
    Status status = how->write ? compile((Str){strbuf_text(&text), text.size_bytes}, diags, &unit)
                               : make_group(how, n, diags, &unit);
    if (status == STATUS_OK && how->write) {
        SslBuildDesc build = {.size_bytes = sizeof build, .llvm_level = how->llvm_level};
        status = ssl_program_build(ctx, unit, &build, diags, &program, &err);
    }
    if (status == STATUS_OK && how->is_fault && run_point(program) == SSL_FAULT_CLOSURES)
        status = STATUS_LIMIT;
    if (status == STATUS_SOURCE && diag_error_count(diags))
        strbuf_append_c(said, diag_get(diags, diag_count(diags) - 1)->message);
    for (uint32_t i = 0; i < diag_count(diags); ++i)
        if (diag_get(diags, i)->severity == DIAG_ERROR)
            strbuf_printf(said, "\n%s", diag_get(diags, i)->message);
    strbuf_append_c(said, err.text);
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    strbuf_free(&text);
    return status;
}

static void test_every_limit_fires(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t i = 0; i < SORT_COUNT_OF(limits); ++i) {
        const LimitCase *how = &limits[i].how;
        StrBuf below = {0}, past = {0};
        char value[16];
        snprintf(value, sizeof value, "%u", limits[i].value);
        uint32_t few = limits[i].value / (how->below_by ? how->below_by : 2);
        Status accepted = attempt(how, few, &below);
        if (accepted != STATUS_OK)
            fail_msg("%s: %u is refused: %s", limits[i].name, few, strbuf_text(&below));
        Status status = attempt(how, limits[i].value + limits[i].value / 8 + 2, &past);
        if (status != STATUS_SOURCE && status != STATUS_LIMIT)
            fail_msg("%s does not fire: status %d, %s", limits[i].name, (int)status,
                     strbuf_text(&past));
        if (!how->is_fault && !strstr(strbuf_text(&past), value))
            fail_msg("%s fires with: %s", limits[i].name, strbuf_text(&past));
        strbuf_free(&below);
        strbuf_free(&past);
    }
}

/* --- growth --------------------------------------------------------------------------------------- */

static void write_branches(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "if (x > %u.0) x = sin(x) + %u.0;\n", i, i);
    strbuf_append_c(out, " o = ddx(x); }\n");
}

static void write_loops(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "for (int i = 0; i < global_value<n>; i++) x = sin(x) * %u.0;\n", i);
    strbuf_append_c(out, " o = ddx(x); }\n");
}

static void write_functions(StrBuf *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "float f%u(float a, float b) { return a * %u.0 + sin(b); }\n", i, i);
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x = f%u(x, %u.0) + f%u(%u.0, x);\n", i, i, i, i);
    strbuf_append_c(out, " o = ddx(x); }\n");
}

/* Each function calls the one before twice, with arguments that vary in other places: 2^levels patterns. */
static void write_patterns(StrBuf *out, uint32_t n)
{
    enum { PARAMS = 12 };
    uint32_t levels = 0;
    while (1u << levels < n)
        ++levels;
    for (uint32_t f = 0; f <= levels; ++f) {
        strbuf_printf(out, "float f%u(", f);
        for (uint32_t p = 0; p < PARAMS; ++p)
            strbuf_printf(out, "%sfloat p%u", p ? ", " : "", p);
        strbuf_append_c(out, ") { return ");
        for (uint32_t call = 0; f > 0 && call < 2; ++call) {
            strbuf_printf(out, "%sf%u(", call ? " + " : "", f - 1);
            for (uint32_t p = 0; p < PARAMS; ++p)
                strbuf_printf(out, call && p == f ? "%s0.5" : "%sp%u", p ? ", " : "", p);
            strbuf_append_c(out, ")");
        }
        for (uint32_t p = 0; f == 0 && p < PARAMS; ++p)
            strbuf_printf(out, "%sp%u", p ? " + " : "", p);
        strbuf_append_c(out, "; }\n");
    }
    strbuf_printf(out, BEGIN "o = ddx(f%u(x", levels);
    repeat(out, ", x", PARAMS - 1);
    strbuf_append_c(out, ")); }\n");
}

static uint64_t visits_of(void (*write)(StrBuf *out, uint32_t n), uint32_t n)
{
    DiagList *diags = diag_list_create();
    StrBuf text = {0};
    SslUnit *unit;
    SslProgram *program;
    Error err = {0};
    SslBuildDesc build = {.size_bytes = sizeof build, .llvm_level = 1};
    write(&text, n);
    if (compile((Str){strbuf_text(&text), text.size_bytes}, diags, &unit) != STATUS_OK)
        fail_msg("%s", diag_get(diags, 0)->message);
    if (ssl_program_build(ctx, unit, &build, diags, &program, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    uint64_t visits = ssl_program_info(program)->visits;
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    strbuf_free(&text);
    return visits;
}

/* Twice the source, twice the visits. */
static void test_work_grows_as_the_source(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        const char *name;
        void (*write)(StrBuf *out, uint32_t n);
    } shapes[] = {{"straight", write_SSL_MAX_INSTRUCTIONS},
                  {"branches", write_branches},
                  {"loops", write_loops},
                  {"functions", write_functions},
                  {"patterns", write_patterns}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(shapes); ++i) {
        enum { LEAST = 128, MOST = 1024 };
        uint64_t before = visits_of(shapes[i].write, LEAST);
        for (uint32_t n = 2 * LEAST; n <= MOST; n *= 2) {
            uint64_t now = visits_of(shapes[i].write, n);
            if (now < before || now > before * 9 / 4)
                fail_msg("%s: %llu visits for %u, %llu for half of it", shapes[i].name,
                         (unsigned long long)now, n, (unsigned long long)before);
            before = now;
        }
    }
}

/* --- long code ------------------------------------------------------------------------------------ */

static void write_divisions(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "int k = global_value<n>;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "k = %u / (k - %u) + k %% (k + %u);\n", i, i, i + 3);
    strbuf_append_c(out, " o = k; }\n");
}

static void write_elements(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "float a[64]; int k = global_value<n>;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "a[(k ^ %u) & 63] = x; x += a[(k + %u) & 63];\n", i, i);
    strbuf_append_c(out, END);
}

static void write_choices(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "if (x > %u.0) x = x * 2.0; else x = x + %u.0;\n", i, i);
    strbuf_append_c(out, END);
}

static void write_sines(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x = sin(x) + cos(x) * %u.0;\n", i);
    strbuf_append_c(out, END);
}

/* f calls itself: code of one lane, and values that are returned. */
static void write_recursion(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, "float f(float a, int k) { float x = a; if (k > 0) x = f(x, k - 1);\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x = x * x + %u.0;\n", i);
    strbuf_append_c(out, "return x; }\n" BEGIN "x = f(x, global_value<n>);" END);
}

static void write_outputs(StrBuf *out, uint32_t n)
{
    const uint32_t most = n < SSL_MAX_PARAMS ? n : SSL_MAX_PARAMS;
    strbuf_append_c(out, "shader s(");
    for (uint32_t i = 0; i < most; ++i)
        strbuf_printf(out, "%sout color o%u", i ? ", " : "", i);
    strbuf_append_c(out, ") { float x = global_value<x>;\n");
    for (uint32_t i = 0; i < most; ++i)
        strbuf_printf(out, "o%u = color(x, x * %u.5, x + %u.5);\n", i, i, i);
    strbuf_append_c(out, "}\n");
}

/* Derivatives that each branch makes 0: selections in one another that share a side. */
static void write_ramp(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN "float y = x;\n");
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "if (x > %u.0) y = %u.5;\n", i, i % 7);
    strbuf_append_c(out, " o = ddx(y); }\n");
}

static void write_conversions(StrBuf *out, uint32_t n)
{
    strbuf_append_c(out, BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x = (int(x) + %u) * 1.5;\n", i);
    strbuf_append_c(out, END);
}

/* The most instructions between two labels. */
static uint32_t longest_block(const char *text)
{
    uint32_t most = 0, now = 0;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        now = strncmp(line, "  ", 2) == 0 ? now + 1 : 0;
        most = now > most ? now : most;
    }
    return most;
}

/* LLVM spends more than twice the time on a block that is twice as long. */
static void test_long_code_is_cut(void **state)
{
    SORT_UNUSED(state);
    static void (*const shapes[])(StrBuf *out, uint32_t n) = {
        write_divisions, write_elements, write_choices, write_sines, write_SSL_MAX_INSTRUCTIONS,
        write_recursion, write_outputs};
    for (uint32_t i = 0; i < SORT_COUNT_OF(shapes); ++i) {
        StrBuf text = {0}, code = {0};
        DiagList *diags = diag_list_create();
        Error err = {0};
        SslBuildDesc build = {.size_bytes = sizeof build};
        shapes[i](&text, 3000);
        SslSource source = {.name = "long.ssl", .text = {strbuf_text(&text), text.size_bytes}};
        if (ssl_dump(ctx, &source, &build, SSL_DUMP_LLVM_OPTIMISED, diags, &code, &err) !=
            STATUS_OK)
            fail_msg("%u: %s", i, err.text);
        uint32_t longest = longest_block(strbuf_text(&code));
        assert_in_range(longest, 100, 2000);
        strbuf_free(&text);
        strbuf_free(&code);
        diag_list_destroy(diags);
    }
}

/* LLVM's time for these was the square of their length: 14 s for the first in a release build, which now takes 0.1 s. */
static void test_chains_take_no_square(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        void (*write)(StrBuf *out, uint32_t n);
        uint32_t n;
    } shapes[] = {{write_ramp, 2048}, {write_conversions, 2048}, {write_recursion, 14000}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(shapes); ++i) {
        LimitCase how = {.write = shapes[i].write};
        StrBuf said = {0};
        clock_t start = clock();
        if (attempt(&how, shapes[i].n, &said) != STATUS_OK)
            fail_msg("%u: %s", i, strbuf_text(&said));
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > 5.0)
            fail_msg("%u takes %.1f s", i, seconds);
        strbuf_free(&said);
    }
}

/* --- derivatives ------------------------------------------------------------------------------- */

enum { DERIVATIVE_STEPS = 60, DERIVATIVE_CALLS = 48 };

static void write_derivatives(StrBuf *out, uint32_t n)
{
    strbuf_append_c(
        out, "[Differentiable] float f(float x, float y) { float a = x, b = y, c = x + y;\n");
    for (uint32_t i = 0; i < DERIVATIVE_STEPS; ++i)
        strbuf_append_c(out, i % 3 == 0   ? "a = a * b + c * 0.3;\n"
                             : i % 3 == 1 ? "b = sin(b * 0.5 + c) * a;\n"
                                          : "c = c / (1.5 + a * a) - b;\n");
    strbuf_append_c(out, "return a * b + c; }\n" BEGIN);
    for (uint32_t i = 0; i < n; ++i)
        strbuf_printf(out, "x += fwd_diff(f)(diff_pair(x, 1.0), diff_pair(x + %u.0, 2.0)).d;\n", i);
    strbuf_append_c(out, END);
}

/* Derivatives may have a second form, but no program gets too long by it. */
static void test_plain_forms_fit(void **state)
{
    SORT_UNUSED(state);
    LimitCase how = {.write = write_derivatives};
    StrBuf said = {0};
    if (attempt(&how, DERIVATIVE_CALLS, &said) != STATUS_OK)
        fail_msg("%s", strbuf_text(&said));
    strbuf_free(&said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_limit_fires), cmocka_unit_test(test_work_grows_as_the_source),
        cmocka_unit_test(test_long_code_is_cut), cmocka_unit_test(test_chains_take_no_square),
        cmocka_unit_test(test_plain_forms_fit)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
