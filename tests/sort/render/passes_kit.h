/* Light passes in tests: rendering them, and what they must make together. */
#ifndef SORT_TESTS_PASSES_KIT_H
#define SORT_TESTS_PASSES_KIT_H

#include "tests/sort/render/render_kit.h"

/* Colour, direct and indirect of three kinds; emission; environment. */
enum { PASSES = 11, PASS_EMISSION = 9, PASS_ENVIRONMENT = 10 };
#define PASSES_WANTED                                                                              \
    (FILM_LIGHT_PASSES | FILM_AOV_BIT(FILM_AOV_EMISSION) | FILM_AOV_BIT(FILM_AOV_ENVIRONMENT))

typedef struct Passes {
    float *rgba, *aov[PASSES]; /* owned */
    uint32_t count;
} Passes;

FilmAov passes_aov(uint32_t pass);
/* options.aovs and all passes. */
Passes passes_render(const Kit *kit, RenderOptions options);
void passes_free(Passes *p);
/* Over all pixels and channels. */
double passes_mean(const Passes *p, uint32_t pass);
/* In every pixel the passes add up to the picture, but for the rounding of each to float and of the shares of light. */
void passes_assert_sum(const Passes *p, const char *what);
/* Returns the hash of the picture and of all layers of the film. */
Hash128 passes_bits(const Film *film);

#endif
