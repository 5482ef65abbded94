/* Names of the scene as Cryptomatte numbers, the film's notes, and how the picture was taken. */
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "sort/film/cryptomatte.h"

static const char *instance_name(const Scene *scene, uint32_t i)
{
    return scene->instances[i].name;
}

static const char *material_name(const Scene *scene, uint32_t i)
{
    return scene->materials[i].name;
}

/* The numbers of `count` names, owned by the caller, and their manifest as a note of the film. */
static Status name_ids(const Render *r, FilmNote note, uint32_t count,
                       const char *(*name)(const Scene *scene, uint32_t i), uint32_t **out_ids,
                       Error *err)
{
    const char **names = MEM_ARRAY(const char *, (size_t)count + 1);
    uint32_t *ids = *out_ids = MEM_ARRAY(uint32_t, (size_t)count + 1);
    StrBuf manifest = {0};
    Status status = STATUS_NO_MEMORY;
    if (names && ids) {
        for (uint32_t i = 0; i < count; ++i) {
            names[i] = name(r->scene, i);
            ids[i] = cryptomatte_id(names[i]);
        }
        cryptomatte_manifest(names, count, &manifest);
        if (!manifest.failed)
            status = film_set_note(r->film, note, strbuf_text(&manifest), err);
    }
    strbuf_free(&manifest);
    mem_free(names);
    return status == STATUS_NO_MEMORY ? error_set(err, status, "out of memory naming objects")
                                      : status;
}

/* Texts, one a line. */
static Status note_lines(const Render *r, FilmNote note, const char *const *lines, uint32_t count,
                         Error *err)
{
    StrBuf text = {0};
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(&text, "%s%s", i ? "\n" : "", lines[i]);
    Status status = text.failed ? error_set(err, STATUS_NO_MEMORY, "out of memory making notes")
                                : film_set_note(r->film, note, strbuf_text(&text), err);
    strbuf_free(&text);
    return status;
}

static void note_shot(Render *r)
{
    const FilmDesc *film = film_desc(r->film);
    const SceneSettings *settings = &r->scene->settings;
    FilmShot shot = {.has = FILM_SHOT_CAMERA,
                     .frame = r->options.has_frame ? r->options.frame : settings->frame,
                     .fps = settings->fps,
                     .exposure = wave_gathers_light(&r->shared) ? r->settings.film_exposure : 1.0f,
                     .pixel_aspect = r->camera->pixel_aspect};
    if (camera_matrices(&r->shared.camera, film->width, film->height, shot.world_to_camera,
                        shot.world_to_ndc))
        shot.has |= FILM_SHOT_NDC;
    if (r->options.has_frame || settings->has_frame)
        shot.has |= FILM_SHOT_FRAME;
    film_set_shot(r->film, &shot);
}

Status render_make_notes(Render *r, Error *err)
{
    note_shot(r);
    TRY(film_set_note(r->film, FILM_NOTE_SCENE, r->scene->name, err));
    TRY(note_lines(r, FILM_NOTE_CREDITS, r->scene->credits, r->scene->credit_count, err));
    TRY(note_lines(r, FILM_NOTE_LIGHT_GROUPS, r->scene->light_groups, r->scene->light_group_count,
                   err));
    TRY(note_lines(r, FILM_NOTE_SHADER_AOVS, r->scene->shader_aovs, r->scene->shader_aov_count,
                   err));
    if (r->options.ids >> FILM_ID_OBJECT & 1)
        TRY(name_ids(r, FILM_NOTE_OBJECT, r->scene->instance_count, instance_name, &r->instance_ids,
                     err));
    if (r->options.ids >> FILM_ID_MATERIAL & 1)
        TRY(name_ids(r, FILM_NOTE_MATERIAL, r->scene->material_count, material_name,
                     &r->material_ids, err));
    r->shared.instance_ids = r->instance_ids;
    r->shared.material_ids = r->material_ids;
    return STATUS_OK;
}
