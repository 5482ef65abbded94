/* What sort-render says to a command line that makes no sense, before any work is done; and sequences of frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 8 };

static const char material[] =
    "{\"name\": \"m\", \"shader\": \"unit:gltf_pbr\", \"parameters\": {\"base_color\": [1, 0, 0]}}";

/* Wrong in one option, which stands behind a good command line. */
static void test_command_line_mistakes_are_named(void **state)
{
    static const struct {
        const char *option, *value;
        int exit_code;
        const char *said[2];
    } rows[] = {
        {"--size", "100", 2, {"--size", "like 1920x1080"}},
        {"--size", "-5x100", 2, {"--size", "like 1920x1080"}},
        {"--size", "100x100px", 2, {"--size", "like 1920x1080"}},
        {"--size", "0x4", 2, {"--size", "from 1 to"}},
        {"--size", "70000x4", 2, {"--size", "from 1 to"}},
        {"--crop", "-1,0,5,5", 2, {"--crop", "'-1,0,5,5'"}},
        {"--crop", "0,0,5", 2, {"--crop", "like 100,50,640,480"}},
        {"--crop", "0,0,500,1", 2, {"0,0,500,1", "not inside the picture of 8x8"}},
        {"--samples", "-4294967295:5", 2, {"--samples", "like 0:64"}},
        {"--samples", "5:2", 2, {"--samples", "like 0:64"}},
        {"--samples", "0:900", 2, {"0:900", "beyond the 1 samples"}},
        {"--probe", "5,-3", 2, {"--probe", "such as 320,240"}},
        {"--probe", "5", 2, {"--probe", "such as 320,240"}},
        {"--frame", "3..1", 2, {"--frame", "like 1..24"}},
        {"--frame", "one", 2, {"--frame", "like 1..24"}},
        {"--frame", "1..9:0", 2, {"--frame", "a step like 1..24:4"}},
        {"--frame", "1:2:3:4", 2, {"--frame", "a step like 1..24:4"}},
        {"--frame", "1:9:4", 2, {"--frame", "#"}},
        {"--frame", "1..3", 2, {"--frame", "#"}},
        {"--spp", "1e3", 2, {"--spp", "'1e3' is not an integer"}},
        {"--spp", "-3", 2, {"--spp", "between 1 and"}},
        {"--ssp", "3", 2, {"'--ssp'", "did you mean '--spp'"}},
        {"--aov", "albdo", 2, {"no AOV 'albdo'", "did you mean 'albedo'"}},
        {"--aov", "sparkle", 2, {"no AOV 'sparkle'", "albedo, normal"}},
        {"--aov", "albedo,,normal", 2, {"name of an AOV is missing", ""}},
        {"--integrator", "wirefame", 2, {"no integrator", "did you mean 'wireframe'"}},
        {"--integrator", "bidir", 2, {"no integrator 'bidir'", "path, light"}},
        {"--sampler", "blue", 2, {"--sampler", "blue-noise"}},
        {"--camera", "mian", 2, {"no camera 'mian'", "there are c"}},
        {"--texture-memory", "2K", 2, {"2048 bytes is too small", "are needed"}},
        {"--texture-memory", "1Q", 2, {"--texture-memory", "such as 512K"}},
        {"--texture-path", "/nowhere", 2, {"/nowhere", "--texture-path"}},
        {"--plugin-path", "/nowhere", 2, {"/nowhere", "--plugin-path"}},
        {"--stats", "/nowhere/s.json", 2, {"/nowhere/s.json", "cannot create"}},
        {"--checkpoint", "/nowhere/c", 2, {"/nowhere/c", "cannot create"}},
        {"--trace", "/nowhere/t", 2, {"/nowhere/t", "cannot create"}},
        {"--png", "out.jpg", 2, {"out.jpg", "ends in .png"}},
        {"--list", "aov", 2, {"--list", "did you mean 'aovs'"}},
        {"--progress", "lots", 2, {"--progress", "auto, bar, json, none"}},
        {"--time-limit", "inf", 2, {"--time-limit", "'inf' is not a number"}},
        {"--adaptive", "2", 2, {"--adaptive", "between"}},
    };
    const Kit *kit = *state;
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        KitSaid said;
        kit_run(kit, (const char *const[]){rows[i].option, rows[i].value, NULL}, &said);
        kit_assert_says(&said, rows[i].exit_code,
                        (const char *const[]){rows[i].said[0], rows[i].said[1], NULL});
    }
}

static void test_command_line_mistyped_commands(void **state)
{
    (void)state;
    KitSaid said;
    kit_run_program("sort-render", (const char *const[]){"marge", "a.part", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"'marge'", "did you mean 'merge'", NULL});
    kit_run_program("sort-render", (const char *const[]){"nothing.zip", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"nothing.zip", "no such file", NULL});
}

/* --- sequences ------------------------------------------------------------------------------------ */

/* The arguments of a sequence, with what is in the folder of the kit. */
static void run_sequence(const Kit *kit, const char *scene, const char *frames, const char *output,
                         KitSaid *out)
{
    char scene_path[PATH_BYTES], output_path[PATH_BYTES];
    assert_int_equal(path_join(kit->folder, scene, scene_path, NULL), STATUS_OK);
    assert_int_equal(path_join(kit->folder, output, output_path, NULL), STATUS_OK);
    kit_run_program("sort-render",
                    (const char *const[]){scene_path, "--frame", frames, "-o", output_path,
                                          "--cache", kit->cache, "--progress", "none", NULL},
                    out);
}

static bool is_there(const Kit *kit, const char *name)
{
    char path[PATH_BYTES];
    assert_int_equal(path_join(kit->folder, name, path, NULL), STATUS_OK);
    return file_exists(path);
}

static void write_frame(const Kit *kit, const char *name)
{
    Kit frame = *kit;
    assert_int_equal(path_join(kit->folder, name, frame.package, NULL), STATUS_OK);
    kit_write_floor(&frame, SIDE, material, NULL);
}

static void test_command_line_renders_sequences(void **state)
{
    const Kit *kit = *state;
    KitSaid said;
    write_frame(kit, "shot.009");
    write_frame(kit, "shot.010");
    run_sequence(kit, "shot.###", "9..10", "out#.exr", &said);
    kit_assert_says(&said, 0, (const char *const[]){"frame 9: ", "frame 10: ", "shot.010", NULL});
    assert_true(is_there(kit, "out9.exr") && is_there(kit, "out10.exr"));
    /* One alone needs no number in the picture's name. */
    run_sequence(kit, "shot.###", "10", "one.exr", &said);
    kit_assert_says(&said, 0, (const char *const[]){"frame 10: ", NULL});
    assert_true(is_there(kit, "one.exr"));
    /* Before the first is rendered. */
    run_sequence(kit, "shot.###", "9..11", "late#.exr", &said);
    kit_assert_says(&said, 2, (const char *const[]){"shot.011", "for frame 11", NULL});
    assert_false(is_there(kit, "late9.exr"));
    run_sequence(kit, "shot.###", "9..10", "same.exr", &said);
    kit_assert_says(&said, 2, (const char *const[]){"same.exr", "-o needs #", NULL});
    assert_false(is_there(kit, "same.exr"));
}

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
    kit_write_floor(&kit, SIDE, material, NULL);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_line_mistakes_are_named),
        cmocka_unit_test(test_command_line_mistyped_commands),
        cmocka_unit_test(test_command_line_renders_sequences),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
