/* Facts about SSL's types and the layout of the globals, which all stages of the compiler and the host share. This
 * file depends on no other file of ssl/. */
#include "base/check.h"
#include "ssl/ssl.h"

static const struct {
    const char *name;
    uint32_t scalars;
} type_facts[] = {
    [SSL_VOID] = {"void", 0},
    [SSL_BOOL] = {"bool", 1},
    [SSL_INT] = {"int", 1},
    [SSL_FLOAT] = {"float", 1},
    [SSL_FLOAT2] = {"float2", 2},
    [SSL_FLOAT3] = {"float3", 3},
    [SSL_FLOAT4] = {"float4", 4},
    [SSL_COLOR] = {"color", 3},
    [SSL_POINT] = {"point", 3},
    [SSL_VECTOR] = {"vector", 3},
    [SSL_NORMAL] = {"normal", 3},
    [SSL_MATRIX] = {"matrix", 16},
    [SSL_STRING] = {"string", 0},
    [SSL_CLOSURE] = {"closure", 0},
    [SSL_TEXTURE2D] = {"texture2d", 0},
    [SSL_STRUCT] = {"struct", 0},
    [SSL_ARRAY] = {"array", 0},
};

uint32_t ssl_type_scalars(SslType type)
{
    CHECK((uint32_t)type < SORT_COUNT_OF(type_facts));
    return type_facts[type].scalars;
}

const char *ssl_type_name(SslType type)
{
    CHECK((uint32_t)type < SORT_COUNT_OF(type_facts));
    return type_facts[type].name;
}

static bool has_shape(SslType type)
{
    return type == SSL_STRUCT || type == SSL_ARRAY;
}

uint32_t ssl_value_scalars(SslType type, const SslShape *shape)
{
    return has_shape(type) ? shape->scalar_count : ssl_type_scalars(type);
}

SslType ssl_value_kind(SslType type, const SslShape *shape, uint32_t scalar)
{
    ASSERT(scalar < ssl_value_scalars(type, shape));
    if (has_shape(type))
        return shape->kinds[scalar];
    return type == SSL_BOOL || type == SSL_INT ? type : SSL_FLOAT;
}

const char *ssl_value_name(SslType type, const SslShape *shape)
{
    return has_shape(type) ? shape->name : ssl_type_name(type);
}

void ssl_globals_layout(const SslGlobalRow *rows, uint32_t row_count, SslGlobalsLayout *out_layout)
{
    CHECK(row_count <= SSL_MAX_GLOBALS);
    *out_layout = (SslGlobalsLayout){0};
    uint32_t floats = 0;
    for (uint32_t i = 0; i < row_count; ++i) {
        out_layout->offset_floats[i] = floats;
        floats += ssl_type_scalars(rows[i].type) * (rows[i].has_derivs ? 3u : 1u) * SSL_BLOCK;
    }
    out_layout->stride_bytes = floats * (uint32_t)sizeof(float);
}

const char *ssl_lobe_word(uint32_t kind)
{
    static const char *const words[] = {
        "reflection",           "transmission", "diffuse", "glossy", "delta",
        "transparent",          "subsurface",   "fibre",   "bent",   "seen_as_glossy",
        "seen_as_transmission", "reciprocal",   "portal",  "fixed"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (kind == 1u << i)
            return words[i];
    return NULL;
}
