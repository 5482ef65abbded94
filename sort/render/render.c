/* Makes a render: scene, shaders, textures, lights, acceleration structure, film. */
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/path.h"
#include "sort/accel/accel_cpu.h"
#include "sort/light/scene_bounds.h"
#include "sort/package/scene_load.h"
#include "sort/render/render_stored.h"
#include "sort/render/scene_closures.h"
#include "sort/scene/neighbours.h"
#include "sort/scene/scene_hash.h"
#include "sort/shade/ssl_tables.h"
#include "sort/shade/texture_command.h"
#include <stdio.h>
#include <string.h>

static const _Atomic bool never_cancelled;

void render_announce(const Render *r, const char *what)
{
    if (r->options.stage)
        r->options.stage(r->options.stage_data, what);
}

/* --- loading -------------------------------------------------------------------------------------- */

static void scene_warning(void *data, const char *text)
{
    log_warning(data, "%s", text);
}

static Status load_scene(Render *r, Error *err)
{
    uint64_t start = clock_now_ns();
    union {
        const void *constant;
        void *data;
    } log = {.constant = r->options.log};
    SceneLoadOptions load = {.size_bytes = sizeof load,
                             .thread_count = r->options.thread_count,
                             .texture_paths = r->options.texture_paths,
                             .texture_path_count = r->options.texture_path_count,
                             .missing = r->options.missing,
                             .claims = r->options.claims,
                             .arrays =
                                 r->options.store ? render_store_arrays(r->options.store) : NULL,
                             .warn = scene_warning,
                             .warn_data = log.data};
    render_announce(r, "loading the scene");
    TRY(scene_load(r->options.scene_path, &load, &r->scene, err));
    float3 centre;
    scene_bounding_sphere(r->scene, &centre, &r->reach_m);
    r->stats.load_s = clock_seconds_since(start);
    return STATUS_OK;
}

static Status init_schedule(Render *r, uint32_t width, uint32_t height, uint32_t sample_begin,
                            uint32_t sample_end, Error *err)
{
    RenderCrop crop = r->options.crop;
    if (crop.width == 0)
        crop = (RenderCrop){0, 0, width, height};
    if (crop.x >= width || crop.y >= height || crop.width > width - crop.x || crop.height == 0 ||
        crop.height > height - crop.y)
        return error_set(err, STATUS_INVALID,
                         "the crop %u,%u,%u,%u is not inside the picture of %ux%u", crop.x, crop.y,
                         crop.width, crop.height, width, height);
    bool is_short = r->options.wants_short_passes || r->options.time_limit_s > 0.0;
    schedule_init(&r->schedule,
                  &(ScheduleDesc){crop.x, crop.y, crop.width, crop.height, sample_begin, sample_end,
                                  is_short ? SCHEDULE_SHORT_PASS_SAMPLES : SCHEDULE_PASS_SAMPLES});
    r->sample_begin = sample_begin;
    r->sample_end = sample_end;
    r->path_count = schedule_path_count(&r->schedule, schedule_job_count(&r->schedule));
    return STATUS_OK;
}

static float ao_distance(const Render *r)
{
    return r->settings.ao_distance_m > 0.0f ? r->settings.ao_distance_m : 0.2f * r->reach_m;
}

static Status refuse_camera(const Scene *scene, const char *name, Error *err)
{
    StrBuf known = {0};
    for (uint32_t i = 0; i < scene->camera_count && i < 20; ++i)
        strbuf_printf(&known, "%s%s", i ? ", " : "", scene->cameras[i].name);
    Status status = error_set(err, STATUS_INVALID, "the scene has no camera '%s'; there are %s%s",
                              name, strbuf_text(&known), scene->camera_count > 20 ? " ..." : "");
    strbuf_free(&known);
    return status;
}

/* Sets the limits of contributions, which trade noise for lost light. Views other than the picture are never clamped. */
static void apply_clamps(const SceneSettings *s, WaveShared *shared)
{
    bool is_light = wave_gathers_light(shared);
    shared->clamp_direct = is_light && s->clamp_direct > 0.0f ? s->clamp_direct : INFINITY;
    shared->clamp_indirect = is_light && s->clamp_indirect > 0.0f ? s->clamp_indirect : INFINITY;
}

/* A display shows about the root of the light times the exposure, and so its error. */
static float adaptive_error(const Render *r)
{
    float error = r->options.adaptive_error;
    return error > 0.0f ? error / sqrtf(r->settings.film_exposure) : 0.0f;
}

static Status apply_settings(Render *r, Error *err)
{
    const RenderOptions *o = &r->options;
    const SceneSettings *s = &r->settings;
    r->settings = r->scene->settings;
    scene_settings_apply(&o->settings, &r->settings);
    if (o->caustics)
        r->settings.caustics = (SceneCaustics)(o->caustics - 1);
    if (o->guiding)
        r->settings.guiding = (SceneGuiding)(o->guiding - 1);
    if (r->bake.points && r->bake.look == BAKE_AT_ENVIRONMENT)
        r->settings.transparent_film = false; /* the environment is all there is */
    if (r->bake.points && r->settings.guiding == SCENE_GUIDING_ON)
        log_warning(r->options.log,
                    "path guiding learns from what a camera sees: --bake is without it");
    bool is_of_light = o->view == WAVE_VIEW_LIGHT && r->settings.guiding == SCENE_GUIDING_AUTO;
    if (r->bake.points || is_of_light)
        r->settings.guiding = SCENE_GUIDING_OFF;
    r->options.adaptive_error = adaptive_error(r);
    uint32_t width = o->width_px ? o->width_px : s->width_px,
             height = o->height_px ? o->height_px : s->height_px;
    int64_t camera = s->camera;
    if (width > FILM_MAX_SIDE_PX || height > FILM_MAX_SIDE_PX)
        return error_set(err, STATUS_INVALID, "a picture of %u x %u pixels; a side has at most %d",
                         width, height, FILM_MAX_SIDE_PX);
    if (!o->eye && o->camera && (camera = scene_find_camera(r->scene, o->camera)) == SCENE_NONE)
        return refuse_camera(r->scene, o->camera, err);
    ASSERT(camera >= 0 && (uint64_t)camera < r->scene->camera_count);
    r->camera = o->eye ? o->eye : &r->scene->cameras[camera];
    r->samples = s->samples;
    uint32_t begin = o->sample_begin, end = o->sample_end ? o->sample_end : r->samples;
    if (end <= begin)
        return error_set(err, STATUS_INVALID, "the sample range %u:%u is empty", begin, end);
    if (end > r->samples)
        return error_set(err, STATUS_INVALID,
                         "the sample range %u:%u goes beyond the %u samples of the render", begin,
                         end, r->samples);
    TRY(init_schedule(r, width, height, begin, end, err));

    WaveShared *shared = &r->shared;
    shared->settings = s;
    shared->seed = s->seed;
    shared->strategy = o->strategy;
    shared->view = o->view;
    shared->stop = o->stop;
    apply_clamps(s, shared);
    shared->ao_distance_m = ao_distance(r);
    shared->sampler = (Sampler){o->sampler};
    shared->samples = r->samples;
    shared->skips_done = o->adaptive_error > 0.0f;
    shared->bake = r->bake.points ? &r->bake : NULL;
    camera_view_init(r->camera, width, height, &shared->camera);
    for (uint32_t k = 0; k < 2; ++k)
        shared->neighbours[k] =
            scene_camera_at(r->camera, &shared->camera, width, height, (SceneNeighbour)k);
    return pixel_filter_init(o->filter, o->filter_width_px, &shared->filter, err);
}

static Status create_context(Render *r, Error *err)
{
    char folder[PATH_BYTES];
    TRY(path_join(r->options.cache_folder, "kernels", folder, err));
    if (r->options.store && closure_list_own_count(r->closures) == 0) {
        ClosureList *closures;
        TRY(render_store_context(r->options.store, folder, r->options.cpu, &closures, &r->ssl,
                                 err));
        r->borrows_context = r->ssl != NULL;
        if (r->borrows_context) {
            closure_list_destroy(r->closures);
            r->closures = closures;
            return STATUS_OK;
        }
    }
    SslContextDesc context = {
        .size_bytes = sizeof context, .cache_folder = folder, .cpu = r->options.cpu};
    ssl_tables_describe(&context);
    closure_list_describe(r->closures, &context);
    return ssl_context_create(&context, &r->ssl, err);
}

static Status compile_materials(Render *r, StrBuf *diagnostics, Error *err)
{
    uint64_t start = clock_now_ns();
    render_announce(r, "compiling shaders");
    if (!r->borrows_context)
        TRY(closure_list_build(r->closures, r->ssl, r->options.thread_count, diagnostics, err));
    MaterialSetDesc set = {.size_bytes = sizeof set,
                           .scene = r->scene,
                           .context = r->ssl,
                           .closures = closure_list_defs(r->closures),
                           .thread_count = r->options.thread_count,
                           .mip_bias = r->options.mip_bias,
                           .filter = r->options.texture_filter,
                           .mip = r->options.mip};
    TRY(material_set_compile(&set, &r->materials, diagnostics, err));
    r->stats.compile_s = clock_seconds_since(start);
    return STATUS_OK;
}

/* STATUS_INVALID: the budget is too small for any scene. */
static Status create_texture_cache(Render *r, Error *err)
{
    TextureCommandDesc decode = {.size_bytes = sizeof decode,
                                 .program = r->options.texcache_program,
                                 .task = "decode",
                                 .scene = r->scene};
    const char *const *command;
    r->decoder_command = arena_create(0, 0);
    if (!r->decoder_command)
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    TRY(texture_command(r->decoder_command, &decode, &command, err));
    TexCacheDesc cache = {.size_bytes = sizeof cache,
                          .decoder_command = command,
                          .budget_bytes = r->options.texture_memory_bytes,
                          .read_delay_us = r->options.texture_delay_us,
                          .trace_path = r->options.trace_path,
                          .log = r->options.log};
    Status status = texcache_create(&cache, &r->textures, err);
    if (status == STATUS_LIMIT && err)
        err->code = STATUS_INVALID;
    return status == STATUS_LIMIT ? STATUS_INVALID : status;
}

static Status open_textures(Render *r, Error *err)
{
    char folder[PATH_BYTES];
    uint64_t start = clock_now_ns();
    TRY(path_join(r->options.cache_folder, "textures", folder, err));
    bool *is_wanted = MEM_ARRAY(bool, r->scene->texture_count + 1);
    if (!is_wanted)
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    material_set_textures(r->materials, is_wanted);
    if (r->scene->environment.kind == SCENE_ENVIRONMENT_IMAGE)
        is_wanted[r->scene->environment.texture] = true;
    for (uint32_t i = 0; i < r->scene->texture_count; ++i) /* no handle: the missing colour */
        is_wanted[i] = is_wanted[i] && !r->scene->textures[i].is_missing;
    render_announce(r, "opening textures");
    TextureStoreDesc store = {.size_bytes = sizeof store,
                              .scene = r->scene,
                              .cache = r->textures,
                              .converted_folder = folder,
                              .texcache_program = r->options.texcache_program,
                              .is_wanted = is_wanted,
                              .thread_count = r->options.thread_count,
                              .log = r->options.log,
                              .cancel = r->options.cancel};
    Status status = texture_store_create(&store, &r->store, err);
    mem_free(is_wanted);
    if (status == STATUS_OK)
        material_set_bind(r->materials);
    /* The environment is needed first. WAVE_VIEW_COST needs all textures, so that it does not time their loading. */
    if (status == STATUS_OK && r->scene->environment.kind == SCENE_ENVIRONMENT_IMAGE)
        texture_store_ask(r->store, r->scene->environment.texture);
    if (status == STATUS_OK && r->shared.view == WAVE_VIEW_COST)
        status = render_finish_textures(r, err);
    r->stats.textures_s = clock_seconds_since(start);
    return status;
}

/* Returns whether the error is the file's own. The render ends on errors of memory, disks and missing programs. */
static bool is_of_the_file(Status status)
{
    return status == STATUS_FORMAT || status == STATUS_UNSUPPORTED || status == STATUS_LIMIT ||
           status == STATUS_NOT_FOUND || status == STATUS_INVALID;
}

/* Damaged textures that are magenta, like those that are not there. */
static bool note_damaged(Render *r)
{
    uint32_t damaged = 0;
    for (uint32_t i = 0; i < r->scene->texture_count; ++i) {
        const Error *error = texture_store_failure(r->store, i);
        uint64_t least_bytes;
        bool is_over_budget =
            error && error->code == STATUS_LIMIT && texcache_refused(r->textures, &least_bytes) > 0;
        if (error && (is_over_budget || !is_of_the_file(error->code)))
            return false;
        if (!error || r->stats.damaged_textures > 0)
            continue;
        const char *user = material_set_user(r->materials, i);
        log_warning(r->options.log, "%s%s%s: %s: %s; it is magenta", user ? "material '" : "",
                    user ? user : "the environment", user ? "'" : "", error->path, error->text);
        ++damaged;
    }
    r->stats.damaged_textures += damaged;
    return true;
}

bool render_may_go_on(Render *r)
{
    return r->options.missing == SCENE_MISSING_MAGENTA || !texture_store_has_failed(r->store);
}

Status render_finish_textures(Render *r, Error *err)
{
    if (r->options.missing == SCENE_MISSING_MAGENTA && texture_store_has_failed(r->store) &&
        note_damaged(r))
        return STATUS_OK;
    uint32_t texture = 0;
    Status status = texture_store_finish(r->store, &texture, err);
    if (status == STATUS_OK || status == STATUS_CANCELLED)
        return status;
    const char *user = material_set_user(r->materials, texture);
    return user ? error_prefix(err, "material '%s'", user) : error_prefix(err, "the environment");
}

ShadeContextDesc render_shade_desc(const Render *r, TexThread *thread, Waiter *waiter)
{
    ShadeContextDesc desc = {.size_bytes = sizeof desc,
                             .scene = r->scene,
                             .materials = r->materials,
                             .accel = r->accel,
                             .store = r->store,
                             .tex_thread = thread,
                             .waiter = waiter,
                             .footprint_scale = shade_footprint_scale(r->samples),
                             .sampler = r->shared.sampler};
    memcpy(desc.depth_bias, r->options.depth_bias, sizeof desc.depth_bias);
    return desc;
}

/* A material of the scene has a way to emit. Where it was looked at, it may have been dark: what light sampling leaves
 * out, paths still find. */
static bool may_emit(const Render *r)
{
    for (uint32_t m = 0; m < r->scene->material_count; ++m)
        if (material_set_get(r->materials, m)->programs[SSL_KERNEL_EMISSION].kernel)
            return true;
    return false;
}

static Status prepare_lights(Render *r, Error *err)
{
    uint64_t start = clock_now_ns();
    render_announce(r, "preparing lights");
    TRY(light_setup_create(r->scene, r->materials, r->textures, r->store,
                           r->options.strategy == WAVE_STRATEGY_LIGHTS, &r->lights, err));
    if (!render_may_go_on(r))
        TRY(render_finish_textures(r, err));
    if (lights_count(r->lights.lights) == 0 && !may_emit(r))
        log_warning(r->options.log,
                    "the scene has no light: no lights section, no environment, nothing emits");
    r->stats.lights_s = clock_seconds_since(start);
    return STATUS_OK;
}

static Status build_accel(Render *r, Error *err)
{
    uint64_t start = clock_now_ns();
    bool *has_alpha = MEM_ARRAY(bool, r->scene->material_count + 1);
    if (!has_alpha)
        return error_set(err, STATUS_NO_MEMORY,
                         "out of memory building the acceleration structure");
    for (uint32_t m = 0; m < r->scene->material_count; ++m)
        has_alpha[m] =
            material_set_get(r->materials, m)->programs[SSL_KERNEL_OPACITY].kernel != NULL;
    render_announce(r, "building the acceleration structure");
    AccelDesc desc = {.size_bytes = sizeof desc,
                      .scene = r->scene,
                      .material_has_alpha = has_alpha,
                      .thread_count = r->options.thread_count,
                      .cpu_class = ssl_context_cpu_class(r->ssl),
                      .is_in_parts = r->options.is_in_parts};
    Status status = STATUS_OK;
    if (r->options.store)
        status = render_store_accel(r->options.store, desc.thread_count, desc.cpu_class,
                                    &desc.store, err);
    if (status == STATUS_OK)
        status = accel_create(&desc, &r->accel, err);
    if (status != STATUS_OK)
        (void)error_within(err, r->options.scene_path);
    mem_free(has_alpha);
    r->stats.accel_s = clock_seconds_since(start);
    return status;
}

/* Everything that decides the pixels and is not in FilmIdentity by itself. settings: render_list_settings. */
static Hash128 identity_hash(const Render *r, const char *settings)
{
    HashState h;
    hash128_begin(&h);
    hash128_update_text(&h, "sort film 3");
    hash128_update_text(&h, r->scene->name);
    hash128_update_text(&h, settings);
    hash128_update(&h, &r->shared.ao_distance_m, sizeof r->shared.ao_distance_m);
    const CameraView *view = &r->shared.camera;
    hash128_update(&h, view, offsetof(CameraView, keys));
    hash128_update(&h, view->keys, view->key_count * sizeof *view->keys);
    for (uint32_t k = 0; k < 2 && film_aovs_have(r->options.aovs, FILM_AOV_VECTOR); ++k)
        hash128_update(&h, &r->shared.neighbours[k], offsetof(CameraView, keys));
    if (r->shared.bake)
        render_hash_bake(r, &h);
    if (!r->options.is_fleeting)
        hash128_update(&h, &r->content, sizeof r->content);
    return hash128_end(&h);
}

/* Without the light groups and shader AOVs that the scene does not have. */
static FilmAovSet wanted_aovs(const Render *r)
{
    FilmAovSet aovs = r->options.aovs;
    for (uint32_t g = r->scene->light_group_count; g < FILM_LIGHT_GROUPS_MAX; ++g)
        aovs &= ~FILM_AOV_BIT(FILM_AOV_LIGHT_GROUP_1 + g);
    for (uint32_t k = r->scene->shader_aov_count; k < FILM_SHADER_AOVS_MAX; ++k)
        aovs &= ~FILM_AOV_BIT(FILM_AOV_SHADER_AOV_1 + k);
    return aovs;
}

/* Returns whether the film has shadow catchers; views other than the picture have no shadows. */
static bool has_catchers(const Render *r)
{
    for (uint32_t i = 0; i < r->scene->instance_count; ++i)
        if (r->scene->instances[i].is_shadow_catcher)
            return wave_gathers_light(&r->shared);
    return false;
}

static Status make_film_with(Render *r, const char *settings, Error *err)
{
    const RenderOptions *o = &r->options;
    if (!o->is_fleeting && !r->has_content) {
        r->content = scene_hash(r->scene);
        r->has_content = true;
    }
    FilmDesc desc = {.size_bytes = sizeof desc,
                     .width = o->width_px ? o->width_px : r->scene->settings.width_px,
                     .height = o->height_px ? o->height_px : r->scene->settings.height_px,
                     .x = r->schedule.x,
                     .y = r->schedule.y,
                     .crop_width = r->schedule.width,
                     .crop_height = r->schedule.height,
                     .ids = o->ids,
                     .has_catchers = has_catchers(r),
                     .has_splats = r->emission || r->caustic_emission,
                     .aovs = wanted_aovs(r) |
                             (o->adaptive_error > 0.0f ? FILM_AOV_BIT(FILM_AOV_VARIANCE) : 0),
                     .identity = {.scene = identity_hash(r, settings),
                                  .nominal_samples = r->samples,
                                  .seed = r->shared.seed}};
    snprintf(desc.identity.filter, sizeof desc.identity.filter, "%s %g",
             pixel_filter_name(o->filter), (double)r->shared.filter.width_px);
    accel_cpu_class(ssl_context_cpu_class(r->ssl), desc.identity.cpu_class);
    TRY(film_create(&desc, &r->film, err));
    TRY(render_make_notes(r, err));
    TRY(film_set_note(r->film, FILM_NOTE_SETTINGS, settings, err));
    r->stats.film_bytes = film_size_bytes(r->film);
    return STATUS_OK;
}

static Status make_film(Render *r, Error *err)
{
    StrBuf settings = {0};
    render_list_settings(r, &settings);
    Status status = settings.failed
                        ? error_set(err, STATUS_NO_MEMORY, "out of memory listing settings")
                        : make_film_with(r, strbuf_text(&settings), err);
    strbuf_free(&settings);
    return status;
}

/* STATUS_INVALID is for options that do not fit; what is wrong with a scene is the scene's. */
static Status of_scene(Status status, Error *err)
{
    if (status != STATUS_INVALID)
        return status;
    if (err)
        err->code = STATUS_FORMAT;
    return STATUS_FORMAT;
}

/* Gives waves what the parts are. */
static void share(Render *r)
{
    r->shared.scene = r->scene;
    r->shared.accel = r->accel;
    r->shared.lights = r->lights.lights;
    r->shared.glows = r->lights.glows;
    r->shared.emission = r->emission;
    r->shared.caustic_emission = r->caustic_emission;
    r->shared.materials = r->materials;
    r->shared.film = r->film;
}

static Status load(Render *r, StrBuf *diagnostics, Error *err)
{
    TRY(load_scene(r, err));
    TRY(render_prepare_bake(r, err));
    TRY(apply_settings(r, err));
    TRY(of_scene(scene_closures(r->scene, &r->closures, err), err));
    TRY(create_context(r, err));
    TRY(of_scene(compile_materials(r, diagnostics, err), err));
    TRY(create_texture_cache(r, err));
    TRY(of_scene(open_textures(r, err), err));
    TRY(build_accel(r, err)); /* meanwhile textures are converted, of which lights may need some */
    TRY(of_scene(prepare_lights(r, err), err));
    TRY(render_prepare_light(r, err));
    TRY(make_film(r, err));
    share(r);
    return STATUS_OK;
}

/* Takes the options, with defaults where they name nothing. */
static void take_options(Render *r, const RenderOptions *options)
{
    r->options = *options;
    if (r->options.thread_count == 0)
        r->options.thread_count = thread_cpu_count();
    if (!r->options.cancel)
        r->options.cancel = &never_cancelled;
    uint32_t capacity = r->options.wave_capacity ? r->options.wave_capacity : WAVE_CAPACITY_DEFAULT;
    r->options.wave_capacity = (capacity + ACCEL_PACKET - 1) / ACCEL_PACKET * ACCEL_PACKET;
    ASSERT(r->options.thread_count > 0 && r->options.wave_capacity > 0);
}

Status render_create(const RenderOptions *options, Render **out_render, StrBuf *diagnostics,
                     Error *err)
{
    *out_render = NULL;
    Render *r = MEM_NEW(Render);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    take_options(r, options);
    mutex_init(&r->stats_lock);
    Status status = load(r, diagnostics, err);
    if (status != STATUS_OK) {
        render_destroy(r);
        return status;
    }
    *out_render = r;
    return STATUS_OK;
}

/* --- the same scene again --------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool are_same_texts(const char *const *a, uint32_t a_count, const char *const *b,
                           uint32_t b_count)
{
    for (uint32_t i = 0; a_count == b_count && i < a_count; ++i)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return a_count == b_count;
}

bool render_shares_scene(const RenderOptions *a, const RenderOptions *b)
{
    return is_same_text(a->scene_path, b->scene_path) && !a->bake.instance && !b->bake.instance &&
           a->thread_count == b->thread_count &&
           a->texture_memory_bytes == b->texture_memory_bytes &&
           a->texture_delay_us == b->texture_delay_us && !a->trace_path && !b->trace_path &&
           a->mip_bias == b->mip_bias && a->texture_filter == b->texture_filter &&
           a->mip == b->mip &&
           are_same_texts(a->texture_paths, a->texture_path_count, b->texture_paths,
                          b->texture_path_count) &&
           a->missing == b->missing && is_same_text(a->cache_folder, b->cache_folder) &&
           is_same_text(a->texcache_program, b->texcache_program) && is_same_text(a->cpu, b->cpu) &&
           a->store == b->store && a->is_in_parts == b->is_in_parts && a->claims == b->claims &&
           a->log == b->log && a->cancel == b->cancel;
}

static void drop_film(Render *r)
{
    film_destroy(r->film);
    guide_field_destroy(r->guide);
    mem_free(r->instance_ids);
    mem_free(r->material_ids);
    r->film = NULL;
    r->guide = NULL;
    r->instance_ids = r->material_ids = NULL;
}

/* What a run has left behind in the parts that stay. */
static void forget_run(Render *r)
{
    RenderStats kept = r->stats;
    r->stats = (RenderStats){.load_s = kept.load_s,
                             .compile_s = kept.compile_s,
                             .textures_s = kept.textures_s,
                             .lights_s = kept.lights_s,
                             .accel_s = kept.accel_s,
                             .damaged_textures = kept.damaged_textures};
    r->earlier_s = 0.0;
    r->is_out_of_time = r->is_part_of_round = false;
    atomic_store(&r->paths_done, 0);
    atomic_store(&r->passes_ns, 0);
    atomic_store(&r->rays_done, 0);
    atomic_store(&r->is_wide, false);
    material_set_clear_faults(r->materials);
    closure_list_clear_faults(r->closures);
}

Status render_again(Render *r, const RenderOptions *options, Error *err)
{
    ASSERT(r->scene && r->accel && r->lights.lights);
    drop_film(r);
    schedule_destroy(&r->schedule);
    r->schedule = (Schedule){0};
    r->shared = (WaveShared){0};
    forget_run(r);
    take_options(r, options);
    TRY(apply_settings(r, err));
    if (r->shared.view == WAVE_VIEW_COST)
        TRY(render_finish_textures(r, err));
    TRY(render_prepare_light(r, err));
    TRY(make_film(r, err));
    share(r);
    return STATUS_OK;
}

void render_destroy(Render *r)
{
    if (!r)
        return;
    drop_film(r);
    accel_destroy(r->accel);
    light_emission_destroy(r->emission);
    caustic_emission_destroy(r->caustic_emission);
    light_setup_destroy(&r->lights);
    bake_table_free(&r->bake);
    texture_store_destroy(r->store);
    material_set_destroy(r->materials);
    texcache_destroy(r->textures);
    arena_destroy(r->decoder_command);
    if (!r->borrows_context) {
        closure_list_destroy(r->closures);
        ssl_context_destroy(r->ssl);
    }
    scene_destroy(r->scene);
    schedule_destroy(&r->schedule);
    mutex_destroy(&r->stats_lock);
    mem_free(r);
}

Status render_end_trace(Render *r, Error *err)
{
    return texcache_trace_end(r->textures, err);
}

/* --- asking ------------------------------------------------------------------------------------------- */

Film *render_film(Render *r)
{
    return r->film;
}

const Scene *render_scene(const Render *r)
{
    return r->scene;
}

bool render_is_torn(const Render *r)
{
    return texture_store_gave_up(r->store);
}

TexCache *render_textures(Render *r)
{
    return r->textures;
}

/* Returns the seconds that are left once `done` paths are done. */
static double seconds_left(const Render *r, uint64_t done)
{
    uint64_t passes_ns = atomic_load(&r->passes_ns);
    if (passes_ns == 0 || done <= r->paths_before)
        return r->path_count > done ? -1.0 : 0.0;
    double to_do = r->path_count > done ? (double)(r->path_count - done) : 0.0;
    return clock_seconds_since(passes_ns) * to_do / (double)(done - r->paths_before);
}

RenderProgress render_progress(const Render *r)
{
    TexStats textures;
    uint64_t done = atomic_load(&r->paths_done);
    texcache_stats(r->textures, &textures);
    return (RenderProgress){.paths_done = done,
                            .paths_total = r->path_count,
                            .left_s = seconds_left(r, done),
                            .rays = atomic_load(&r->rays_done),
                            .texture_bytes = textures.bytes_now,
                            .texture_budget_bytes = textures.budget_bytes};
}

void render_stats(const Render *r, RenderStats *out)
{
    *out = r->stats;
    out->conversion = texture_store_stats(r->store);
    out->thread_count = r->options.thread_count;
    texcache_stats(r->textures, &out->textures);
    out->accel = accel_stats(r->accel);
    out->materials = material_set_stats(r->materials);
    out->scene_bytes = r->scene->array_bytes;
    out->dropped = film_dropped(r->film);
    if (r->guide)
        out->guide.field = guide_field_stats(r->guide);
}

void render_faults(const Render *r, StrBuf *out)
{
    material_set_faults(r->materials, out);
}

void render_closure_faults(const Render *r, StrBuf *out)
{
    closure_list_faults(r->closures, out);
}

bool render_has_damage(const Render *r)
{
    TexStats textures;
    StrBuf faults = {0};
    texcache_stats(r->textures, &textures);
    render_faults(r, &faults);
    render_closure_faults(r, &faults);
    bool has_faults = faults.size_bytes > 0 || faults.failed;
    strbuf_free(&faults);
    return has_faults || textures.failed_tiles > 0 || r->scene->missing_count > 0 ||
           r->stats.damaged_textures > 0;
}
