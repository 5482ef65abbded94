/* Renders that stop and go on, stop early, or render a part: the bits are those of the samples taken, whatever
 * happened in between. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/image/exr_read.h"
#include "base/process.h"
#include "base/thread.h"
#include "tests/sort/render/render_kit.h"

enum { WIDTH = 70, HEIGHT = 45, SAMPLES = 64 };

static void ok(Status status, const Error *err)
{
    if (status != STATUS_OK)
        fail_msg("%s", err->text);
}

/* A ball in a corner under a small light: smooth places and noisy ones. */
static int setup(void **state)
{
    static Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_matte(&kit);
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 12);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_write_scene(
        &kit,
        &(KitScene){.width = WIDTH,
                    .height = HEIGHT,
                    .samples = SAMPLES,
                    .max_depth = 3,
                    .eye = {0, 1, 5},
                    .fov_y_degrees = 50,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}, "
                                 "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}",
                    .materials = "{\"name\": \"m\", \"shader\": \"shaders/matte.ssl\"}",
                    .lights = "{\"name\": \"s\", \"type\": \"sphere\", \"radiance\": [90, 80, 70], "
                              "\"radius_m\": 0.5, \"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,1, "
                              "0,0,0,1]}"});
    strbuf_free(&meshes);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

static Render *create(const RenderOptions *options)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    ok(render_create(options, &render, &diagnostics, &err), &err);
    strbuf_free(&diagnostics);
    return render;
}

static void assert_same(Render *render, Hash128 expected, const char *what)
{
    if (!hash128_equal(kit_bits(render), expected))
        fail_msg("the picture differs: %s", what);
}

typedef struct Whole {
    Hash128 bits;
    uint64_t took_ns; /* without the preparations of a render */
} Whole;

/* The picture of a render that nothing stops. */
static Whole whole_picture(const RenderOptions *options)
{
    Error err = {0};
    Render *render = create(options);
    uint64_t begin_ns = clock_now_ns();
    ok(render_run(render, &err), &err);
    Whole whole = {.took_ns = clock_now_ns() - begin_ns, .bits = kit_bits(render)};
    render_destroy(render);
    return whole;
}

/* --- stopping and going on ---------------------------------------------------------------------- */

typedef struct Stopper {
    _Atomic bool flag;
    uint64_t after_ns;
} Stopper;

static void raise_flag(void *data)
{
    Stopper *stopper = data;
    clock_sleep_ns(stopper->after_ns);
    atomic_store(&stopper->flag, true);
}

/* Runs until it is done or `stopper` stops it. */
static Status run_for(Render *render, Stopper *stopper)
{
    Error err = {0};
    Thread *thread;
    ok(thread_create("stopper", 0, raise_flag, stopper, &thread, &err), &err);
    Status status = render_run(render, &err);
    thread_join(thread);
    if (status != STATUS_CANCELLED)
        ok(status, &err);
    return status;
}

/* Stops after random times, at first within a sixth of what the whole took, through files, until it is done. Returns how often it
 * was stopped. */
static uint32_t run_in_pieces(const Kit *kit, RenderOptions options, uint64_t seed, Whole expected)
{
    char path[PATH_BYTES];
    Error err = {0};
    kit_path(kit, "pieces.checkpoint", path);
    ok(file_remove(path, &err), &err);
    for (uint32_t stops = 0;; ++stops) {
        uint64_t limit_ns = (1 + stops / 8) * (1 + expected.took_ns / 6);
        Stopper stopper = {.after_ns = hash_mix64(seed + stops) % limit_ns};
        Film *film;
        options.cancel = &stopper.flag;
        Render *render = create(&options);
        if (file_exists(path)) {
            ok(film_read_partial(path, &film, &err), &err);
            ok(render_resume(render, film, &err), &err);
        }
        Status status = run_for(render, &stopper);
        if (status == STATUS_OK) {
            assert_same(render, expected.bits, "stopped and resumed");
            render_destroy(render);
            return stops;
        }
        ok(film_write_partial(render_film(render), path, &err), &err);
        render_destroy(render);
    }
}

static void test_stops_leave_no_trace(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    Whole expected = whole_picture(&options);
    uint32_t stops = 0;
    for (uint64_t seed = 0; seed < 3; ++seed) {
        options.thread_count = 1 + (uint32_t)seed;
        stops += run_in_pieces(kit, options, 100 * seed, expected);
    }
    assert_true(stops > 3);
}

static void test_stops_leave_no_trace_in_adaptive_renders(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    options.adaptive_error = 0.03f;
    Whole expected = whole_picture(&options);
    options.thread_count = 3;
    assert_true(run_in_pieces(kit, options, 7, expected) > 0);
}

/* Goes on from what is in the file, if it is there, to options->samples, or until after_ns are over. Leaves the film there.
 * Returns the bits of the picture. */
static Hash128 go_on(RenderOptions options, const char *path, uint64_t after_ns, Status *out_status)
{
    Error err = {0};
    Film *film;
    Stopper stopper = {.after_ns = after_ns};
    options.cancel = &stopper.flag;
    Render *render = create(&options);
    if (file_exists(path)) {
        ok(film_read_partial(path, &film, &err), &err);
        ok(render_resume(render, film, &err), &err);
    }
    if (after_ns > 0)
        *out_status = run_for(render, &stopper);
    else
        ok(*out_status = render_run(render, &err), &err);
    ok(film_write_partial(render_film(render), path, &err), &err);
    Hash128 bits = kit_bits(render);
    render_destroy(render);
    return bits;
}

/* Renders that were done, or stopped in the middle, and then asked for more samples. */
static void test_stops_go_on_to_more_samples(void **state)
{
    static const uint32_t counts[] = {5, 50, 64, 90, 150};
    static const uint32_t last = SORT_COUNT_OF(counts) - 1;
    const Kit *kit = *state;
    char path[PATH_BYTES];
    Error err = {0};
    Status status;
    kit_path(kit, "more.checkpoint", path);
    for (uint32_t k = 0; k < 4; ++k) {
        RenderOptions options = kit_options(kit);
        options.adaptive_error = k % 2 ? 0.02f : 0.0f;
        SETTING_SET(options.settings, samples, counts[last]);
        Hash128 expected = whole_picture(&options).bits;
        ok(file_remove(path, &err), &err);
        for (uint32_t i = 0; i < last; ++i) {
            SETTING_SET(options.settings, samples, counts[i]);
            options.wants_short_passes = (k + i) % 3 == 2;
            uint64_t limit = k < 2 ? 0 : 1 + hash_mix64(10 * k + i) % (20 * 1000 * 1000);
            (void)go_on(options, path, limit, &status);
        }
        SETTING_SET(options.settings, samples, counts[last]);
        if (!hash128_equal(go_on(options, path, 0, &status), expected))
            fail_msg("more samples later give other bits (%u)", k);
        /* and once more: there is nothing left to do */
        assert_true(hash128_equal(go_on(options, path, 0, &status), expected));
    }
}

static void test_stops_checkpoints_of_other_renders_are_refused(void **state)
{
    const Kit *kit = *state;
    Error err = {0};
    RenderOptions options = kit_options(kit);
    SETTING_SET(options.settings, samples, 4);
    Film *film;
    char path[PATH_BYTES];
    kit_path(kit, "done.part", path);
    Render *done = kit_render(kit, &options);
    ok(film_write_partial(render_film(done), path, &err), &err);
    render_destroy(done);

    Render *fewer = NULL;
    SETTING_SET(options.settings, samples, 3);
    fewer = create(&options);
    ok(film_read_partial(path, &film, &err), &err);
    assert_int_equal(render_resume(fewer, film, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "does not take"));
    render_destroy(fewer);
    SETTING_SET(options.settings, samples, 8);
    options.sampler = SAMPLER_BLUE_NOISE;
    Render *ordered = create(&options);
    ok(film_read_partial(path, &film, &err), &err);
    assert_int_equal(render_resume(ordered, film, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "blue noise"));
    render_destroy(ordered);
    options.sampler = SAMPLER_SOBOL;
    SETTING_SET(options.settings, seed, 5);
    Render *other = create(&options);
    ok(film_read_partial(path, &film, &err), &err);
    assert_int_equal(render_resume(other, film, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "seeds differ"));
    render_destroy(other);
}

/* --- the program, killed -------------------------------------------------------------------------- */

/* Delays grow, so that a busy machine gets done too.
 * Starts the program with a checkpoint and kills it after a while. True: it had ended by itself. */
static bool run_and_kill(const Kit *kit, const char *checkpoint, const char *out, uint32_t after_ms)
{
    Error err = {0};
    Process *process;
    ProcessResult result;
    char program[PATH_BYTES];
    snprintf(program, sizeof program, "%s/sort-render", SORT_TEST_BIN);
    const char *const argv[] = {
        program, kit->package, "--cache",      kit->cache, "-o",
        out,     "--quiet",    "--spp",        "256",      "--threads",
        "2",     "--resume",   "--checkpoint", checkpoint, "--checkpoint-interval",
        "0.02",  NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc, .argv = argv};
    ok(process_spawn(&desc, &process, &err), &err);
    ok(process_wait(process, after_ms, &result, &err), &err);
    bool has_ended = result.has_exited;
    if (has_ended)
        assert_int_equal(result.exit_code, 0);
    process_result_free(&result);
    return has_ended;
}

static void test_stops_by_kill_lose_nothing(void **state)
{
    const Kit *kit = *state;
    char checkpoint[PATH_BYTES], out[PATH_BYTES], expected[PATH_BYTES];
    Error err = {0};
    KitSaid said;
    kit_path(kit, "killed.checkpoint", checkpoint);
    kit_path(kit, "killed.exr", out);
    kit_path(kit, "whole.exr", expected);
    uint64_t begin_ns = clock_now_ns();
    kit_run_program("sort-render",
                    (const char *const[]){kit->package, "--cache", kit->cache, "-o", expected,
                                          "--quiet", "--spp", "256", NULL},
                    &said);
    uint32_t whole_ms = 1 + (uint32_t)((clock_now_ns() - begin_ns) / 1000000);
    kit_assert_says(&said, 0, (const char *const[]){NULL});
    uint32_t kills = 0, found = 0;
    while (!run_and_kill(kit, checkpoint, out,
                         (1 + kills / 4) * (1 + (uint32_t)(hash_mix64(kills) % whole_ms)))) {
        found += file_exists(checkpoint);
        assert_true(++kills < 1000);
    }
    assert_true(kills > 0 && found > 0);
    assert_false(file_exists(checkpoint)); /* it has served */
    ExrImage *a, *b;
    ok(exr_read(out, &a, &err), &err);
    ok(exr_read(expected, &b, &err), &err);
    for (uint32_t c = 0; c < b->channel_count; ++c)
        assert_memory_equal(a->channels[c].data, b->channels[c].data,
                            sizeof(float) * WIDTH * HEIGHT);
    assert_string_equal(exr_image_text(a, "sort/samples"), "0:256");
    exr_image_destroy(a);
    exr_image_destroy(b);
}

static void test_stops_options_are_checked(void **state)
{
    const Kit *kit = *state;
    KitSaid said;
    kit_run(kit, (const char *const[]){"--resume", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"--resume", "--checkpoint", NULL});
    kit_run(kit,
            (const char *const[]){"--spp", "64", "--samples", "0:32", "--adaptive", "0.1", NULL},
            &said);
    kit_assert_says(&said, 2, (const char *const[]){"--samples", "--adaptive", NULL});
    kit_run(kit, (const char *const[]){"--integrator", "cost", "--adaptive", "0.1", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"cost", "--adaptive", NULL});
    kit_run(kit, (const char *const[]){"--samples", "0:2", "--time-limit", "1", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"--samples", "--time-limit", NULL});
    kit_run(kit, (const char *const[]){"--crop", "60,40,20,20", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"crop 60,40,20,20", "70x45", NULL});
    kit_run(kit, (const char *const[]){"--checkpoint", "/no/such/folder/c", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"/no/such/folder", NULL});
}

/* --- parts ---------------------------------------------------------------------------------------- */

static void test_stops_at_the_edge_of_a_crop(void **state)
{
    const Kit *kit = *state;
    enum { X = 13, Y = 7, W = 41, H = 30 };
    RenderOptions options = kit_options(kit);
    uint32_t count;
    SETTING_SET(options.settings, samples, 4);
    Render *whole = kit_render(kit, &options);
    options.crop = (RenderCrop){X, Y, W, H};
    Render *part = kit_render(kit, &options);
    float *a = kit_pixels(whole, &count), *b = kit_pixels(part, &count);
    assert_int_equal(count, W * H);
    for (uint32_t y = 0; y < H; ++y)
        assert_memory_equal(a + 4 * ((size_t)(Y + y) * WIDTH + X), b + 4 * (size_t)y * W,
                            4 * W * sizeof *a);
    mem_free(a);
    mem_free(b);
    render_destroy(whole);
    render_destroy(part);
}

/* What a time limit leaves is whole passes, and the very bits of that sample range. */
static void test_stops_when_time_is_up(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    uint32_t count;
    SETTING_SET(options.settings, samples, 1 << 16);
    options.time_limit_s = 0.3;
    Render *limited = kit_render(kit, &options);
    const FilmRange *ranges = film_ranges(render_film(limited), &count);
    assert_int_equal(count, 1);
    assert_int_equal(ranges[0].begin, 0);
    assert_true(ranges[0].end >= 4 && ranges[0].end < 1 << 16);
    RenderStats stats;
    render_stats(limited, &stats);
    assert_true(stats.render_s < 3.0); /* a machine may be busy */
    options.time_limit_s = 0;
    options.sample_end = ranges[0].end;
    Render *range = kit_render(kit, &options);
    assert_same(limited, kit_bits(range), "the time limit's samples");
    render_destroy(limited);
    render_destroy(range);
}

/* What a render learns first takes of the limit, but is no measure of its passes. */
static void test_stops_no_sooner_than_a_pass_before_the_limit(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    RenderStats stats;
    options.guiding = 1 + SCENE_GUIDING_ON;
    options.width_px = options.height_px = 8;
    SETTING_SET(options.settings, samples, 4);
    Render *render = kit_render(kit, &options);
    render_stats(render, &stats);
    render_destroy(render);
    assert_true(stats.guide.training_s > 0.0);
    options.time_limit_s = 1.8 * stats.guide.training_s;
    SETTING_SET(options.settings, samples, 1 << 20);
    render = kit_render(kit, &options);
    render_stats(render, &stats);
    double passes_s = stats.render_s - stats.guide.training_s;
    if (stats.render_s + passes_s < options.time_limit_s)
        fail_msg("a render of %g s, of which %g s are passes, stops %g s before its limit",
                 stats.render_s, passes_s, options.time_limit_s - stats.render_s);
    render_destroy(render);
}

typedef struct Pace {
    uint64_t start_ns;
    RenderProgress seen;
    double elapsed_s;
} Pace;

static Status look_at_pace(void *data, Render *render, Error *err)
{
    Pace *pace = data;
    (void)err;
    if (pace->elapsed_s == 0.0) {
        pace->elapsed_s = clock_seconds_since(pace->start_ns);
        pace->seen = render_progress(render);
    }
    return STATUS_OK;
}

/* The samples of earlier runs took none of the time of this one. */
static void test_stops_leave_the_pace_of_a_run_its_own(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    char path[PATH_BYTES];
    Error err = {0};
    Film *film;
    Pace pace = {.elapsed_s = 0.0};
    SETTING_SET(options.settings, samples, 2048);
    options.sample_end = 256;
    Render *render = kit_render(kit, &options);
    kit_path(kit, "pace.film", path);
    ok(film_write_partial(render_film(render), path, &err), &err);
    render_destroy(render);
    options.sample_end = 0;
    options.wants_short_passes = true;
    options.quiet = look_at_pace;
    options.quiet_data = &pace;
    options.quiet_first_s = 0.01;
    options.quiet_interval_s = 1000.0;
    render = create(&options);
    ok(film_read_partial(path, &film, &err), &err);
    ok(render_resume(render, film, &err), &err);
    uint64_t before = render_progress(render).paths_done;
    assert_true(before > 0 && render_progress(render).left_s < 0.0);
    pace.start_ns = clock_now_ns();
    ok(render_run(render, &err), &err);
    assert_true(render_progress(render).left_s == 0.0);
    render_destroy(render);
    assert_true(pace.elapsed_s > 0.0 && pace.seen.paths_done > before);
    double per_path = pace.elapsed_s / (double)(pace.seen.paths_done - before);
    double left = per_path * (double)(pace.seen.paths_total - pace.seen.paths_done);
    if (pace.seen.left_s > 1.01 * left || pace.seen.left_s < 0.3 * left)
        fail_msg("%g s are said to be left instead of about %g s", pace.seen.left_s, left);
}

/* --- adaptive ------------------------------------------------------------------------------------- */

static double mean_of(const float *rgba, uint32_t count)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)4 * count; ++i)
        sum += (double)(i % 4 < 3 ? rgba[i] : 0.0f);
    return sum / count;
}

static void test_stops_where_pixels_are_good_enough(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    uint32_t count;
    SETTING_SET(options.settings, samples, 256);
    options.adaptive_error = 0.02f;
    options.aovs = FILM_AOV_BIT(FILM_AOV_SAMPLES);
    options.thread_count = 1;
    Render *one = kit_render(kit, &options);
    options.thread_count = 3;
    options.wave_capacity = 40;
    Render *many = kit_render(kit, &options);
    assert_same(many, kit_bits(one), "adaptive with other threads and waves");
    float *samples = kit_aov(one, FILM_AOV_SAMPLES), *variance = kit_aov(one, FILM_AOV_VARIANCE);
    float *rgba = kit_pixels(one, &count);
    /* The black background needs the minimum, the penumbra much more; at the end nothing is left to do. */
    float least = 1e9f, most = 0.0f;
    for (uint32_t i = 0; i < count; ++i) {
        least = samples[i] < least ? samples[i] : least;
        most = samples[i] > most ? samples[i] : most;
        assert_true(variance[i] >= 0.0f);
    }
    assert_true(least == RENDER_ADAPTIVE_MIN && most > 2 * RENDER_ADAPTIVE_MIN);
    assert_true(film_judge(render_film(one), 0.02f) == 0 || most == 256.0f);
    /* Not much is lost by judging: the mean is that of a render of all samples. */
    options.adaptive_error = 0;
    Render *full = kit_render(kit, &options);
    float *reference = kit_pixels(full, &count);
    double a = mean_of(rgba, count), b = mean_of(reference, count);
    assert_true(a > 0.99 * b && a < 1.01 * b);
    mem_free(samples);
    mem_free(variance);
    mem_free(rgba);
    mem_free(reference);
    render_destroy(one);
    render_destroy(many);
    render_destroy(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_leave_no_trace),
        cmocka_unit_test(test_stops_leave_no_trace_in_adaptive_renders),
        cmocka_unit_test(test_stops_go_on_to_more_samples),
        cmocka_unit_test(test_stops_checkpoints_of_other_renders_are_refused),
        cmocka_unit_test(test_stops_by_kill_lose_nothing),
        cmocka_unit_test(test_stops_options_are_checked),
        cmocka_unit_test(test_stops_at_the_edge_of_a_crop),
        cmocka_unit_test(test_stops_when_time_is_up),
        cmocka_unit_test(test_stops_no_sooner_than_a_pass_before_the_limit),
        cmocka_unit_test(test_stops_leave_the_pace_of_a_run_its_own),
        cmocka_unit_test(test_stops_where_pixels_are_good_enough),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
