/* A render: everything from the package's path to a film full of samples.
 *
 *   render_create   loads, compiles, converts, builds     (says what it does through `stage`)
 *   render_run      traces; may be called from one thread, uses many
 *   render_film     the sums; render_stats what it cost
 *
 * The picture depends on the package, the picture size, seed, depth, sample range, filters and nominal
 * sample count: not on threads, fibers, wave size, texture budget or storage speed. */
#ifndef SORT_RENDER_RENDER_H
#define SORT_RENDER_RENDER_H

#include "base/log.h"
#include "base/sched.h"
#include "sort/integrator/wave.h"
#include "sort/package/scene_load.h"
#include "sort/render/render_store.h"

typedef struct Render Render;

/* Pixels of the frame. */
typedef struct RenderCrop {
    uint32_t x, y, width, height;
} RenderCrop;

/* Adaptive renders judge their pixels after this many samples, and then every so many. */
enum { RENDER_ADAPTIVE_MIN = 16, RENDER_ADAPTIVE_STEP = 16 };
enum { RENDER_GUIDE_BYTES = 64 << 20 };

/* Instead of what a camera sees, the picture is of points on an object: bake_table.h. */
typedef struct RenderBake {
    const char *instance; /* NULL: none, nothing is baked */
    const char *points;   /* a table of points; NULL: the object's texture coordinates are drawn */
    uint32_t uv_set, tile[2]; /* as in bake_table_draw */
    BakeLook look;
} RenderBake;

typedef struct RenderOptions {
    size_t size_bytes;      /* sizeof(RenderOptions) */
    const char *scene_path; /* a scene package */
    const char *camera;     /* NULL: the package's */
    RenderBake bake;
    uint32_t width_px, height_px;      /* 0: the package's */
    SceneSettingsChange settings;      /* in place of the package's */
    uint32_t sample_begin, sample_end; /* both 0: [0, samples) */
    RenderCrop crop;                   /* all 0: the whole frame */
    bool
        wants_short_passes; /* few samples at a time all over the picture, at the price of texture reads */
    /* No pass (schedule.h; a short one) but the first begins that would end after this, counted from the begin of render_run with
     * what it learns, by the time that passes took so far; 0: none. What the film's range says then depends on the clock. */
    double time_limit_s;
    float
        adaptive_error; /* pixels stop when film_judge finds them this good, exposed; 0: none does */
    WaveView view;      /* NONE: light */
    uint32_t guiding;   /* 1 + SceneGuiding; 0: the package's */
    uint32_t caustics;  /* 1 + SceneCaustics; 0: the package's */
    uint64_t guiding_memory_bytes; /* limit of the field of path guiding; 0: RENDER_GUIDE_BYTES */
    WaveStrategy strategy;         /* for tests: other than MIS only makes noise */
    SamplerKind sampler;
    PixelFilterKind filter;
    float filter_width_px; /* 0: the filter's default */
    uint32_t thread_count; /* 0: one a CPU */
    uint32_t
        fibers_max; /* a thread; 0: as texture memory allows, 2 to 64. 1: a miss blocks its thread */
    uint32_t wave_capacity; /* 0: WAVE_CAPACITY_DEFAULT; rounded up to a multiple of ACCEL_PACKET */
    uint64_t texture_memory_bytes; /* 0: 1 GiB */
    uint32_t texture_delay_us;     /* for tests: each tile read takes this much longer */
    const char *trace_path;        /* records the texture cache's requests; NULL: none */
    float mip_bias;
    float depth_bias
        [SHADE_BIAS_DEPTHS]; /* levels more at surfaces met at depth 0, 1, 2, 3 and deeper */
    TexFilter texture_filter;
    TexMip mip;
    const char *const *texture_paths;
    uint32_t texture_path_count;
    SceneMissing missing;     /* what becomes of textures that are not there */
    const char *cache_folder; /* compiled shaders, converted textures */
    const char *texcache_program;
    const char *cpu; /* LLVM CPU name; NULL: this machine */
    FilmAovSet aovs;
    uint32_t ids; /* bit (1 << FilmId) */
    RenderStore *
        store; /* borrowed, NULL: none; has what other renders have built, and gets what this one builds */
    /* With a store: hierarchies are built by mesh (AccelDesc.is_in_parts). */
    bool is_in_parts;
    bool is_fleeting; /* the film does not name its scene, which takes time: it is only looked at */
    FileClaims *claims;         /* borrowed, NULL: none; as in SceneLoadOptions */
    bool has_frame;             /* else the package's, if it has one */
    int32_t frame;              /* for the picture's metadata */
    const Log *log;             /* borrowed */
    const _Atomic bool *cancel; /* borrowed; set it to stop early: jobs under way are finished */
    /* Borrowed, NULL: none; set it to stop render_run at once, within the step of a wave. The film is of no use then; the
     * textures are, and more of them are converted meanwhile. */
    const _Atomic bool *stop;
    const SceneCamera *eye; /* borrowed; in place of the package's cameras; NULL: none */
    /* Called by render_run every `quiet_interval_s`, and once after `quiet_first_s` if that is not 0, while no sample is under way: render_film is then a
     * checkpoint (film_checkpoint). An error ends the render with it. NULL: none. */
    Status (*quiet)(void *data, Render *render, Error *err);
    void *quiet_data;
    double quiet_interval_s, quiet_first_s;
    void (*stage)(void *data,
                  const char *what); /* "compiling shaders"; loading thread; NULL: none */
    void *stage_data;
} RenderOptions;

/* Compile errors and warnings are appended to `diagnostics`. On success *out_render is the caller's. STATUS_INVALID: an
 * option makes no sense with this scene, or an output of `claims` is one of its files; other errors are those of what
 * was read, or of the machine. */
Status render_create(const RenderOptions *options, Render **out_render, StrBuf *diagnostics,
                     Error *err) SORT_MUST_CHECK;
/* Whether a render of `options` may be made by render_again from one of `made`: they differ only in the camera, the picture
 * and the samples, the path tracing, layers, callbacks, and numbers of fibers. */
bool render_shares_scene(const RenderOptions *made, const RenderOptions *options);
/* Instead of render_create, after render_run or none: makes the render that render_create would make with these options,
 * for which render_shares_scene must hold, from what is loaded. On an error the render may only be destroyed, or made
 * again. Errors: as render_create. */
Status render_again(Render *render, const RenderOptions *options, Error *err) SORT_MUST_CHECK;
/* Waits until no texture is under way: render_run does so in the end. The error names the texture's file and a material
 * that uses it. */
Status render_finish_textures(Render *render, Error *err) SORT_MUST_CHECK;
/* Before render_run: goes on from a checkpoint of the same render, or from a finished one that takes fewer samples, so
 * far as more begin with the same ones; the result has the bits of a render without a pause. Takes the film, also on
 * errors: STATUS_INVALID says what differs, and the render is of no use. */
Status render_resume(Render *render, Film *film, Error *err) SORT_MUST_CHECK;
/* Before render_run and render_resume: of an adaptive render, renders the samples [sample_begin, sample_end) that follow `judged`, the
 * merged sums of all samples before the round that they belong to (RENDER_ADAPTIVE_STEP samples), in the pixels that are
 * not good enough by it. Merged with it, parts of a round make what one adaptive render holds there. Judges the film, which stays the
 * caller's. STATUS_INVALID: it is not of this render, or the samples are not of the round behind it. */
Status render_follow(Render *render, Film *judged, Error *err) SORT_MUST_CHECK;
/* STATUS_CANCELLED when it was stopped: the film then is a checkpoint (film_checkpoint), and no range is recorded. After
 * RenderOptions.stop it is of no use. */
Status render_run(Render *render, Error *err) SORT_MUST_CHECK;
/* After render_run: completes the texture trace, if one was asked for. STATUS_IO: it could not be written. */
Status render_end_trace(Render *render, Error *err) SORT_MUST_CHECK;
/* After STATUS_CANCELLED: some of what the film holds was made without textures that were given up, so that it is of
 * no use. */
bool render_is_torn(const Render *render);
void render_destroy(Render *render); /* NULL is fine */

Film *render_film(Render *render);
const Scene *render_scene(const Render *render);
TexCache *render_textures(Render *render);

/* While it runs, any thread. */
typedef struct RenderProgress {
    uint64_t paths_done, paths_total;
    double left_s; /* at the pace of the passes of this run; -1: not known yet */
    uint64_t rays;
    uint64_t texture_bytes, texture_budget_bytes;
} RenderProgress;
RenderProgress render_progress(const Render *render);

/* What path guiding took and found. */
typedef struct RenderGuideStats {
    double training_s;
    uint64_t training_paths;
    bool is_used;      /* a field draws directions */
    bool is_late;      /* given up: learning would have taken too much of a time limit */
    double error_left; /* guide_trial.h; 0: nothing was tried */
    GuideStats field;
} RenderGuideStats;

/* What looking for lights took. */
typedef struct RenderSightStats {
    double seconds;
    uint64_t paths; /* 0: there was nothing to choose */
} RenderSightStats;

/* What trying paths of light for caustics took. */
typedef struct RenderCausticStats {
    double seconds; /* 0: nothing throws caustics, or they are left to others without a trial */
    double share;   /* of the paths that found light */
    double
        gain; /* of error times time, expected: 1 minus the quotient of what it is with paths of light and without */
    uint32_t
        stride; /* the samples of one in so many pixels have a path of light each, if they are worth it */
} RenderCausticStats;

typedef struct RenderStats {
    TextureStoreStats conversion; /* beside the render */
    double load_s, compile_s, textures_s, lights_s, accel_s, render_s, cpu_s;
    uint32_t thread_count;
    uint32_t damaged_textures; /* magenta, where RenderOptions.missing says so */
    WaveCounters wave;         /* summed over all waves */
    TexStats textures;
    AccelStats accel;
    MaterialSetStats materials;
    SchedStats sched;
    uint32_t
        fiber_limit; /* a thread, at the end: RenderOptions.fibers_max, or what was found by trial */
    uint64_t scene_bytes, film_bytes;
    FilmDropped dropped;
    RenderSightStats sight;
    RenderCausticStats caustics;
    RenderGuideStats guide;
} RenderStats;
void render_stats(const Render *render, RenderStats *out_stats);
/* Shader faults met while rendering, a line each. */
void render_faults(const Render *render, StrBuf *out);
/* Faults of the closures that the scene's own sources define, likewise. */
void render_closure_faults(const Render *render, StrBuf *out);
/* Whether textures were missing or damaged, tiles could not be read, or a shader had a fault, in this run; the shot of the
 * film (FILM_SHOT_DAMAGED) knows it of all runs. */
bool render_has_damage(const Render *render);

#endif
