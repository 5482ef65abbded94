/* What paths teach the field: each sample keeps the vertices of its path, adds to them the light that is found behind them, and
 * records them when the path is over. */
#include "sort/integrator/guiding.h"

#include "base/hash.h"

void lessons_begin(Wave *w, uint32_t sample)
{
    w->lessons[sample].count = w->lessons[sample].lit = 0;
}

void lessons_add_vertex(Wave *w, uint32_t i, SurfaceLane surface, const BsdfSample *sample,
                        const Guidance *g)
{
    const Path *path = &w->paths[i];
    PathLesson *lesson = &w->lessons[path->sample];
    float3 P = surface_vector(surface, surface.block->P);
    LessonVertex *before = lesson->count ? &lesson->vertex[lesson->count - 1] : NULL;
    if (before && isinf(before->distance_m))
        before->distance_m = f3_length(f3_sub(P, before->position));
    bool is_bounce = !(sample->flags & (uint32_t)(SSL_LOBE_DELTA | SSL_LOBE_TRANSPARENT));
    if (!is_bounce || path->flags & (PATH_CAUGHT | PATH_DEAD) || lesson->count == LESSON_VERTICES)
        return;
    uint32_t k = surface.lane;
    bool is_known = g && g->lanes >> k & 1;
    lesson->vertex[lesson->count++] = (LessonVertex){.position = P,
                                                     .distance_m = INFINITY,
                                                     .normal = path->from_n,
                                                     .direction = sample->wi,
                                                     .beta = path->beta,
                                                     .weight = sample->weight,
                                                     .pdf = path->pdf,
                                                     .bsdf_pdf = sample->pdf,
                                                     .guide_pdf = is_known ? g->density[k] : 0.0f,
                                                     .share = is_known ? g->share[k] : 0.0f};
}

void lessons_advance(Wave *w)
{
    for (uint32_t k = 0; k < w->sample_count; ++k)
        w->lessons[k].lit = w->lessons[k].count;
}

void lessons_add_light(Wave *w, const Path *path, float3 rgb)
{
    PathLesson *lesson = &w->lessons[path->sample];
    const float light[3] = {rgb.x, rgb.y, rgb.z};
    _Static_assert(SPECTRUM_CHANNELS == 3, "light is RGB");
    if (lesson->lit > 0)
        SPECTRUM_EACH(c) lesson->vertex[lesson->lit - 1].light.c[c] += light[c];
}

/* Makes what reached the camera from behind each vertex the radiance that arrives there: what later vertices have found has passed
 * the earlier ones. */
static void find_radiance(PathLesson *lesson)
{
    Spectrum light = spectrum_splat(0.0f);
    for (uint32_t v = lesson->count; v-- > 0;) {
        LessonVertex *vertex = &lesson->vertex[v];
        light = spectrum_add(light, vertex->light);
        SPECTRUM_EACH(c)
        vertex->light.c[c] =
            fabsf(vertex->beta.c[c]) > FLT_MIN ? light.c[c] / vertex->beta.c[c] : 0.0f;
    }
}

static void record(GuideField *field, const LessonVertex *v, uint64_t random)
{
    guide_field_record(
        field, &(GuideRecord){.position = v->position,
                              .normal = v->normal,
                              .direction = v->direction,
                              .distance_m = v->distance_m,
                              .radiance = maxf(spectrum_average(v->light), 0.0f),
                              .estimate = spectrum_average(spectrum_mul(v->light, v->weight)),
                              .pdf = v->pdf,
                              .bsdf_pdf = v->bsdf_pdf,
                              .guide_pdf = v->guide_pdf,
                              .share = v->share,
                              .random = random});
}

void lessons_finish(Wave *w)
{
    for (uint32_t k = 0; k < w->sample_count; ++k) {
        PathLesson *lesson = &w->lessons[k];
        uint64_t random = hash_mix64((uint64_t)w->pixels[k].y << 48 |
                                     (uint64_t)w->pixels[k].x << 32 | w->pixels[k].sample);
        find_radiance(lesson);
        for (uint32_t v = 0; v < lesson->count; ++v)
            record(w->shared->learner, &lesson->vertex[v],
                   hash_mix64(random + 0x9e3779b97f4a7c15u * (v + 1)));
    }
}
