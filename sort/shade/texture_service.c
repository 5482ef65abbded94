#include "sort/shade/texture_service.h"

#include "base/check.h"
#include "base/hash.h"
#include "sort/shade/shade.h"
#include <string.h>

void texture_service_begin(SslHost *host, const MaterialProgram *program,
                           const SurfaceBlock *surfaces)
{
    host->program = program;
    host->surfaces = surfaces;
    if (program->is_stochastic)
        memset(host->draws, 0,
               (size_t)program->info->texture_site_count * SHADE_CHUNK * sizeof *host->draws);
}

float footprint_scale_at(const SslHost *host, uint32_t depth, bool is_cone)
{
    const uint32_t last = SORT_COUNT_OF(host->depth_scale) - 1;
    return host->depth_scale[depth < last ? depth : last] *
           (is_cone ? 1.0f : host->footprint_scale);
}

/* The dimension of a point's n-th lookup at a call site: beyond those of sample_key.h, and a hash, since
 * there is no bound on how many a shader makes. Samples of one pixel share it, so their numbers are
 * stratified. */
static uint32_t draw_dimension(const HitDraw *draw, uint32_t site, uint32_t n)
{
    uint64_t place = hash_mix64((uint64_t)draw->event << 32 | draw->crossing);
    return 0x80000000u | (uint32_t)(hash_mix64(place + ((uint64_t)site << 16 | n)) >> 33);
}

/* Draws one number for each live lane of a stochastic lookup. */
static void draw_numbers(SslHost *host, const SslTexCall *call, uint32_t point, float *out_random)
{
    uint16_t *draws = host->draws + (size_t)call->site * SHADE_CHUNK;
    for (uint32_t lane = 0; lane < call->lane_count; ++lane) {
        if (!(call->lane_mask >> lane & 1u))
            continue;
        const SurfaceBlock *block = &host->surfaces[(point + lane) / SSL_BLOCK];
        const HitDraw *draw = &block->draw[(point + lane) % SSL_BLOCK];
        uint32_t dimension = draw_dimension(draw, call->site, draws[point + lane]++);
        out_random[lane] = sampler_1d(&host->sampler, draw->key, dimension);
    }
}

static void tex_lookup(SslHost *host, const SslTexCall *call)
{
    float coord[7 * SSL_BLOCK], random[SSL_BLOCK];
    uint32_t depths[SSL_BLOCK];
    uint32_t n = call->lane_count;
    uint32_t point = call->block * SSL_BLOCK + call->lane_first;
    const SurfaceBlock *block = &host->surfaces[call->block];
    ASSERT(call->site < host->program->info->texture_site_count);
    ASSERT(n > 0 && n <= SSL_BLOCK && point + n <= SHADE_CHUNK);
    memcpy(coord, call->coord, 7 * sizeof(float) * n);
    for (uint32_t lane = 0; lane < n; ++lane) {
        if (!(call->lane_mask >> lane & 1u))
            continue;
        uint32_t i = call->lane_first + lane;
        depths[lane] = surface_depth((SurfaceLane){block, i});
        float scale = footprint_scale_at(host, depths[lane], block->history[i].is_cone);
        for (uint32_t k = 2; k < 6; ++k)
            coord[k * n + lane] *= scale;
    }
    const TexOptions *options = &host->program->site_options[call->site];
    TexId texture = {0};
    if (SORT_LIKELY(call->texture != 0))
        texture = texture_store_await(host->store, call->texture - 1, host->caller.waiter);
    TexRequest request = {.texture = texture,
                          .options = options,
                          .lane_count = n,
                          .lane_mask = call->lane_mask,
                          .depths = depths,
                          .with_derivs = (call->flags & SSL_TEX_WANT_DERIVS) != 0,
                          .coord = coord};
    if (options->filter == TEX_FILTER_STOCHASTIC) {
        draw_numbers(host, call, point, random);
        request.random = random;
    }
    texcache_lookup(&host->caller, &request, call->result);
    ++host->texture_calls;
    if (SORT_UNLIKELY(host->probe != NULL))
        texture_probe_tell(host->probe, (TextureProbeLookup){.program = host->program,
                                                             .site = call->site,
                                                             .point = point,
                                                             .request = &request,
                                                             .result = call->result});
}

const SslServices texture_services = {.size_bytes = sizeof texture_services,
                                      .tex_lookup = tex_lookup};
