#include "sort/render/probe.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/render/render_state.h"
#include "sort/shade/texture_probe.h"
#include <string.h>

typedef struct Prober {
    Render *render;
    void (*lookup)(void *data, const ProbeLookup *lookup);
    void *data;
    uint32_t sample;
    ProbeLookup told;
} Prober;

static const char *const kind_names[] = {"shade", "opacity", "emission"};

/* Which material's, and which kernel, a program is. */
static void name_program(const Prober *p, const MaterialProgram *program, ProbeLookup *out)
{
    for (uint32_t m = 0; m < p->render->scene->material_count; ++m) {
        const Material *material = material_set_get(p->render->materials, m);
        for (int kind = 0; kind < 3; ++kind) {
            if (&material->programs[kind] == program) {
                out->material = material->name;
                out->kind = kind_names[kind];
            }
        }
    }
}

static void on_lookup(void *data, const TextureProbeLookup *from)
{
    Prober *p = data;
    ProbeLookup *to = &p->told;
    const TexRequest *r = from->request;
    ASSERT(from->lane < r->lane_count);
    *to = (ProbeLookup){.sample = p->sample,
                        .depth = r->depths ? r->depths[from->lane] : r->depth,
                        .kind = "environment",
                        .source = ""};
    if (from->program) {
        name_program(p, from->program, to);
        ssl_texture_site_place(from->program->program, from->site, &to->source, &to->line,
                               &to->column);
    }
    for (uint32_t k = 0; k < 4; ++k) {
        to->derivs[k] = r->coord[(2 + k) * r->lane_count + from->lane];
        to->rgba[k] = from->result[k * r->lane_count + from->lane];
    }
    to->blur = r->coord[6 * r->lane_count + from->lane];
    texcache_explain(p->render->textures, r, from->lane, &to->explain);
    p->lookup(p->data, to);
}

/* The parts of a worker and a fiber, for the calling thread. */
typedef struct Bench {
    TexThread *thread;
    Waiter *waiter;
    Arena *arena;
    Wave *wave;
} Bench;

static Status bench_create(Render *r, const TextureProbe *probe, Bench *b, Error *err)
{
    ShadeContext *shade;
    *b = (Bench){.arena = arena_create(1 << 20, 0)};
    if (!b->arena)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    TRY(texcache_thread_create(r->textures, &b->thread, err));
    TRY(waiter_create_for_thread(&b->waiter, err));
    ShadeContextDesc desc = render_shade_desc(r, b->thread, b->waiter);
    desc.probe = probe;
    TRY(shade_context_create(&desc, b->arena, &shade, err));
    return wave_create(&r->shared, shade, NULL, ACCEL_PACKET, b->arena, &b->wave, err);
}

static void bench_destroy(Bench *b)
{
    if (b->waiter)
        waiter_destroy_for_thread(b->waiter);
    texcache_thread_destroy(b->thread);
    arena_destroy(b->arena);
}

static Status resolve_pixel(const Film *film, uint32_t x, uint32_t y, float out_rgba[4], Error *err)
{
    const FilmDesc *d = film_desc(film);
    float *all = mem_alloc((size_t)d->crop_width * d->crop_height, 4 * sizeof(float));
    if (!all)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    film_resolve(film, all);
    size_t at = (size_t)(y - d->y) * d->crop_width + (x - d->x);
    memcpy(out_rgba, all + 4 * at, 4 * sizeof(float));
    mem_free(all);
    return STATUS_OK;
}

Status render_probe(Render *r, const ProbeDesc *desc, float out_rgba[4], Error *err)
{
    const FilmDesc *d = film_desc(r->film);
    uint32_t x = desc->x, y = desc->y;
    ASSERT(desc->sample_count > 0);
    if (r->shared.view == WAVE_VIEW_LIGHT)
        return error_set(err, STATUS_INVALID,
                         "integrator 'light': a path of light belongs to no pixel, so that the "
                         "lookups of one cannot be told; probe it by --integrator path");
    r->shared.caustic_emission = NULL; /* likewise: walks look for caustics */
    if (x < d->x || x - d->x >= d->crop_width || y < d->y || y - d->y >= d->crop_height)
        return error_set(err, STATUS_INVALID,
                         "the pixel %u,%u is not in the picture of %u x %u pixels", x, y, d->width,
                         d->height);
    Prober p = {.render = r, .lookup = desc->lookup, .data = desc->data};
    TextureProbe probe = {.lookup = on_lookup, .data = &p};
    Bench bench;
    accel_thread_begin();
    Status status = bench_create(r, &probe, &bench, err);
    uint32_t begin = r->schedule.sample_begin, left = r->schedule.sample_end - begin;
    for (uint32_t i = 0; status == STATUS_OK && i < desc->sample_count && i < left; ++i) {
        p.sample = begin + i;
        const WaveJob job = {x, y, 1, 1, p.sample, p.sample + 1};
        wave_run(bench.wave, &job);
    }
    bench_destroy(&bench);
    if (status == STATUS_OK && texture_store_has_failed(r->store))
        status = render_finish_textures(r, err);
    return status == STATUS_OK ? resolve_pixel(r->film, x, y, out_rgba, err) : status;
}
