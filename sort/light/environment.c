#include "sort/light/environment.h"

#include "base/check.h"
#include "sort/light/sky_rows.h"
#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"
#include <string.h>

/* --- directions and coordinates ------------------------------------------------------------- */

static float2 uv_of_local(float3 d)
{
    float u = 0.5f + rt_atan2(-d.x, d.z) * SORT_INV_2PI;
    /* atan2 keeps its accuracy at the poles, where asin loses half its digits. */
    float v = 0.5f + rt_atan2(d.y, sqrtf(d.x * d.x + d.z * d.z)) * SORT_INV_PI;
    return f2(u, v);
}

float2 environment_uv(const SceneEnvironment *environment, float3 direction)
{
    return uv_of_local(mat4_vector(&environment->world_to_environment, direction));
}

float3 environment_direction(const SceneEnvironment *environment, float2 uv)
{
    float longitude = 2.0f * SORT_PI * (uv.x - 0.5f), latitude = SORT_PI * (uv.y - 0.5f);
    float ring, north;
    float height = rt_sincos(latitude, &ring), east = rt_sincos(longitude, &north);
    float3 d = f3(-east * ring, height, north * ring);
    return f3_normalize(mat4_vector(&environment->environment_to_world, d));
}

static float2 uv_derivative(float3 d, float3 d_change)
{
    float ring2 = d.x * d.x + d.z * d.z, ring = sqrtf(ring2);
    if (ring == 0.0f)
        return f2(f3_length2(d_change) > 0.0f ? 1.0f : 0.0f, f3_length(d_change) * SORT_INV_PI);
    float du = (d.x * d_change.z - d.z * d_change.x) / ring2 * SORT_INV_2PI;
    /* d asin(y) = dy / sqrt(1 - y^2); near the poles through x and z instead, as d stays unit. */
    float dv = fabsf(d.y) < 0.5f ? d_change.y / ring
                                 : -(d.x * d_change.x + d.z * d_change.z) / (ring * d.y);
    return f2(clampf(du, -1.0f, 1.0f), dv * SORT_INV_PI);
}

EnvironmentFootprint environment_footprint(const SceneEnvironment *environment, float3 direction,
                                           float3 dDdx, float3 dDdy)
{
    const mat4 *m = &environment->world_to_environment;
    float3 d = mat4_vector(m, direction);
    return (EnvironmentFootprint){.uv = uv_of_local(d),
                                  .duvdx = uv_derivative(d, mat4_vector(m, dDdx)),
                                  .duvdy = uv_derivative(d, mat4_vector(m, dDdy))};
}

EnvironmentFootprint environment_cell(const EnvironmentTable *table, float2 uv)
{
    uint32_t width = table ? environment_table_width(table) : 1024;
    uint32_t height = table ? environment_table_height(table) : 512;
    return (EnvironmentFootprint){
        .uv = uv, .duvdx = {1.0f / (float)width, 0.0f}, .duvdy = {0.0f, 1.0f / (float)height}};
}

/* --- drawing directions --------------------------------------------------------------------- */

/* Returns how surfaces face the map. */
static void face_map(const SceneEnvironment *environment, const WideRow normal[3],
                     const uint32_t sides[SSL_BLOCK], SkyFacings *out)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        wide_set3(out->normal, k,
                  mat4_vector(&environment->world_to_environment, wide_get3(normal, k)));
    memcpy(out->sides, sides, sizeof out->sides);
}

/* dA on the sphere is 2 pi^2 sin(theta) du dv [Pharr2023 eq. 12.9]. */
static float pdf_of_uv(float pdf_uv, float sin_theta)
{
    return sin_theta > 0.0f ? pdf_uv * (0.5f * SORT_INV_PI * SORT_INV_PI) / sin_theta : 0.0f;
}

/* Draws from the whole sphere, where there is no table. */
static void draw_evenly(const SceneEnvironment *environment, const WideRow u[2], uint16_t lanes,
                        WideRow out_wi[3], EnvironmentPlace *out_places)
{
    WIDE_EACH(k, lanes)
    {
        float3 direction = warp_sphere(f2(u[0][k], u[1][k]));
        wide_set3(out_wi, k, direction);
        out_places[k] =
            (EnvironmentPlace){.uv = environment_uv(environment, direction), .pdf = SORT_INV_4PI};
    }
}

static void fill3(WideRow rows[3], float3 v)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        wide_set3(rows, k, v);
}

static void set_axes(const mat4 *m, SkyRows *sky)
{
    fill3(sky->x_axis, f3(m->m[0][0], m->m[1][0], m->m[2][0]));
    fill3(sky->y_axis, f3(m->m[0][1], m->m[1][1], m->m[2][1]));
    fill3(sky->z_axis, f3(m->m[0][2], m->m[1][2], m->m[2][2]));
}

void environment_draw(const SceneEnvironment *environment, const EnvironmentTable *table,
                      const WideRow normal[3], const uint32_t sides[SSL_BLOCK], const WideRow u[2],
                      uint16_t lanes, WideRow out_wi[3], EnvironmentPlace out_places[SSL_BLOCK])
{
    SkyRows sky;
    SkyFacings facings;
    if (!table) {
        draw_evenly(environment, u, lanes, out_wi, out_places);
        return;
    }
    face_map(environment, normal, sides, &facings);
    environment_table_draw(table, &facings, u, lanes, out_places);
    /* All lanes are computed, and angles as large as what happens to be there would take long. */
    memset(sky.u, 0, sizeof sky.u);
    memset(sky.v, 0, sizeof sky.v);
    set_axes(&environment->environment_to_world, &sky);
    WIDE_EACH(k, lanes)
    {
        sky.u[k] = out_places[k].uv.x, sky.v[k] = out_places[k].uv.y;
        sky.pdf_uv[k] = out_places[k].pdf;
    }
    sky_direction_run(&sky, lanes);
    WIDE_EACH(k, lanes)
    {
        wide_set3(out_wi, k, wide_get3(sky.wi, k));
        out_places[k].pdf = sky.pdf[k];
    }
}

void environment_find(const SceneEnvironment *environment, const EnvironmentTable *table,
                      const EnvironmentRays *rays, uint16_t lanes,
                      EnvironmentPlace out_places[SSL_BLOCK])
{
    SkyRows sky;
    SkyFacings facings;
    memcpy(sky.direction, rays->direction, sizeof sky.direction);
    memcpy(sky.n, rays->normal, sizeof sky.n);
    set_axes(&environment->world_to_environment, &sky);
    sky_place_run(&sky, lanes);
    WIDE_EACH(k, lanes)
    out_places[k] = (EnvironmentPlace){.uv = f2(sky.u[k], sky.v[k]), .pdf = SORT_INV_4PI};
    if (!table)
        return;
    memcpy(facings.normal, sky.facing, sizeof facings.normal);
    memcpy(facings.sides, rays->sides, sizeof facings.sides);
    environment_table_find(table, &facings, lanes, out_places);
    WIDE_EACH(k, lanes) out_places[k].pdf = pdf_of_uv(out_places[k].pdf, sky.ring[k]);
}
