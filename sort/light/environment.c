/* Latitude-longitude maps. In the map, rows run from v = 1 (up) to v = 0; dist2d's second coordinate
 * runs the same way, so it is 1 - v. */
#include "sort/light/environment.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/bsdf/spectrum.h"
#include "sort/sampling/dist2d.h"
#include "sort/sampling/turn.h"
#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"

/* The uniform part of the density: cells get at least this share of the mean weight. It covers what
 * a texture filter spreads into cells whose own mean is black. */
static const double uniform_share = 0.01;

struct EnvironmentTable {
    Dist2d *dist; /* owned */
    float3 mean;
};

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

EnvironmentFootprint environment_cell(float2 uv)
{
    return (EnvironmentFootprint){.uv = uv,
                                  .duvdx = {1.0f / ENVIRONMENT_TABLE_WIDTH, 0.0f},
                                  .duvdy = {0.0f, 1.0f / ENVIRONMENT_TABLE_HEIGHT}};
}

/* --- the importance table ------------------------------------------------------------------- */

static float non_negative(float x)
{
    return isfinite(x) && x > 0.0f ? x : 0.0f;
}

/* The part of the sphere's area, out of 1, that row `y` of `height` covers. */
static double row_share(uint32_t y, uint32_t height)
{
    return 0.5 * (turn_unit(TURN_PI * y / height).re - turn_unit(TURN_PI * (y + 1) / height).re);
}

/* The mean over a cell of what is interpolated linearly between its middle and those of its neighbours. */
static float cell_mean(float before, float at, float after)
{
    return 0.75f * at + 0.125f * (before + after);
}

/* Lookups interpolate between cells, so that a small sun shines into the cells around its own: each cell weighs what
 * is seen in it. Rows end in one another, columns at the poles. `above`: room for a row. */
static void weigh_as_interpolated(float *weights, float *above, uint32_t width, uint32_t height)
{
    for (uint32_t y = 0; y < height; ++y) {
        float *w = &weights[(size_t)y * width];
        float first = w[0], before = w[width - 1];
        for (uint32_t x = 0; x < width; ++x) {
            float at = w[x];
            w[x] = cell_mean(before, at, x + 1 < width ? w[x + 1] : first);
            before = at;
        }
    }
    memcpy(above, weights, width * sizeof *above);
    for (uint32_t y = 0; y < height; ++y) {
        float *w = &weights[(size_t)y * width];
        const float *below = y + 1 < height ? w + width : w;
        for (uint32_t x = 0; x < width; ++x) {
            float at = w[x];
            w[x] = cell_mean(above[x], at, below[x]);
            above[x] = at;
        }
    }
}

Status environment_table_create(uint32_t width, uint32_t height, EnvironmentRowFn row, void *data,
                                EnvironmentTable **out_table, Error *err)
{
    *out_table = NULL;
    CHECK(width > 0 && height > 0 && width <= DIST2D_MAX_SIDE && height <= DIST2D_MAX_SIDE);
    EnvironmentTable *table = MEM_NEW(EnvironmentTable);
    float *weights = MEM_ARRAY(float, (size_t)width *height);
    float *above = MEM_ARRAY(float, width);
    float3 *colors = MEM_ARRAY(float3, width);
    Status status = STATUS_OK;
    if (!table || !weights || !above || !colors) {
        status = error_set(err, STATUS_NO_MEMORY, "no memory for an environment table of %u x %u",
                           width, height);
        goto cleanup;
    }

    double sum[3] = {0, 0, 0}, luminance_sum = 0;
    for (uint32_t y = 0; y < height; ++y) {
        float v_high = 1.0f - (float)y / (float)height;
        float v_low = 1.0f - (float)(y + 1) / (float)height;
        status = row(data, width, v_low, v_high, colors, err);
        if (status != STATUS_OK)
            goto cleanup;
        double share = row_share(y, height) / width;
        for (uint32_t x = 0; x < width; ++x) {
            float3 c =
                f3(non_negative(colors[x].x), non_negative(colors[x].y), non_negative(colors[x].z));
            float luminance = spectrum_luminance(spectrum_from_rgb(c));
            weights[(size_t)y * width + x] = luminance;
            sum[0] += share * (double)c.x, sum[1] += share * (double)c.y;
            sum[2] += share * (double)c.z, luminance_sum += share * (double)luminance;
        }
    }
    table->mean = f3((float)sum[0], (float)sum[1], (float)sum[2]);
    weigh_as_interpolated(weights, above, width, height);

    /* Relative to the mean, so that neither dim nor bright maps leave the range of float. */
    double scale = luminance_sum > 0.0 ? 1.0 / luminance_sum : 0.0;
    for (uint32_t y = 0; y < height; ++y) {
        double share = row_share(y, height) * height;
        for (uint32_t x = 0; x < width; ++x) {
            float *w = &weights[(size_t)y * width + x];
            *w = (float)(share * (fmin((double)*w * scale, 1e30) + uniform_share));
        }
    }
    status = dist2d_create(weights, width, height, &table->dist, err);
cleanup:
    mem_free(weights);
    mem_free(above);
    mem_free(colors);
    if (status != STATUS_OK) {
        mem_free(table);
        return status;
    }
    *out_table = table;
    return STATUS_OK;
}

void environment_table_destroy(EnvironmentTable *table)
{
    if (!table)
        return;
    dist2d_destroy(table->dist);
    mem_free(table);
}

float3 environment_table_mean(const EnvironmentTable *table)
{
    return table->mean;
}

/* dA on the sphere is 2 pi^2 sin(theta) du dv [pbrt4 eq. 12.9]. */
static float pdf_of_uv(float pdf_uv, float sin_theta)
{
    return sin_theta > 0.0f ? pdf_uv * (0.5f * SORT_INV_PI * SORT_INV_PI) / sin_theta : 0.0f;
}

float3 environment_sample(const SceneEnvironment *environment, const EnvironmentTable *table,
                          float2 u, float2 *out_uv, float *out_pdf_solid_angle)
{
    if (!table) {
        float3 direction = warp_sphere(u);
        *out_pdf_solid_angle = SORT_INV_4PI;
        if (out_uv)
            *out_uv = environment_uv(environment, direction);
        return direction;
    }
    ASSERT(u.x >= 0.0f && u.x < 1.0f && u.y >= 0.0f && u.y < 1.0f);
    float pdf_uv, ring;
    float2 p = dist2d_sample(table->dist, u, &pdf_uv), uv = f2(p.x, 1.0f - p.y);
    float3 direction = direction_of_uv(environment, uv, &ring);
    *out_pdf_solid_angle = pdf_of_uv(pdf_uv, ring);
    if (out_uv)
        *out_uv = uv;
    return direction;
}

float environment_pdf(const SceneEnvironment *environment, const EnvironmentTable *table,
                      float3 direction, float2 *out_uv)
{
    if (!table && !out_uv)
        return SORT_INV_4PI;
    float3 d = mat4_vector(&environment->world_to_environment, direction);
    float2 uv = uv_of_local(d);
    if (out_uv)
        *out_uv = uv;
    return table ? pdf_of_uv(dist2d_pdf(table->dist, f2(uv.x, 1.0f - uv.y)),
                             sqrtf(d.x * d.x + d.z * d.z))
                 : SORT_INV_4PI;
}
