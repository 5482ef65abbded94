#include "sort/render/stats_json.h"

#include "base/cli.h"
#include "base/json_write.h"
#include <string.h>

static void write_times(JsonWriter *w, const RenderStats *s)
{
    json_write_object(w, "seconds");
    json_write_double(w, "load", s->load_s);
    json_write_double(w, "compile", s->compile_s);
    json_write_double(w, "textures", s->textures_s);
    json_write_double(w, "conversion", s->conversion.seconds);
    json_write_double(w, "lights", s->lights_s);
    json_write_double(w, "accel", s->accel_s);
    json_write_double(w, "render", s->render_s);
    json_write_double(w, "cpu", s->cpu_s);
    json_write_end(w);
    json_write_object(
        w, "stage_seconds"); /* summed over threads; waits of parked fibers are in them */
    for (int i = 0; i < WAVE_STAGE_COUNT; ++i)
        json_write_double(w, wave_stage_name((WaveStage)i), (double)s->wave.stage_ns[i] * 1e-9);
    json_write_end(w);
}

static void write_rays(JsonWriter *w, const RenderStats *s)
{
    json_write_object(w, "rays");
    json_write_u64(w, "paths", s->wave.paths);
    json_write_u64(w, "closest_hit", s->wave.rays);
    json_write_u64(w, "shadow", s->wave.shadow_rays);
    json_write_end(w);
    json_write_object(w, "shading");
    json_write_u64(w, "points", s->wave.shade.points);
    json_write_u64(w, "kernel_calls", s->wave.shade.kernel_calls);
    json_write_u64(w, "texture_calls", s->wave.shade.texture_calls);
    json_write_u64(w, "bsdf_faults", s->wave.bsdf_faults);
    json_write_u64(w, "programs", s->materials.programs);
    json_write_u64(w, "programs_from_cache", s->materials.from_cache);
    json_write_u64(w, "values", s->materials.values);
    json_write_u64(w, "values_shadowed", s->materials.values_shadowed);
    json_write_end(w);
}

static void write_texture(JsonWriter *w, const TexTextureStats *t)
{
    json_write_object(w, NULL);
    json_write_string(w, "name", t->name);
    json_write_string(w, "path", t->path);
    json_write_u64(w, "width", t->width);
    json_write_u64(w, "height", t->height);
    json_write_u64(w, "tiles", t->tile_count);
    json_write_u64(w, "tile_bytes", t->tile_bytes);
    json_write_u64(w, "lookups", t->lookups);
    json_write_u64(w, "loads", t->loads);
    json_write_u64(w, "unique_loads", t->unique_loads);
    json_write_u64(w, "constants", t->constants);
    json_write_u64(w, "failed_tiles", t->failed_tiles);
    json_write_u64(w, "bytes_loaded", t->bytes_loaded);
    json_write_u64(w, "bytes_unique", t->bytes_unique);
    json_write_u64(w, "read_ns", t->read_ns);
    json_write_u64(w, "waits", t->waits);
    json_write_u64(w, "wait_ns", t->wait_ns);
    json_write_end(w);
}

static void write_textures(JsonWriter *w, const StatsParts *parts)
{
    const TexStats *t = &parts->stats->textures;
    json_write_object(w, "textures");
    texcache_stats_write(t, w);
    json_write_double(w, "pressure", texcache_stats_pressure(t));
    json_write_array(w, "by_texture");
    for (uint32_t i = 0; i < parts->texture_count; ++i)
        write_texture(w, &parts->textures[i]);
    json_write_end(w);
    json_write_end(w);
}

/* A column a quantity; all are sums since the start but the last two. */
static void write_timeline(JsonWriter *w, const MonitorTimeline *t)
{
    static const struct {
        const char *name;
        size_t offset;
    } columns[] = {{"paths", offsetof(MonitorSample, paths)},
                   {"lookups", offsetof(MonitorSample, lookups)},
                   {"tile_requests", offsetof(MonitorSample, tile_requests)},
                   {"tile_misses", offsetof(MonitorSample, tile_misses)},
                   {"loads", offsetof(MonitorSample, loads)},
                   {"evictions", offsetof(MonitorSample, evictions)},
                   {"bytes_loaded", offsetof(MonitorSample, bytes_loaded)},
                   {"wait_ns", offsetof(MonitorSample, wait_ns)},
                   {"bytes_now", offsetof(MonitorSample, bytes_now)},
                   {"reads_pending", offsetof(MonitorSample, reads_pending)}};
    json_write_object(w, "timeline");
    json_write_array(w, "time_s");
    for (uint32_t i = 0; i < t->count; ++i)
        json_write_double(w, NULL, t->samples[i].time_s);
    json_write_end(w);
    for (size_t c = 0; c < SORT_COUNT_OF(columns); ++c) {
        json_write_array(w, columns[c].name);
        for (uint32_t i = 0; i < t->count; ++i) {
            uint64_t value;
            memcpy(&value, (const char *)&t->samples[i] + columns[c].offset, sizeof value);
            json_write_u64(w, NULL, value);
        }
        json_write_end(w);
    }
    json_write_end(w);
}

static void write_sight(JsonWriter *w, const RenderSightStats *s)
{
    json_write_object(w, "light_training");
    json_write_double(w, "seconds", s->seconds);
    json_write_u64(w, "paths", s->paths);
    json_write_end(w);
}

/* Returns what the field leaves of the second moment of what scattering finds. */
static double moment_ratio(const GuideStats *field)
{
    return field->unguided > 0.0 ? field->guided / field->unguided : 1.0;
}

static void write_guiding(JsonWriter *w, const RenderGuideStats *g)
{
    json_write_object(w, "guiding");
    json_write_bool(w, "used", g->is_used);
    json_write_double(w, "training_seconds", g->training_s);
    json_write_u64(w, "training_paths", g->training_paths);
    json_write_u64(w, "regions", g->field.regions);
    json_write_u64(w, "cells", 3 * (uint64_t)g->field.quads + g->field.regions);
    json_write_u64(w, "bytes", g->field.bytes);
    json_write_bool(w, "full", g->field.is_full);
    json_write_double(w, "moment_ratio", moment_ratio(&g->field));
    json_write_double(w, "error_left", g->error_left);
    json_write_bool(w, "late", g->is_late);
    json_write_end(w);
}

static void write_caustics(JsonWriter *w, const RenderStats *s)
{
    json_write_object(w, "caustics");
    json_write_double(w, "training_seconds", s->caustics.seconds);
    json_write_double(w, "share", s->caustics.share);
    json_write_double(w, "gain", s->caustics.gain);
    json_write_u64(w, "stride", s->caustics.stride);
    json_write_u64(w, "paths", s->wave.caustic_paths);
    json_write_u64(w, "found", s->wave.caustics_found);
    json_write_end(w);
}

void stats_json(const StatsParts *parts, StrBuf *out)
{
    const RenderStats *s = parts->stats;
    JsonWriter w = json_writer(out, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_string(&w, "version", SORT_VERSION);
    if (parts->scene)
        json_write_string(&w, "scene", parts->scene);
    json_write_u64(&w, "threads", s->thread_count);
    write_times(&w, s);
    write_rays(&w, s);
    write_textures(&w, parts);
    if (parts->timeline)
        write_timeline(&w, parts->timeline);
    json_write_object(&w, "memory");
    json_write_u64(&w, "scene_bytes", s->scene_bytes);
    json_write_u64(&w, "accel_bytes", s->accel.memory_bytes);
    json_write_u64(&w, "film_bytes", s->film_bytes);
    json_write_u64(&w, "texture_peak_bytes", s->textures.bytes_peak);
    json_write_u64(&w, "triangles", s->accel.triangle_count);
    json_write_u64(&w, "curve_segments", s->accel.curve_segment_count);
    json_write_end(&w);
    if (s->sight.paths > 0)
        write_sight(&w, &s->sight);
    if (s->caustics.seconds > 0.0)
        write_caustics(&w, s);
    if (s->guide.training_paths > 0)
        write_guiding(&w, &s->guide);
    json_write_object(&w, "fibers");
    json_write_u64(&w, "created", s->sched.fibers_created);
    json_write_u64(&w, "limit", s->fiber_limit);
    json_write_u64(&w, "peak_parked", s->sched.fibers_peak_parked);
    json_write_u64(&w, "parks", s->sched.parks);
    json_write_double(&w, "idle_seconds", (double)s->sched.idle_ns * 1e-9);
    json_write_end(&w);
    json_write_object(&w, "dropped_samples");
    json_write_u64(&w, "count", s->dropped.count);
    json_write_u64(&w, "pixels", s->dropped.pixel_count);
    json_write_end(&w);
    json_write_end(&w);
    strbuf_append_char(out, '\n');
}
static void write_guiding_text(const RenderGuideStats *g, StrBuf *out)
{
    char bytes[32];
    strbuf_printf(out, "guiding: %s in %.1f s from %.2f M paths", g->is_used ? "learned" : "tried",
                  g->training_s, (double)g->training_paths * 1e-6);
    if (g->is_used)
        strbuf_printf(out,
                      ": %u regions, %.1f cells each, %s; it leaves %.0f %% of the square of what "
                      "scattering finds\n",
                      g->field.regions, 1.0 + 3.0 * g->field.quads / g->field.regions,
                      cli_format_size(g->field.bytes, bytes), 100.0 * moment_ratio(&g->field));
    else if (g->is_late)
        strbuf_printf(out, " and given up: it would take too much of the time limit\n");
    else if (g->error_left > 0.0)
        strbuf_printf(out, " and given up: it would leave %.0f %% of the squared error\n",
                      100.0 * g->error_left);
    else
        strbuf_printf(out, " and given up: it has found nothing to gain\n");
}

void stats_summary(const RenderStats *s, StrBuf *out)
{
    char peak[32], budget[32], loaded[32], accel[32];
    uint64_t rays = s->wave.rays + s->wave.shadow_rays;
    strbuf_printf(out,
                  "loaded in %.1f s: scene %.2f, %u shader programs %.2f (%u from the cache), "
                  "textures %.2f, lights %.2f, rays %.2f\n",
                  s->load_s + s->compile_s + s->textures_s + s->lights_s + s->accel_s, s->load_s,
                  s->materials.programs, s->compile_s, s->materials.from_cache, s->textures_s,
                  s->lights_s, s->accel_s);
    if (s->conversion.converted > 0)
        strbuf_printf(out, "converted %u textures beside that, in %.1f s\n",
                      s->conversion.converted, s->conversion.seconds);
    strbuf_printf(out,
                  "rendered in %.1f s on %u threads: %.2f M paths, %.2f M rays, %.2f M rays/s\n",
                  s->render_s, s->thread_count, (double)s->wave.paths * 1e-6, (double)rays * 1e-6,
                  s->render_s > 0 ? (double)rays * 1e-6 / s->render_s : 0.0);
    strbuf_printf(out,
                  "textures: peak %s of %s, loaded %s (each tile %.2f times), %llu lookups, %llu "
                  "waits, %u fibers parked at most\n",
                  cli_format_size(s->textures.bytes_peak, peak),
                  cli_format_size(s->textures.budget_bytes, budget),
                  cli_format_size(s->textures.bytes_loaded, loaded),
                  texcache_stats_pressure(&s->textures), (unsigned long long)s->textures.lookups,
                  (unsigned long long)s->textures.waits, s->sched.fibers_peak_parked);
    if (s->guide.training_paths > 0)
        write_guiding_text(&s->guide, out);
    strbuf_printf(out, "geometry: %llu triangles, acceleration structure %s\n",
                  (unsigned long long)s->accel.triangle_count,
                  cli_format_size(s->accel.memory_bytes, accel));
}
