/* Writes the attributes of surface points into the blocks that kernels read: values of the mesh at its vertices, found
 * by name and interpolated with their derivatives, and attributes that the renderer computes for any point. */
#ifndef SORT_SHADE_ATTRIBUTES_FILL_H
#define SORT_SHADE_ATTRIBUTES_FILL_H

#include "sort/shade/hit.h"
#include "ssl/ssl.h"

/* Writes what `info` says that the kernel reads, for each hit i in lane i % SSL_BLOCK of block
 * i / SSL_BLOCK. names: [unit->attribute_count] the name of each in the mesh: an attribute of it, or uv0
 * to uv7 for its sets of texture coordinates. A vector gets the first components of what is there, and 0
 * beyond; an int the nearest whole number; a bool whether it is at least one half. Points whose mesh has
 * none of that name get the default. blocks: info->attributes_stride_bytes each. */
void attributes_fill(const Scene *scene, const SslProgramInfo *info, const char *const *names,
                     const SurfaceHit *const *hits, uint32_t count, void *blocks);

#endif
