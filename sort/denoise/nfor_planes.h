/* Planes of pixels with borders, and what is done to them pixel by pixel; private to sort/denoise/. */
#ifndef SORT_DENOISE_NFOR_PLANES_H
#define SORT_DENOISE_NFOR_PLANES_H

#include "base/error.h"
#include "sort/denoise/nfor_tile.h"

/* A picture of 1 x 1 pixels or more. */
NforGrid nfor_grid(uint32_t width, uint32_t height);
/* Returns `count` planes of zeros, one behind the other, for mem_free; NULL: out of memory. */
float *nfor_planes(const NforGrid *g, size_t count);
/* Copies the edges of the picture into the border of each of `count` planes. */
void nfor_extend(const NforGrid *g, float *planes, size_t count, uint32_t thread_count);
/* Replaces a plane by its means over squares of 2 radius + 1 pixels. radius: at most NFOR_BORDER_Y. `spare` is another plane. */
void nfor_blur(const NforGrid *g, float *plane, float *spare, int32_t radius,
               uint32_t thread_count);
/* Calls body for each row of the picture, from several threads. */
void nfor_each_row(const NforGrid *g, uint32_t thread_count, void (*body)(void *data, uint32_t y),
                   void *data);

#endif
