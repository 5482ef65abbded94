/* Textures of a scene on their way into the cache: plain images and UDIM sets are converted once, by
 * the program texcache, whose path is the first argument of this test. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/image/png_write.h"
#include "base/path.h"
#include "base/str.h"
#include "base/waiter.h"
#include "sort/shade/texture_store.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *program;
static char folder[PATH_BYTES];

static const char *in_folder(const char *name, char out[PATH_BYTES])
{
    Error err = {0};
    assert_int_equal(path_join(folder, name, out, &err), STATUS_OK);
    return out;
}

static void write_color(const char *name, const uint8_t rgb[3])
{
    static uint8_t pixels[100 * 80 * 3];
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = rgb[i % 3];
    Error err = {0};
    if (png_write(in_folder(name, path), 100, 80, 3, pixels, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

typedef struct Opened {
    TexCache *cache;
    TextureStore *store;
} Opened;

static Status open_scene(const Scene *scene, Opened *out, Error *err)
{
    static const bool is_wanted[4] = {true, true, true, true};
    static char converted[PATH_BYTES];
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 16 << 20};
    assert_int_equal(texcache_create(&d, &out->cache, err), STATUS_OK);
    TextureStoreDesc desc = {.size_bytes = sizeof desc,
                             .scene = scene,
                             .cache = out->cache,
                             .converted_folder = in_folder("converted", converted),
                             .texcache_program = program,
                             .is_wanted = is_wanted};
    TRY(texture_store_create(&desc, &out->store, err));
    uint32_t texture;
    return texture_store_finish(out->store, &texture, err);
}

static void close_scene(Opened *opened)
{
    texture_store_destroy(opened->store);
    texcache_destroy(opened->cache);
}

static void look_up(const Opened *opened, uint32_t texture, float s, float t, float out[4])
{
    TexThread *thread;
    Waiter *waiter;
    TexCaller caller;
    Error err = {0};
    assert_int_equal(texcache_thread_create(opened->cache, &thread, &err), STATUS_OK);
    assert_int_equal(waiter_create_for_thread(&waiter, &err), STATUS_OK);
    texcache_caller_init(&caller, thread, waiter);
    const float coord[7] = {s, t};
    TexRequest r = {.texture = texture_store_id(opened->store, texture),
                    .lane_count = 1,
                    .lane_mask = 1,
                    .coord = coord};
    texcache_lookup(&caller, &r, out);
    texcache_thread_destroy(thread);
    waiter_destroy_for_thread(waiter);
}

static void test_texture_store_converts_sets_once(void **state)
{
    (void)state;
    write_color("skin.1001.png", (const uint8_t[3]){255, 0, 0});
    write_color("skin.1012.png", (const uint8_t[3]){0, 255, 0});
    char set[PATH_BYTES], single[PATH_BYTES], path[PATH_BYTES];
    SceneTexture textures[2] = {
        {.name = "skin", .path = in_folder("skin.<UDIM>.png", set), .color_space = SCENE_COLOR_RAW},
        {.name = "one",
         .path = in_folder("skin.1012.png", single),
         .color_space = SCENE_COLOR_RAW}};
    Scene scene = {.textures = textures, .texture_count = 2};
    Opened opened;
    Error err = {0};
    if (open_scene(&scene, &opened, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    float out[4];
    const float red[4] = {1, 0, 0, 1}, green[4] = {0, 1, 0, 1}, missing[4] = {1, 0, 1, 1};
    look_up(&opened, 0, 0.5f, 0.5f, out);
    assert_memory_equal(out, red, sizeof red);
    look_up(&opened, 0, 1.5f, 1.5f, out);
    assert_memory_equal(out, green, sizeof green);
    look_up(&opened, 0, 1.5f, 0.5f, out);
    assert_memory_equal(out, missing, sizeof missing);
    look_up(&opened, 1, 0.5f, 0.5f, out);
    assert_memory_equal(out, green, sizeof green);
    close_scene(&opened);

    /* The second time there is no need to convert. */
    const char *right = program;
    program = "/does/not/exist";
    assert_int_equal(open_scene(&scene, &opened, &err), STATUS_OK);
    close_scene(&opened);
    /* A set that has changed is another one. */
    write_color("skin.1013.png", (const uint8_t[3]){0, 0, 255});
    assert_int_not_equal(open_scene(&scene, &opened, &err), STATUS_OK);
    close_scene(&opened);
    program = right;
    assert_int_equal(open_scene(&scene, &opened, &err), STATUS_OK);
    close_scene(&opened);
    /* One whose conversion stopped half-way is finished. */
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t name_count, removed = 0;
    assert_int_equal(
        file_list_directory(in_folder("converted", path), arena, &names, &name_count, &err),
        STATUS_OK);
    for (uint32_t i = 0; i < name_count; ++i) {
        char relative[PATH_BYTES];
        if (!strstr(names[i], ".1013."))
            continue;
        assert_int_equal(path_join("converted", names[i], relative, &err), STATUS_OK);
        assert_int_equal(file_remove(in_folder(relative, path), &err), STATUS_OK);
        ++removed;
    }
    arena_destroy(arena);
    assert_int_equal(removed, 1);
    assert_int_equal(open_scene(&scene, &opened, &err), STATUS_OK);
    const float blue[4] = {0, 0, 1, 1};
    look_up(&opened, 0, 2.5f, 1.5f, out);
    assert_memory_equal(out, blue, sizeof blue);
    close_scene(&opened);
}

/* Two processes want one image at the same time: one converts it, both have it. */
static void test_texture_store_converts_once_for_two_renders(void **state)
{
    (void)state;
    char image[PATH_BYTES], script[PATH_BYTES], log[PATH_BYTES];
    write_color("both.png", (const uint8_t[3]){10, 20, 30});
    /* Stands in for texcache: takes its time, and writes a line each time it runs. */
    StrBuf text = {0};
    strbuf_printf(&text, "#!/bin/sh\necho run >> '%s'\nsleep 0.3\nexec '%s' \"$@\"\n",
                  in_folder("runs.txt", log), program);
    Error err = {0};
    in_folder("slow-texcache", script);
    assert_int_equal(file_write(script, text.data, text.size_bytes, &err), STATUS_OK);
    assert_int_equal(chmod(script, 0700), 0);
    strbuf_free(&text);
    SceneTexture texture = {.name = "both", .path = in_folder("both.png", image)};
    Scene scene = {.textures = &texture, .texture_count = 1};
    const char *right = program;
    program = script;
    pid_t other = fork();
    assert_true(other >= 0);
    Opened opened;
    bool is_open = open_scene(&scene, &opened, &err) == STATUS_OK;
    if (other == 0)
        _exit(is_open ? 0 : 1);
    int status = 1;
    assert_int_equal(waitpid(other, &status, 0), other);
    program = right;
    if (!is_open)
        fail_msg("%s", err.text);
    close_scene(&opened);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char *runs;
    size_t size_bytes;
    assert_int_equal(file_read(log, 1 << 16, &runs, &size_bytes, &err), STATUS_OK);
    assert_int_equal(size_bytes, 4); /* "run\n", once */
    mem_free(runs);
}

static int setup(void **state)
{
    (void)state;
    Error err = {0};
    return file_make_temp_directory("sort-test-store", folder, &err) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    Error err = {0};
    return file_remove_tree(folder, &err) == STATUS_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texture_store_converts_once_for_two_renders),
        cmocka_unit_test(test_texture_store_converts_sets_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
