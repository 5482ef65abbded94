/* Environment light: directions to map coordinates and back, and an importance table.
 *
 * The scene keeps only the description; whoever can look textures up builds the table through a
 * callback, at a modest resolution, from filtered lookups. The radiance itself is always looked up
 * (by shade); the table only says where to look.
 *
 * In the environment's frame: u = 1/2 + atan2(-d.x, d.z) / (2 pi), v = 1/2 + asin(d.y) / pi. */
#ifndef SORT_LIGHT_ENVIRONMENT_H
#define SORT_LIGHT_ENVIRONMENT_H

#include "sort/scene/ray.h"
#include "sort/scene/scene.h"

/* Unit direction in world space to map coordinates in [0,1]^2, v up. */
float2 environment_uv(const SceneEnvironment *environment, float3 direction);
float3 environment_direction(const SceneEnvironment *environment, float2 uv);

/* Map coordinates and their derivatives for a ray that escapes: the footprint of the lookup. dDdx
 * and dDdy as in RayDiff. At the poles du is bounded: the footprint covers at most the whole row. */
typedef struct EnvironmentFootprint {
    float2 uv, duvdx, duvdy;
} EnvironmentFootprint;
EnvironmentFootprint environment_footprint(const SceneEnvironment *environment, float3 direction,
                                           float3 dDdx, float3 dDdy);

/* The footprint of a cell of the importance table. Lookups that are weighted by multiple importance sampling
 * use it: were the image blurred by the path's cone, its light would leak from where the table is dense to
 * where it is not, and count twice. */
EnvironmentFootprint environment_cell(float2 uv);

typedef struct EnvironmentTable EnvironmentTable;

/* One row of the map, filtered: the mean radiance of each cell [x/width, (x+1)/width) x
 * [v_low, v_high), without the strength. */
typedef Status (*EnvironmentRowFn)(void *data, uint32_t width, float v_low, float v_high,
                                   float3 *out_radiance, Error *err);

enum { ENVIRONMENT_TABLE_WIDTH = 1024, ENVIRONMENT_TABLE_HEIGHT = 512 };

/* Calls `row` height times, v from 1 down to 0. Negative and non-finite radiance counts as 0. The
 * table is piecewise constant in uv, proportional to solid angle x the mean luminance of what is
 * interpolated linearly between the middles of cells, mixed with a small uniform part, so that no direction that could shine has density 0. Width and height at least 1.
 * On success *out_table is owned by the caller. An all-black map gives the uniform table. */
Status environment_table_create(uint32_t width, uint32_t height, EnvironmentRowFn row, void *data,
                                EnvironmentTable **out_table, Error *err) SORT_MUST_CHECK;
void environment_table_destroy(EnvironmentTable *table); /* NULL is fine */
/* Mean radiance over the sphere. */
float3 environment_table_mean(const EnvironmentTable *table);

/* A direction in world space, its map coordinates (out_uv may be NULL) and its density in solid angle.
 * table NULL: uniform over the sphere. */
float3 environment_sample(const SceneEnvironment *environment, const EnvironmentTable *table,
                          float2 u, float2 *out_uv, float *out_pdf_solid_angle);
float environment_pdf(const SceneEnvironment *environment, const EnvironmentTable *table,
                      float3 direction, float2 *out_uv);

#endif
