/* Materials by which objects throw caustics: mirrors, clear glass and what is nearly as smooth, of whose samples many are scattered
 * with little blur. Kernels tell, which may wait for textures. */
#ifndef SORT_RENDER_CASTER_MATERIALS_H
#define SORT_RENDER_CASTER_MATERIALS_H

#include "sort/shade/shade.h"

/* Sets which materials throw caustics, and which of these do so by lobes with a blur, too. Both: [material_count], all false. Errors:
 * memory. */
Status caster_materials_find(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                             TextureStore *store, bool *out_cast, bool *out_are_glossy,
                             Error *err) SORT_MUST_CHECK;

#endif
