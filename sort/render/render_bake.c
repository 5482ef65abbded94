/* Pictures of points on an object instead of what a camera sees. */
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/str.h"
#include <string.h>

/* Layers that say where a surface is seen by the camera, and integrators that begin elsewhere, have no meaning here. */
static Status check_options(const RenderOptions *o, Error *err)
{
    static const FilmAov of_cameras[] = {FILM_AOV_DEPTH, FILM_AOV_MIST, FILM_AOV_VECTOR};
    if (o->aovs & FILM_DENOISING)
        return error_set(
            err, STATUS_INVALID,
            "--bake and --denoise do not go together: neighbours in the picture may be "
            "far apart on the object");
    for (size_t i = 0; i < SORT_COUNT_OF(of_cameras); ++i)
        if (film_aovs_have(o->aovs, of_cameras[i]))
            return error_set(err, STATUS_INVALID,
                             "--bake: layer %s is about what a camera sees, of which there is none",
                             film_aov_info(of_cameras[i])->name);
    if (o->view == WAVE_VIEW_LIGHT || o->view == WAVE_VIEW_WIREFRAME)
        return error_set(err, STATUS_INVALID, "--bake does not know --integrator %s",
                         wave_view_info(o->view)->name);
    return STATUS_OK;
}

static Status unknown_instance(const Scene *scene, const char *name, Error *err)
{
    const char **names = MEM_ARRAY(const char *, scene->instance_count);
    if (!names)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        names[i] = scene->instances[i].name;
    const char *near = suggest_nearest(name, names, scene->instance_count);
    mem_free(names);
    return near ? error_set(err, STATUS_INVALID,
                            "--bake: the scene has no object '%s'; did you mean '%s'?", name, near)
                : error_set(err, STATUS_INVALID, "--bake: the scene has no object '%s'", name);
}

static Status find_instance(const Scene *scene, const char *name, uint32_t *out_instance,
                            Error *err)
{
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        if (strcmp(scene->instances[i].name, name) == 0) {
            *out_instance = i;
            return STATUS_OK;
        }
    return unknown_instance(scene, name, err);
}

static Status make_table(Render *r, uint32_t instance, Error *err)
{
    const RenderOptions *o = &r->options;
    const SceneSettings *s = &r->scene->settings;
    if (o->bake.points)
        return bake_table_read(o->bake.points, r->scene, instance, FILM_MAX_SIDE_PX, &r->bake, err);
    return bake_table_draw(r->scene, instance, o->bake.uv_set, o->bake.tile,
                           o->width_px ? o->width_px : s->width_px,
                           o->height_px ? o->height_px : s->height_px, &r->bake, err);
}

Status render_prepare_bake(Render *r, Error *err)
{
    uint32_t instance;
    if (!r->options.bake.instance)
        return STATUS_OK;
    TRY(check_options(&r->options, err));
    TRY(find_instance(r->scene, r->options.bake.instance, &instance, err));
    TRY(make_table(r, instance, err));
    r->bake.look = r->options.bake.look;
    r->options.filter =
        PIXEL_FILTER_BOX; /* of a pixel: wider ones reach beyond the edges of what is drawn */
    r->options.filter_width_px = 1.0f;
    r->options.width_px = r->bake.width;
    r->options.height_px = r->bake.height;
    return STATUS_OK;
}

void render_hash_bake(const Render *r, HashState *h)
{
    const BakeTable *table = &r->bake;
    ASSERT(table->points && table->width == r->options.width_px);
    hash128_update_u64(h, table->instance);
    hash128_update_u64(h, table->look);
    hash128_update(h, table->points, (size_t)table->width * table->height * sizeof *table->points);
}
