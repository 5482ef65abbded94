#include "tests/ssl/random/source_writer.h"

static const SslGlobalRow globals[] = {
    {"gf", SSL_FLOAT, true, "", ""},  {"gg", SSL_FLOAT, true, "", ""},
    {"gp", SSL_POINT, true, "", ""},  {"gv", SSL_FLOAT2, true, "", ""},
    {"gc", SSL_COLOR, false, "", ""}, {"gn", SSL_INT, false, "", ""},
    {"gb", SSL_BOOL, false, "", ""}};
static const SslClosureArg lambert[] = {{"albedo", SSL_COLOR}, {"N", SSL_NORMAL}};
static const SslClosureArg glow[] = {{"radiance", SSL_COLOR}};
static const SslClosureArg coat[] = {{"roughness", SSL_FLOAT}, {"base", SSL_CLOSURE}};
static const SslClosureRow closures[] = {
    {"Lambert", lambert, 2, 0, "", ""}, {"Glow", glow, 1, 0, "", ""}, {"Coat", coat, 2, 0, "", ""}};
const LowerTables random_tables = {.globals = globals,
                                   .closures = closures,
                                   .global_count = SORT_COUNT_OF(globals),
                                   .closure_count = SORT_COUNT_OF(closures)};

bool writer_same(GenType a, GenType b)
{
    if (a.base != b.base || a.dims != b.dims)
        return false;
    for (uint32_t i = 0; i < a.dims; ++i)
        if (a.dim[i] != b.dim[i])
            return false;
    return true;
}

bool writer_is_vector(GenType t)
{
    return t.dims == 0 && t.base >= GEN_FLOAT2 && t.base <= GEN_FLOAT4;
}

GenType writer_type(Gen *g, bool allow_aggregate)
{
    static const uint8_t bases[] = {GEN_FLOAT,  GEN_FLOAT,  GEN_FLOAT3, GEN_FLOAT3, GEN_INT,
                                    GEN_FLOAT2, GEN_FLOAT4, GEN_BOOL,   GEN_MATRIX};
    uint32_t structs = allow_aggregate ? g->structs.count : 0;
    uint32_t at = writer_pick(g, (uint32_t)SORT_COUNT_OF(bases) + structs);
    GenType t = {.base = (uint8_t)(at < SORT_COUNT_OF(bases)
                                       ? bases[at]
                                       : GEN_STRUCT + (at - SORT_COUNT_OF(bases)))};
    if (allow_aggregate && t.base != GEN_MATRIX && writer_one_in(g, 5)) {
        t.dims = (uint8_t)(1 + writer_one_in(g, 3));
        for (uint32_t i = 0; i < t.dims; ++i)
            t.dim[i] = (uint8_t)(2 + writer_pick(g, 3));
    }
    return t;
}

void writer_type_name(Gen *g, GenType t)
{
    static const char *const names[] = {"void",   "bool",   "int",    "float",  "float2",
                                        "float3", "float4", "matrix", "closure"};
    static const char *const triples[] = {"float3", "color", "vector", "point", "normal"};
    if (t.base >= GEN_STRUCT)
        strbuf_printf(g->out, "S%u ", t.base - GEN_STRUCT);
    else if (t.base == GEN_FLOAT3)
        strbuf_printf(g->out, "%s ", triples[writer_pick(g, SORT_COUNT_OF(triples))]);
    else
        strbuf_printf(g->out, "%s ", names[t.base]);
}

void writer_type_sizes(Gen *g, GenType t)
{
    for (uint32_t i = 0; i < t.dims; ++i)
        strbuf_printf(g->out, "[%u]", t.dim[i]);
}

void writer_line(Gen *g)
{
    strbuf_append_char(g->out, '\n');
    for (uint32_t i = 0; i < g->indent; ++i)
        strbuf_append_c(g->out, "    ");
}
