/* Directions of paths of light at surfaces. A surface draws them as it would for a viewer where the light comes from, but what has to
 * be reached is every viewer to whom it scatters that light, and these are others in three cases:
 *
 *   bent normals    a viewer above the surface but below its shading normal sees light that no lobe sends there [Veach1997 fig. 5.7]
 *   closures        a toon's light comes from a cone about the normal, whoever looks
 *   materials       that look at their viewer may have other lobes for each
 *
 * So there some directions are drawn by the cosine at the geometric normal, and the density is that of both ways together. */
#include "sort/integrator/light_paths.h"

#include "sort/sampling/warp.h"

/* Shading normals nearer to the geometric one, as 1 - cos, leave less than half of this fraction of the light unreached. */
#define BEND_MIN 1e-6f
/* The share of even directions where lobes or materials are not symmetric, and the largest for bent normals. */
#define ODD_SHARE  0.125f
#define SHARE_MAX  0.5f
#define BOTH_SIDES ((uint32_t)SSL_LOBE_REFLECTION | (uint32_t)SSL_LOBE_TRANSMISSION)

/* How the even directions of a block are drawn. */
typedef struct Even {
    BsdfRow share; /* of the directions */
    uint32_t sides
        [SSL_BLOCK]; /* SSL_LOBE_REFLECTION and SSL_LOBE_TRANSMISSION, as likely as each other */
} Even;

/* Returns the share for a normal. Of directions by the cosine, (1 - cos) / 2 are below the normal but above the surface: its root
 * keeps the squares of their weights as large as those of others. */
static float share_of_bend(const BsdfBlock *b, const float *normal, uint32_t k)
{
    float3 n = f3(normal[k], normal[SSL_BLOCK + k], normal[2 * SSL_BLOCK + k]);
    float bend = 1.0f - fabsf(f3_dot(n, wide_get3(b->view.Ng, k)));
    return bend > BEND_MIN ? minf(sqrtf(0.5f * bend), SHARE_MAX) : 0.0f;
}

static void find_shares(const BsdfBlock *b, const SurfaceBlock *surfaces, bool is_odd,
                        uint16_t live, Even *out)
{
    uint16_t smooth = bsdf_block_smooth(b), any = bsdf_block_scattering(b);
    bsdf_block_sides(b, out->sides);
    WIDE_EACH(k, live)
    {
        out->share[k] = 0.0f;
        if (smooth >> k & 1)
            out->share[k] = share_of_bend(b, surfaces->N[0], k);
        if (is_odd)
            out->share[k] = any >> k & 1 ? maxf(out->share[k], ODD_SHARE) : 1.0f;
        if (is_odd || out->sides[k] == 0)
            out->sides[k] = BOTH_SIDES;
    }
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        const float *normal = lobe->term->state + ((size_t)lobe->term->def->frame + 6) * SSL_BLOCK;
        float least = lobe->def->flags & SSL_LOBE_RECIPROCAL ? 0.0f : ODD_SHARE;
        if (!(lobe->def->flags & SSL_LOBE_DELTA))
            WIDE_EACH(k, live & lobe->live)
        out->share[k] = maxf(out->share[k], maxf(least, share_of_bend(b, normal, k)));
    }
}

/* Returns the density of even directions. */
static float even_density(const BsdfBlock *b, const Even *even, uint32_t k, float3 wi)
{
    float cosine = f3_dot(wi, wide_get3(b->view.Ng, k));
    uint32_t side = cosine > 0.0f ? SSL_LOBE_REFLECTION : SSL_LOBE_TRANSMISSION;
    float chance = even->sides[k] == BOTH_SIDES ? 0.5f : 1.0f;
    return even->sides[k] & side ? chance * fabsf(cosine) * SORT_INV_PI : 0.0f;
}

static float3 draw_even(const BsdfBlock *b, const Even *even, uint32_t k, const BsdfRow u[3])
{
    float3 s, t, n = wide_get3(b->view.Ng, k);
    bool is_through =
        even->sides[k] == BOTH_SIDES ? u[2][k] < 0.5f : even->sides[k] == SSL_LOBE_TRANSMISSION;
    n = is_through ? f3_neg(n) : n;
    f3_frame(n, &s, &t);
    return f3_normalize(warp_to_frame(warp_hemisphere_cosine(f2(u[0][k], u[1][k])), s, t, n));
}

/* Sets the numbers by which directions are drawn, and returns the lanes that draw even ones. */
static uint16_t draw_numbers(const Wave *w, const uint32_t *paths, const Even *even, uint16_t live,
                             BsdfRow u[3])
{
    const Sampler *s = &w->shared->sampler;
    const SampleKey *keys[SSL_BLOCK];
    uint32_t pair[SSL_BLOCK], side[SSL_BLOCK], choice[SSL_BLOCK];
    alignas(64) WideRow which = {0};
    uint16_t both = 0, lanes = 0;
    WIDE_EACH(k, live)
    {
        const Path *path = &w->paths[paths[k]];
        keys[k] = &path->key;
        pair[k] = sample_dimension(path->event, SAMPLE_BSDF_UV);
        side[k] = sample_dimension(path->event, SAMPLE_BSDF_SIDE);
        choice[k] = sample_dimension(path->event, SAMPLE_LIGHT_EVEN);
        both = (uint16_t)(both | (uint32_t)(even->share[k] > 0.0f) << k);
    }
    sampler_2d_points(s, keys, pair, live, u);
    sampler_1d_points(s, keys, side, live, u[2]);
    if (both)
        sampler_1d_points(s, keys, choice, both, which);
    WIDE_EACH(k, both) lanes = (uint16_t)(lanes | (uint32_t)(which[k] < even->share[k]) << k);
    return lanes;
}

/* Draws even directions in the lanes of `live`. */
static void draw_evens(const BsdfBlock *b, const Even *even, const BsdfRow u[3], uint16_t live,
                       LightScatter out[SSL_BLOCK])
{
    alignas(64) BsdfRow wi[3] = {{0}}, f[3], pdf;
    WIDE_EACH(k, live) wide_set3(wi, k, draw_even(b, even, k, u));
    bsdf_block_eval(b, wi, live, f, pdf);
    WIDE_EACH(k, live)
    {
        float3 along = wide_get3(wi, k);
        float share = even->share[k], density = even_density(b, even, k, along);
        out[k] = (LightScatter){.wi = along,
                                .pdf = share * density + (1.0f - share) * pdf[k],
                                .flags = SSL_LOBE_DIFFUSE};
    }
}

/* Draws directions by the lobes in the lanes of `live`. */
static void draw_by_lobes(const BsdfBlock *b, const Even *even, BsdfRow u[3], uint16_t live,
                          LightScatter out[SSL_BLOCK])
{
    BsdfDrawn drawn;
    BsdfDelta deltas[SSL_BLOCK];
    live = bsdf_block_sample(b, u, live, &drawn);
    uint16_t delta = live & points_with(drawn.flags, SSL_LOBE_DELTA) &
                     (uint16_t)~points_with(drawn.flags, SSL_LOBE_TRANSPARENT);
    if (delta)
        (void)bsdf_block_deltas(b, drawn.wi, delta, deltas);
    WIDE_EACH(k, live)
    {
        float3 wi = wide_get3(drawn.wi, k);
        float share = even->share[k], pdf = (1.0f - share) * drawn.pdf[k];
        if (drawn.flags[k] & SSL_LOBE_SUBSURFACE)
            continue;
        if (drawn.flags[k] & SSL_LOBE_TRANSPARENT)
            pdf = (1.0f - share) * bsdf_point_pass_chance((BsdfPoint){b, k});
        else if (drawn.flags[k] & SSL_LOBE_DELTA)
            pdf = (1.0f - share) * deltas[k].chance;
        else if (share > 0.0f)
            pdf += share * even_density(b, even, k, wi);
        out[k] = (LightScatter){.wi = wi, .pdf = pdf, .flags = drawn.flags[k]};
    }
}

void light_paths_draw(Wave *w, const uint32_t *paths, uint32_t first, uint32_t material)
{
    const SurfaceBlock *surfaces = &w->surfaces[first / SSL_BLOCK];
    const BsdfBlock *block = shade_block(w->shade, first, NULL);
    bool is_odd =
        material_set_get(w->shared->materials, material)->programs[SSL_KERNEL_SHADE].reads_viewer;
    uint16_t live = (uint16_t)((1u << surfaces->count) - 1u);
    alignas(64) BsdfRow u[3] = {{0}};
    LightScatter drawn[SSL_BLOCK] = {{.flags = 0}};
    Even even;
    WIDE_EACH(k, live) w->counters.bsdf_faults += block->faults[k] != 0;
    uint16_t scattering = is_odd ? live : live & bsdf_block_scattering(block);
    if (scattering != 0) {
        find_shares(block, surfaces, is_odd, scattering, &even);
        uint16_t evens = draw_numbers(w, paths, &even, scattering, u);
        if (evens != 0)
            draw_evens(block, &even, u, evens, drawn);
        if (scattering != evens)
            draw_by_lobes(block, &even, u, scattering & (uint16_t)~evens, drawn);
    }
    WIDE_EACH(k, live)
    {
        bool passes = drawn[k].flags & SSL_LOBE_TRANSPARENT;
        if (passes)
            drawn[k].wi = ray_batch_get(&w->rays, paths[k]).direction;
        if (w->light_paths->trails[paths[k]].is_dark && !passes)
            drawn[k] = (LightScatter){0};
        w->light_paths->drawn[paths[k]] = drawn[k];
    }
}
