/* Renders whose textures are converted while they run: what comes out, what is said, and how they end. The decoder of
 * "*.odd" files (tests/plugins/odd_decoder.c) does what their first word says. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/sort/render/render_kit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIDE = 3, COUNT = SIDE * SIDE };

static const char shader[] =
    "texture2d paint;\nshader s(float gain = 1.0, out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    surface = make_closure<Emission>(gain * texture2d_sample<paint>(uvw.x, uvw.y));\n}\n";

/* Squares side by side, each with a material and an image of its own; gain 0.5 + i / 100, so that only data
 * differs. suffix: of the images, "png" for pictures of noise, "odd" for files that hold `words`. */
static void write_squares(const Kit *kit, const char *suffix, const char *const words[COUNT])
{
    StrBuf meshes = {0}, materials = {0}, instances = {0};
    kit_write_text(kit, "shaders/s.ssl", shader);
    for (uint32_t i = 0; i < COUNT; ++i) {
        char name[32], file[64];
        float x = (float)(i % SIDE), y = (float)(i / SIDE);
        const float corners[4][3] = {{x, y, 0}, {x + 1, y, 0}, {x + 1, y + 1, 0}, {x, y + 1, 0}};
        (void)snprintf(name, sizeof name, "q%u", (unsigned)i);
        (void)snprintf(file, sizeof file, "textures/t%u.%s", (unsigned)i, suffix);
        kit_add_quad(kit, &meshes, name, corners);
        if (words) {
            char text[64];
            (void)snprintf(text, sizeof text, "%s %u", words[i], (unsigned)i);
            kit_write_text(kit, file, text);
        } else {
            static uint8_t pixels[200 * 200 * 3];
            for (uint32_t k = 0; k < sizeof pixels; ++k)
                pixels[k] = (uint8_t)((k + 77 * i) * 2654435761u >> 13);
            kit_write_png(kit, file, 200, 200, pixels);
        }
        strbuf_printf(
            &materials,
            "%s{\"name\": \"m%u\", \"shader\": \"shaders/s.ssl\", \"parameters\": {\"gain\": "
            "%g}, \"textures\": {\"paint\": {\"file\": \"%s\"}}}",
            i ? ", " : "", (unsigned)i, 0.5 + i / 100.0, file);
        strbuf_printf(&instances,
                      "%s{\"name\": \"i%u\", \"mesh\": \"%s\", \"materials\": [\"m%u\"]}",
                      i ? ", " : "", (unsigned)i, name, (unsigned)i);
    }
    KitScene s = {.width = 48,
                  .height = 48,
                  .samples = 40,
                  .max_depth = 2,
                  .eye = {1.5f, 1.5f, 3.5f},
                  .target = {1.5f, 1.5f, 0},
                  .fov_y_degrees = 46,
                  .meshes = strbuf_text(&meshes),
                  .instances = strbuf_text(&instances),
                  .materials = strbuf_text(&materials)};
    kit_write_scene(kit, &s);
    strbuf_free(&meshes);
    strbuf_free(&materials);
    strbuf_free(&instances);
}

/* The bits do not show that textures came late, how many fibers waited, nor that passes were widened. */
static void test_textures_cold_and_warm_are_the_same_picture(void **state)
{
    (void)state;
    Kit kit;
    RenderStats stats;
    kit_begin(&kit);
    write_squares(&kit, "png", NULL);
    RenderOptions options = kit_options(&kit);
    options.thread_count = 2;
    Hash128 cold = kit_render_bits(&kit, &options, &stats);
    assert_int_equal(stats.conversion.converted, COUNT);
    /* Materials that differ in names and numbers share the kernels of one. */
    assert_true(stats.materials.programs >= COUNT);
    assert_int_equal(stats.materials.programs - stats.materials.from_cache, 1);
    Hash128 warm = kit_render_bits(&kit, &options, &stats);
    assert_int_equal(stats.conversion.converted, 0);
    assert_true(hash128_equal(cold, warm));
    options.mip = TEX_MIP_OFF; /* so that more is touched than fits */
    Hash128 roomy = kit_render_bits(&kit, &options, &stats);
    assert_int_equal(stats.textures.evictions, 0);
    for (uint32_t fibers = 0; fibers < 4; fibers += 3) {
        options.texture_memory_bytes = 0;
        options.fibers_max = fibers;
        /* As little as is possible: the message says how much. */
        options.texture_memory_bytes = 2200000;
        Hash128 tight = kit_render_bits(&kit, &options, &stats);
        assert_true(stats.textures.evictions > 0);
        assert_true(hash128_equal(roomy, tight));
    }
    kit_end(&kit);
}

/* Good images are converted and kept; each bad one is named, the first with its material. */
static void test_textures_damaged_among_good_ones(void **state)
{
    (void)state;
    static const char *const words[COUNT] = {"good", "good", "good",  "crash", "good",
                                             "good", "good", "crash", "good"};
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_squares(&kit, "odd", words);
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 1,
                    (const char *const[]){"sort-render: textures/t3.odd: material 'm3'",
                                          "cannot be converted", "crashed",
                                          "error: textures/t7.odd", NULL});
    kit_write_text(&kit, "textures/t3.odd", "good 3");
    kit_write_text(&kit, "textures/t7.odd", "nan 7");
    kit_write_text(&kit, "textures/t5.odd", "words 5");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 0,
                    (const char *const[]){"textures/t7.odd: 1 texels were not finite",
                                          "textures/t5.odd: this picture is odd",
                                          "converted 3 textures", NULL});
    /* Who renders next did not see that conversion, and is told the same. */
    kit_run(&kit, NULL, &said);
    assert_null(strstr(said.output, "converted"));
    kit_assert_says(&said, 0,
                    (const char *const[]){"textures/t7.odd: 1 texels were not finite",
                                          "textures/t5.odd: this picture is odd", NULL});
    kit_end(&kit);
}

static int run_shell(const char *command)
{
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc, .argv = argv};
    ProcessResult result;
    Error err = {0};
    assert_int_equal(process_run(&desc, 120000, &result, &err), STATUS_OK);
    assert_true(result.has_exited);
    int exit_code = result.exit_code;
    process_result_free(&result);
    return exit_code;
}

/* Interrupted while a conversion hangs: it ends at once, writes no picture, and leaves nothing behind. */
static void test_textures_interrupted_while_converting(void **state)
{
    (void)state;
    static const char *const words[COUNT] = {"hang", "good", "good", "good", "good",
                                             "good", "good", "good", "good"};
    Kit kit;
    StrBuf command = {0};
    char picture[PATH_BYTES];
    Error err = {0};
    kit_begin(&kit);
    write_squares(&kit, "odd", words);
    assert_int_equal(path_join(kit.folder, "out.exr", picture, &err), STATUS_OK);
    strbuf_printf(&command,
                  "cd '%s' && { '%s/sort-render' package --cache cache -o out.exr --progress none "
                  "2>said & pid=$!; sleep 2; kill -INT $pid; wait $pid; code=$?; grep -q "
                  "'interrupted' said && exit $code; }",
                  kit.folder, SORT_TEST_BIN);
    uint64_t begin_ns = clock_now_ns();
    assert_int_equal(run_shell(strbuf_text(&command)), 4);
    assert_true(clock_seconds_since(begin_ns) < 10.0);
    assert_false(file_exists(picture));
    strbuf_free(&command);
    kit_end(&kit);
}

/* Runs sort-render on the kit's package in a shell, after `before`. */
static void run_with(const Kit *kit, const char *before, int exit_code, const char *const *parts)
{
    StrBuf command = {0};
    char path[PATH_BYTES], *errors;
    size_t size_bytes;
    Error err = {0};
    strbuf_printf(&command,
                  "cd '%s' && %s '%s/sort-render' package --cache cache -o out.exr --progress "
                  "none --threads 2 2>said",
                  kit->folder, before, SORT_TEST_BIN);
    KitSaid said = {.exit_code = run_shell(strbuf_text(&command))};
    assert_int_equal(path_join(kit->folder, "said", path, &err), STATUS_OK);
    assert_int_equal(file_read(path, 1 << 20, &errors, &size_bytes, &err), STATUS_OK);
    (void)snprintf(said.errors, sizeof said.errors, "%.*s", (int)size_bytes, errors);
    mem_free(errors);
    kit_assert_says(&said, exit_code, parts);
    strbuf_free(&command);
}

static void test_textures_where_little_is_allowed(void **state)
{
    (void)state;
#if SORT_TSAN
    skip(); /* it maps a file of its own, which may not be written either */
#endif
    Kit kit;
    kit_begin(&kit);
    write_squares(&kit, "png", NULL);
    /* A disk that is full for files of more than 512 bytes. The trap: what may not grow is an error, no signal. */
    run_with(&kit, "trap '' XFSZ; ulimit -f 1;", 1,
             (const char *const[]){"textures/t1.png: cannot be converted: cache/textures/",
                                   "cannot be written: File too large", NULL});
    /* A file where the folder should be. */
    char cache[PATH_BYTES], textures[PATH_BYTES];
    Error err = {0};
    assert_int_equal(path_join(kit.folder, "cache", cache, &err), STATUS_OK);
    assert_int_equal(path_join(cache, "textures", textures, &err), STATUS_OK);
    assert_int_equal(file_remove_tree(textures, &err), STATUS_OK);
    assert_int_equal(file_write(textures, "x", 1, &err), STATUS_OK);
    run_with(&kit, "", 1, (const char *const[]){"cache/textures", NULL});
    assert_int_equal(file_remove(textures, &err), STATUS_OK);
    run_with(&kit, "ulimit -n 40; env -u HOME -u XDG_CACHE_HOME", 0,
             (const char *const[]){"converted 9 textures", NULL});
    if (geteuid() != 0) { /* to root nothing is read-only */
        kit_write_text(&kit, "textures/t4.png", "");
        static uint8_t pixels[64 * 64 * 3];
        kit_write_png(&kit, "textures/t4.png", 64, 64, pixels);
        assert_int_equal(chmod(textures, 0500), 0);
        run_with(&kit, "", 1, (const char *const[]){"textures/t4.png", "cache/textures", NULL});
        assert_int_equal(chmod(textures, 0700), 0);
    }
    kit_end(&kit);
}

/* Two at once convert each image once between them, and render the same. */
static void test_textures_of_two_renders_at_once(void **state)
{
    (void)state;
    Kit kit;
    StrBuf command = {0};
    kit_begin(&kit);
    write_squares(&kit, "png", NULL);
    strbuf_printf(&command,
                  "cd '%s' && for i in 1 2; do '%s/sort-render' package --cache cache --stats "
                  "$i.json -o $i.exr --partial $i.part --progress none & done; wait && "
                  "'%s/sort-render' compare 1.exr 2.exr >compared && test $(ls "
                  "cache/textures/*.stex | wc -l) = %d",
                  kit.folder, SORT_TEST_BIN, SORT_TEST_BIN, COUNT);
    assert_int_equal(run_shell(strbuf_text(&command)), 0);
    strbuf_free(&command);
    kit_end(&kit);
}

/* The mean difference of blocks of side x side pixels, as a share of their mean, between the footprint's level and the
 * finest one. */
static double level_difference(const Kit *kit, uint32_t side)
{
    double difference = 0, sum = 0;
    float *pixels[2];
    uint32_t count = 0;
    for (uint32_t k = 0; k < 2; ++k) {
        RenderOptions options = kit_options(kit);
        options.mip = k == 0 ? TEX_MIP_FOOTPRINT : TEX_MIP_OFF;
        Render *render = kit_render(kit, &options);
        pixels[k] = kit_pixels(render, &count);
        render_destroy(render);
    }
    uint32_t width = (uint32_t)lround(sqrt((double)count)), blocks = width / side;
    for (uint32_t block = 0; block < blocks * blocks; ++block) {
        double of_block = 0;
        for (uint32_t k = 0; k < side * side; ++k) {
            uint32_t x = block % blocks * side + k % side, y = block / blocks * side + k / side;
            uint32_t i = 4 * (y * width + x);
            of_block += (double)pixels[0][i] - (double)pixels[1][i];
            sum += (double)pixels[1][i];
        }
        difference += fabs(of_block);
    }
    assert_true(sum > 0);
    mem_free(pixels[0]);
    mem_free(pixels[1]);
    return difference / sum;
}

/* Renders a floor lit by a screen that shines on its left half, by itself or through a pane of glass. */
static double screen_difference(bool has_pane)
{
    enum { SIZE = 64 };
    static uint8_t rgb[SIZE * SIZE * 3];
    Kit kit;
    StrBuf meshes = {0}, instances = {0};
    kit_begin(&kit);
    for (uint32_t i = 0; i < SIZE * SIZE; ++i)
        memset(&rgb[3 * (size_t)i], i % SIZE < SIZE / 2 ? 255 : 0, 3);
    kit_write_png(&kit, "textures/half.png", SIZE, SIZE, rgb);
    kit_write_text(&kit, "shaders/s.ssl", shader);
    kit_write_text(&kit, "shaders/t.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n"
                   "shader pane(out closure surface)\n{\n"
                   "    surface = make_closure<Dielectric>(1.5, 0, color(1), color(1), "
                   "global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-2, 0, 2}, {2, 0, 2}, {2, 0, -2}, {-2, 0, -2}});
    kit_add_quad(&kit, &meshes, "screen",
                 (const float[4][3]){{-1, 0.3f, -1}, {1, 0.3f, -1}, {1, 0.3f, 1}, {-1, 0.3f, 1}});
    kit_add_quad(&kit, &meshes, "above",
                 (const float[4][3]){{-2, 0.2f, 2}, {2, 0.2f, 2}, {2, 0.2f, -2}, {-2, 0.2f, -2}});
    kit_add_quad(&kit, &meshes, "below",
                 (const float[4][3]){{-2, 0.1f, -2}, {2, 0.1f, -2}, {2, 0.1f, 2}, {-2, 0.1f, 2}});
    strbuf_printf(&instances,
                  "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"white\"]}, "
                  "{\"name\": \"s\", \"mesh\": \"screen\", \"materials\": [\"screen\"]}");
    if (has_pane)
        strbuf_printf(&instances,
                      ", {\"name\": \"a\", \"mesh\": \"above\", \"materials\": [\"pane\"]}, "
                      "{\"name\": \"b\", \"mesh\": \"below\", \"materials\": [\"pane\"]}");
    KitScene s = {.width = 16,
                  .height = 16,
                  .samples = 64,
                  .max_depth = has_pane ? 4 : 1,
                  .eye = {0, 0.05f, 2},
                  .target = {0, 0, 0},
                  .fov_y_degrees = 40,
                  .meshes = strbuf_text(&meshes),
                  .instances = strbuf_text(&instances),
                  .materials = "{\"name\": \"white\", \"shader\": \"shaders/t.ssl\", \"entry\": "
                               "\"white\"}, {\"name\": \"pane\", \"shader\": \"shaders/t.ssl\", "
                               "\"entry\": \"pane\"}, {\"name\": \"screen\", \"shader\": "
                               "\"shaders/s.ssl\", \"textures\": {\"paint\": {\"file\": "
                               "\"textures/half.png\"}}}"};
    kit_write_scene(&kit, &s);
    double difference = level_difference(&kit, 1);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    kit_end(&kit);
    return difference;
}

/* Where a screen is dark, it lights nothing: its picture is not blurred over the part that light sampling draws from,
 * nor by the wide footprint of a path that comes from a floor through a pane. */
static void test_textures_that_shine_are_sharp(void **state)
{
    (void)state;
    double open = screen_difference(false), behind = screen_difference(true);
    assert_true(open < 0.005);
    assert_true(behind < 0.005);
}

/* A white wall above a floor that is white on one side and is lit from above: the footprint of what the wall scatters does not show. */
static void test_textures_that_light_a_wall_are_sharp(void **state)
{
    (void)state;
    enum { SIZE = 256 };
    static uint8_t rgb[SIZE * SIZE * 3];
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    for (uint32_t i = 0; i < SIZE * SIZE; ++i)
        memset(&rgb[3 * (size_t)i], i % SIZE < SIZE / 2 ? 240 : 20, 3);
    kit_write_png(&kit, "textures/half_floor.png", SIZE, SIZE, rgb);
    kit_write_text(&kit, "shaders/w.ssl",
                   "texture2d paint;\nshader painted(out closure surface)\n{\n"
                   "    const float3 uvw = global_value<uvw>;\n"
                   "    surface = make_closure<Lambert>(texture2d_sample<paint>(uvw.x, uvw.y), "
                   "global_value<normal>);\n}\n"
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-1, 0, 1}, {1, 0, 1}, {1, 0, -1}, {-1, 0, -1}});
    kit_add_quad(&kit, &meshes, "wall",
                 (const float[4][3]){{-1, 0, -1}, {1, 0, -1}, {1, 1, -1}, {-1, 1, -1}});
    KitScene s = {
        .width = 8,
        .height = 8,
        .samples = 256,
        .max_depth = 2,
        .eye = {0, 0.5f, 1},
        .target = {0, 0.5f, -1},
        .fov_y_degrees = 25,
        .meshes = strbuf_text(&meshes),
        .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"painted\"]}, "
                     "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"white\"]}",
        /* Straight down, so that the wall has no light of its own. */
        .lights = "{\"name\": \"l\", \"type\": \"distant\", \"irradiance\": [3, 3, 3], "
                  "\"transform\": [1, 0, 0, 0, 0, 0, 1, 2, 0, -1, 0, 0, 0, 0, 0, 1]}",
        .materials = "{\"name\": \"white\", \"shader\": \"shaders/w.ssl\", \"entry\": \"white\"}, "
                     "{\"name\": \"painted\", \"shader\": \"shaders/w.ssl\", \"entry\": "
                     "\"painted\", \"textures\": {\"paint\": {\"file\": "
                     "\"textures/half_floor.png\", \"color_space\": \"linear\"}}}"};
    kit_write_scene(&kit, &s);
    double difference = level_difference(&kit, 4);
    strbuf_free(&meshes);
    kit_end(&kit);
    assert_true(difference < 0.015);
}

/* A striped sheet between a lamp and a floor: its shadows are as sharp as 64 samples of a pixel show them. */
static void test_textures_that_let_light_through_are_sharp(void **state)
{
    (void)state;
    enum { SIZE = 64 };
    static uint8_t rgb[SIZE * SIZE * 3];
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    for (uint32_t i = 0; i < SIZE * SIZE; ++i)
        memset(&rgb[3 * (size_t)i], i % 8 < 3 ? 255 : 0, 3);
    kit_write_png(&kit, "textures/stripes.png", SIZE, SIZE, rgb);
    kit_write_text(
        &kit, "shaders/g.ssl",
        "texture2d paint;\nshader gobo(out closure surface)\n{\n"
        "    const float3 uvw = global_value<uvw>;\n"
        "    surface = make_closure<Transparent>(texture2d_sample<paint>(uvw.x, uvw.y));\n}\n"
        "shader white(out closure surface)\n{\n"
        "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-1, 0, 1}, {1, 0, 1}, {1, 0, -1}, {-1, 0, -1}});
    kit_add_quad(&kit, &meshes, "sheet",
                 (const float[4][3]){{-1, 0.3f, -1}, {1, 0.3f, -1}, {1, 0.3f, 1}, {-1, 0.3f, 1}});
    KitScene s = {
        .width = 16,
        .height = 16,
        .samples = 64,
        .max_depth = 1,
        .eye = {0, 0.2f, 2},
        .target = {0, 0, 0},
        .fov_y_degrees = 40,
        .meshes = strbuf_text(&meshes),
        .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"white\"]}, "
                     "{\"name\": \"s\", \"mesh\": \"sheet\", \"materials\": [\"gobo\"]}",
        .lights = "{\"name\": \"l\", \"type\": \"area_rectangle\", \"radiance\": [9, 9, 9], "
                  "\"size\": [0.2, 0.2], \"transform\": [1, 0, 0, 0, 0, 0, 1, 2, 0, -1, 0, 0, 0, "
                  "0, 0, 1]}",
        .materials = "{\"name\": \"white\", \"shader\": \"shaders/g.ssl\", \"entry\": \"white\"}, "
                     "{\"name\": \"gobo\", \"shader\": \"shaders/g.ssl\", \"entry\": \"gobo\", "
                     "\"textures\": {\"paint\": {\"file\": \"textures/stripes.png\"}}}"};
    kit_write_scene(&kit, &s);
    double difference = level_difference(&kit, 1);
    print_message("shadows of stripes differ by %g\n", difference);
    assert_true(difference < 0.06);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    if (setenv("SORT_PLUGIN_PATH", TEST_PLUGIN_DIR "/odd", 1) != 0)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_textures_cold_and_warm_are_the_same_picture),
        cmocka_unit_test(test_textures_damaged_among_good_ones),
        cmocka_unit_test(test_textures_interrupted_while_converting),
        cmocka_unit_test(test_textures_where_little_is_allowed),
        cmocka_unit_test(test_textures_of_two_renders_at_once),
        cmocka_unit_test(test_textures_that_shine_are_sharp),
        cmocka_unit_test(test_textures_that_light_a_wall_are_sharp),
        cmocka_unit_test(test_textures_that_let_light_through_are_sharp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
