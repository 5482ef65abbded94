/* Writes the globals of surface points into the blocks that kernels read. */
#ifndef SORT_SHADE_GLOBALS_FILL_H
#define SORT_SHADE_GLOBALS_FILL_H

#include "sort/shade/ssl_tables.h"
#include "sort/shade/surface_block.h"

/* Writes one block of globals for each block of surfaces, rows named in `value` and `derivs` only (bit = GlobalRow, as in
 * SslProgramInfo). blocks: 64-byte aligned, layout->stride_bytes each. */
void globals_fill(const Scene *scene, const SurfaceBlock *surfaces, uint32_t block_count,
                  uint64_t value, uint64_t derivs, const SslGlobalsLayout *layout, void *blocks);

#endif
