/* The choice of a source for light sampling: between the local ones, of which the tree chooses, and the infinite ones, and among
 * these.
 *
 * Scattered rays find the sky, too, and where it is even and open they find it without noise. A sample of it then brings nothing, but
 * takes one from the lamps and suns, whose light arrives by samples alone. So what counts of a sky is the part that scattering hardly
 * finds, which is brighter than the mean, and of the rest the doubt whether a scattered ray gets through (decision 0163). */
#include "sort/light/light_state.h"

#include "base/check.h"
#include <string.h>

bool lights_have_both(const Lights *lights)
{
    return lights->tree && lights->infinite_first < lights->count;
}

bool lights_heed_gloss(const Lights *lights)
{
    return lights->tree && lights->leaf_count > 1;
}

/* --- infinite sources --------------------------------------------------------------------------------- */

/* Sets 4 times the cosine of each normal to the source's direction, and 1, its mean over the sphere, without a normal. */
static void facing(const Source *s, const WideRow normals[3], const uint32_t sides[SSL_BLOCK],
                   WideRow out)
{
    const float horizon = 0.05f;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float cosine =
            s->axis.x * normals[0][k] + s->axis.y * normals[1][k] + s->axis.z * normals[2][k];
        float above = sides[k] & SKY_ABOVE ? cosine : horizon;
        float below = sides[k] & SKY_BELOW ? -cosine : horizon;
        out[k] = sides[k] == SKY_ALL_AROUND ? 1.0f : 4.0f * maxf(horizon, maxf(above, below));
    }
}

/* Returns the least number of sixteenths of the samples that the source gets. Scattering finds what is left of an even sky. */
static float least_sixteenths(const Lights *lights, const Source *s)
{
    return s->kind == SOURCE_ENVIRONMENT && lights->sky.uneven < 0.05f ? 0.0f : 1.0f;
}

/* Sets chances of a lane in proportion to its claims, which have this sum: whole sixteenths. Of 16 stratified samples, and of 64,
 * equally many go to a source then in all pixels that look at one plane. */
static void take_sixteenths(const Lights *lights, WideRow claims[LIGHTS_WEIGHED_MAX],
                            uint32_t count, float sum, uint32_t k)
{
    const Source *s = &lights->sources[lights->infinite_first];
    float running = 0.0f, taken = 0.0f, least = 0.0f;
    for (uint32_t i = 0; i < count; ++i)
        least += least_sixteenths(lights, &s[i]);
    for (uint32_t i = 0; i + 1 < count; ++i) {
        float own = least_sixteenths(lights, &s[i]);
        least -= own;
        running += claims[i][k];
        float sixteenths = sum > 0.0f ? floorf(16.0f * (running / sum) + 0.5f) - taken : own;
        sixteenths = clampf(sixteenths, own, 16.0f - least - taken);
        claims[i][k] = sixteenths * 0x1p-4f;
        taken += sixteenths;
    }
    claims[count - 1][k] = (16.0f - taken) * 0x1p-4f;
}

/* Sets what each infinite source claims at points where `local` ones promise so much irradiance, if they are so few that they are
 * weighed, and what all of them claim. through: what a sky of radiance 1 brings through portals. */
static void claim(const Lights *lights, const WideRow normals[3], const uint32_t sides[SSL_BLOCK],
                  const WideRow local, const WideRow through,
                  WideRow out_claims[LIGHTS_WEIGHED_MAX], WideRow out_sum)
{
    const Source *s = &lights->sources[lights->infinite_first];
    uint32_t count = lights->count - lights->infinite_first, sky = count;
    alignas(64) WideRow suns = {0};
    for (uint32_t i = 0; i < count && count <= LIGHTS_WEIGHED_MAX; ++i) {
        if (s[i].kind == SOURCE_ENVIRONMENT) {
            sky = i;
            continue;
        }
        facing(&s[i], normals, sides, out_claims[i]);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            suns[k] += out_claims[i][k] *= s[i].irradiance;
    }
    for (uint32_t k = 0; k < SSL_BLOCK && count > LIGHTS_WEIGHED_MAX; ++k)
        suns[k] = lights->suns_irradiance;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float others = suns[k] + local[k];
        float of_sky = through[k] > 0.0f ? sky_claim_through(&lights->sky, others, through[k])
                                         : sky_claim(&lights->sky, others);
        out_sum[k] = suns[k] + of_sky;
        if (sky < count)
            out_claims[sky][k] = of_sky;
    }
}

/* --- both kinds --------------------------------------------------------------------------------------- */

/* Returns the probability of choosing among the local sources by the irradiance that they promise and by what the infinite ones claim,
 * which counts double, as it varies more with the direction. Either may lie in shadow, so both keep a part, but for local ones that
 * cannot reach the point, and an even sky. */
static float share_of_local(const Lights *lights, float local, float infinite)
{
    if (!(local > 0.0f))
        return 0.0f;
    float least = lights->share_min,
          most = 1.0f - least * (lights->suns_irradiance > 0.0f ? 1.0f : lights->sky.uneven);
    return least + (most - least) * (local / (local + 2.0f * infinite));
}

void lights_find_chances(const Lights *lights, const WideRow positions[3], const WideRow normals[3],
                         const uint32_t sides[SSL_BLOCK], uint16_t live, LightChances *out)
{
    alignas(64) WideRow local = {0}, through = {0}, sum;
    uint32_t count = lights->count - lights->infinite_first;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out->local[k] = count == 0 ? 1.0f : 0.0f;
    if (count == 0 || (count == 1 && !lights->tree))
        return;
    if (lights->tree)
        light_tree_irradiance_points(lights->tree, positions, normals, live, local);
    if (lights->portals) {
        PortalGroups groups;
        portals_look(lights->portals, &(PortalPoints){positions, normals, sides}, live, &groups);
        memcpy(through, groups.irradiance, sizeof through);
    }
    claim(lights, normals, sides, local, through, out->infinite, sum);
    for (uint32_t k = 0; k < SSL_BLOCK && lights->tree; ++k)
        out->local[k] = share_of_local(lights, local[k], sum[k]);
    for (uint32_t k = 0; k < SSL_BLOCK && lights_weigh_infinite(lights); ++k)
        take_sixteenths(lights, out->infinite, count, sum[k], k);
}

/* --- one point ---------------------------------------------------------------------------------------- */

static void chances_at(const Lights *lights, const LightQuery *at, LightChances *out)
{
    WideRow positions[3] = {{at->position.x}, {at->position.y}, {at->position.z}};
    WideRow normals[3] = {{at->normal.x}, {at->normal.y}, {at->normal.z}};
    const uint32_t sides[SSL_BLOCK] = {at->sides};
    lights_find_chances(lights, positions, normals, sides, 1, out);
}

float lights_leaf_probability(const Lights *lights, const LightQuery *at, uint32_t leaf)
{
    LightChances chances;
    chances_at(lights, at, &chances);
    return chances.local[0] * light_tree_probability(lights->tree, at, leaf);
}

float lights_choice_probability(const Lights *lights, uint32_t source, float3 position,
                                float3 normal)
{
    CHECK(source < lights->count);
    const Source *s = &lights->sources[source];
    const LightQuery at =
        light_query(position, normal, f3_length2(normal) > 0.0f ? SKY_ABOVE : SKY_ALL_AROUND);
    LightChances chances;
    if (source >= lights->infinite_first) {
        chances_at(lights, &at, &chances);
        return (1.0f - chances.local[0]) *
               (lights_weigh_infinite(lights) ? chances.infinite[source - lights->infinite_first][0]
                                              : s->probability);
    }
    float sum = 0.0f;
    for (uint32_t k = 0; k < (s->kind == SOURCE_MESH ? s->leaf_count : 1); ++k)
        sum += lights_leaf_probability(lights, &at, s->first_leaf + k);
    return sum;
}
