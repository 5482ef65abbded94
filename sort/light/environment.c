#include "sort/light/environment.h"

#include "base/check.h"
#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"

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

/* *out_ring: the radius of the circle of latitude. */
static float3 direction_of_uv(const SceneEnvironment *environment, float2 uv, float *out_ring)
{
    float longitude = 2.0f * SORT_PI * (uv.x - 0.5f), latitude = SORT_PI * (uv.y - 0.5f);
    float ring, height, east, north;
    rt_sincos(latitude, &height, &ring);
    rt_sincos(longitude, &east, &north);
    float3 d = f3(-east * ring, height, north * ring);
    *out_ring = ring;
    return f3_normalize(mat4_vector(&environment->environment_to_world, d));
}

float3 environment_direction(const SceneEnvironment *environment, float2 uv)
{
    float ring;
    return direction_of_uv(environment, uv, &ring);
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

/* Returns how the surface faces the map. */
static SkyFacing facing_map(const SceneEnvironment *environment, const SkyFacing *facing)
{
    SkyFacing local = *facing;
    if (local.sides != SKY_ALL_AROUND)
        local.normal = mat4_vector(&environment->world_to_environment, facing->normal);
    return local;
}

/* dA on the sphere is 2 pi^2 sin(theta) du dv [Pharr2023 eq. 12.9]. */
static float pdf_of_uv(float pdf_uv, float sin_theta)
{
    return sin_theta > 0.0f ? pdf_uv * (0.5f * SORT_INV_PI * SORT_INV_PI) / sin_theta : 0.0f;
}

void environment_begin(const SceneEnvironment *environment, const EnvironmentTable *table,
                       const SkyFacing *facing, float2 u, EnvironmentRow *out_row)
{
    ASSERT(u.x >= 0.0f && u.x < 1.0f && u.y >= 0.0f && u.y < 1.0f);
    *out_row = (EnvironmentRow){.u = u};
    if (!table)
        return;
    SkyFacing local = facing_map(environment, facing);
    environment_table_draw_row(table, &local, u, out_row);
}

float3 environment_finish(const SceneEnvironment *environment, const EnvironmentTable *table,
                          const EnvironmentRow *row, EnvironmentPlace *out_place)
{
    if (!table) {
        float3 direction = warp_sphere(row->u);
        *out_place =
            (EnvironmentPlace){.uv = environment_uv(environment, direction), .pdf = SORT_INV_4PI};
        return direction;
    }
    float ring;
    environment_table_draw_cell(table, row, out_place);
    float3 direction = direction_of_uv(environment, out_place->uv, &ring);
    out_place->pdf = pdf_of_uv(out_place->pdf, ring);
    return direction;
}

EnvironmentPlace environment_find(const SceneEnvironment *environment,
                                  const EnvironmentTable *table, const SkyFacing *facing,
                                  float3 direction)
{
    float3 d = mat4_vector(&environment->world_to_environment, direction);
    EnvironmentPlace place = {.uv = uv_of_local(d), .pdf = SORT_INV_4PI};
    if (!table)
        return place;
    SkyFacing local = facing_map(environment, facing);
    environment_table_find(table, &local, &place);
    place.pdf = pdf_of_uv(place.pdf, sqrtf(d.x * d.x + d.z * d.z));
    return place;
}
