/* The parts of a render; for render.c, which makes them, and render_trace.c, which runs them. */
#ifndef SORT_RENDER_RENDER_STATE_H
#define SORT_RENDER_RENDER_STATE_H

#include "base/arena.h"
#include "base/thread.h"
#include "sort/bsdf/closure_list.h"
#include "sort/render/fiber_limit.h"
#include "sort/render/light_setup.h"
#include "sort/render/render.h"
#include "sort/render/schedule.h"

struct Render {
    RenderOptions options;
    Scene *scene;
    Hash128 content; /* of the scene, for the film's identity, if has_content */
    bool has_content;
    float reach_m;          /* the radius of the scene, once it is loaded */
    bool borrows_context;   /* closures and ssl are the store's */
    SceneSettings settings; /* the scene's, with the options applied */
    ClosureList *closures;  /* built-in ones, and those of the scene's shaders */
    SslContext *ssl;
    MaterialSet *materials;
    TexCache *textures;
    Arena *decoder_command; /* owned; what the cache starts decoders by lies in it */
    TextureStore *store;
    LightSetup lights;
    LightEmission *emission;           /* owned; NULL unless the view is WAVE_VIEW_LIGHT */
    CausticEmission *caustic_emission; /* owned; NULL: no paths of light look for caustics */
    bool has_flagged_casters;          /* flags of the scene tell what looks for caustics */
    Accel *accel;
    Film *film;
    uint32_t *instance_ids, *material_ids; /* owned; NULL: not wanted */
    WaveShared shared;
    uint32_t samples;                  /* nominal */
    const SceneCamera *camera;         /* borrowed: scene or options */
    BakeTable bake;                    /* without points: nothing is baked */
    uint32_t sample_begin, sample_end; /* of all schedules */
    Schedule schedule;
    GuideField *guide;   /* owned; NULL: none is used */
    TexThread **threads; /* owned, one for each worker; while a segment runs */
    /* What workers run: the schedule and `shared`, or a pass of training. */
    Schedule *running;
    const WaveShared *running_shared;
    _Atomic uint64_t paths_done, rays_done;
    uint64_t path_count;

    /* The state of one render_run; read under the schedule's lock. */
    uint64_t segment_begin;      /* the first job since the last pause */
    uint64_t run_begin;          /* the first job of this run */
    double earlier_s;            /* seconds that earlier runs took */
    uint64_t start_ns, quiet_ns; /* when it began; when `quiet` is due, UINT64_MAX: never */
    _Atomic uint64_t passes_ns;  /* when its passes began, after what it learns; 0: not yet */
    uint64_t paths_before;       /* that were done then; to be read if passes_ns is not 0 */
    bool is_out_of_time;
    bool is_part_of_round; /* its pixels were judged by render_follow, and are not again */

    _Atomic uint64_t fibers_due_ns; /* when fiber_limit is judged again */
    _Atomic uint32_t fibers_wanted; /* per worker, by fiber_limit */
    _Atomic bool is_wide;           /* passes have been widened */
    FiberLimit fiber_limit;         /* guarded by stats_lock */
    Mutex stats_lock;               /* guards stats.wave while fibers end */
    RenderStats stats;
};

void render_announce(const Render *r, const char *what);
/* Sets the film's notes and shot, and makes the ids of names. */
Status render_make_notes(Render *r, Error *err) SORT_MUST_CHECK;
/* Appends all settings that decide pixels and are not in FilmIdentity by themselves, as FILM_NOTE_SETTINGS has them. */
void render_list_settings(const Render *r, StrBuf *out);
/* Returns whether no texture has failed, or failed ones are shown as magenta. */
bool render_may_go_on(Render *r);
/* Returns whether the user wants no more, and the film is of no use. */
bool render_is_stopped(const Render *r);
/* Runs jobs of r->running until it has none or pauses. */
Status render_run_segment(Render *r, Error *err) SORT_MUST_CHECK;
/* Returns the limit of the memory of path guiding, which decides how fine the field may become. */
uint64_t render_guide_bytes(const Render *r);
/* Makes the table of points if the options want one, and sets the size of the picture to its own. STATUS_INVALID: something of the
 * options or the scene cannot be baked. */
Status render_prepare_bake(Render *r, Error *err) SORT_MUST_CHECK;
/* Adds what the table decides of the picture to a digest. */
void render_hash_bake(const Render *r, HashState *h);
/* Makes r->emission if paths are to begin at lamps. STATUS_INVALID: something of the options or the scene cannot be shown so. */
Status render_prepare_light(Render *r, Error *err) SORT_MUST_CHECK;
/* Counts which lights are seen if one of several has to be chosen; then light sampling heeds it. */
Status render_look_for_lights(Render *r, Error *err) SORT_MUST_CHECK;
/* Sends some paths of light through casters of caustics. If few of them bring light to the picture, walks look for it instead. */
Status render_try_caustics(Render *r, Error *err) SORT_MUST_CHECK;
/* Teaches a field where light comes from, if the settings want it; then waves draw directions by it. */
Status render_train(Render *r, Error *err) SORT_MUST_CHECK;
/* Returns the description of a fiber's shading context, without a probe. */
ShadeContextDesc render_shade_desc(const Render *r, TexThread *thread, Waiter *waiter);

#endif
