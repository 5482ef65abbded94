/* Shading: runs the kernel of a material for surface points, and returns emission, opacity or lobes.
 *
 *   shade_run(ctx, material, kind, hits, n)      n <= SHADE_CHUNK; may wait for textures
 *   shade_block / shade_emission / shade_transparency  the results, until the next run
 *
 * Each fiber has one context. It owns the blocks that kernels read and write, and texture calls come back to it as
 * their host. */
#ifndef SORT_SHADE_SHADE_H
#define SORT_SHADE_SHADE_H

#include "base/arena.h"
#include "sort/accel/accel.h"
#include "sort/bsdf/bsdf_point.h"
#include "sort/light/environment.h"
#include "sort/sampling/sampler.h"
#include "sort/shade/material.h"
#include "sort/shade/surface_block.h"
#include "ssl/ssl_limits.h"

enum {
    SHADE_CHUNK = 256,
    SHADE_BLOCKS = 4, /* whose lobes are kept at a time */
    SHADE_BIAS_DEPTHS = 4,
    SHADE_LOOP_BUDGET = 1 << 20,
    /* Stack of a fiber that shades: recursion in shaders, a kernel's frame, and the host's calls above and below it. */
    SHADE_STACK_BYTES = 96 * 1024,
    SHADE_HOST_BYTES = 128 * 1024,
    SHADE_FIBER_BYTES = SHADE_STACK_BYTES + SSL_MAX_FRAME_BYTES + SHADE_HOST_BYTES
};

typedef struct ShadeContext ShadeContext;

typedef struct ShadeContextDesc {
    size_t size_bytes;  /* sizeof(ShadeContextDesc) */
    const Scene *scene; /* borrowed, as all below */
    const MaterialSet *materials;
    const Accel *accel;  /* of the scene, for kernels that ask; NULL: every surface stands alone */
    TextureStore *store; /* the scene's textures; NULL: all have the missing colour */
    TexThread *tex_thread;
    Waiter *waiter;
    float footprint_scale; /* see shade_footprint_scale */
    /* Added to mip levels, by path depth; the last is for all greater depths. */
    float depth_bias[SHADE_BIAS_DEPTHS];
    Sampler sampler; /* for stochastic texture filters */
    /* Is called for every lookup (texture_probe.h); NULL: none. */
    const struct TextureProbe *probe;
} ShadeContextDesc;

/* Texture footprints that are a pixel's shrink by 1/sqrt(samples per pixel), since that many samples share its area;
 * not below 1/8, so that a very long render still profits from filtering. The cone of a scattered sample stays as it is:
 * docs/decisions/0004. */
float shade_footprint_scale(uint32_t nominal_samples);
/* Returns the scale of the context: a sample's footprint as a fraction of a pixel's. */
float shade_pixel_scale(const ShadeContext *ctx);

/* Creates a context in `arena`, which frees it, with room for every material of the set. Error: memory. */
Status shade_context_create(const ShadeContextDesc *desc, Arena *arena, ShadeContext **out_ctx,
                            Error *err) SORT_MUST_CHECK;

/* Runs the material's kernel for `count` points, at most SHADE_CHUNK, which must all have this material. Point i is lane
 * i % SSL_BLOCK of surfaces[i / SSL_BLOCK], which is borrowed until the next run. Returns false when the material has no
 * kernel of this kind: it does not emit, or is opaque. May wait for textures. */
bool shade_run(ShadeContext *ctx, uint32_t material, SslKernelKind kind,
               const SurfaceBlock *surfaces, uint32_t count);
/* Returns the lobes of points [first, first + SSL_BLOCK) of the last run, of kind SHADE, until the next run, the next call of
 * shade_white, or SHADE_BLOCKS calls later. first is a multiple of SSL_BLOCK. A point whose shader had a fault emits magenta. least_alpha: of each point, see BsdfView.blur. */
const BsdfBlock *shade_block(ShadeContext *ctx, uint32_t first, const float least_alpha[SSL_BLOCK]);
/* Returns a block of surfaces that reflect all light diffusely, on the sides that their rays go to, until the next call. */
const BsdfBlock *shade_white(ShadeContext *ctx, const SurfaceBlock *surfaces);
/* Returns the radiance that point i of the last run, of kind EMISSION, emits toward the viewer. */
Spectrum shade_emission(ShadeContext *ctx, uint32_t i);
/* Returns the fraction of light that goes straight through point i of the last run, of kind OPACITY. */
Spectrum shade_transparency(ShadeContext *ctx, uint32_t i);

/* The emission of a material that is the same at every point of a side of its surfaces, towards every viewer. */
typedef struct ShadeGlow {
    bool is_constant; /* otherwise the rest is zero */
    bool is_all;      /* and its surfaces do nothing but emit it */
    Spectrum front, back;
} ShadeGlow;
/* Returns what the emission kernel of a material returns everywhere, if the kernel tells that it does: it reads nothing
 * of the surface but the side. Results of the last run are lost. */
ShadeGlow shade_glow(ShadeContext *ctx, uint32_t material);

/* Returns the radiance of the environment's image or material in each of `count` footprints. depths and histories
 * belong to the rays that see it. Results of the last run are lost. May wait for textures. */
void shade_environment(ShadeContext *ctx, const EnvironmentFootprint *footprints,
                       const uint32_t *depths, const PathHistory *histories, uint32_t count,
                       Spectrum *out_radiance);
/* Returns the radiance that the material of a light emits along the light's axis, as an indirect ray sees it. The light
 * must have a material. Results of the last run are lost. May wait for textures. */
Spectrum shade_light_material(ShadeContext *ctx, const SceneLight *light);
/* Returns the footprint of a ray that leaves the scene along `direction`. Light weighted by MIS has environment_cell()
 * instead. */
EnvironmentFootprint shade_environment_footprint(const ShadeContext *ctx, float3 direction,
                                                 const RayDiff *diff, uint32_t depth);

typedef struct ShadeCounters {
    uint64_t points, kernel_calls, texture_calls;
} ShadeCounters;
ShadeCounters shade_counters(const ShadeContext *ctx);

#endif
