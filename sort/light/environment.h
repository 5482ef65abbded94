/* Environment light: directions to map coordinates and back, and drawing directions.
 *
 * The scene keeps only the description; whoever can look textures up builds the importance table through a callback
 * (environment_table.h). The radiance itself is always looked up (by shade); the table only says where to look.
 *
 * In the environment's frame: u = 1/2 + atan2(-d.x, d.z) / (2 pi), v = 1/2 + asin(d.y) / pi. */
#ifndef SORT_LIGHT_ENVIRONMENT_H
#define SORT_LIGHT_ENVIRONMENT_H

#include "sort/light/environment_table.h"
#include "sort/scene/ray.h"
#include "sort/scene/scene.h"
#include "sort/wide/wide.h"

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

/* The footprint of a cell of the importance table, at a place of the map. Lookups that are weighted by multiple importance
 * sampling use it: were the image blurred by the path's cone, its light would leak from where the table is dense to
 * where it is not, and count twice. table NULL: as of one of 1024 x 512. */
EnvironmentFootprint environment_cell(const EnvironmentTable *table, float2 uv);

/* Draws directions in world space for `lanes`: writes them, their places in the map and their densities in solid angle. normal and
 * sides: of the surfaces that they leave, as in SkyFacings, but in world space. u: in [0, 1)^2. table NULL: uniform over the sphere. */
void environment_draw(const SceneEnvironment *environment, const EnvironmentTable *table,
                      const WideRow normal[3], const uint32_t sides[SSL_BLOCK], const WideRow u[2],
                      uint16_t lanes, WideRow out_wi[3], EnvironmentPlace out_places[SSL_BLOCK]);

/* Rays that leave the scene, in world space: their directions, and the surfaces that they come from as in SkyFacings. */
typedef struct EnvironmentRays {
    WideRow direction[3], normal[3];
    uint32_t sides[SSL_BLOCK];
} EnvironmentRays;
/* Writes the places in the map of the directions of `lanes`, and the densities in solid angle with which they are drawn. */
void environment_find(const SceneEnvironment *environment, const EnvironmentTable *table,
                      const EnvironmentRays *rays, uint16_t lanes,
                      EnvironmentPlace out_places[SSL_BLOCK]);

#endif
