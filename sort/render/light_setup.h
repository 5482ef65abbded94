/* Prepares light sampling: builds the environment's importance table, and estimates the brightness of each emissive
 * material and, where that varies, of each of its triangles. All come from texture lookups, which wait for their
 * textures, and from kernels, so the materials must be bound. */
#ifndef SORT_RENDER_LIGHT_SETUP_H
#define SORT_RENDER_LIGHT_SETUP_H

#include "sort/light/light.h"
#include "sort/shade/shade.h"

typedef struct LightSetup {
    EnvironmentTable *table; /* NULL unless the environment is an image */
    Lights *lights;          /* borrows the table */
    ShadeGlow *glows;        /* [material_count] */
    bool *
        are_smooth; /* [material_count] mirrors and clear glass: much is scattered without a blur */
} LightSetup;

/* Builds the lights of a scene. samples_alone: scattered rays do not count what they find of the environment. The other arguments
 * are borrowed as long as the lights are used. On success *out_setup is the caller's (light_setup_destroy). Errors: memory,
 * textures, materials whose emission is not finite. */
Status light_setup_create(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                          TextureStore *store, bool samples_alone, LightSetup *out_setup,
                          Error *err) SORT_MUST_CHECK;
void light_setup_destroy(LightSetup *setup);

enum { LIGHT_SETUP_POINTS = 256 };
/* Sets points that are spread evenly over the triangles of the instances that wear a material, seen head-on from one side. Returns
 * their number. surfaces: room for LIGHT_SETUP_POINTS. */
uint32_t light_setup_points(const Scene *scene, uint32_t material, bool from_front,
                            SurfaceBlock *surfaces);
/* Returns the sides (LIGHT_EMITS_x) from which a material may emit; both unless its emission is constant. */
uint8_t light_setup_known_sides(const ShadeGlow *glow);

#endif
