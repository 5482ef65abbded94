/* The shader units for imported materials, compiled as the renderer does and run on one point: which
 * lobes a material has, with which weights and arguments, and where its textures are looked up. */
#include "base/alloc.h"
#include "base/cast.h"
#include "sort/bsdf/closure_table.h"
#include "sort/shade/ssl_tables.h"
#include "sort/shade/unit_library.h"
#include "ssl/ssl.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VALUES_MAX = 64, TEXTURES_MAX = 16, ALIGN = 64 };

static SslContext *context;
static SslGlobalsLayout layout;

/* --- one material, built and run ----------------------------------------------------------- */

typedef struct Setting {
    const char *name;
    SslValue value;
} Setting;

#define SET_BOOL(n)                                                                                \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .type = SSL_BOOL, .b = true                                                            \
        }                                                                                          \
    }
#define SET_INT(n, v)                                                                              \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .type = SSL_INT, .i = (v)                                                              \
        }                                                                                          \
    }
#define SET(n, v)                                                                                  \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .type = SSL_FLOAT, .f = { v }                                                          \
        }                                                                                          \
    }
#define SET_COLOR(n, r, g, b_)                                                                     \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .type = SSL_COLOR, .f = { r, g, b_ }                                                   \
        }                                                                                          \
    }
#define SET_FLOAT4(n, x, y, z, w)                                                                  \
    {                                                                                              \
        n,                                                                                         \
        {                                                                                          \
            .type = SSL_FLOAT4, .f = { x, y, z, w }                                                \
        }                                                                                          \
    }

typedef struct Texel {
    const char *handle;
    float rgba[4];
} Texel;

typedef struct Surface {
    float uvw[3], normal[3], tangent[3], tangent_sign;
    bool is_backfacing;
    int32_t diffuse_depth;
} Surface;

static const Surface plane = {
    .uvw = {0.25f, 0.75f, 0}, .normal = {0, 0, 1}, .tangent = {1, 0, 0}, .tangent_sign = 1};

typedef struct Point {
    const SslProgramInfo *info;
    SslProgram *program;
    SslUnit *unit;
    unsigned char *result;                  /* owned */
    float rgba[TEXTURES_MAX][4];            /* what each slot returns */
    float s[TEXTURES_MAX], t[TEXTURES_MAX]; /* where it was looked up last */
    uint32_t lookups;
} Point;

static void lookup(SslHost *host, const SslTexCall *call)
{
    Point *p = (Point *)host;
    for (uint32_t i = 0; i < call->lane_count; ++i) {
        if (!(call->lane_mask >> i & 1))
            continue;
        p->s[call->texture] = call->coord[i];
        p->t[call->texture] = call->coord[call->lane_count + i];
        ++p->lookups;
        for (uint32_t c = 0; c < 4; ++c)
            call->result[c * call->lane_count + i] = p->rgba[call->texture][c];
    }
}

/* Baked as the renderer does it: switches, and numbers that are 0 or 1. */
static bool is_structural(const SslValue *v)
{
    return v->type == SSL_BOOL || v->type == SSL_INT ||
           (v->type == SSL_FLOAT && (v->f[0] == 0.0f || v->f[0] == 1.0f));
}

static SslValue value_of(const SslParamInfo *param, const Setting *settings, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(settings[i].name, param->name) == 0)
            return settings[i].value;
    assert_true(param->has_default);
    return param->default_value;
}

static void fail_with(DiagList *diags, const char *what, const Error *err)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    fail_msg("%s: %s\n%s", what, err->text, strbuf_text(&text));
}

static void build(const char *unit_name, SslKernelKind kind, const Setting *settings,
                  uint32_t count, Point *out)
{
    const EmbeddedText *text = unit_library_find(unit_name);
    assert_non_null(text);
    DiagList *diags = diag_list_create();
    Error err = {0};
    *out = (Point){0};
    SslSource source = {.name = unit_name, .text = {text->text, text->size_bytes}};
    if (ssl_unit_compile(context, &source, diags, &out->unit) != STATUS_OK)
        fail_with(diags, unit_name, &err);
    assert_int_equal(diag_count(diags), 0); /* no warnings either */
    const SslUnitInfo *info = ssl_unit_info(out->unit);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t k = 0;
        while (k < info->param_count && strcmp(info->params[k].name, settings[i].name) != 0)
            ++k;
        if (k == info->param_count)
            fail_msg("%s has no parameter '%s'", unit_name, settings[i].name);
    }
    SslConstant constants[VALUES_MAX];
    SslBuildDesc how = {.size_bytes = sizeof how, .kind = kind, .constants = constants};
    assert_in_range(info->param_count, 0, VALUES_MAX);
    for (uint32_t i = 0; i < info->param_count; ++i) {
        if (info->params[i].type == SSL_CLOSURE)
            continue; /* without a wire: nothing */
        SslValue value = value_of(&info->params[i], settings, count);
        if (is_structural(&value))
            constants[how.constant_count++] = (SslConstant){info->params[i].name, value};
    }
    if (ssl_program_build(context, out->unit, &how, diags, &out->program, &err) != STATUS_OK)
        fail_with(diags, unit_name, &err);
    out->info = ssl_program_info(out->program);
    diag_list_destroy(diags);
}

static void put_global(float *block, GlobalRow row, const float *values, uint32_t count)
{
    for (uint32_t c = 0; c < count; ++c)
        block[layout.offset_floats[row] + c * SSL_BLOCK] = values[c];
}

/* Lane 0 of one block. */
static void run(Point *p, const Setting *settings, uint32_t count, const Texel *texels,
                uint32_t texel_count, const Surface *surface)
{
    const SslUnitInfo *unit = p->info->unit;
    float *globals = mem_alloc_aligned(layout.stride_bytes, ALIGN);
    memset(globals, 0, layout.stride_bytes);
    put_global(globals, GLOBAL_uvw, surface->uvw, 3);
    put_global(globals, GLOBAL_normal, surface->normal, 3);
    put_global(globals, GLOBAL_tangent, surface->tangent, 3);
    put_global(globals, GLOBAL_tangent_sign, &surface->tangent_sign, 1);
    int32_t backfacing = surface->is_backfacing;
    memcpy(&globals[layout.offset_floats[GLOBAL_backfacing]], &backfacing, sizeof backfacing);
    memcpy(&globals[layout.offset_floats[GLOBAL_diffuse_depth]], &surface->diffuse_depth,
           sizeof surface->diffuse_depth);

    size_t params_bytes = ((size_t)p->info->params_bytes / ALIGN + 1) * ALIGN;
    void *params = mem_alloc_aligned(params_bytes, ALIGN);
    memset(params, 0, params_bytes);
    ssl_params_init(p->program, params);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < unit->param_count; ++k)
            if (strcmp(unit->params[k].name, settings[i].name) == 0)
                assert_int_equal(ssl_params_set(p->program, params, k, &settings[i].value, NULL),
                                 STATUS_OK);

    uint32_t ids[TEXTURES_MAX];
    assert_in_range(unit->texture_count, 0, TEXTURES_MAX);
    for (uint32_t slot = 0; slot < unit->texture_count; ++slot) {
        ids[slot] = slot;
        for (uint32_t i = 0; i < texel_count; ++i)
            if (strcmp(unit->textures[slot], texels[i].handle) == 0)
                memcpy(p->rgba[slot], texels[i].rgba, sizeof p->rgba[slot]);
    }
    mem_free(p->result);
    p->result = mem_alloc_aligned(p->info->result_stride_bytes, ALIGN);
    memset(p->result, 0, p->info->result_stride_bytes);
    p->lookups = 0;
    static const SslServices services = {.size_bytes = sizeof services, .tex_lookup = lookup};
    const uint16_t live = 1;
    SslBatch batch = {.globals = globals,
                      .live = &live,
                      .result = p->result,
                      .params = params,
                      .textures = ids,
                      .services = &services,
                      .host = (SslHost *)p,
                      .block_count = 1,
                      .loop_budget = 1000,
                      .stack_bytes = 1 << 16};
    ssl_program_kernel(p->program)(&batch);
    mem_free(globals);
    mem_free(params);
}

static void release(Point *p)
{
    ssl_program_release(p->program);
    ssl_unit_release(p->unit);
    mem_free(p->result);
}

/* --- what came out ------------------------------------------------------------------------- */

static float number_at(const Point *p, uint32_t offset, uint32_t index)
{
    float value;
    memcpy(&value, p->result + offset + (size_t)index * SSL_BLOCK * sizeof value, sizeof value);
    return value;
}

static const SslLobeSlot *lobe_of(const Point *p, const char *closure)
{
    for (uint32_t i = 0; i < p->info->lobe_count; ++i)
        if (p->info->lobes[i].closure == closure_find(closure))
            return &p->info->lobes[i];
    return NULL;
}

static void expect_lobe(const Point *p, const char *closure, const float weight[3],
                        const float *args, uint32_t arg_count)
{
    const SslLobeSlot *lobe = lobe_of(p, closure);
    if (!lobe)
        fail_msg("there is no lobe of closure %s", closure);
    for (uint32_t c = 0; c < 3; ++c) {
        float got = number_at(p, lobe->weight_offset, c);
        if (!(fabsf(got - weight[c]) < 1e-5f))
            fail_msg("closure %s: weight[%u] is %g, not %g", closure, c, (double)got,
                     (double)weight[c]);
    }
    for (uint32_t i = 0; i < arg_count; ++i) {
        float got = number_at(p, lobe->args_offset, i);
        if (!(fabsf(got - args[i]) < 1e-5f))
            fail_msg("closure %s: number %u is %g, not %g", closure, i, (double)got,
                     (double)args[i]);
    }
}

static uint32_t slot_of(const Point *p, const char *handle)
{
    for (uint32_t i = 0; i < p->info->unit->texture_count; ++i)
        if (strcmp(p->info->unit->textures[i], handle) == 0)
            return i;
    fail_msg("there is no texture '%s'", handle);
    return 0;
}

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))
#define SHADE(unit, settings, texels, surface)                                                     \
    build(unit, SSL_KERNEL_SHADE, settings, COUNT(settings), &p);                                  \
    run(&p, settings, COUNT(settings), texels, COUNT(texels), surface)

static const Texel no_texels[1] = {{"none", {0}}};
static const float one[3] = {1, 1, 1};

/* --- gltf_pbr ------------------------------------------------------------------------------ */

static void test_units_gltf_opaque_metal_is_one_lobe(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET_COLOR("base_color", 0.9f, 0.6f, 0.3f), SET("roughness", 0.4f)};
    SHADE("gltf_pbr", settings, no_texels, &plane);
    assert_int_equal(p.info->lobe_count, 1);
    expect_lobe(&p, "Conductor", one, (float[]){0.9f, 0.6f, 0.3f, 0.4f, 0, 0, 1}, 7);
    assert_int_equal(p.lookups, 0);
    release(&p);
}

static void test_units_gltf_plastic_glass_and_metal_share_by_weight(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET_COLOR("base_color", 0.5f, 0.4f, 0.3f), SET("metallic", 0.25f),
                                SET("roughness", 0.5f), SET("transmission", 0.6f),
                                SET("ior", 1.5f)};
    SHADE("gltf_pbr", settings, no_texels, &plane);
    assert_int_equal(p.info->lobe_count, 3);
    const float plastic = 0.75f * 0.4f, glass = 0.75f * 0.6f, metal = 0.25f;
    expect_lobe(&p, "Plastic", (float[]){plastic, plastic, plastic},
                (float[]){0.5f, 0.4f, 0.3f, 0.04f, 0.04f, 0.04f, 0.5f, 0, 0, 1}, 10);
    expect_lobe(&p, "Dielectric", (float[]){glass, glass, glass},
                (float[]){1.5f, 0.5f, 1, 1, 1, 0.5f, 0.4f, 0.3f, 0, 0, 1}, 11);
    expect_lobe(&p, "Conductor", (float[]){metal, metal, metal}, NULL, 0);
    release(&p);
}

/* KHR_materials_specular: F0 = specular min(((ior-1)/(ior+1))^2 specular_color, 1). */
static void test_units_gltf_specular_scales_and_tints_the_reflection(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET("metallic", 0), SET("ior", 3), SET("specular", 0.5f),
                                SET_COLOR("specular_color", 1, 0.5f, 40)};
    SHADE("gltf_pbr", settings, no_texels, &plane);
    expect_lobe(&p, "Plastic", one, (float[]){1, 1, 1, 0.125f, 0.0625f, 0.5f}, 6);
    release(&p);
}

static void test_units_gltf_textures_multiply(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET_COLOR("base_color", 0.5f, 1, 1),
                                SET("metallic", 0.5f),
                                SET("roughness", 0.5f),
                                SET_BOOL("has_base_color_texture"),
                                SET_BOOL("has_metallic_roughness_texture"),
                                SET_BOOL("has_emission_texture"),
                                SET_COLOR("emission", 1, 2, 3),
                                SET("emission_strength", 4)};
    const Texel texels[] = {{"base_color_texture", {0.2f, 0.4f, 0.6f, 1}},
                            {"metallic_roughness_texture", {9, 0.8f, 0.5f, 1}},
                            {"emission_texture", {0.5f, 0.25f, 0, 1}}};
    SHADE("gltf_pbr", settings, texels, &plane);
    expect_lobe(&p, "Conductor", (float[]){0.25f, 0.25f, 0.25f}, (float[]){0.1f, 0.4f, 0.6f, 0.4f},
                4);
    expect_lobe(&p, "Emission", (float[]){4, 4, 4}, (float[]){0.5f, 0.5f, 0}, 3);
    uint32_t base = slot_of(&p, "base_color_texture");
    assert_true(p.s[base] == 0.25f && p.t[base] == 0.75f);
    assert_false(p.info->texture_is_used[slot_of(&p, "normal_texture")]);
    release(&p);
}

static void test_units_gltf_places_textures(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET_BOOL("has_base_color_texture"),
                                SET_BOOL("has_roughness_texture"),
                                SET_BOOL("has_uv_transforms"),
                                SET_INT("roughness_channel", 2),
                                SET_FLOAT4("base_color_uv", 3, 2, 0.1f, 0.2f),
                                SET("base_color_uv_rotation", 0.5f)};
    const Texel texels[] = {{"base_color_texture", {1, 1, 1, 1}},
                            {"roughness_texture", {0.1f, 0.2f, 0.3f, 1}}};
    SHADE("gltf_pbr", settings, texels, &plane);
    uint32_t base = slot_of(&p, "base_color_texture"), rough = slot_of(&p, "roughness_texture");
    const float c = cosf(0.5f), s = sinf(0.5f), x = 3 * 0.25f, y = 2 * 0.75f;
    assert_true(fabsf(p.s[base] - (0.1f + c * x - s * y)) < 1e-5f);
    assert_true(fabsf(p.t[base] - (0.2f + s * x + c * y)) < 1e-5f);
    assert_true(fabsf(p.s[rough] - 0.25f) < 1e-6f && fabsf(p.t[rough] - 0.75f) < 1e-6f);
    expect_lobe(&p, "Conductor", one, (float[]){1, 1, 1, 0.3f}, 4);
    release(&p);
}

/* A map that leans by the angle whose tangent is 3/4 toward u and v. */
static void test_units_gltf_normal_map_leans_along_u_and_v(void **state)
{
    (void)state;
    static const Surface sides[] = {
        {.uvw = {0}, .normal = {0, 0, 1}, .tangent = {1, 0, 0}, .tangent_sign = 1},
        {.uvw = {0}, .normal = {0, 0, 1}, .tangent = {1, 0, 0}, .tangent_sign = -1},
        /* from behind the normal has been turned, and the sign with it, since it goes with the normal;
         * the frame is that of the front */
        {.uvw = {0},
         .normal = {0, 0, -1},
         .tangent = {1, 0, 0},
         .tangent_sign = -1,
         .is_backfacing = true}};
    static const float toward_v[] = {0.6f, -0.6f, 0.6f};
    for (int side = 0; side < 3; ++side) {
        Point p;
        const Setting settings[] = {SET_BOOL("has_normal_texture")};
        const Texel leans_u[] = {{"normal_texture", {0.8f, 0.5f, 0.9f, 1}}};
        SHADE("gltf_pbr", settings, leans_u, &sides[side]);
        expect_lobe(&p, "Conductor", one, (float[]){1, 1, 1, 1, 0.6f, 0, 0.8f}, 7);
        const Texel leans_v[] = {{"normal_texture", {0.5f, 0.8f, 0.9f, 1}}};
        run(&p, settings, COUNT(settings), leans_v, COUNT(leans_v), &sides[side]);
        expect_lobe(&p, "Conductor", one, (float[]){1, 1, 1, 1, 0, toward_v[side], 0.8f}, 7);
        release(&p);
    }
}

static void test_units_gltf_alpha_modes(void **state)
{
    (void)state;
    static const struct {
        int mode;
        float texel_alpha, opacity;
    } rows[] = {{1, 0.7f, 0}, {1, 0.9f, 1}, {2, 0.5f, 0.25f}};
    for (size_t i = 0; i < COUNT(rows); ++i) {
        Point p;
        const Setting settings[] = {SET_INT("alpha_mode", rows[i].mode), SET("alpha", 0.5f),
                                    SET("alpha_cutoff", 0.4f), SET_BOOL("has_base_color_texture")};
        const Texel texels[] = {{"base_color_texture", {1, 1, 1, rows[i].texel_alpha}}};
        SHADE("gltf_pbr", settings, texels, &plane);
        float w = rows[i].opacity, rest = 1 - w;
        expect_lobe(&p, "Conductor", (float[]){w, w, w}, NULL, 0);
        expect_lobe(&p, "Transparent", (float[]){rest, rest, rest}, one, 3);
        release(&p);
        build("gltf_pbr", SSL_KERNEL_OPACITY, settings, COUNT(settings), &p);
        assert_int_equal(p.info->lobe_count, 1);
        release(&p);
    }
    Point p;
    const Setting opaque[] = {SET("alpha", 0.5f), SET_BOOL("has_base_color_texture")};
    build("gltf_pbr", SSL_KERNEL_OPACITY, opaque, COUNT(opaque), &p);
    assert_int_equal(p.info->lobe_count, 0); /* shadow rays need no kernel */
    release(&p);
    build("gltf_pbr", SSL_KERNEL_EMISSION, opaque, COUNT(opaque), &p);
    assert_int_equal(p.info->lobe_count, 0);
    release(&p);
}

/* --- standard_surface ---------------------------------------------------------------------- */

static void test_units_standard_surface_textures_replace(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET("metallic", 1), SET_BOOL("has_base_color_texture"),
                                SET_BOOL("has_metallic_texture"), SET_BOOL("has_roughness_texture"),
                                SET("base", 0.5f)};
    const Texel texels[] = {{"base_color_texture", {0.2f, 0.4f, 0.6f, 1}},
                            {"metallic_texture", {0.25f, 9, 9, 1}},
                            {"roughness_texture", {0.7f, 9, 9, 1}}};
    SHADE("standard_surface", settings, texels, &plane);
    assert_int_equal(p.info->lobe_count, 2);
    expect_lobe(&p, "Plastic", (float[]){0.75f, 0.75f, 0.75f},
                (float[]){0.1f, 0.2f, 0.3f, 0.04f, 0.04f, 0.04f, 0.7f}, 7);
    expect_lobe(&p, "Conductor", (float[]){0.25f, 0.25f, 0.25f}, (float[]){0.1f, 0.2f, 0.3f, 0.7f},
                4);
    release(&p);
}

static void test_units_standard_surface_glass_is_one_lobe(void **state)
{
    (void)state;
    Point p;
    const Setting settings[] = {SET("transmission", 1), SET("metallic", 0),
                                SET_COLOR("transmission_color", 0.3f, 0.5f, 0.45f)};
    SHADE("standard_surface", settings, no_texels, &plane);
    assert_int_equal(p.info->lobe_count, 1);
    expect_lobe(&p, "Dielectric", one, (float[]){1.5f, 0.2f, 1, 1, 1, 0.3f, 0.5f, 0.45f, 0, 0, 1},
                11);
    release(&p);
}

/* --- bodies as Blender has them -------------------------------------------------------------- */

/* Light walks in them, but for paths that came from a diffuse surface, which see a diffuse one. */
static void test_units_bodies_are_diffuse_for_diffuse_light(void **state)
{
    (void)state;
    static const float none[3] = {0, 0, 0}, albedo[] = {0.8f, 0.4f, 0.2f};
    const struct {
        const char *unit, *body, *diffuse;
        Setting settings[2];
    } cases[] = {
        {"subsurface_scattering", "Subsurface", "Lambert", {SET_COLOR("tint", 0.8f, 0.4f, 0.2f)}},
        {"principled_bsdf_4",
         "RefractedSubsurface",
         "Lambert",
         {SET_COLOR("base_color", 0.8f, 0.4f, 0.2f), SET("subsurface_weight", 1)}},
        {"principled_bsdf",
         "Subsurface",
         "DisneyDiffuse",
         {SET_COLOR("subsurface_color", 0.8f, 0.4f, 0.2f), SET("subsurface", 1)}},
    };
    Surface after = plane;
    after.diffuse_depth = 2;
    for (size_t i = 0; i < COUNT(cases); ++i) {
        Point p;
        uint32_t count = cases[i].settings[1].name ? 2 : 1;
        build(cases[i].unit, SSL_KERNEL_SHADE, cases[i].settings, count, &p);
        run(&p, cases[i].settings, count, no_texels, COUNT(no_texels), &plane);
        const SslLobeSlot *body = lobe_of(&p, cases[i].body);
        assert_non_null(body);
        assert_true(number_at(&p, body->weight_offset, 0) > 0);
        expect_lobe(&p, cases[i].diffuse, none, NULL, 0);
        run(&p, cases[i].settings, count, no_texels, COUNT(no_texels), &after);
        expect_lobe(&p, cases[i].body, none, NULL, 0);
        expect_lobe(&p, cases[i].diffuse, one, albedo, 3);
        release(&p);
    }
}

/* A base without a body does not ask what came before. */
static void test_units_surfaces_without_bodies_read_no_bounces(void **state)
{
    (void)state;
    static const char *const units[] = {"principled_bsdf", "principled_bsdf_4"};
    for (size_t i = 0; i < COUNT(units); ++i) {
        Point p;
        build(units[i], SSL_KERNEL_SHADE, NULL, 0, &p);
        assert_false(p.info->globals_value >> GLOBAL_diffuse_depth & 1);
        release(&p);
    }
}

static void test_units_compile_with_every_switch_on(void **state)
{
    (void)state;
    for (const EmbeddedText *unit = unit_library_all(); unit->name; ++unit) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(unit->name, "."), unit->name);
        Setting all[VALUES_MAX];
        uint32_t count = 0;
        Point p;
        build(name, SSL_KERNEL_SHADE, NULL, 0, &p);
        const SslUnitInfo *info = ssl_unit_info(p.unit);
        for (uint32_t i = 0; i < info->param_count; ++i)
            if (info->params[i].type == SSL_BOOL)
                all[count++] =
                    (Setting){strdup(info->params[i].name), {.type = SSL_BOOL, .b = true}};
        /* a weight of 0 would drop the lookup that it is multiplied with */
        static const char *const weights[] = {"transmission", "emission", "emission_strength",
                                              "metallic"};
        for (uint32_t i = 0; i < info->param_count; ++i)
            for (uint32_t k = 0; k < COUNT(weights); ++k)
                if (info->params[i].type == SSL_FLOAT &&
                    strcmp(info->params[i].name, weights[k]) == 0)
                    all[count++] = (Setting){strdup(weights[k]), {.type = SSL_FLOAT, .f = {0.5f}}};
        release(&p);
        build(name, SSL_KERNEL_SHADE, all, count, &p);
        for (uint32_t i = 0; i < p.info->unit->texture_count; ++i)
            assert_true(p.info->texture_is_used[i]);
        release(&p);
        for (uint32_t i = 0; i < count; ++i)
            free(cast_away_const(all[i].name));
    }
}

static int set_up(void **state)
{
    (void)state;
    SslContextDesc desc = {.size_bytes = sizeof desc};
    ssl_tables_describe(&desc);
    ssl_globals_layout(desc.globals, desc.global_count, &layout);
    return ssl_context_create(&desc, &context, NULL) != STATUS_OK;
}

static int tear_down(void **state)
{
    (void)state;
    ssl_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_gltf_opaque_metal_is_one_lobe),
        cmocka_unit_test(test_units_gltf_plastic_glass_and_metal_share_by_weight),
        cmocka_unit_test(test_units_gltf_specular_scales_and_tints_the_reflection),
        cmocka_unit_test(test_units_gltf_textures_multiply),
        cmocka_unit_test(test_units_gltf_places_textures),
        cmocka_unit_test(test_units_gltf_normal_map_leans_along_u_and_v),
        cmocka_unit_test(test_units_gltf_alpha_modes),
        cmocka_unit_test(test_units_standard_surface_textures_replace),
        cmocka_unit_test(test_units_standard_surface_glass_is_one_lobe),
        cmocka_unit_test(test_units_bodies_are_diffuse_for_diffuse_light),
        cmocka_unit_test(test_units_surfaces_without_bodies_read_no_bounces),
        cmocka_unit_test(test_units_compile_with_every_switch_on),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
