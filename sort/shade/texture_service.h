/* The texture service that kernels call: from lanes of a batch to lookups in the cache. Only for shade.c. */
#ifndef SORT_SHADE_TEXTURE_SERVICE_H
#define SORT_SHADE_TEXTURE_SERVICE_H

#include "sort/sampling/sampler.h"
#include "sort/shade/hit.h"
#include "sort/shade/texture_probe.h"

/* What kernels hand back to services, under the name the ABI gives it. One a fiber. */
struct SslHost {
    TexCaller caller;
    TextureStore *store;            /* borrowed; NULL: there are no textures */
    const MaterialProgram *program; /* that runs now */
    const SurfaceHit *const *hits;
    float footprint_scale; /* of footprints that are a pixel's */
    float depth_scale[4];  /* of all, by path depth; the last for all deeper */
    Sampler sampler;
    uint16_t
        *draws; /* [texture site][SHADE_CHUNK]: stochastic lookups that a point has made there */
    const TextureProbe *probe; /* NULL: nobody looks */
    uint64_t texture_calls;
};

static inline float footprint_scale_at(const SslHost *host, uint32_t depth, bool is_cone)
{
    const uint32_t last = SORT_COUNT_OF(host->depth_scale) - 1;
    return host->depth_scale[depth < last ? depth : last] *
           (is_cone ? 1.0f : host->footprint_scale);
}

/* Before each run of a kernel. */
void texture_service_begin(SslHost *host, const MaterialProgram *program,
                           const SurfaceHit *const *hits);

extern const SslServices texture_services;

#endif
