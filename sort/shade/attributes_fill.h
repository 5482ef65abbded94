/* Writes the attributes of surface points into the blocks that kernels read: values of the mesh at its vertices, found
 * by name and interpolated with their derivatives, and attributes that the renderer computes for any point. */
#ifndef SORT_SHADE_ATTRIBUTES_FILL_H
#define SORT_SHADE_ATTRIBUTES_FILL_H

#include "sort/shade/surface_block.h"
#include "ssl/ssl.h"

/* Writes what `info` says that the kernel reads, for surface i, which is lane i % SSL_BLOCK of
 * surfaces[i / SSL_BLOCK], in the same lane and block. names: [unit->attribute_count] the name of each in the mesh: an attribute of it, or uv0
 * to uv7 for its sets of texture coordinates. A vector gets the first components of what is there, and 0
 * beyond; an int the nearest whole number; a bool whether it is at least one half. Points whose mesh has
 * none of that name get the default. blocks: info->attributes_stride_bytes each. */
void attributes_fill(const Scene *scene, const SslProgramInfo *info, const char *const *names,
                     const SurfaceBlock *surfaces, uint32_t count, void *blocks);

#endif
