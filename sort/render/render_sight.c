/* Which lights are seen: a small picture of the scene counts whose shadow rays arrive, and light sampling heeds it. It is worth its
 * time where one of several lights has to be chosen. */
#include "sort/render/training.h"

#include "base/check.h"
#include "base/clock.h"

enum {
    /* The small picture has one path for so many pixels of the frame, within limits. */
    PIXELS_A_PATH = 32,
    PATHS_MIN = 1 << 12,
    PATHS_MAX = 1 << 15,
    SAMPLES = 4, /* a pixel */
    /* A mesh that shines alone may be lamps in several places if it has so many triangles. */
    PARTS_MIN = 64,
    /* All renders have the same one, so that direct light does not depend on how far paths go on. */
    DEPTH = 2
};

static double pixel_count(const Render *r)
{
    const FilmDesc *frame = film_desc(r->film);
    double paths = (double)frame->width * frame->height / PIXELS_A_PATH;
    return fmin(fmax(paths, PATHS_MIN), PATHS_MAX) / SAMPLES;
}

static Status count_rays(Render *r, LightSight *sight, Error *err)
{
    Training t;
    SceneSettings settings = r->settings;
    Status status = training_begin(&t, r, pixel_count(r), SAMPLES, 0, 0x7369676874, err);
    ASSERT(t.shared.settings == &r->settings); /* of which this is a copy */
    settings.max_depth = DEPTH;
    t.shared.settings = &settings;
    t.shared.sight = sight;
    if (status == STATUS_OK)
        status = training_run(&t, 0, SAMPLES, err);
    if (status == STATUS_OK)
        r->stats.sight.paths = (uint64_t)t.width * t.height * SAMPLES;
    training_end(&t);
    return status;
}

/* Returns whether light is gathered from lights of which one has to be chosen, or in one of two ways. */
static bool has_choice(const Render *r)
{
    const Lights *lights = r->lights.lights;
    return wave_gathers_light(&r->shared) && r->shared.view != WAVE_VIEW_LIGHT && !r->shared.bake &&
           (lights_count(lights) > 1 || lights_have_portals(lights) ||
            lights_sight_count(lights) >= PARTS_MIN);
}

Status render_look_for_lights(Render *r, Error *err)
{
    LightSight *sight;
    uint64_t start = clock_now_ns();
    TRY(lights_heed(r->lights.lights, NULL, err)); /* they may be those of another picture */
    if (!has_choice(r))
        return STATUS_OK;
    render_announce(r, "looking which lights are seen");
    TRY(light_sight_create(lights_sight_count(r->lights.lights), &sight, err));
    Status status = count_rays(r, sight, err);
    if (status == STATUS_OK)
        status = lights_heed(r->lights.lights, sight, err);
    light_sight_destroy(sight);
    r->stats.sight.seconds = clock_seconds_since(start);
    return status;
}
