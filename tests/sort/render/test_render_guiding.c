/* Path guiding: the same means as without, and bits that do not depend on threads, waves, fibers, ranges or on how a render was
 * interrupted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/stat/ztest.h"
#include "tests/sort/render/render_kit.h"

enum {
    GUIDING_OFF = 1 + SCENE_GUIDING_OFF,
    GUIDING_ON = 1 + SCENE_GUIDING_ON,
    GUIDING_AUTO = 1 + SCENE_GUIDING_AUTO
};

static const char surfaces_ssl[] =
    "shader white(color albedo = color(0.8), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n"
    "shader metal(float roughness = 0.4, out closure surface)\n"
    "{\n    surface = make_closure<Conductor>(color(0.9), roughness, global_value<normal>);\n}\n"
    "shader lacquer(out closure surface)\n"
    "{\n    surface = make_closure<Plastic>(color(0.3, 0.5, 0.7), color(0.04), 0.2, "
    "global_value<normal>);\n}\n"
    "shader frosted(out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(1.5, 0.4, color(1), color(0.9), "
    "global_value<normal>);\n}\n"
    "shader glass(out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(1.5, 0, color(1), color(0.9), "
    "global_value<normal>);\n}\n"
    "shader leaf(out closure surface)\n{\n"
    "    surface = 0.5 * make_closure<Translucent>(color(1), global_value<normal>) +\n"
    "              0.4 * make_closure<Glossy>(color(1), 0.6, 0, 0, 0, vector(1, 0, 0), "
    "global_value<normal>);\n}\n"
    "shader hair(out closure surface)\n{\n"
    "    surface = 0.7 * make_closure<Lambert>(color(0.7), global_value<normal>) +\n"
    "              0.3 * make_closure<Transparent>(color(1));\n}\n"
    "shader lamp(color radiance = color(20), out closure surface)\n"
    "{\n    surface = make_closure<Emission>(radiance);\n}\n";

/* A room, `scale` metres for one, moved by `at`, with a wall or a window on one side. */
typedef struct Room {
    float scale, at;
    bool has_window;
    const char *ball; /* entry of the ball's material */
    bool
        has_slit; /* the sun shines through a slit of the right wall, far brighter than the lamp; two bounces are followed */
} Room;

static void add_quad(const Kit *kit, StrBuf *meshes, const Room *room, const char *name,
                     const float corners[4][3])
{
    float placed[4][3];
    for (int k = 0; k < 4; ++k)
        for (int c = 0; c < 3; ++c)
            placed[k][c] = room->at + room->scale * corners[k][c];
    kit_add_quad(kit, meshes, name, placed);
}

/* The lamp shines up onto the ceiling from a box, so that most light comes from one patch of it. */
static void write_room(const Kit *kit, const Room *room)
{
    StrBuf meshes = {0}, instances = {0}, materials = {0};
    const float s = room->has_slit ? 0.1f : 0.0f;
    const struct {
        const char *name, *material;
        float corners[4][3];
    } quads[] = {
        {"floor", "white", {{-1, -1, 1}, {1, -1, 1}, {1, -1, -1}, {-1, -1, -1}}},
        {"ceiling", "white", {{-1, 1, -1}, {1, 1, -1}, {1, 1, 1}, {-1, 1, 1}}},
        {"left", "white", {{-1, -1, -1}, {-1, 1, -1}, {-1, 1, 1}, {-1, -1, 1}}},
        {"back", "white", {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}}},
        {"near", "white", {{-1, -1, 1.6f}, {-1, 1, 1.6f}, {1, 1, 1.6f}, {1, -1, 1.6f}}},
        {"lamp",
         "lamp",
         {{0.4f, 0.5f, 0}, {0.7f, 0.5f, 0}, {0.7f, 0.5f, -0.3f}, {0.4f, 0.5f, -0.3f}}},
        {"under",
         "white",
         {{0.3f, 0.49f, 0.1f}, {0.8f, 0.49f, 0.1f}, {0.8f, 0.49f, -0.4f}, {0.3f, 0.49f, -0.4f}}},
        {"sheet",
         "ball",
         {{-0.8f, -0.9f, -0.4f}, {0.2f, -0.9f, -0.6f}, {0.2f, 0.1f, -0.7f}, {-0.8f, 0.1f, -0.5f}}},
        {"right", "white", {{1, -1, 1}, {1, -s, 1}, {1, -s, -1}, {1, -1, -1}}},
        {"over", "white", {{1, s, 1}, {1, 1, 1}, {1, 1, -1}, {1, s, -1}}},
    };
    static const char *const entries[] = {"white", "lamp"};
    uint32_t count = (uint32_t)(sizeof quads / sizeof *quads) - (room->has_window ? 2 : 0);
    kit_write_text(kit, "shaders/surfaces.ssl", surfaces_ssl);
    for (uint32_t i = 0; i < count; ++i) {
        add_quad(kit, &meshes, room, quads[i].name, quads[i].corners);
        strbuf_printf(&instances, "%s{\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"]}",
                      i ? ", " : "", quads[i].name, quads[i].name, quads[i].material);
    }
    for (uint32_t i = 0; i < 3; ++i)
        strbuf_printf(
            &materials,
            "%s{\"name\": \"%s\", \"shader\": \"shaders/surfaces.ssl\", \"entry\": \"%s\"}",
            i ? ", " : "", i < 2 ? entries[i] : "ball", i < 2 ? entries[i] : room->ball);
    KitScene scene = {.width = 24,
                      .height = 24,
                      .samples = 64,
                      .max_depth = room->has_slit ? 2 : 6,
                      .eye = {room->at, room->at, room->at + 1.5f * room->scale},
                      .target = {room->at, room->at, room->at},
                      .fov_y_degrees = 60,
                      .meshes = strbuf_text(&meshes),
                      .instances = strbuf_text(&instances),
                      .materials = strbuf_text(&materials)};
    if (room->has_window)
        scene.environment = "{\"color\": [2, 3, 4]}";
    if (room->has_slit)
        scene.lights =
            "{\"name\": \"sun\", \"type\": \"distant\", \"irradiance\": [9e3, 9e3, 9e3], "
            "\"transform\": [0,-0.6,0.8,0, 0,0.8,0.6,0, -1,0,0,0, 0,0,0,1]}";
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&materials);
}

static float *render_room(const Kit *kit, uint32_t guiding, uint32_t seed, uint32_t *out_count)
{
    RenderOptions options = kit_options(kit);
    RenderStats stats;
    options.guiding = guiding;
    SETTING_SET(options.settings, seed, seed);
    SETTING_SET(options.settings, samples, 256);
    Render *render = kit_render(kit, &options);
    float *pixels = kit_pixels(render, out_count);
    render_stats(render, &stats);
    assert_true(stats.guide.is_used == (guiding == GUIDING_ON));
    if (guiding == GUIDING_ON)
        assert_true(stats.guide.field.regions > 1 && stats.guide.field.records > 1000);
    render_destroy(render);
    return pixels;
}

/* Pixel by pixel, over several seeds. */
static void check_means(const Room *room)
{
    Kit kit;
    ZTest difference = {0}, level = {0};
    uint32_t count;
    kit_begin(&kit);
    write_room(&kit, room);
    for (uint32_t seed = 0; seed < 3; ++seed) {
        float *with = render_room(&kit, GUIDING_ON, 2 * seed, &count);
        float *without = render_room(&kit, GUIDING_OFF, 2 * seed + 1, &count);
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t c = 0; c < 3; ++c) {
                ztest_add(&difference, (double)with[4 * i + c] - (double)without[4 * i + c]);
                ztest_add(&level, (double)without[4 * i + c]);
            }
        mem_free(with);
        mem_free(without);
    }
    kit_end(&kit);
    /* The channels of a pixel have the same paths, so that the error of the mean is up to sqrt(3) times larger. */
    double error = sqrt(3.0) * ztest_standard_error(&difference);
    if (fabs(difference.mean) > 4.0 * error)
        fail_msg("ball '%s': guiding changes the mean by %g +- %g of %g", room->ball,
                 difference.mean, error, level.mean);
    if (error > 0.02 * level.mean) /* or the test would show nothing */
        fail_msg("ball '%s': too noisy to compare, %g of %g", room->ball, error, level.mean);
}

static void test_means_stay(void **unused)
{
    (void)unused;
    static const Room rooms[] = {
        {1, 0, false, "metal", false},      {1, 0, false, "lacquer", false},
        {1, 0, true, "leaf", false},        {1, 0, true, "frosted", false},
        {1, 0, false, "glass", false},      {1, 0, true, "hair", false},
        {1000, 0, false, "lacquer", false}, {1, 300, true, "metal", false}};
    if (SORT_ASAN || SORT_TSAN)
        skip(); /* sanitizers are slow, and see nothing that they do not see in the tests below */
    for (uint32_t i = 0; i < sizeof rooms / sizeof *rooms; ++i)
        check_means(&rooms[i]);
}

/* --- bits ----------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    static Kit kit;
    const Room room = {1, 0, true, "lacquer", false};
    kit_begin(&kit);
    write_room(&kit, &room);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

static RenderOptions guided(const Kit *kit)
{
    RenderOptions options = kit_options(kit);
    options.guiding = GUIDING_ON;
    return options;
}

static void assert_same(Hash128 a, Hash128 b, const char *what)
{
    if (!hash128_equal(a, b))
        fail_msg("the picture differs: %s", what);
}

static void test_bits_do_not_depend_on_threads_or_waves(void **state)
{
    RenderOptions options = guided(*state);
    options.thread_count = 1;
    Hash128 one = kit_render_bits(*state, &options, NULL);
    options.thread_count = 2;
    assert_same(one, kit_render_bits(*state, &options, NULL), "2 threads");
    options.thread_count = 5;
    assert_same(one, kit_render_bits(*state, &options, NULL), "5 threads");
    options.wave_capacity = 8;
    assert_same(one, kit_render_bits(*state, &options, NULL), "waves of 8 paths");
    options.wave_capacity = 200;
    assert_same(one, kit_render_bits(*state, &options, NULL), "waves of 200 paths");
    options.guiding = GUIDING_OFF;
    assert_false(hash128_equal(one, kit_render_bits(*state, &options, NULL)));
}

/* Renders one sample of so many that there is enough training for a judgement. */
static RenderStats try_guiding(const Kit *kit, uint32_t guiding, uint32_t samples,
                               Hash128 *out_bits)
{
    RenderOptions options = guided(kit);
    RenderStats stats;
    options.guiding = guiding;
    SETTING_SET(options.settings, samples, samples);
    options.sample_end = 1;
    *out_bits = kit_render_bits(kit, &options, &stats);
    return stats;
}

static void test_auto_keeps_what_pays(void **unused)
{
    (void)unused;
    Kit kit;
    Hash128 bits, others;
    kit_begin(&kit);
    write_room(&kit, &(Room){.scale = 1.0f, .ball = "white", .has_slit = true});
    /* With 9,000 samples the judgement is near the limit, to either side by the noise of the trial. */
    assert_true(try_guiding(&kit, GUIDING_AUTO, 18000, &bits).guide.is_used);
    assert_true(try_guiding(&kit, GUIDING_ON, 18000, &others).guide.is_used);
    assert_same(bits, others, "guiding that was judged");
    assert_false(try_guiding(&kit, GUIDING_OFF, 18000, &others).guide.is_used);
    assert_false(hash128_equal(bits, others));
    /* Too few paths for a judgement. */
    RenderStats stats = try_guiding(&kit, GUIDING_AUTO, 4000, &bits);
    assert_true(!stats.guide.is_used && stats.guide.training_paths == 0);
    (void)try_guiding(&kit, GUIDING_OFF, 4000, &others);
    assert_same(bits, others, "too few paths to be judged");
    /* Hardly any time to learn. */
    RenderOptions options = guided(&kit);
    options.guiding = GUIDING_AUTO;
    options.time_limit_s = 1e-3;
    SETTING_SET(options.settings, samples, 18000);
    (void)kit_render_bits(&kit, &options, &stats);
    assert_true(!stats.guide.is_used && stats.guide.is_late && stats.guide.error_left == 0.0);
    options.guiding = GUIDING_ON;
    (void)kit_render_bits(&kit, &options, &stats);
    assert_true(stats.guide.is_used && !stats.guide.is_late);
    /* A room that is open at one side, to which surfaces have more light than the field can add. */
    write_room(&kit, &(Room){.scale = 1.0f, .ball = "white", .has_window = true});
    stats = try_guiding(&kit, GUIDING_AUTO, 18000, &bits);
    assert_true(!stats.guide.is_used && stats.guide.training_paths > 0);
    assert_true(stats.guide.error_left == 0.0 || stats.guide.error_left >= 0.78);
    (void)try_guiding(&kit, GUIDING_OFF, 18000, &others);
    assert_same(bits, others, "guiding that was given up");
    kit_end(&kit);
}

static void test_ranges_merge_to_the_whole(void **state)
{
    Error err = {0};
    RenderOptions options = guided(*state);
    Hash128 whole = kit_render_bits(*state, &options, NULL);
    options.sample_end = 21;
    Render *first = kit_render(*state, &options);
    options.sample_begin = 21;
    options.sample_end = 64;
    Render *second = kit_render(*state, &options);
    film_set_guiding(render_film(second), FILM_UNGUIDED);
    assert_int_equal(film_merge(render_film(first), render_film(second), &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, "one is guided"));
    film_set_guiding(render_film(second), FILM_GUIDED);
    assert_int_equal(film_merge(render_film(first), render_film(second), &err), STATUS_OK);
    assert_same(whole, kit_bits(first), "two ranges merged");
    render_destroy(second);
    options.guiding = GUIDING_OFF;
    Render *other = kit_render(*state, &options);
    assert_int_equal(film_merge(render_film(first), render_film(other), &err), STATUS_INVALID);
    render_destroy(other);
    render_destroy(first);
}

static void stop_training(void *data, const char *what)
{
    if (strstr(what, "learning"))
        atomic_store((_Atomic bool *)data, true);
}

static void test_a_render_stopped_in_training_goes_on(void **state)
{
    Error err = {0};
    Render *render;
    StrBuf diagnostics = {0};
    _Atomic bool cancel = false;
    RenderOptions options = guided(*state);
    Hash128 whole = kit_render_bits(*state, &options, NULL);
    options.cancel = &cancel;
    options.stage = stop_training;
    options.stage_data = &cancel;
    assert_int_equal(render_create(&options, &render, &diagnostics, &err), STATUS_OK);
    assert_int_equal(render_run(render, &err), STATUS_CANCELLED);
    char path[PATH_BYTES];
    const Kit *kit = *state;
    assert_int_equal(path_join(kit->folder, "checkpoint", path, &err), STATUS_OK);
    assert_int_equal(film_write_partial(render_film(render), path, &err), STATUS_OK);
    render_destroy(render);
    atomic_store(&cancel, false);
    options.stage = NULL;
    Film *film;
    assert_int_equal(film_read_partial(path, &film, &err), STATUS_OK);
    assert_int_equal(render_create(&options, &render, &diagnostics, &err), STATUS_OK);
    assert_int_equal(render_resume(render, film, &err), STATUS_OK);
    assert_int_equal(render_run(render, &err), STATUS_OK);
    assert_same(whole, kit_bits(render), "stopped in training");
    render_destroy(render);
    strbuf_free(&diagnostics);
}

/* Renders the first 16 samples, and goes on to `end` from the file. Returns the bits. more: samples of the render then. */
static Hash128 go_on(const Kit *kit, RenderOptions options, uint32_t more, uint32_t end,
                     RenderStats *stats)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render;
    Film *film;
    char path[PATH_BYTES];
    options.sample_end = 16;
    render = kit_render(kit, &options);
    assert_int_equal(path_join(kit->folder, "first", path, &err), STATUS_OK);
    assert_int_equal(film_write_partial(render_film(render), path, &err), STATUS_OK);
    render_destroy(render);
    options.sample_end = end;
    SETTING_SET(options.settings, samples, more);
    assert_int_equal(film_read_partial(path, &film, &err), STATUS_OK);
    assert_int_equal(render_create(&options, &render, &diagnostics, &err), STATUS_OK);
    assert_int_equal(render_resume(render, film, &err), STATUS_OK);
    assert_int_equal(render_run(render, &err), STATUS_OK);
    render_stats(render, stats);
    Hash128 bits = kit_bits(render);
    render_destroy(render);
    strbuf_free(&diagnostics);
    return bits;
}

static void test_a_render_goes_on_with_the_same_field(void **state)
{
    RenderOptions options = guided(*state);
    RenderStats stats;
    Hash128 whole = kit_render_bits(*state, &options, NULL);
    assert_same(whole, go_on(*state, options, 64, 64, &stats), "continued");
    SETTING_SET(options.settings, samples, 128);
    whole = kit_render_bits(*state, &options, NULL);
    SETTING_SET(options.settings, samples, 64);
    assert_same(whole, go_on(*state, options, 128, 128, &stats), "continued to more samples");
    assert_true(stats.guide.is_used);
    options.sample_end = 16;
    whole = kit_render_bits(*state, &options, NULL);
    assert_same(whole, go_on(*state, options, 64, 16, &stats), "continued to no more samples");
    assert_int_equal(stats.guide.training_paths, 0);
}

/* What was decided for the first samples holds for those that follow. */
static void test_a_render_goes_on_as_it_began(void **unused)
{
    (void)unused;
    enum { FEW = 400, MANY = 18000, END = 32 }; /* samples, of which the latter are worth a trial */
    Kit kit;
    RenderStats stats;
    if (SORT_ASAN || SORT_TSAN)
        skip(); /* millions of paths, and nothing that the tests above do not have */
    kit_begin(&kit);
    write_room(&kit, &(Room){.scale = 1.0f, .ball = "white", .has_slit = true});
    RenderOptions options = guided(&kit);
    SETTING_SET(options.settings, samples, MANY);
    options.sample_end = END;
    Hash128 whole = kit_render_bits(&kit, &options, NULL);
    options.guiding = GUIDING_AUTO;
    Hash128 continued = go_on(&kit, options, MANY, END, &stats);
    assert_same(whole, continued, "guided from the beginning");
    assert_true(stats.guide.is_used && stats.guide.error_left == 0.0);
    SETTING_SET(options.settings, samples, FEW);
    continued = go_on(&kit, options, MANY, END, &stats);
    assert_true(!stats.guide.is_used && stats.guide.training_paths == 0);
    options.guiding = GUIDING_OFF;
    SETTING_SET(options.settings, samples, MANY);
    assert_same(kit_render_bits(&kit, &options, NULL), continued, "not guided");
    kit_end(&kit);
}

/* The field is that of the whole frame, whatever part of it is rendered. */
static void test_a_crop_has_the_pixels_of_the_whole(void **state)
{
    RenderOptions options = guided(*state);
    uint32_t count;
    Render *render = kit_render(*state, &options);
    float *whole = kit_pixels(render, &count);
    render_destroy(render);
    options.crop = (RenderCrop){5, 7, 9, 6};
    render = kit_render(*state, &options);
    float *part = kit_pixels(render, &count);
    render_destroy(render);
    assert_int_equal(count, 9 * 6);
    for (uint32_t y = 0; y < 6; ++y)
        for (uint32_t x = 0; x < 9; ++x)
            assert_memory_equal(&part[4 * (size_t)(9 * y + x)],
                                &whole[4 * (size_t)(24 * (y + 7) + x + 5)], 4 * sizeof(float));
    mem_free(whole);
    mem_free(part);
}

static void test_the_package_may_ask_for_it(void **unused)
{
    (void)unused;
    Kit kit;
    RenderStats stats;
    kit_begin(&kit);
    const Room room = {1, 0, false, "white", false};
    write_room(&kit, &room);
    RenderOptions options = kit_options(&kit);
    (void)kit_render_bits(&kit, &options, &stats);
    assert_false(stats.guide.is_used);
    assert_int_equal(stats.guide.training_paths, 0);
    const char *const bad[] = {"--guiding", "maybe", NULL};
    char film[PATH_BYTES];
    Error err = {0};
    assert_int_equal(path_join(kit.folder, "film", film, &err), STATUS_OK);
    const char *const on[] = {"--guiding", "on", "--partial", film, NULL};
    const char *const parts[] = {"guiding: learned", NULL};
    KitSaid said;
    kit_run(&kit, bad, &said);
    assert_int_equal(said.exit_code, 2);
    kit_run(&kit, on, &said);
    kit_assert_says(&said, 0, parts);
    KIT_RENDER(&said, "verify", film);
    assert_non_null(strstr(said.output, "\"is_guided\": true"));
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_stay),
        cmocka_unit_test_setup_teardown(test_bits_do_not_depend_on_threads_or_waves, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_ranges_merge_to_the_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_render_stopped_in_training_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_render_goes_on_with_the_same_field, setup, teardown),
        cmocka_unit_test(test_a_render_goes_on_as_it_began),
        cmocka_unit_test_setup_teardown(test_a_crop_has_the_pixels_of_the_whole, setup, teardown),
        cmocka_unit_test(test_auto_keeps_what_pays),
        cmocka_unit_test(test_the_package_may_ask_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
