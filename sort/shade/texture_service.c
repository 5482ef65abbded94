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
    host->scaled = NULL;
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

uint32_t draw_dimension(const HitDraw *draw, uint32_t site, uint32_t n)
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

/* Fills the host's factors and depths of a block. */
static void scale_block(SslHost *host, const SurfaceBlock *block)
{
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        bool is_there = i < block->count;
        host->depths[i] = is_there ? surface_depth((SurfaceLane){block, i}) : 0;
        host->scale[i] =
            is_there ? footprint_scale_at(host, host->depths[i], block->history[i].is_cone) : 1.0f;
    }
    host->scaled = block;
}

/* Multiplies the four derivatives of each lane. */
SORT_ALWAYS_INLINE void scale_steps(float *restrict steps, uint32_t count,
                                    const float *restrict scale)
{
    for (uint32_t k = 0; k < 4; ++k, steps += count)
        for (uint32_t lane = 0; lane < count; ++lane)
            steps[lane] *= scale[lane];
}

void texture_service_look_up(SslHost *host, const SslTexCall *call)
{
    float coord[7 * SSL_BLOCK], random[SSL_BLOCK];
    uint32_t n = call->lane_count;
    uint32_t point = call->block * SSL_BLOCK + call->lane_first;
    const SurfaceBlock *block = &host->surfaces[call->block];
    ASSERT(call->site < host->program->info->texture_site_count);
    ASSERT(n > 0 && n <= SSL_BLOCK && point + n <= SHADE_CHUNK);
    if (host->scaled != block)
        scale_block(host, block);
    const float *scale = &host->scale[call->lane_first];
    memcpy(coord, call->coord, 7 * sizeof(float) * n);
    float *steps = coord + 2 * (size_t)n;
    if (n == SSL_BLOCK) /* a number that the compiler knows */
        scale_steps(steps, SSL_BLOCK, scale);
    else
        scale_steps(steps, n, scale);
    const TexOptions *options = &host->program->site_options[call->site];
    TexId texture = {0};
    if (SORT_LIKELY(call->texture != 0))
        texture = texture_store_await(host->store, call->texture - 1, host->caller.waiter);
    TexRequest request = {.texture = texture,
                          .options = options,
                          .lane_count = n,
                          .lane_mask = call->lane_mask,
                          .depths = &host->depths[call->lane_first],
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
