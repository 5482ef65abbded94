#include "sort/shade/shade.h"

#include "base/check.h"
#include "sort/bsdf/closure_table.h"
#include "sort/sampling/warp.h"
#include "sort/shade/attributes_fill.h"
#include "sort/shade/globals_fill.h"
#include "sort/shade/question_service.h"
#include "sort/shade/texture_service.h"
#include "ssl/rt/rt.h"
#include "ssl/ssl_limits.h"
#include <string.h>

struct ShadeContext {
    struct SslHost host;
    ShadeContextDesc desc;
    SslGlobalsLayout layout;
    void *globals, *attributes, *results; /* 64-byte aligned; room for SHADE_CHUNK points */
    const SurfaceBlock *surfaces;         /* of the last run */
    uint32_t count;
    SurfaceBlock *own;               /* a block for surfaces that no ray met */
    bool has_curves;                 /* some mesh of the scene is one of curves */
    const BsdfDef *const *closures;  /* [closure_count]; NULL for what is no lobe */
    const BsdfDef *lambert;          /* of these; see shade_white */
    BsdfBlock *blocks[SHADE_BLOCKS]; /* the terms of SSL_BLOCK points each */
    uint32_t gathered[SHADE_BLOCKS]; /* 1 + the block of the last run that each has; 0: none */
    /* [SSL_MAX_LOBE_SLOTS] by slot: the weight of what a layer covers. */
    BsdfRow (*below)[3];
    BsdfRow *white_args; /* [6], see shade_white */
    ShadeCounters counters;
};

float shade_footprint_scale(uint32_t nominal_samples)
{
    return fmaxf(1.0f / sqrtf((float)(nominal_samples > 0 ? nominal_samples : 1)), 0.125f);
}

float shade_pixel_scale(const ShadeContext *ctx)
{
    return ctx->host.footprint_scale;
}

/* --- the context -------------------------------------------------------------------------------- */

/* The largest numbers of terms, lobes and rows of state that a kernel's closures take. */
typedef struct BsdfRoom {
    uint32_t terms, lobes, state_rows;
} BsdfRoom;

static void make_room(const SslProgramInfo *info, const BsdfDef *const *closures, BsdfRoom *room)
{
    BsdfRoom wanted = {.terms = info->lobe_count};
    for (uint32_t s = 0; s < info->lobe_count; ++s) {
        const BsdfDef *def = closures[info->lobes[s].closure];
        wanted.lobes += def ? def->lobe_count : 0;
        wanted.state_rows += def ? def->state_rows : 0;
    }
    room->terms = room->terms > wanted.terms ? room->terms : wanted.terms;
    room->lobes = room->lobes > wanted.lobes ? room->lobes : wanted.lobes;
    room->state_rows = room->state_rows > wanted.state_rows ? room->state_rows : wanted.state_rows;
}

Status shade_context_create(const ShadeContextDesc *desc, Arena *arena, ShadeContext **out_ctx,
                            Error *err)
{
    enum { BLOCKS = SHADE_CHUNK / SSL_BLOCK };
    ShadeContext *ctx = ARENA_NEW(arena, ShadeContext);
    size_t result_stride = 64, attributes_stride = 64;
    uint32_t draw_sites = 0;
    bool asks = false;
    const BsdfDef *const *closures = material_set_closures(desc->materials);
    const BsdfDef *lambert = closures[closure_find("Lambert")];
    BsdfRoom room = {.terms = 1, .lobes = 1, .state_rows = lambert->state_rows};
    for (uint32_t m = 0; m < desc->scene->material_count; ++m)
        for (int kind = 0; kind < 3; ++kind) {
            const MaterialProgram *p = &material_set_get(desc->materials, m)->programs[kind];
            if (p->kernel && p->info->result_stride_bytes > result_stride)
                result_stride = p->info->result_stride_bytes;
            if (p->kernel && p->info->attributes_stride_bytes > attributes_stride)
                attributes_stride = p->info->attributes_stride_bytes;
            if (p->kernel && p->is_stochastic && p->info->texture_site_count > draw_sites)
                draw_sites = p->info->texture_site_count;
            asks = asks || (p->kernel && p->info->questions != 0);
            if (p->kernel)
                make_room(p->info, closures, &room);
        }
    if (ctx) {
        *ctx = (ShadeContext){.desc = *desc,
                              .host = {.store = desc->store,
                                       .footprint_scale = desc->footprint_scale,
                                       .sampler = desc->sampler,
                                       .probe = desc->probe}};
        for (int d = 0; d < SHADE_BIAS_DEPTHS; ++d)
            ctx->host.depth_scale[d] = rt_exp2(desc->depth_bias[d]);
        ssl_globals_layout(sort_ssl_globals, GLOBAL_COUNT, &ctx->layout);
        texcache_caller_init(&ctx->host.caller, desc->tex_thread, desc->waiter);
        ctx->globals = arena_alloc(arena, (size_t)BLOCKS * ctx->layout.stride_bytes, 64);
        ctx->attributes = arena_alloc(arena, BLOCKS * attributes_stride, 64);
        ctx->results = arena_alloc(arena, BLOCKS * result_stride, 64);
        ctx->closures = closures;
        ctx->lambert = lambert;
        for (int k = 0; k < SHADE_BLOCKS; ++k)
            ctx->blocks[k] = bsdf_block_create(arena, room.terms, room.lobes, room.state_rows);
        ctx->own = arena_alloc(arena, sizeof *ctx->own, 64);
        for (uint32_t m = 0; m < desc->scene->mesh_count; ++m)
            ctx->has_curves = ctx->has_curves || desc->scene->meshes[m].curves;
        ctx->white_args = arena_alloc(arena, 6 * sizeof *ctx->white_args, 64);
        ctx->below = arena_alloc(arena, SSL_MAX_LOBE_SLOTS * sizeof *ctx->below, 64);
        ctx->host.draws = ARENA_ARRAY(arena, uint16_t, (size_t)draw_sites *SHADE_CHUNK + 1);
    }
    if (!ctx || !ctx->globals || !ctx->attributes || !ctx->results || !ctx->host.draws ||
        !ctx->blocks[SHADE_BLOCKS - 1] || !ctx->below || !ctx->white_args || !ctx->own)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    if (asks && desc->accel)
        TRY(question_rays_create(desc->scene, desc->accel, arena, &ctx->host.questions, err));
    *out_ctx = ctx;
    return STATUS_OK;
}

static const uint32_t *fault_word(const ShadeContext *ctx, uint32_t i)
{
    const SslProgramInfo *info = ctx->host.program->info;
    ASSERT(i < ctx->count);
    const char *block =
        (const char *)ctx->results + (size_t)(i / SSL_BLOCK) * info->result_stride_bytes;
    const void *words = block + info->fault_offset;
    return (const uint32_t *)words + i % SSL_BLOCK;
}

static void count_faults(ShadeContext *ctx)
{
    const MaterialProgram *p = ctx->host.program;
    for (uint32_t i = 0; p->info->fault_site_count > 0 && i < ctx->count; ++i) {
        uint32_t word = *fault_word(ctx, i);
        if (word != 0)
            atomic_fetch_add_explicit(&p->faults[word - 1], 1, memory_order_relaxed);
    }
}

/* Fills the rows of global_value<sample_width>. */
static void fill_sample_width(ShadeContext *ctx, const SurfaceBlock *surfaces, uint32_t block_count)
{
    for (uint32_t b = 0; b < block_count; ++b) {
        float *row = (float *)((char *)ctx->globals + (size_t)b * ctx->layout.stride_bytes) +
                     ctx->layout.offset_floats[GLOBAL_sample_width];
        for (uint32_t k = 0; k < surfaces[b].count; ++k)
            row[k] = footprint_scale_at(&ctx->host, surface_depth((SurfaceLane){&surfaces[b], k}),
                                        surfaces[b].history[k].is_cone);
    }
}

static const SslServices services = {
    .size_bytes = sizeof services, .tex_lookup = texture_service_look_up, .ask = question_answer};

bool shade_run(ShadeContext *ctx, uint32_t material, SslKernelKind kind,
               const SurfaceBlock *surfaces, uint32_t count)
{
    enum { BLOCKS = SHADE_CHUNK / SSL_BLOCK };
    ASSERT(count > 0 && count <= SHADE_CHUNK && material < ctx->desc.scene->material_count);
    const MaterialProgram *p = &material_set_get(ctx->desc.materials, material)->programs[kind];
    if (!p->kernel)
        return false;
    ctx->surfaces = surfaces;
    ctx->count = count;
    memset(ctx->gathered, 0, sizeof ctx->gathered);
    uint32_t block_count = (count + SSL_BLOCK - 1) / SSL_BLOCK;
    texture_service_begin(&ctx->host, p, surfaces);
    ctx->host.kind = kind;
    globals_fill(ctx->desc.scene, surfaces, block_count, p->info->globals_value,
                 p->info->globals_derivs, &ctx->layout, ctx->globals);
    if (p->info->globals_value >> GLOBAL_sample_width & 1)
        fill_sample_width(ctx, surfaces, block_count);
    if (p->info->attributes_stride_bytes > 0)
        attributes_fill(ctx->desc.scene, p->info, p->attributes, surfaces, count, ctx->attributes);
    uint16_t live[BLOCKS];
    for (uint32_t b = 0; b < block_count; ++b) {
        uint32_t left = count - b * SSL_BLOCK;
        live[b] = left >= SSL_BLOCK ? 0xffff : (uint16_t)((1u << left) - 1u);
    }
    SslBatch batch = {.globals = ctx->globals,
                      .attributes = ctx->attributes,
                      .live = live,
                      .result = ctx->results,
                      .params = p->params,
                      .textures = p->textures,
                      .services = &services,
                      .host = &ctx->host,
                      .block_count = block_count,
                      .loop_budget = SHADE_LOOP_BUDGET,
                      .stack_bytes = SHADE_STACK_BYTES};
    p->kernel(&batch);
    count_faults(ctx);
    ctx->counters.points += count;
    ctx->counters.kernel_calls += 1;
    return true;
}

/* --- results ---------------------------------------------------------------------------------------- */

/* Marks the points on curves. */
static void mark_fibres(const Scene *scene, const SurfaceBlock *surfaces, BsdfView *v)
{
    for (uint32_t i = 0; i < surfaces->count; ++i) {
        uint32_t instance = surface_instance((SurfaceLane){surfaces, i});
        if (instance != HIT_NO_INSTANCE && scene->meshes[scene->instances[instance].mesh].curves)
            v->options[i] = BSDF_ON_FIBRE;
    }
}

/* Sets the shading normals that shadow bumps, on the side of the geometric ones. */
static void set_unbent(const SurfaceBlock *surfaces, bool is_soft, BsdfView *v)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        v->options[i] |= is_soft ? BSDF_SOFT_BUMPS : 0;
        float cosine = surfaces->N[0][i] * v->Ng[0][i] + surfaces->N[1][i] * v->Ng[1][i] +
                       surfaces->N[2][i] * v->Ng[2][i];
        for (uint32_t c = 0; c < 3; ++c)
            v->unbent[c][i] = cosine < 0.0f ? -surfaces->N[c][i] : surfaces->N[c][i];
    }
}

/* Fills the view of the block's points: as programs see them, the geometric normal faces the viewer. */
static void fill_view(const ShadeContext *ctx, const SurfaceBlock *surfaces,
                      const float least_alpha[SSL_BLOCK], BsdfView *v)
{
    const Scene *scene = ctx->desc.scene;
    memset(v->options, 0, sizeof v->options);
    memset(v->unbent, 0, sizeof v->unbent);
    memset(v->blur, 0, sizeof v->blur);
    if (least_alpha)
        memcpy(v->blur, least_alpha, sizeof v->blur);
    for (uint32_t c = 0; c < 3; ++c)
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            v->wo[c][i] = -surfaces->I[c][i];
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        float cosine = v->wo[0][i] * surfaces->Ng_front[0][i] +
                       v->wo[1][i] * surfaces->Ng_front[1][i] +
                       v->wo[2][i] * surfaces->Ng_front[2][i];
        bool is_inside = cosine < 0.0f;
        v->outside[i] = !is_inside;
        for (uint32_t c = 0; c < 3; ++c)
            v->Ng[c][i] = is_inside ? -surfaces->Ng_front[c][i] : surfaces->Ng_front[c][i];
    }
    if (ctx->has_curves)
        mark_fibres(scene, surfaces, v);
    const SceneMaterial *material = &scene->materials[surfaces->material];
    for (uint32_t i = 0; i < SSL_BLOCK && material->keeps_radiance; ++i)
        v->options[i] |= BSDF_KEEPS_RADIANCE;
    if (material->shadows_bumps)
        set_unbent(surfaces, material->soft_bump_shadows, v);
}

/* Returns the points of the block that exist and whose shader had no fault. The others emit magenta. */
static uint16_t good_points(const ShadeContext *ctx, uint32_t first, BsdfBlock *b)
{
    uint32_t left = ctx->count - first;
    uint16_t good = 0;
    if (ctx->host.program->info->fault_site_count == 0)
        return left < SSL_BLOCK ? (uint16_t)((1u << left) - 1u) : 0xffff;
    for (uint32_t i = 0; i < SSL_BLOCK && i < left; ++i) {
        if (*fault_word(ctx, first + i) == 0)
            good = (uint16_t)(good | 1u << i);
        else
            b->emission[0][i] = b->emission[2][i] = 1.0f, b->has_emission = true;
    }
    return good;
}

/* Multiplies the weights of a slot by the fraction of light that the layers above it let through. */
static void dim(const float *weight, const BsdfRow factor[3], BsdfRow out[3])
{
    for (uint32_t c = 0; c < 3; ++c)
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            out[c][i] = weight[c * SSL_BLOCK + i] * factor[c][i];
}

/* Returns the place of the block that points [first, first + SSL_BLOCK) are gathered in. */
static uint32_t place_of(uint32_t first)
{
    return first / SSL_BLOCK % SHADE_BLOCKS;
}

/* Adds the terms of all closures of points [first, first + SSL_BLOCK). Layers come before what they cover, and dim it. */
static void gather(ShadeContext *ctx, uint32_t first, const float least_alpha[SSL_BLOCK])
{
    const SslProgramInfo *info = ctx->host.program->info;
    const char *results =
        (const char *)ctx->results + (size_t)(first / SSL_BLOCK) * info->result_stride_bytes;
    BsdfBlock *b = ctx->blocks[place_of(first)];
    fill_view(ctx, &ctx->surfaces[first / SSL_BLOCK], least_alpha, &b->view);
    bsdf_block_begin(b);
    uint16_t good = good_points(ctx, first, b);
    ASSERT(info->lobe_count <= SSL_MAX_LOBE_SLOTS);
    for (uint32_t s = 0; s < info->lobe_count; ++s) {
        const SslLobeSlot *slot = &info->lobes[s];
        const BsdfDef *def = ctx->closures[slot->closure];
        alignas(64) BsdfRow dimmed[3];
        uint16_t live;
        memcpy(&live, results + slot->mask_offset, sizeof live);
        live &= good;
        const void *weights = results + slot->weight_offset, *numbers = results + slot->args_offset;
        const float *weight = weights, *args = numbers;
        ASSERT(slot->parent < (int32_t)s); /* a layer comes before what it covers */
        if (slot->parent >= 0) {
            dim(weight, ctx->below[slot->parent], dimmed);
            weight = dimmed[0];
        }
        if (!def) {
            bsdf_block_add_sum(b, (ClosureSum)slot->closure, args, weight, live);
            continue;
        }
        const BsdfTerm *term = bsdf_block_add(b, def, args, weight, live);
        const float *factor = term ? bsdf_term_base_factor(term) : NULL;
        for (uint32_t i = 0; i < SSL_BLOCK && def->base_factor != BSDF_NO_ROW; ++i)
            for (uint32_t c = 0; c < 3; ++c)
                ctx->below[s][c][i] = factor && (term->live >> i & 1)
                                          ? weight[c * SSL_BLOCK + i] * factor[c * SSL_BLOCK + i]
                                          : 0.0f;
    }
    ctx->gathered[place_of(first)] = first / SSL_BLOCK + 1;
}

const BsdfBlock *shade_block(ShadeContext *ctx, uint32_t first, const float least_alpha[SSL_BLOCK])
{
    ASSERT(first % SSL_BLOCK == 0 && first < ctx->count);
    gather(ctx, first, least_alpha);
    return ctx->blocks[place_of(first)];
}

const BsdfBlock *shade_white(ShadeContext *ctx, const SurfaceBlock *surfaces)
{
    BsdfBlock *b = ctx->blocks[0];
    BsdfRow *args = ctx->white_args; /* of Lambert: albedo and N */
    fill_view(ctx, surfaces, NULL, &b->view);
    memset(b->view.unbent, 0, sizeof b->view.unbent);
    for (uint32_t c = 0; c < 3; ++c) /* the ray comes from behind the surface */
        for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
            b->view.wo[c][i] = -b->view.wo[c][i];
            b->view.Ng[c][i] = -b->view.Ng[c][i];
            args[c][i] = 1.0f;
            args[3 + c][i] = surfaces->N[c][i];
        }
    bsdf_block_begin(b);
    ctx->gathered[0] = 0;
    (void)bsdf_block_add(b, ctx->lambert, args[0], args[0],
                         (uint16_t)((1u << surfaces->count) - 1u));
    return b;
}

/* Returns point i of the last run, whose block is gathered unless it still is. */
static BsdfPoint gathered_point(ShadeContext *ctx, uint32_t i)
{
    ASSERT(i < ctx->count);
    uint32_t place = place_of(i);
    if (ctx->gathered[place] != i / SSL_BLOCK + 1)
        gather(ctx, i - i % SSL_BLOCK, NULL);
    return (BsdfPoint){ctx->blocks[place], i % SSL_BLOCK};
}

Spectrum shade_emission(ShadeContext *ctx, uint32_t i)
{
    return bsdf_point_emission(gathered_point(ctx, i));
}

Spectrum shade_transparency(ShadeContext *ctx, uint32_t i)
{
    return spectrum_clamp(bsdf_point_transparency(gathered_point(ctx, i)), 0.0f, 1.0f);
}

/* Returns whether the kernel's lobes are the same at every point of one side: no number of the surface, the path or the
 * viewer comes into them. */
static bool is_constant_by_side(const MaterialProgram *p)
{
    const SslProgramInfo *info = p->info;
    if (!p->kernel || (info->globals_value & ~((uint64_t)1 << GLOBAL_backfacing)) != 0 ||
        info->globals_derivs != 0 || info->attributes_stride_bytes > 0 ||
        info->texture_site_count > 0 || info->questions != 0 || info->fault_site_count > 0)
        return false;
    for (uint32_t s = 0; s < info->lobe_count; ++s)
        if (info->lobes[s].parent >= 0) /* layers dim by the viewer's direction */
            return false;
    return true;
}

static bool only_emits(const SslProgramInfo *info)
{
    for (uint32_t s = 0; s < info->lobe_count; ++s)
        if (info->lobes[s].closure != CLOSURE_EMISSION)
            return false;
    return true;
}

/* Runs the emission kernel of a material at the first surfaces of the context's own block. Returns whether there is one. */
static bool run_emission(ShadeContext *ctx, uint32_t material, uint32_t count)
{
    ASSERT(count <= SSL_BLOCK);
    ctx->own->count = count;
    ctx->own->material = material;
    return shade_run(ctx, material, SSL_KERNEL_EMISSION, ctx->own, count);
}

ShadeGlow shade_glow(ShadeContext *ctx, uint32_t material)
{
    const MaterialProgram *programs = material_set_get(ctx->desc.materials, material)->programs;
    const MaterialProgram *surface = &programs[SSL_KERNEL_SHADE];
    const SurfaceHit sides[2] = {
        {.instance = HIT_NO_INSTANCE, .I = {0, 0, -1}, .Ng_front = {0, 0, 1}},
        {.instance = HIT_NO_INSTANCE,
         .I = {0, 0, -1},
         .Ng_front = {0, 0, -1},
         .is_backfacing = true}};
    ShadeGlow glow = {.is_constant = is_constant_by_side(&programs[SSL_KERNEL_EMISSION])};
    for (uint32_t k = 0; k < 2; ++k)
        surface_set(ctx->own, k, &sides[k]);
    if (!glow.is_constant || !run_emission(ctx, material, 2))
        return (ShadeGlow){0};
    glow.is_all = is_constant_by_side(surface) && only_emits(surface->info);
    glow.front = shade_emission(ctx, 0);
    glow.back = shade_emission(ctx, 1);
    return glow;
}

static float2 scaled(float2 v, float s)
{
    return f2(v.x * s, v.y * s);
}

EnvironmentFootprint shade_environment_footprint(const ShadeContext *ctx, float3 direction,
                                                 const RayDiff *diff, uint32_t depth)
{
    EnvironmentFootprint fp =
        environment_footprint(&ctx->desc.scene->environment, direction, diff->dDdx, diff->dDdy);
    /* Textures of a material are looked up with footprints that are scaled there. */
    if (ctx->desc.scene->environment.kind == SCENE_ENVIRONMENT_MATERIAL)
        return fp;
    float scale = footprint_scale_at(&ctx->host, depth, false);
    fp.duvdx = scaled(fp.duvdx, scale);
    fp.duvdy = scaled(fp.duvdy, scale);
    return fp;
}

/* Looks up the environment's image for at most SSL_BLOCK footprints. */
static void look_up_environment(ShadeContext *ctx, const EnvironmentFootprint *footprints,
                                const uint32_t *depths, uint32_t count, Spectrum *out_radiance)
{
    ASSERT(count > 0 && count <= SSL_BLOCK);
    TexOptions options = material_set_sky_options(ctx->desc.materials);
    float coord[7 * SSL_BLOCK], rgba[4 * SSL_BLOCK];
    for (uint32_t k = 0; k < count; ++k) {
        const EnvironmentFootprint *fp = &footprints[k];
        const float values[7] = {fp->uv.x,    fp->uv.y,    fp->duvdx.x, fp->duvdx.y,
                                 fp->duvdy.x, fp->duvdy.y, 0.0f};
        for (uint32_t i = 0; i < 7; ++i)
            coord[i * count + k] = values[i];
    }
    const SceneEnvironment *environment = &ctx->desc.scene->environment;
    TexId texture = {0};
    if (environment->kind == SCENE_ENVIRONMENT_IMAGE)
        texture = texture_store_await(ctx->desc.store, environment->texture, ctx->desc.waiter);
    TexRequest request = {.texture = texture,
                          .options = &options,
                          .lane_count = count,
                          .lane_mask = (1u << count) - 1u,
                          .depths = depths,
                          .coord = coord};
    texcache_lookup(&ctx->host.caller, &request, rgba);
    if (SORT_UNLIKELY(ctx->host.probe != NULL))
        texture_probe_tell(ctx->host.probe,
                           (TextureProbeLookup){.request = &request, .result = rgba});
    float strength = environment->strength;
    for (uint32_t k = 0; k < count; ++k)
        out_radiance[k] = spectrum_scale(
            spectrum_from_rgb(f3(rgba[k], rgba[count + k], rgba[2 * count + k])), strength);
}

/* Returns a point inside the sphere of radius 1 around the world's origin, which stands for the sky. */
static SurfaceHit sky_point(const SceneEnvironment *e, const EnvironmentFootprint *fp,
                            uint32_t depth, const PathHistory *history)
{
    SurfaceHit hit = {.instance = HIT_NO_INSTANCE, .depth = depth};
    hit.P = hit.I = environment_direction(e, fp->uv);
    hit.N = hit.Ng = hit.Ng_front = f3_neg(hit.P);
    float3 up = mat4_vector(&e->environment_to_world, f3(0, 1, 0));
    float3 east = f3_cross(hit.P, up); /* as u grows; its length is that of the parallel's radius */
    float3 north = f3_cross(east, hit.P);
    float ring = f3_length(east);
    hit.T = ring > 0.0f ? f3_scale(east, 1.0f / ring) : f3(1, 0, 0);
    north = ring > 0.0f ? f3_scale(north, SORT_PI / ring) : f3(0, 0, 0);
    hit.tangent_sign = 1.0f;
    float turn = 2.0f * SORT_PI;
    hit.dPdx = f3_madd(f3_scale(east, turn * fp->duvdx.x), fp->duvdx.y, north);
    hit.dPdy = f3_madd(f3_scale(east, turn * fp->duvdy.x), fp->duvdy.y, north);
    hit.dIdx = hit.dPdx, hit.dIdy = hit.dPdy;
    hit.dNdx = f3_neg(hit.dPdx), hit.dNdy = f3_neg(hit.dPdy);
    hit.uv = fp->uv, hit.duvdx = fp->duvdx, hit.duvdy = fp->duvdy;
    hit.history = *history;
    return hit;
}

/* Runs the environment's material for at most SSL_BLOCK footprints. */
static void run_environment(ShadeContext *ctx, const EnvironmentFootprint *footprints,
                            const uint32_t *depths, const PathHistory *histories, uint32_t count,
                            Spectrum *out_radiance)
{
    const SceneEnvironment *e = &ctx->desc.scene->environment;
    ASSERT(count <= SSL_BLOCK && e->kind == SCENE_ENVIRONMENT_MATERIAL);
    for (uint32_t k = 0; k < count; ++k) {
        SurfaceHit hit = sky_point(e, &footprints[k], depths[k], &histories[k]);
        surface_set(ctx->own, k, &hit);
    }
    bool emits = run_emission(ctx, e->material, count);
    for (uint32_t k = 0; k < count; ++k)
        out_radiance[k] = emits ? shade_emission(ctx, k) : spectrum_splat(0.0f);
}

void shade_environment(ShadeContext *ctx, const EnvironmentFootprint *footprints,
                       const uint32_t *depths, const PathHistory *histories, uint32_t count,
                       Spectrum *out_radiance)
{
    bool is_material = ctx->desc.scene->environment.kind == SCENE_ENVIRONMENT_MATERIAL;
    uint32_t n;
    for (uint32_t begin = 0; begin < count; begin += n) {
        n = count - begin < SSL_BLOCK ? count - begin : SSL_BLOCK;
        if (is_material)
            run_environment(ctx, footprints + begin, depths + begin, histories + begin, n,
                            out_radiance + begin);
        else
            look_up_environment(ctx, footprints + begin, depths + begin, n, out_radiance + begin);
    }
}

Spectrum shade_light_material(ShadeContext *ctx, const SceneLight *light)
{
    const mat4 *m = &light->light_to_world;
    ASSERT(light->material > 0);
    float3 back = mat4_vector(m, f3(0, 0, 1));
    SurfaceHit hit = {.instance = HIT_NO_INSTANCE,
                      .depth = 1,
                      .P = mat4_point(m, f3(0, 0, 0)),
                      .I = back,
                      .N = f3_neg(back),
                      .T = mat4_vector(m, f3(1, 0, 0)),
                      .tangent_sign = 1.0f,
                      .history = {0}};
    if (light->kind == SCENE_LIGHT_DISTANT)
        hit.P = back; /* a point of the sky */
    hit.Ng = hit.Ng_front = hit.N;
    surface_set(ctx->own, 0, &hit);
    return run_emission(ctx, light->material - 1, 1) ? shade_emission(ctx, 0)
                                                     : spectrum_splat(0.0f);
}

ShadeCounters shade_counters(const ShadeContext *ctx)
{
    ShadeCounters counters = ctx->counters;
    counters.texture_calls = ctx->host.texture_calls;
    return counters;
}
