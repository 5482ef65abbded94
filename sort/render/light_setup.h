/* What light sampling needs to know before the first ray: the environment's importance table, and
 * roughly how bright each emissive material is. Both come from texture lookups, which wait for their
 * textures, and from kernels: the materials are bound by then. */
#ifndef SORT_RENDER_LIGHT_SETUP_H
#define SORT_RENDER_LIGHT_SETUP_H

#include "sort/light/light.h"
#include "sort/shade/shade.h"

typedef struct LightSetup {
    EnvironmentTable *table; /* NULL unless the environment is an image */
    Lights *lights;          /* borrows the table */
} LightSetup;

/* On success *out_setup is the caller's (light_setup_destroy). */
Status light_setup_create(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                          TextureStore *store, LightSetup *out_setup, Error *err) SORT_MUST_CHECK;
void light_setup_destroy(LightSetup *setup);

#endif
