/* Whether paths of light look for caustics, or walks: a small picture counts whose paths of light arrive. Where the camera sees a small
 * part of large caustics few do, and walks, which begin at what the camera sees, are better. */
#include "sort/render/training.h"

#include "base/check.h"
#include "base/clock.h"

enum {
    PIXELS_A_PATH = 16, /* of the frame, within limits */
    PATHS_MIN = 1 << 12,
    PATHS_MAX = 1 << 16
};
/* The least part of the paths that has to bring light to the picture. */
#define SHARE_MIN (1.0 / 32.0)

static Status count_paths(Render *r, double *out_share, Error *err)
{
    Training t;
    const FilmDesc *frame = film_desc(r->film);
    double paths = (double)frame->width * frame->height / PIXELS_A_PATH;
    paths = fmin(fmax(paths, PATHS_MIN), PATHS_MAX);
    /* One path for each sample of a few pixels. */
    Status status =
        training_begin(&t, r, paths / 4, CAUSTIC_PATH_STRIDE * 4, 0x63617573746963, err);
    t.shared.view = WAVE_VIEW_LIGHT;
    t.shared.caustic_emission = r->caustic_emission;
    WaveCounters before = r->stats.wave;
    if (status == STATUS_OK)
        status = training_run(&t, 0, t.shared.samples, err);
    double count = (double)(r->stats.wave.caustic_paths - before.caustic_paths);
    double found = (double)(r->stats.wave.caustics_found - before.caustics_found);
    *out_share = count > 0.0 ? found / count : 0.0;
    training_end(&t);
    return status;
}

Status render_try_caustics(Render *r, Error *err)
{
    double share;
    uint64_t start = clock_now_ns();
    r->shared.caustic_emission = r->caustic_emission;
    if (!r->caustic_emission || r->options.strategy == WAVE_STRATEGY_BSDFS)
        return STATUS_OK;
    render_announce(r, "looking for caustics");
    TRY(count_paths(r, &share, err));
    r->stats.caustics = (RenderCausticStats){clock_seconds_since(start), share};
    if (share < SHARE_MIN)
        r->shared.caustic_emission = NULL;
    return STATUS_OK;
}
