#include "tests/sort/render/passes_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/alloc.h"

FilmAov passes_aov(uint32_t pass)
{
    if (pass == PASS_EMISSION)
        return FILM_AOV_EMISSION;
    return pass == PASS_ENVIRONMENT ? FILM_AOV_ENVIRONMENT
                                    : (FilmAov)(FILM_AOV_DIFFUSE_COLOR + pass);
}

Passes passes_render(const Kit *kit, RenderOptions options)
{
    Passes p;
    options.aovs |= PASSES_WANTED;
    Render *render = kit_render(kit, &options);
    p.rgba = kit_pixels(render, &p.count);
    for (uint32_t k = 0; k < PASSES; ++k)
        p.aov[k] = kit_aov(render, passes_aov(k));
    render_destroy(render);
    return p;
}

void passes_free(Passes *p)
{
    mem_free(p->rgba);
    for (uint32_t k = 0; k < PASSES; ++k)
        mem_free(p->aov[k]);
}

double passes_mean(const Passes *p, uint32_t pass)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < 3 * p->count; ++i)
        sum += (double)p->aov[pass][i];
    return sum / (3.0 * p->count);
}

void passes_assert_sum(const Passes *p, const char *what)
{
    for (uint32_t i = 0; i < 3 * p->count; ++i) {
        double sum = (double)p->aov[PASS_EMISSION][i] + (double)p->aov[PASS_ENVIRONMENT][i],
               size = fabs(sum);
        for (uint32_t k = 0; k < PASS_EMISSION; k += 3) {
            double color = (double)p->aov[k][i], direct = (double)p->aov[k + 1][i],
                   indirect = (double)p->aov[k + 2][i];
            sum += color * (direct + indirect);
            size += fabs(color * direct) + fabs(color * indirect);
        }
        double picture = (double)p->rgba[4 * (i / 3) + i % 3];
        if (!(fabs(sum - picture) <= 2e-6 * size + 1e-9))
            fail_msg("%s: pixel %u channel %u: %.9g, but the passes make %.9g", what, i / 3, i % 3,
                     picture, sum);
    }
}

Hash128 passes_bits(const Film *film)
{
    const FilmDesc *d = film_desc(film);
    size_t count = (size_t)d->crop_width * d->crop_height;
    float *values = mem_alloc(count, 4 * sizeof *values);
    HashState h;
    assert_non_null(values);
    hash128_begin(&h);
    film_resolve(film, values);
    hash128_update(&h, values, 16 * count);
    for (uint32_t k = 0; k < FILM_AOV_COUNT; ++k) {
        if (!film_aovs_have(d->aovs, (FilmAov)k))
            continue;
        film_resolve_aov(film, (FilmAov)k, values);
        hash128_update(&h, values,
                       film_aov_info((FilmAov)k)->channel_count * count * sizeof *values);
    }
    mem_free(values);
    return hash128_end(&h);
}
