/* The texture service that kernels call: from lanes of a batch to lookups in the cache. Only for shade.c. */
#ifndef SORT_SHADE_TEXTURE_SERVICE_H
#define SORT_SHADE_TEXTURE_SERVICE_H

#include "sort/sampling/sampler.h"
#include "sort/shade/surface_block.h"
#include "sort/shade/texture_probe.h"

/* The host that kernels hand back to services, under the name that the ABI gives it. Each fiber has one. */
struct SslHost {
    TexCaller caller;
    TextureStore *store;            /* borrowed; NULL: there are no textures */
    const MaterialProgram *program; /* the one that runs */
    const SurfaceBlock *surfaces;   /* of its points */
    SslKernelKind kind;             /* and what it computes */
    struct QuestionRays
        *questions;        /* question_service.h; NULL: there is no scene around surfaces */
    float footprint_scale; /* scales footprints that are a pixel's, not a cone's */
    float depth_scale[4];  /* scales all, by path depth; the last is for all greater depths */
    /* The factors and path depths of the block that was looked up at last: a material has several textures. */
    const SurfaceBlock *scaled; /* NULL: none in this run */
    float scale[SSL_BLOCK];
    uint32_t depths[SSL_BLOCK];
    Sampler sampler;
    /* [texture site][SHADE_CHUNK] numbers of stochastic lookups that a point has made at a call site. */
    uint16_t *draws;
    const TextureProbe *probe; /* NULL: none */
    uint64_t texture_calls;
};

/* Returns the factor of footprints at a path depth. */
float footprint_scale_at(const SslHost *host, uint32_t depth, bool is_cone);

/* Prepares the host for a run of a kernel. `program` and `surfaces` are borrowed until the next run. */
void texture_service_begin(SslHost *host, const MaterialProgram *program,
                           const SurfaceBlock *surfaces);

/* The dimension of a point's n-th draw at a site of its kernel: beyond those of sample_key.h, and a hash, since there is no bound on
 * how many a shader makes. Samples of one pixel share it, so their numbers are stratified. */
uint32_t draw_dimension(const HitDraw *draw, uint32_t site, uint32_t n);

/* SslServices.tex_lookup. */
void texture_service_look_up(SslHost *host, const SslTexCall *call);

#endif
