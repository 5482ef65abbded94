/* Paged textures made of a formula, for benchmarks: stripes, gradients and noise, so that no tile is of one colour
 * and no two numbers give the same file. */
#ifndef SORT_TESTS_BENCH_FORMULA_TEXTURE_H
#define SORT_TESTS_BENCH_FORMULA_TEXTURE_H

#include "textures/texcache.h"

/* size x size texels of 8 bits, 1 to 4 channels. */
Status formula_texture_write(const char *path, uint32_t size, uint32_t channel_count,
                             uint32_t number, Error *err) SORT_MUST_CHECK;

#endif
