/* The importance table of an environment: where in the map to look for light, for a surface that faces it in a given way.
 *
 * A tree of blocks knows the cosine at the surface (sky_tree.h), and each block has a table of its cells. Paths are weighted
 * between light sampling and scattering by the balance heuristic, whose variance is least where the sum of both densities
 * follows the light. What scattering finds anyhow, half of the mean, is therefore subtracted from each cell [Karlik2019],
 * but for a third of the cell's light, as scattering finds little of what it sees through a window.
 *
 * Whatever a cell shines, its density is above 0. Immutable after creation: any thread. */
#ifndef SORT_LIGHT_ENVIRONMENT_TABLE_H
#define SORT_LIGHT_ENVIRONMENT_TABLE_H

#include "base/error.h"
#include "sort/light/sky_tree.h"

typedef struct EnvironmentTable EnvironmentTable;

/* One row of the map, filtered: the mean radiance of each cell [x/width, (x+1)/width) x
 * [v_low, v_high), without the strength. */
typedef Status (*EnvironmentRowFn)(void *data, uint32_t width, float v_low, float v_high,
                                   float3 *out_radiance, Error *err);

enum { ENVIRONMENT_TABLE_MAX_WIDTH = 2048, ENVIRONMENT_TABLE_MAX_HEIGHT = 1024 };

typedef struct EnvironmentTableDesc {
    /* Cells: 1 to the most. */
    uint32_t width, height;
    /* Is called for each row, v from 1 down to 0. Negative and non-finite radiance counts as 0. */
    EnvironmentRowFn row;
    void *data;
    /* Scattering does not bring the light of the environment, so nothing is left to it. */
    bool is_alone;
    /* The table keeps the radiance of its cells, unless some is negative or not finite. */
    bool keeps_radiance;
} EnvironmentTableDesc;

/* Returns how many cells a table has along one side of an image: one a texel, several in small images, and one for several
 * texels where there would be more than `most`, at least 4. texels: at least 1. */
uint32_t environment_table_side(uint32_t texels, uint32_t most);

/* The density within a block is proportional to solid angle times what a cell weighs. Without radiance the cell's luminance is the
 * mean of what is interpolated linearly between the middles of cells, as lookups do. An all-black map gives equal weights. On
 * success *out_table is owned by the caller. Errors: memory, and those of `row`. */
Status environment_table_create(const EnvironmentTableDesc *desc, EnvironmentTable **out_table,
                                Error *err) SORT_MUST_CHECK;
void environment_table_destroy(EnvironmentTable *table); /* NULL is fine */
/* Mean radiance over the sphere. */
float3 environment_table_mean(const EnvironmentTable *table);
/* The part of the light over the sphere that is brighter than its mean, in [0, 1): 0 where the sky is even; 1 if
 * EnvironmentTableDesc.is_alone. */
double environment_table_unevenness(const EnvironmentTable *table);
/* Returns whether a lobe that draws a direction with this density per solid angle can tell no more of the sky than the radiance
 * of its cells: it covers many, and the table keeps their radiance. */
bool environment_table_suffices(const EnvironmentTable *table, float lobe_pdf);
/* Returns the mean radiance of a cell, without the strength; the table keeps it. */
float3 environment_table_radiance(const EnvironmentTable *table, uint32_t cell);
/* The cells of the table along u and v. */
uint32_t environment_table_width(const EnvironmentTable *table);
uint32_t environment_table_height(const EnvironmentTable *table);

/* A point of the map, the density of drawing it, and the cell that it is in. */
typedef struct EnvironmentPlace {
    float2 uv; /* v up */
    float pdf; /* per unit of the map's area */
    uint32_t cell;
} EnvironmentPlace;

/* Draws a place for each of `lanes`; others are not written. u: in [0, 1)^2. */
void environment_table_draw(const EnvironmentTable *table, const SkyFacings *facings,
                            const WideRow u[2], uint16_t lanes,
                            EnvironmentPlace out_places[SSL_BLOCK]);
/* Sets the cells and the densities of the places of `lanes` by their uv. Places outside of the map count as the border. */
void environment_table_find(const EnvironmentTable *table, const SkyFacings *facings,
                            uint16_t lanes, EnvironmentPlace places[SSL_BLOCK]);

#endif
