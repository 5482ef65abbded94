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
    float footprint_scale;          /* scales footprints that are a pixel's, not a cone's */
    float depth_scale[4]; /* scales all, by path depth; the last is for all greater depths */
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

extern const SslServices texture_services;

#endif
