/* The programs as a farm uses them: parts that are merged, statistics and progress for programs, import. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/image/exr_read.h"
#include "base/image/png_read.h"
#include "base/json.h"
#include "tests/sort/render/render_kit.h"

typedef struct Paths {
    char a[PATH_BYTES], b[PATH_BYTES], whole[PATH_BYTES], merged[PATH_BYTES], png[PATH_BYTES];
} Paths;

static void begin(Kit *kit, Paths *paths)
{
    kit_begin(kit);
    kit_write_ball(
        kit,
        &(KitScene){.width = 40,
                    .height = 30,
                    .samples = 8,
                    .lights = "{\"name\": \"p\", \"type\": \"point\", \"intensity\": [30, 30, 30], "
                              "\"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,4, 0,0,0,1]}"});
    kit_path(kit, "a.part", paths->a);
    kit_path(kit, "b.part", paths->b);
    kit_path(kit, "out.exr", paths->whole);
    kit_path(kit, "merged.exr", paths->merged);
    kit_path(kit, "merged.png", paths->png);
}

static void assert_equal_pictures(const char *a, const char *b)
{
    Error err = {0};
    ExrImage *x, *y;
    assert_int_equal(exr_read(a, &x, &err), STATUS_OK);
    assert_int_equal(exr_read(b, &y, &err), STATUS_OK);
    assert_int_equal(x->width, y->width);
    assert_int_equal(x->height, y->height);
    assert_int_equal(x->channel_count, y->channel_count);
    for (uint32_t c = 0; c < x->channel_count; ++c) {
        assert_string_equal(x->channels[c].name, y->channels[c].name);
        assert_memory_equal(x->channels[c].data, y->channels[c].data,
                            sizeof(float) * x->width * x->height);
    }
    assert_string_equal(exr_image_text(x, "sort/samples"), exr_image_text(y, "sort/samples"));
    exr_image_destroy(x);
    exr_image_destroy(y);
}

static void test_program_parts_merge_to_the_whole(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    kit_run(&kit,
            (const char *const[]){"--samples", "0:3", "--partial", paths.a, "--aov", "normal",
                                  "--aov", "depth", NULL},
            &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    kit_run(&kit,
            (const char *const[]){"--samples", "3:8", "--partial", paths.b, "--aov", "normal,depth",
                                  "--threads", "1", NULL},
            &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    kit_run(&kit,
            (const char *const[]){"--samples", "0:8", "--aov", "normal", "--aov", "depth", NULL},
            &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "merge", paths.b, paths.a, "-o", paths.merged, "--png", paths.png);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_equal_pictures(paths.whole, paths.merged);

    uint32_t width, height;
    uint8_t *pixels;
    Error err = {0};
    assert_int_equal(png_read(paths.png, &width, &height, &pixels, &err), STATUS_OK);
    assert_int_equal(width, 40);
    mem_free(pixels);

    KIT_RENDER(&said, "merge", paths.a, paths.a, "-o", paths.merged);
    KIT_ASSERT_SAYS(&said, 1, "a.part", "there twice", NULL);
    kit_run(&kit,
            (const char *const[]){"--samples", "0:3", "--seed", "7", "--partial", paths.a, "--aov",
                                  "normal", "--aov", "depth", NULL},
            &said);
    KIT_RENDER(&said, "merge", paths.b, paths.a, "-o", paths.merged);
    KIT_ASSERT_SAYS(&said, 1, "seed", NULL);
    kit_run(&kit,
            (const char *const[]){"--samples", "0:3", "--clamp-indirect", "0.5", "--partial",
                                  paths.a, "--aov", "normal", "--aov", "depth", NULL},
            &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "merge", paths.b, paths.a, "-o", paths.merged);
    KIT_ASSERT_SAYS(&said, 1, "settings differ: clamp_indirect 0 and 0.5", NULL);
    KIT_RENDER(&said, "merge", paths.a);
    KIT_ASSERT_SAYS(&said, 2, "nothing to write", NULL);
    kit_end(&kit);
}

static void test_program_statistics_are_json(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    Error err = {0};
    JsonDoc *doc;
    JsonCursor root, rays;
    int64_t paths_traced = 0;
    begin(&kit, &paths);
    kit_run(&kit, (const char *const[]){"--stats", "-", NULL}, &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_int_equal(json_parse("stats", str_from(said.output), &doc, &err), STATUS_OK);
    assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
    assert_int_equal(json_get_object(&root, "rays", JSON_REQUIRED, &rays, &err), STATUS_OK);
    assert_int_equal(json_get_int(&rays, "paths", JSON_REQUIRED, 0, INT64_MAX, &paths_traced, &err),
                     STATUS_OK);
    assert_int_equal(paths_traced, 40 * 30 * 8);
    json_destroy(doc);
    kit_end(&kit);
}

/* The limit of fibers that --stats writes: what --fibers gives, or what the rule has come to. */
static void test_program_statistics_say_the_limit_of_fibers(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[5];
        uint32_t least, most;
    } rows[] = {{{"--stats", "-"}, 2, 64}, {{"--stats", "-", "--fibers", "71"}, 71, 71}};
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        JsonDoc *doc;
        JsonCursor root, fibers;
        uint32_t limit = 0;
        Error err = {0};
        kit_run(&kit, rows[i].arguments, &said);
        KIT_ASSERT_SAYS(&said, 0, NULL);
        assert_int_equal(json_parse("stats", str_from(said.output), &doc, &err), STATUS_OK);
        assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
        assert_int_equal(json_get_object(&root, "fibers", JSON_REQUIRED, &fibers, &err), STATUS_OK);
        assert_int_equal(json_get_u32(&fibers, "limit", JSON_REQUIRED, 1, UINT32_MAX, &limit, &err),
                         STATUS_OK);
        assert_in_range(limit, rows[i].least, rows[i].most);
        json_destroy(doc);
    }
    kit_end(&kit);
}

/* Every line of --progress json is a record, and the last one says that all is done. */
static void test_program_progress_is_json_lines(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RENDER(&said, kit.package, "--cache", kit.cache, "-o", paths.whole, "--progress", "json");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    double done = 0;
    for (char *line = said.output; *line;) {
        Error err = {0};
        JsonDoc *doc;
        JsonCursor root;
        const char *event;
        size_t bytes = strcspn(line, "\n");
        assert_int_equal(json_parse("line", (Str){line, bytes}, &doc, &err), STATUS_OK);
        assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
        assert_int_equal(json_get_string(&root, "event", JSON_REQUIRED, &event, &err), STATUS_OK);
        if (strcmp(event, "progress") == 0)
            assert_int_equal(json_get_double(&root, "done", JSON_REQUIRED, 0, 1, &done, &err),
                             STATUS_OK);
        json_destroy(doc);
        line += bytes + (line[bytes] == '\n');
    }
    assert_true(done == 1.0);
    kit_end(&kit);
}

/* A file without camera and light: both are made up, and the program says so. */
static void test_program_imports_what_it_is_given(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    char model[PATH_BYTES];
    Error err = {0};
    begin(&kit, &paths);
    static const char obj[] = "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\n";
    kit_path(&kit, "tri angle.obj", model);
    assert_int_equal(file_write(model, obj, sizeof obj - 1, &err), STATUS_OK);
    KIT_RENDER(&said, model, "--cache", kit.cache, "-o", paths.whole, "--spp", "2", "--size",
               "32x32");
    KIT_ASSERT_SAYS(&said, 0, "camera", "made up", "light", NULL);
    assert_true(file_exists(paths.whole));
    /* Broken ones are refused with a reason. */
    assert_int_equal(file_write(model, "v 1\nf 1 2 3\n", 12, &err), STATUS_OK);
    KIT_RENDER(&said, model, "--cache", kit.cache, "-o", paths.whole);
    KIT_ASSERT_SAYS(&said, 1, "tri angle.obj", NULL);
    kit_end(&kit);
}

static void test_program_checks_without_rendering(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RENDER(&said, "--check", kit.package, "--cache", kit.cache);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_non_null(strstr(said.output, "40 x 30, 8 samples"));
    assert_non_null(strstr(said.output, "shaders/matte.ssl, 0 parameters"));
    kit_write_text(&kit, "shaders/matte.ssl", "shader matte(out closure s) { s = 1; }\n");
    KIT_RENDER(&said, "--check", kit.package, "--cache", kit.cache);
    KIT_ASSERT_SAYS(&said, 1, "matte.ssl:1:", NULL);
    kit_end(&kit);
}

static void test_program_compares_pictures(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    kit_run(&kit, NULL, &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "compare", "--json", paths.whole, paths.whole);
    assert_int_equal(said.exit_code, 0);
    assert_non_null(strstr(said.output, "\"rmse\": 0"));
    assert_non_null(strstr(said.output, "\"max\": 0"));
    KIT_RENDER(&said, kit.package, "--cache", kit.cache, "-o", paths.merged, "--quiet", "--seed",
               "9");
    KIT_RENDER(&said, "compare", "--json", paths.whole, paths.merged);
    assert_int_equal(said.exit_code, 0);
    assert_null(strstr(said.output, "\"rmse\": 0,"));
    double relative = 0.0, trimmed = 0.0;
    const char *error = strstr(said.output, "\"relative_mse\": ");
    assert_non_null(error);
    assert_int_equal(
        sscanf(error, "\"relative_mse\": %lf, \"trimmed_relative_mse\": %lf", &relative, &trimmed),
        2);
    assert_true(trimmed > 0.0 && trimmed < relative);
    double less = 0.0;
    KIT_RENDER(&said, "compare", "--json", "--trim", "0.1", paths.whole, paths.merged);
    assert_int_equal(
        sscanf(strstr(said.output, "\"trimmed_"), "\"trimmed_relative_mse\": %lf", &less), 1);
    assert_true(less > trimmed && less < relative); /* one of 1,200 pixels instead of twelve */
    KIT_RENDER(&said, kit.package, "--cache", kit.cache, "-o", paths.merged, "--quiet", "--size",
               "20x15");
    KIT_RENDER(&said, "compare", paths.merged, paths.whole);
    KIT_ASSERT_SAYS(&said, 1, "20 x 15", "40 x 30", NULL);
    kit_end(&kit);
}

/* -o is a picture of either kind, by its suffix; no other is written under a wrong name. */
static void test_program_output_by_suffix(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    char other[PATH_BYTES];
    uint32_t width, height;
    uint8_t *by_suffix, *by_option;
    Error err = {0};
    begin(&kit, &paths);
    kit_path(&kit, "out.jpg", other);
    kit_run(&kit, (const char *const[]){"--png", paths.png, NULL}, &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_int_equal(png_read(paths.png, &width, &height, &by_option, &err), STATUS_OK);
    assert_int_equal(file_remove(paths.png, &err), STATUS_OK);
    KIT_RENDER(&said, kit.package, "--cache", kit.cache, "-o", paths.png);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_int_equal(png_read(paths.png, &width, &height, &by_suffix, &err), STATUS_OK);
    assert_int_equal(width, 40);
    assert_memory_equal(by_suffix, by_option, (size_t)width * height * 3);
    mem_free(by_suffix);
    mem_free(by_option);
    KIT_RENDER(&said, kit.package, "-o", other);
    KIT_ASSERT_SAYS(&said, 2, "out.jpg", ".exr", ".png", NULL);
    assert_false(file_exists(other));
    kit_run(&kit, (const char *const[]){"--png", other, NULL}, &said);
    KIT_ASSERT_SAYS(&said, 2, "out.jpg", "ends in .png", NULL);
    KIT_RENDER(&said, kit.package, "-o", paths.png, "--png", paths.png);
    KIT_ASSERT_SAYS(&said, 2, "both name a PNG", NULL);
    kit_end(&kit);
}

/* Parts of one baseline add up whatever model they are of, if its CPU approximates alike; a machine as it is, is a class of its
 * own. */
static void test_program_parts_name_their_cpu_class(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    ExrImage *image;
    Error err = {0};
    begin(&kit, &paths);
    kit_run(&kit, (const char *const[]){"--samples", "0:3", "--partial", paths.a, NULL}, &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_int_equal(exr_read(paths.whole, &image, &err), STATUS_OK);
    const char *own = exr_image_text(image, "sort/cpu");
    assert_non_null(own);
    assert_string_not_equal(own, "native");
    exr_image_destroy(image);
#if defined(__x86_64__)
    const char *baseline = "x86-64-v2";
#else
    const char *baseline = "generic";
#endif
    kit_run(
        &kit,
        (const char *const[]){"--samples", "3:8", "--partial", paths.b, "--cpu", baseline, NULL},
        &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "merge", paths.a, paths.b, "-o", paths.merged);
    KIT_ASSERT_SAYS(&said, 1, "CPU classes differ", baseline, NULL);
    kit_run(
        &kit,
        (const char *const[]){"--samples", "0:3", "--partial", paths.a, "--cpu", baseline, NULL},
        &said);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "merge", paths.a, paths.b, "-o", paths.merged);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_int_equal(exr_read(paths.merged, &image, &err), STATUS_OK);
    const char *merged = exr_image_text(image, "sort/cpu");
    assert_non_null(merged);
    assert_int_equal(strncmp(merged, baseline, strlen(baseline)), 0);
    KIT_RENDER(&said, "--list", "cpus");
    assert_int_equal(said.exit_code, 0);
    assert_non_null(strstr(said.output, merged)); /* where farms read it, before they render */
    exr_image_destroy(image);
    kit_run(&kit, (const char *const[]){"--cpu", "pdp11", NULL}, &said);
    KIT_ASSERT_SAYS(&said, 2, "unknown CPU 'pdp11'", baseline, NULL);
    kit_end(&kit);
}

static void test_program_lists_what_there_is(void **state)
{
    (void)state;
    KitSaid said;
    KIT_RENDER(&said, "--list", "closures");
    assert_int_equal(said.exit_code, 0);
    assert_non_null(strstr(said.output, "Lambert(color albedo, normal N)"));
    KIT_RENDER(&said, "--list", "closures", "no scene");
    KIT_ASSERT_SAYS(&said, 2, "no scene", NULL);
    KIT_RENDER(&said, "--list", "aovs");
    assert_non_null(strstr(said.output, "variance"));
    KIT_RENDER(&said, "--list", "aov");
    KIT_ASSERT_SAYS(&said, 2, "'aov'", "aovs", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_parts_merge_to_the_whole),
        cmocka_unit_test(test_program_statistics_are_json),
        cmocka_unit_test(test_program_statistics_say_the_limit_of_fibers),
        cmocka_unit_test(test_program_progress_is_json_lines),
        cmocka_unit_test(test_program_imports_what_it_is_given),
        cmocka_unit_test(test_program_checks_without_rendering),
        cmocka_unit_test(test_program_compares_pictures),
        cmocka_unit_test(test_program_output_by_suffix),
        cmocka_unit_test(test_program_parts_name_their_cpu_class),
        cmocka_unit_test(test_program_lists_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
