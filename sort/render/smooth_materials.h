/* Materials by which objects throw caustics: mirrors and clear glass, of whose samples many are scattered without a blur. Kernels
 * tell, which may wait for textures. */
#ifndef SORT_RENDER_SMOOTH_MATERIALS_H
#define SORT_RENDER_SMOOTH_MATERIALS_H

#include "sort/shade/shade.h"

/* Sets which materials are smooth. out_are_smooth: [material_count], all false. Errors: memory. */
Status smooth_materials_find(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                             TextureStore *store, bool *out_are_smooth, Error *err) SORT_MUST_CHECK;

#endif
