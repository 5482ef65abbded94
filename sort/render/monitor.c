#include "sort/render/monitor.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "textures/tex_live.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MS = 100 };

struct Monitor {
    Render *render;
    TexLivePublisher *publisher; /* owned; NULL: none */
    uint64_t start_ns, next_sample_ns, period_ns;
    MonitorTimeline timeline;
    TexLive live;
    TexTextureStats *textures; /* owned */
    uint32_t texture_capacity;
    Mutex lock;
    Cond changed;
    bool is_stopping; /* guarded by lock */
    Thread *thread;
};

/* --- the timeline ------------------------------------------------------------------------------------- */

static void keep_sample(Monitor *m, const TexStats *s, const RenderProgress *p)
{
    MonitorTimeline *t = &m->timeline;
    if (t->count == MONITOR_SAMPLES_MAX) {
        for (uint32_t i = 0; i < MONITOR_SAMPLES_MAX / 2; ++i)
            t->samples[i] = t->samples[2 * i + 1];
        t->count = MONITOR_SAMPLES_MAX / 2;
        m->period_ns *= 2;
    }
    ASSERT(t->count < MONITOR_SAMPLES_MAX);
    t->samples[t->count++] = (MonitorSample){.time_s = clock_seconds_since(m->start_ns),
                                             .paths = p->paths_done,
                                             .lookups = s->lookups,
                                             .tile_requests = s->tile_requests,
                                             .tile_misses = s->tile_misses,
                                             .loads = s->loads,
                                             .evictions = s->evictions,
                                             .bytes_loaded = s->bytes_loaded,
                                             .wait_ns = s->wait_ns,
                                             .bytes_now = s->bytes_now,
                                             .reads_pending = s->reads_pending};
}

/* --- publishing --------------------------------------------------------------------------------------- */

static int by_bytes_loaded(const void *a, const void *b)
{
    const TexTextureStats *x = a, *y = b;
    if (x->bytes_loaded != y->bytes_loaded)
        return x->bytes_loaded > y->bytes_loaded ? -1 : 1;
    return x->lookups > y->lookups ? -1 : x->lookups < y->lookups;
}

/* The end of a path that fits, from a whole character on. */
static void copy_end(char out[TEX_LIVE_NAME_BYTES], const char *path)
{
    size_t length = strlen(path);
    const char *from =
        length < TEX_LIVE_NAME_BYTES ? path : path + length - (TEX_LIVE_NAME_BYTES - 1);
    while (((unsigned char)*from & 0xc0) == 0x80)
        ++from;
    memset(out, 0, TEX_LIVE_NAME_BYTES);
    memcpy(out, from, strlen(from) + 1);
}

/* Makes room for all textures; false: out of memory, and they are not told. */
static bool read_textures(Monitor *m, uint32_t *out_count)
{
    TexCache *cache = render_textures(m->render);
    *out_count = texcache_texture_stats(cache, m->textures, m->texture_capacity);
    if (*out_count > m->texture_capacity) {
        TexTextureStats *grown = mem_realloc(m->textures, *out_count, sizeof *grown);
        if (!grown)
            return false;
        m->textures = grown;
        m->texture_capacity = *out_count;
        *out_count = texcache_texture_stats(cache, m->textures, m->texture_capacity);
    }
    return *out_count <= m->texture_capacity;
}

static void publish(Monitor *m, const TexStats *s, const RenderProgress *p, bool is_last)
{
    TexLive *live = &m->live;
    uint32_t count;
    live->elapsed_ms = (clock_now_ns() - m->start_ns) / 1000000;
    live->paths_done = p->paths_done;
    live->paths_total = p->paths_total;
    live->rays = p->rays;
    live->stats = *s;
    live->is_finished = is_last;
    if (read_textures(m, &count)) {
        if (count > 0) /* no array: not for qsort */
            qsort(m->textures, count, sizeof *m->textures, by_bytes_loaded);
        live->texture_count = count;
        for (uint32_t i = 0; i < count && i < TEX_LIVE_TEXTURES; ++i) {
            const TexTextureStats *from = &m->textures[i];
            TexLiveTexture *to = &live->textures[i];
            copy_end(to->name, from->name);
            to->lookups = from->lookups;
            to->loads = from->loads;
            to->unique_loads = from->unique_loads;
            to->bytes_loaded = from->bytes_loaded;
            to->wait_ns = from->wait_ns;
        }
    }
    tex_live_publish(m->publisher, live);
}

static void look(Monitor *m, bool is_last)
{
    TexStats stats;
    texcache_stats(render_textures(m->render), &stats);
    RenderProgress progress = render_progress(m->render);
    if (is_last || clock_now_ns() >= m->next_sample_ns) {
        keep_sample(m, &stats, &progress);
        m->next_sample_ns = clock_now_ns() + m->period_ns - PERIOD_MS * 500000ull;
    }
    if (m->publisher)
        publish(m, &stats, &progress, is_last);
}

static void run(void *data)
{
    Monitor *m = data;
    mutex_lock(&m->lock);
    while (!m->is_stopping) {
        mutex_unlock(&m->lock);
        look(m, false);
        mutex_lock(&m->lock);
        if (!m->is_stopping)
            cond_wait_for(&m->changed, &m->lock, PERIOD_MS);
    }
    mutex_unlock(&m->lock);
}

static void monitor_free(Monitor *m)
{
    tex_live_end(m->publisher);
    cond_destroy(&m->changed);
    mutex_destroy(&m->lock);
    mem_free(m->textures);
    mem_free(m);
}

Status monitor_start(Render *render, const char *live_path, Monitor **out_monitor, Error *err)
{
    *out_monitor = NULL;
    Monitor *m = MEM_NEW(Monitor);
    if (!m)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    m->render = render;
    m->start_ns = m->next_sample_ns = clock_now_ns();
    m->period_ns = PERIOD_MS * 1000000ull;
    snprintf(m->live.scene, sizeof m->live.scene, "%s", render_scene(render)->name);
    mutex_init(&m->lock);
    cond_init(&m->changed);
    Status status = live_path ? tex_live_begin(live_path, &m->publisher, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = thread_create("monitor", 0, run, m, &m->thread, err);
    if (status != STATUS_OK) {
        monitor_free(m);
        return status;
    }
    *out_monitor = m;
    return STATUS_OK;
}

void monitor_stop(Monitor *m, MonitorTimeline *out_timeline)
{
    if (out_timeline)
        out_timeline->count = 0;
    if (!m)
        return;
    mutex_lock(&m->lock);
    m->is_stopping = true;
    cond_signal(&m->changed);
    mutex_unlock(&m->lock);
    thread_join(m->thread);
    look(m, true);
    if (out_timeline)
        *out_timeline = m->timeline;
    monitor_free(m);
}
