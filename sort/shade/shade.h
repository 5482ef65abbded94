/* Shading: surface points of one material through its kernel, results as lobes.
 *
 *   shade_run(ctx, material, kind, hits, n)      n <= SHADE_CHUNK; may wait for textures
 *   shade_bsdf / shade_emission / shade_opacity  the result of point i, until the next run
 *
 * One context a fiber: it owns the blocks that kernels read and write, and it is the host that texture
 * calls come back to. */
#ifndef SORT_SHADE_SHADE_H
#define SORT_SHADE_SHADE_H

#include "base/arena.h"
#include "sort/bsdf/bsdf.h"
#include "sort/light/environment.h"
#include "sort/sampling/sampler.h"
#include "sort/shade/hit.h"
#include "sort/shade/material.h"
#include "ssl/ssl_limits.h"

enum {
    SHADE_CHUNK = 256,
    SHADE_BIAS_DEPTHS = 4,
    SHADE_LOOP_BUDGET = 1 << 20,
    /* What a fiber needs that shades: recursion in shaders, a kernel's frame, and the host above and below it. */
    SHADE_STACK_BYTES = 96 * 1024,
    SHADE_HOST_BYTES = 128 * 1024,
    SHADE_FIBER_BYTES = SHADE_STACK_BYTES + SSL_MAX_FRAME_BYTES + SHADE_HOST_BYTES
};

typedef struct ShadeContext ShadeContext;

typedef struct ShadeContextDesc {
    size_t size_bytes;  /* sizeof(ShadeContextDesc) */
    const Scene *scene; /* borrowed, as all below */
    const MaterialSet *materials;
    TextureStore *store; /* of the scene's textures; NULL: all are the missing colour */
    TexThread *tex_thread;
    Waiter *waiter;
    float footprint_scale; /* see shade_footprint_scale */
    float
        depth_bias[SHADE_BIAS_DEPTHS]; /* mip levels more by path depth; the last for all deeper */
    Sampler sampler;                   /* of stochastic texture filters */
    const struct TextureProbe *probe;  /* told of every lookup (texture_probe.h); NULL: nobody */
} ShadeContextDesc;

/* Texture footprints that are a pixel's shrink by 1/sqrt(samples per pixel), since that many samples share its area;
 * not below 1/8, so that a very long render still profits from filtering. The cone of a scattered sample stays as it is:
 * docs/decisions/0004. */
float shade_footprint_scale(uint32_t nominal_samples);
/* The one that the context has: what a sample's footprint is of a pixel's. */
float shade_pixel_scale(const ShadeContext *ctx);

/* In `arena`, with room for every material of the set. */
Status shade_context_create(const ShadeContextDesc *desc, Arena *arena, ShadeContext **out_ctx,
                            Error *err) SORT_MUST_CHECK;

/* False when the material has no kernel of this kind: nothing emits, or all is opaque. */
bool shade_run(ShadeContext *ctx, uint32_t material, SslKernelKind kind,
               const SurfaceHit *const *hits, uint32_t count);
/* Point i of the last run of kind SHADE. A point whose shader ran into a fault glows in magenta. least_alpha: see
 * bsdf_blur. */
void shade_bsdf(const ShadeContext *ctx, uint32_t i, float least_alpha, Bsdf *out_bsdf);
/* Point i of the last run of any kind that has such closures: radiance toward the viewer. */
Spectrum shade_emission(const ShadeContext *ctx, uint32_t i);
/* The share of light that passes straight through, per channel. */
Spectrum shade_transparency(const ShadeContext *ctx, uint32_t i);

/* Radiance of the environment's image or material in each of `count` footprints. May wait. depths and paths:
 * of the rays. Ends the last run. */
void shade_environment(ShadeContext *ctx, const EnvironmentFootprint *footprints,
                       const uint32_t *depths, const PathHistory *histories, uint32_t count,
                       Spectrum *out_radiance);
/* What the material of a light, which has one, emits along its axis: as an indirect ray meets it. May wait. Ends the last run. */
Spectrum shade_light_material(ShadeContext *ctx, const SceneLight *light);
/* The footprint of a ray that escapes along `direction`. (Under MIS it is environment_cell() instead.) */
EnvironmentFootprint shade_environment_footprint(const ShadeContext *ctx, float3 direction,
                                                 const RayDiff *diff, uint32_t depth);

typedef struct ShadeCounters {
    uint64_t points, kernel_calls, texture_calls;
} ShadeCounters;
ShadeCounters shade_counters(const ShadeContext *ctx);

#endif
