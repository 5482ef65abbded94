#include "sort/render/render.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/thread.h"
#include "sort/render/light_setup.h"
#include "sort/scene/scene_hash.h"
#include "sort/shade/ssl_tables.h"
#include <stdio.h>
#include <string.h>

enum { JOB_SIDE = 32, JOB_SAMPLES = 4 };

struct Render {
    RenderOptions options;
    Scene *scene;
    SslContext *ssl;
    MaterialSet *materials;
    TexCache *textures;
    TextureStore *store;
    LightSetup lights;
    Accel *accel;
    Film *film;
    WaveShared shared;
    uint32_t samples, sample_begin, sample_end;
    uint32_t tiles_x, tiles_y;
    _Atomic uint64_t next_job, paths_done, rays_done;
    uint64_t job_count, path_count;
    Mutex stats_lock; /* guards stats.wave while fibers end */
    RenderStats stats;
    Error worker_error; /* guarded by stats_lock */
};

static const _Atomic bool never_cancelled;

static void announce(const Render *r, const char *what)
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
                             .warn = scene_warning,
                             .warn_data = log.data};
    announce(r, "loading the scene");
    TRY(scene_load(r->options.scene_path, &load, &r->scene, err));
    r->stats.load_s = clock_seconds_since(start);
    return STATUS_OK;
}

static Status apply_settings(Render *r, Error *err)
{
    const RenderOptions *o = &r->options;
    const SceneSettings *s = &r->scene->settings;
    uint32_t width = o->width_px ? o->width_px : s->width_px,
             height = o->height_px ? o->height_px : s->height_px;
    int64_t camera = s->camera;
    if (o->camera && (camera = scene_find_camera(r->scene, o->camera)) == SCENE_NONE)
        return error_set(err, STATUS_NOT_FOUND, "the scene has no camera '%s'", o->camera);
    r->samples = o->samples ? o->samples : s->samples;
    r->sample_begin = o->sample_begin;
    r->sample_end = o->sample_end ? o->sample_end : r->samples;
    if (r->sample_end <= r->sample_begin)
        return error_set(err, STATUS_INVALID, "the sample range %u:%u is empty", r->sample_begin,
                         r->sample_end);
    if (r->sample_end > r->samples)
        return error_set(err, STATUS_INVALID,
                         "the sample range %u:%u goes beyond the %u samples of the render",
                         r->sample_begin, r->sample_end, r->samples);
    r->tiles_x = (width + JOB_SIDE - 1) / JOB_SIDE;
    r->tiles_y = (height + JOB_SIDE - 1) / JOB_SIDE;
    uint32_t passes = (r->sample_end - r->sample_begin + JOB_SAMPLES - 1) / JOB_SAMPLES;
    r->job_count = (uint64_t)r->tiles_x * r->tiles_y * passes;
    r->path_count = (uint64_t)width * height * (r->sample_end - r->sample_begin);

    WaveShared *shared = &r->shared;
    shared->seed = o->has_seed ? o->seed : s->seed;
    shared->max_depth = o->max_depth ? o->max_depth : s->max_depth;
    shared->strategy = o->strategy;
    shared->sampler = (Sampler){o->sampler};
    shared->cancel = o->cancel ? o->cancel : &never_cancelled;
    camera_view_init(&r->scene->cameras[camera], width, height, &shared->view);
    return pixel_filter_init(o->filter, o->filter_width_px, &shared->filter, err);
}

static Status compile_materials(Render *r, StrBuf *diagnostics, Error *err)
{
    char folder[PATH_BYTES];
    uint64_t start = clock_now_ns();
    announce(r, "compiling shaders");
    TRY(path_join(r->options.cache_folder, "kernels", folder, err));
    SslContextDesc context = {
        .size_bytes = sizeof context, .cache_folder = folder, .cpu = r->options.cpu};
    ssl_tables_describe(&context);
    TRY(ssl_context_create(&context, &r->ssl, err));
    MaterialSetDesc set = {.size_bytes = sizeof set,
                           .scene = r->scene,
                           .context = r->ssl,
                           .thread_count = r->options.thread_count,
                           .mip_bias = r->options.mip_bias,
                           .filter = r->options.texture_filter,
                           .mip = r->options.mip};
    TRY(material_set_compile(&set, &r->materials, diagnostics, err));
    r->stats.compile_s = clock_seconds_since(start);
    return STATUS_OK;
}

static Status open_textures(Render *r, Error *err)
{
    char folder[PATH_BYTES];
    uint64_t start = clock_now_ns();
    TRY(path_join(r->options.cache_folder, "textures", folder, err));
    TexCacheDesc cache = {.size_bytes = sizeof cache,
                          .budget_bytes = r->options.texture_memory_bytes,
                          .read_delay_us = r->options.texture_delay_us,
                          .log = r->options.log};
    TRY(texcache_create(&cache, &r->textures, err));
    bool *is_wanted = MEM_ARRAY(bool, r->scene->texture_count + 1);
    if (!is_wanted)
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    material_set_textures(r->materials, is_wanted);
    if (r->scene->environment.kind == SCENE_ENVIRONMENT_IMAGE)
        is_wanted[r->scene->environment.texture] = true;
    announce(r, "opening textures");
    TextureStoreDesc store = {.size_bytes = sizeof store,
                              .scene = r->scene,
                              .cache = r->textures,
                              .converted_folder = folder,
                              .texcache_program = r->options.texcache_program,
                              .is_wanted = is_wanted,
                              .thread_count = r->options.thread_count,
                              .log = r->options.log};
    Status status = texture_store_create(&store, &r->store, err);
    mem_free(is_wanted);
    if (status == STATUS_OK)
        material_set_bind(r->materials, r->store);
    r->stats.textures_s = clock_seconds_since(start);
    return status;
}

static TexId environment_texture(const Render *r)
{
    return r->scene->environment.kind == SCENE_ENVIRONMENT_IMAGE
               ? texture_store_id(r->store, r->scene->environment.texture)
               : (TexId){0};
}

static Status prepare_lights(Render *r, Error *err)
{
    uint64_t start = clock_now_ns();
    announce(r, "preparing lights");
    TRY(light_setup_create(r->scene, r->materials, r->textures, environment_texture(r), &r->lights,
                           err));
    if (lights_count(r->lights.lights) == 0)
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
    announce(r, "building the acceleration structure");
    AccelDesc desc = {.size_bytes = sizeof desc,
                      .scene = r->scene,
                      .material_has_alpha = has_alpha,
                      .thread_count = r->options.thread_count};
    Status status = accel_create(&desc, &r->accel, err);
    mem_free(has_alpha);
    r->stats.accel_s = clock_seconds_since(start);
    return status;
}

/* Everything that decides the pixels and is not in FilmIdentity by itself. */
static Hash128 identity_hash(const Render *r)
{
    HashState h;
    hash128_begin(&h);
    hash128_update_text(&h, "sort film 1");
    hash128_update_text(&h, r->scene->name);
    hash128_update_u64(&h, r->shared.max_depth);
    hash128_update_u64(&h, r->shared.strategy);
    hash128_update_u64(&h, r->shared.sampler.kind);
    hash128_update(&h, &r->shared.view, sizeof r->shared.view);
    hash128_update(&h, &r->options.mip_bias, sizeof r->options.mip_bias);
    hash128_update_u64(&h, (uint64_t)r->options.texture_filter << 8 | (uint64_t)r->options.mip);
    Hash128 content = scene_hash(r->scene);
    hash128_update(&h, &content, sizeof content);
    return hash128_end(&h);
}

static Status make_film(Render *r, Error *err)
{
    const RenderOptions *o = &r->options;
    FilmDesc desc = {.size_bytes = sizeof desc,
                     .width = o->width_px ? o->width_px : r->scene->settings.width_px,
                     .height = o->height_px ? o->height_px : r->scene->settings.height_px,
                     .aovs = o->aovs,
                     .identity = {.scene = identity_hash(r),
                                  .nominal_samples = r->samples,
                                  .seed = r->shared.seed}};
    snprintf(desc.identity.filter, sizeof desc.identity.filter, "%s %g",
             pixel_filter_name(o->filter), (double)r->shared.filter.width_px);
    snprintf(desc.identity.cpu_class, sizeof desc.identity.cpu_class, "%s",
             o->cpu ? o->cpu : "native");
    TRY(film_create(&desc, &r->film, err));
    r->stats.film_bytes = film_size_bytes(r->film);
    return STATUS_OK;
}

static Status load(Render *r, StrBuf *diagnostics, Error *err)
{
    TRY(load_scene(r, err));
    TRY(apply_settings(r, err));
    TRY(compile_materials(r, diagnostics, err));
    TRY(open_textures(r, err));
    TRY(prepare_lights(r, err));
    TRY(build_accel(r, err));
    TRY(make_film(r, err));
    r->shared.scene = r->scene;
    r->shared.accel = r->accel;
    r->shared.lights = r->lights.lights;
    r->shared.materials = r->materials;
    r->shared.film = r->film;
    return STATUS_OK;
}

Status render_create(const RenderOptions *options, Render **out_render, StrBuf *diagnostics,
                     Error *err)
{
    *out_render = NULL;
    Render *r = MEM_NEW(Render);
    if (!r)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    r->options = *options;
    if (r->options.thread_count == 0)
        r->options.thread_count = thread_cpu_count();
    uint32_t capacity = r->options.wave_capacity ? r->options.wave_capacity : WAVE_CAPACITY_DEFAULT;
    r->options.wave_capacity = (capacity + ACCEL_PACKET - 1) / ACCEL_PACKET * ACCEL_PACKET;
    mutex_init(&r->stats_lock);
    Status status = load(r, diagnostics, err);
    if (status != STATUS_OK) {
        render_destroy(r);
        return status;
    }
    *out_render = r;
    return STATUS_OK;
}

void render_destroy(Render *r)
{
    if (!r)
        return;
    film_destroy(r->film);
    accel_destroy(r->accel);
    light_setup_destroy(&r->lights);
    texture_store_destroy(r->store);
    material_set_destroy(r->materials);
    texcache_destroy(r->textures);
    ssl_context_destroy(r->ssl);
    scene_destroy(r->scene);
    mutex_destroy(&r->stats_lock);
    mem_free(r);
}

/* --- tracing ---------------------------------------------------------------------------------------- */

typedef struct FiberState {
    Render *render;
    Arena *arena;
    Wave *wave;
    uint64_t rays_reported;
} FiberState;

static void keep_first_error(Render *r, const Error *err)
{
    mutex_lock(&r->stats_lock);
    if (r->worker_error.code == STATUS_OK)
        r->worker_error = *err;
    mutex_unlock(&r->stats_lock);
}

static void *worker_begin(void *data, uint32_t worker)
{
    Render *r = data;
    TexThread *thread = NULL;
    Error err = {0};
    SORT_UNUSED(worker);
    accel_thread_begin();
    if (texcache_thread_create(r->textures, &thread, &err) != STATUS_OK)
        keep_first_error(r, &err);
    return thread;
}

static void worker_end(void *data, void *worker_state)
{
    SORT_UNUSED(data);
    texcache_thread_destroy(worker_state);
}

/* Out of memory: the scheduler goes on with fewer fibers, or reports that there is not one. */
static void *fiber_begin(void *data, void *worker_state, Waiter *waiter)
{
    Render *r = data;
    Arena *arena = arena_create(1 << 20, 0);
    FiberState *fiber = arena ? ARENA_NEW(arena, FiberState) : NULL;
    ShadeContext *shade = NULL;
    ShadeContextDesc desc = {.size_bytes = sizeof desc,
                             .scene = r->scene,
                             .materials = r->materials,
                             .tex_thread = worker_state,
                             .waiter = waiter,
                             .footprint_scale = shade_footprint_scale(r->samples),
                             .sampler = r->shared.sampler,
                             .environment = environment_texture(r)};
    bool ok = fiber && shade_context_create(&desc, arena, &shade, NULL) == STATUS_OK;
    if (ok) {
        *fiber = (FiberState){.render = r, .arena = arena};
        ok = wave_create(&r->shared, shade, r->options.wave_capacity, arena, &fiber->wave, NULL) ==
             STATUS_OK;
    }
    if (!ok) {
        arena_destroy(arena);
        return NULL;
    }
    return fiber;
}

/* Job k: one tile of pixels, JOB_SAMPLES samples of it one after the other. A pass over all tiles goes
 * forth and the next one back, so that what the cache holds at the end of one serves the next: a cyclic scan
 * of more than it holds would miss every time. *out_end: past the last sample. */
static WaveJob job_at(const Render *r, uint64_t k, uint32_t *out_end)
{
    uint32_t tiles = r->tiles_x * r->tiles_y;
    uint32_t pass = (uint32_t)(k / tiles), tile = (uint32_t)(k % tiles);
    if (pass % 2 == 1)
        tile = tiles - 1 - tile;
    const FilmDesc *film = film_desc(r->film);
    WaveJob job = {.x = tile % r->tiles_x * JOB_SIDE,
                   .y = tile / r->tiles_x * JOB_SIDE,
                   .sample = r->sample_begin + pass * JOB_SAMPLES};
    job.width = film->width - job.x < JOB_SIDE ? film->width - job.x : JOB_SIDE;
    job.height = film->height - job.y < JOB_SIDE ? film->height - job.y : JOB_SIDE;
    *out_end = r->sample_end - job.sample < JOB_SAMPLES ? r->sample_end : job.sample + JOB_SAMPLES;
    return job;
}

/* A job larger than a wave goes through it a few rows, or a part of a row, at a time. */
static bool run_job(Wave *wave, uint32_t capacity, const WaveJob *job)
{
    uint32_t width = job->width < capacity ? job->width : capacity;
    uint32_t rows = capacity / width < job->height ? capacity / width : job->height;
    for (uint32_t y = 0; y < job->height; y += rows) {
        for (uint32_t x = 0; x < job->width; x += width) {
            WaveJob part = {.x = job->x + x, .y = job->y + y, .sample = job->sample};
            part.width = job->width - x < width ? job->width - x : width;
            part.height = job->height - y < rows ? job->height - y : rows;
            if (!wave_run(wave, &part))
                return false;
        }
    }
    return true;
}

static bool fiber_step(void *data, void *fiber_state)
{
    Render *r = data;
    FiberState *fiber = fiber_state;
    uint64_t k = atomic_fetch_add(&r->next_job, 1);
    if (k >= r->job_count || atomic_load(r->shared.cancel))
        return false;
    uint32_t end;
    for (WaveJob job = job_at(r, k, &end); job.sample < end; ++job.sample) {
        if (!run_job(fiber->wave, r->options.wave_capacity, &job))
            return false;
        WaveCounters counters = wave_counters(fiber->wave);
        uint64_t rays = counters.rays + counters.shadow_rays;
        atomic_fetch_add(&r->rays_done, rays - fiber->rays_reported);
        atomic_fetch_add(&r->paths_done, (uint64_t)job.width * job.height);
        fiber->rays_reported = rays;
    }
    return true;
}

static void add_counters(WaveCounters *sum, const WaveCounters *c)
{
    sum->paths += c->paths;
    sum->rays += c->rays;
    sum->shadow_rays += c->shadow_rays;
    sum->bsdf_faults += c->bsdf_faults;
    for (int s = 0; s < WAVE_STAGE_COUNT; ++s)
        sum->stage_ns[s] += c->stage_ns[s];
    sum->shade.points += c->shade.points;
    sum->shade.kernel_calls += c->shade.kernel_calls;
    sum->shade.texture_calls += c->shade.texture_calls;
}

static void fiber_end(void *data, void *fiber_state)
{
    Render *r = data;
    FiberState *fiber = fiber_state;
    WaveCounters counters = wave_counters(fiber->wave);
    mutex_lock(&r->stats_lock);
    add_counters(&r->stats.wave, &counters);
    mutex_unlock(&r->stats_lock);
    arena_destroy(fiber->arena);
}

Status render_run(Render *r, Error *err)
{
    Sched *sched;
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = r->options.thread_count,
                      .fibers_min = 1,
                      .fibers_max = r->options.fibers_max,
                      .data = r,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .worker_end = worker_end};
    uint64_t start = clock_now_ns();
    uint64_t cpu_start = clock_process_cpu_ns();
    announce(r, "rendering");
    TRY(sched_create(&desc, &sched, err));
    Status status = sched_run(sched, err);
    sched_stats(sched, &r->stats.sched);
    sched_destroy(sched);
    r->stats.render_s = clock_seconds_since(start);
    r->stats.cpu_s = (double)(clock_process_cpu_ns() - cpu_start) * 1e-9;
    if (r->worker_error.code != STATUS_OK) {
        *err = r->worker_error;
        return r->worker_error.code;
    }
    if (status != STATUS_OK)
        return status;
    if (atomic_load(r->shared.cancel))
        return error_set(err, STATUS_CANCELLED, "cancelled");
    return film_add_range(r->film, (FilmRange){r->sample_begin, r->sample_end}, err);
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

RenderProgress render_progress(const Render *r)
{
    TexStats textures;
    texcache_stats(r->textures, &textures);
    return (RenderProgress){.paths_done = atomic_load(&r->paths_done),
                            .paths_total = r->path_count,
                            .rays = atomic_load(&r->rays_done),
                            .texture_bytes = textures.bytes_now,
                            .texture_budget_bytes = textures.budget_bytes};
}

void render_stats(const Render *r, RenderStats *out)
{
    *out = r->stats;
    out->thread_count = r->options.thread_count;
    texcache_stats(r->textures, &out->textures);
    out->accel = accel_stats(r->accel);
    out->materials = material_set_stats(r->materials);
    out->scene_bytes = r->scene->array_bytes;
    out->dropped = film_dropped(r->film);
}

void render_faults(const Render *r, StrBuf *out)
{
    material_set_faults(r->materials, out);
}
