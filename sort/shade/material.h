/* Materials of a scene, bound: SSL programs, parameter blocks, textures.
 *
 *   Scene.materials --material_set_compile--> programs (in parallel; equal IR shares code)
 *                   --material_set_textures-> which textures are sampled at all
 *                   --material_set_bind-----> texture ids and lookup options in place
 *
 * Each material has up to three programs: all of its surface, its opacity alone and its emission alone.
 * The latter two exist only where the compiler finds such closures left in the specialised shader.
 *
 * Immutable once bound, but for the fault counters; any thread. */
#ifndef SORT_SHADE_MATERIAL_H
#define SORT_SHADE_MATERIAL_H

#include "base/log.h"
#include "sort/bsdf/bsdf_program.h"
#include "sort/scene/scene.h"
#include "sort/shade/texture_store.h"
#include "ssl/ssl.h"
#include <stdatomic.h>

/* One program bound to one material's values. kernel is NULL when the material has no program of this kind. */
typedef struct MaterialProgram {
    SslProgram *program;
    const SslProgramInfo *info;
    SslKernelFn kernel;
    void *params;
    uint32_t *textures; /* [texture slots] 1 + place in Scene.textures; 0: none */
    /* [unit attributes] names of the attributes in the mesh; borrowed: scene, unit. */
    const char **attributes;
    TexOptions *site_options; /* [info->texture_site_count] */
    bool is_stochastic;       /* a site has TEX_FILTER_STOCHASTIC */
    bool reads_bounces;       /* the kernel reads by which lobes the path was scattered */
    bool reads_counts;        /* it reads how often, or how often the path went straight on */
    bool reads_viewer;        /* it reads from where the surface is seen */
    uint32_t parts;           /* HitParts that the kernel reads; hit.h */
    _Atomic uint64_t *faults; /* [info->fault_site_count] number of points that had the fault */
} MaterialProgram;

typedef struct Material {
    const char *name;
    MaterialProgram programs[3]; /* by SslKernelKind */
} Material;

typedef struct MaterialSet MaterialSet;

typedef struct MaterialSetDesc {
    size_t size_bytes;   /* sizeof(MaterialSetDesc) */
    const Scene *scene;  /* borrowed */
    SslContext *context; /* borrowed */
    /* Definitions by the numbers of the context's closures, borrowed; NULL: it has the built-in closures alone. */
    const BsdfDef *const *closures;
    uint32_t thread_count; /* 0: one a CPU */
    float mip_bias;
    TexFilter filter;
    TexMip mip;
} MaterialSetDesc;

/* Text of compile errors and warnings is appended to `diagnostics`. STATUS_SOURCE: it holds at least one
 * error. Errors about parameters and bindings name the material and field. */
Status material_set_compile(const MaterialSetDesc *desc, MaterialSet **out_set, StrBuf *diagnostics,
                            Error *err) SORT_MUST_CHECK;
/* Sets is_wanted[i] for every scene texture that some program samples. */
void material_set_textures(const MaterialSet *set, bool *is_wanted);
void material_set_bind(MaterialSet *set);
/* Returns the name of the first material that samples a scene texture; NULL: none does. */
const char *material_set_user(const MaterialSet *set, uint32_t scene_texture);
/* Returns the options for lookups in the environment's image, which are those of the render. A stochastic filter becomes
 * anisotropic there, because the environment draws no numbers for it. */
TexOptions material_set_sky_options(const MaterialSet *set);
void material_set_destroy(MaterialSet *set); /* NULL is fine */

/* Sets the counts of faults to zero. No kernel may be running. */
void material_set_clear_faults(MaterialSet *set);
/* Returns the definitions of the closures that the kernels make; NULL for those that scatter nothing. */
const BsdfDef *const *material_set_closures(const MaterialSet *set);
const Material *material_set_get(const MaterialSet *set, uint32_t material);
/* Returns the HitParts (hit.h) that the kernels of this kind read, of all materials together. */
uint32_t material_set_parts(const MaterialSet *set, SslKernelKind kind);

typedef struct MaterialSetStats {
    uint32_t programs, from_cache, ir_instructions;
    uint32_t values, values_shadowed;
    double compile_ms; /* wall clock of material_set_compile */
} MaterialSetStats;
MaterialSetStats material_set_stats(const MaterialSet *set);

/* Appends one line for each fault site that points have met: "board.ssl:12:9: array index out of range (3 points)". */
void material_set_faults(const MaterialSet *set, StrBuf *out);

#endif
