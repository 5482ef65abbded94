/* Paths that met no surface to shade: light shapes, and what lies at infinity. They end here. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/mis.h"

/* Share of a contribution found by following the path: light sampling might have found it too. */
static float share(const Path *path, float light_pdf)
{
    return path->flags & PATH_SPECULAR ? 1.0f : mis_power(path->pdf, light_pdf);
}

static void escape(Wave *w, Path *path, const Ray *ray)
{
    const Lights *lights = w->shared->lights;
    const RayDiff *diff = path->flags & PATH_SPECULAR ? &path->diff : NULL; /* NULL: under MIS */
    for (uint32_t k = 0; k < lights_infinite_count(lights); ++k) {
        LightValue kind;
        LightHit hit;
        if (!lights_infinite_hit(lights, path->from, path->from_n, k, ray->direction, &kind, &hit))
            continue;
        Spectrum radiance = kind == LIGHT_VALUE_ENVIRONMENT
                                ? shade_environment(w->shade, ray->direction, diff)
                                : hit.radiance;
        path_add(path, spectrum_scale(radiance, share(path, hit.pdf_solid_angle)));
    }
    if (path->flags & PATH_SEEN)
        return;
    path->film.aov[film_aov_info(FILM_AOV_DEPTH)->offset] = FILM_NO_DEPTH;
    if (w->shared->scene->environment.kind == SCENE_ENVIRONMENT_NONE)
        path->film.alpha = 0.0f;
}

static void meet_light(Wave *w, Path *path, const Ray *ray, uint32_t light, float t)
{
    /* Measured from the last scatter, since transparent surfaces may lie between. */
    float distance = f3_length(f3_sub(f3_madd(ray->origin, t, ray->direction), path->from));
    LightHit hit = lights_shape_hit(w->shared->lights, path->from, path->from_n, light, distance);
    path_add(path, spectrum_scale(hit.radiance, share(path, hit.pdf_solid_angle)));
}

void stage_escape(Wave *w)
{
    for (uint32_t i = 0; i < w->count; ++i) {
        uint32_t shape = w->hits.shape[i];
        Path *path = &w->paths[i];
        if (shape != HIT_NONE && hit_is_mesh(shape))
            continue;
        Ray ray = ray_batch_get(&w->rays, i);
        if (shape == HIT_NONE)
            escape(w, path, &ray);
        else
            meet_light(w, path, &ray, shape & ~HIT_LIGHT, w->hits.t[i]);
        path->flags |= PATH_DEAD;
    }
}
