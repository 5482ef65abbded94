/* Writes the globals of surface points into the blocks that kernels read. */
#ifndef SORT_SHADE_GLOBALS_FILL_H
#define SORT_SHADE_GLOBALS_FILL_H

#include "sort/shade/hit.h"
#include "sort/shade/ssl_tables.h"

/* Writes lane i % SSL_BLOCK of block i / SSL_BLOCK for each hit i, rows named in `value` and `derivs`
 * only (bit = GlobalRow, as in SslProgramInfo). blocks: 64-byte aligned, layout->stride_bytes each. */
void globals_fill(const Scene *scene, const SurfaceHit *const *hits, uint32_t count, uint64_t value,
                  uint64_t derivs, const SslGlobalsLayout *layout, void *blocks);

#endif
