/* Textures of a scene on their way into the cache: plain images and UDIM sets are converted once, by
 * the program texcache, whose path is the first argument of this test. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/image/png_write.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/waiter.h"
#include "sort/shade/texture_command.h"
#include "sort/shade/texture_store.h"
#include "textures/converter.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static const char *write_odd(const char *name, const char *word, char out[PATH_BYTES])
{
    Error err = {0};
    assert_int_equal(file_write(in_folder(name, out), word, strlen(word), &err), STATUS_OK);
    return out;
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

/* --- what becomes of converted files --------------------------------------------------------------- */

static char said[4096];

static void keep_log(void *data, LogLevel level, const char *text)
{
    (void)data, (void)level;
    size_t length = strlen(said);
    (void)snprintf(said + length, sizeof said - length, "%s\n", text);
}

static const Log log_kept = {.level = LOG_LEVEL_WARNING, .write = keep_log};

enum { NOISE_WIDTH = 300, NOISE_HEIGHT = 200 };

static void write_noise(const char *name, uint32_t seed)
{
    static uint8_t pixels[NOISE_WIDTH * NOISE_HEIGHT * 3];
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    Error err = {0};
    assert_int_equal(png_write(in_folder(name, path), NOISE_WIDTH, NOISE_HEIGHT, 3, pixels, &err),
                     STATUS_OK);
}

/* Finds the converted file in a folder that holds one beside its lock. */
static void find_converted(const char *name, const char *part, char out_path[PATH_BYTES])
{
    char path[PATH_BYTES], relative[PATH_BYTES] = "";
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count;
    Error err = {0};
    assert_int_equal(file_list_directory(in_folder(name, path), arena, &names, &count, &err),
                     STATUS_OK);
    for (uint32_t i = 0; i < count; ++i)
        if (strstr(names[i], part) && path_has_extension(names[i], ".stex"))
            assert_int_equal(path_join(name, names[i], relative, &err), STATUS_OK);
    in_folder(relative, out_path);
    arena_destroy(arena);
}

typedef void (*Harm)(const char *path);

static void write_at(const char *path, long offset, const void *data, size_t size_bytes)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, offset < 0 ? SEEK_END : SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

static void harm_header(const char *path)
{
    write_at(path, 20, "x", 1);
}

static void harm_payload(const char *path) /* the last tile's, and some in the middle */
{
    uint64_t size_bytes = 0;
    assert_int_equal(file_size(path, &size_bytes, NULL), STATUS_OK);
    for (uint64_t at = size_bytes / 3; at < size_bytes; at += 4096)
        write_at(path, (long)at, "damaged?", 8);
}

static void harm_all_tables(const char *path) /* behind the header, before the payloads */
{
    static const char zeros[2048];
    write_at(path, 4096, zeros, sizeof zeros);
}

static void harm_end(const char *path)
{
    uint64_t size_bytes = 0;
    assert_int_equal(file_size(path, &size_bytes, NULL), STATUS_OK);
    assert_int_equal(truncate(path, (off_t)size_bytes - 100), 0);
}

static void harm_empty(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void harm_version(const char *path)
{
    write_at(path, 4, "\xff\0\0", 4);
}

static void harm_mode(const char *path)
{
    assert_int_equal(chmod(path, 0666), 0);
}

static void harm_owner(const char *path) /* as root only */
{
    assert_int_equal(chown(path, geteuid() == 0 ? 12345 : geteuid(), (gid_t)-1), 0);
    assert_int_equal(chmod(path, geteuid() == 0 ? 0644 : 0666), 0);
}

static void harm_pipe(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void harm_link(const char *path)
{
    char target[PATH_BYTES];
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(in_folder("precious.txt", target), path), 0);
}

static void harm_dangling(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/does/not/exist", path), 0);
}

static const struct {
    const char *name;
    Harm harm;
} harms[] = {{"header", harm_header}, {"payload", harm_payload},  {"tables", harm_all_tables},
             {"end", harm_end},       {"empty", harm_empty},      {"version", harm_version},
             {"mode", harm_mode},     {"owner", harm_owner},      {"pipe", harm_pipe},
             {"link", harm_link},     {"dangling", harm_dangling}};

static Status open_noise(const Scene *scene, Opened *out, Error *err)
{
    static const bool is_wanted[1] = {true};
    static char converted[PATH_BYTES];
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 16 << 20, .log = &log_kept};
    said[0] = '\0';
    assert_int_equal(texcache_create(&d, &out->cache, err), STATUS_OK);
    TextureStoreDesc desc = {.size_bytes = sizeof desc,
                             .scene = scene,
                             .cache = out->cache,
                             .converted_folder = in_folder("harmed", converted),
                             .texcache_program = program,
                             .is_wanted = is_wanted,
                             .log = &log_kept};
    TRY(texture_store_create(&desc, &out->store, err));
    uint32_t texture;
    return texture_store_finish(out->store, &texture, err);
}

enum { LOOKS = 8 * 8 };

static void look_all_over(const Opened *opened, float out[LOOKS][4])
{
    for (uint32_t i = 0; i < LOOKS; ++i)
        look_up(opened, 0, ((float)(i % 8) + 0.5f) / 8, ((float)(i / 8) + 0.5f) / 8, out[i]);
}

/* A converted file that was damaged, or that is not ours, is made anew, whether that shows when it is opened or in the
 * middle of a render, and what was looked up is the same. */
static void test_texture_store_converts_anew_what_is_harmed(void **state)
{
    (void)state;
    static const char *const images[] = {"noise.png", "noise.<UDIM>.png"};
    char path[PATH_BYTES], converted[PATH_BYTES], *data;
    size_t size_bytes;
    Error err = {0};
    write_noise("noise.png", 1);
    write_noise("noise.1001.png", 2);
    write_noise("noise.1002.png", 3);
    assert_int_equal(file_write(in_folder("precious.txt", path), "precious", 8, &err), STATUS_OK);
    for (uint32_t k = 0; k < SORT_COUNT_OF(images); ++k) {
        SceneTexture texture = {.name = "noise", .path = in_folder(images[k], path)};
        Scene scene = {.textures = &texture, .texture_count = 1};
        Opened opened;
        float expected[LOOKS][4], found[LOOKS][4];
        assert_int_equal(open_noise(&scene, &opened, &err), STATUS_OK);
        look_all_over(&opened, expected);
        close_scene(&opened);
        find_converted("harmed", k == 0 ? "" : ".1001.", converted);
        for (uint32_t i = 0; i < SORT_COUNT_OF(harms); ++i) {
            TexVerifyReport report;
            harms[i].harm(converted);
            if (open_noise(&scene, &opened, &err) != STATUS_OK)
                fail_msg("%s: %s: %s", harms[i].name, err.path, err.text);
            look_all_over(&opened, found);
            assert_memory_equal(found, expected, sizeof found);
            assert_int_equal(texture_store_stats(opened.store).converted, 1);
            close_scene(&opened);
            if (!strstr(said, "made anew"))
                fail_msg("%s: nothing was said: %s", harms[i].name, said);
            assert_int_equal(texcache_file_verify(converted, NULL, NULL, &report, &err), STATUS_OK);
            assert_int_equal(report.damages, 0);
            assert_true(file_is_private(converted));
            assert_int_equal(open_noise(&scene, &opened, &err), STATUS_OK);
            assert_int_equal(texture_store_stats(opened.store).converted, 0);
            assert_string_equal(said, "");
            close_scene(&opened);
        }
        assert_int_equal(file_remove_tree(in_folder("harmed", converted), &err), STATUS_OK);
    }
    assert_int_equal(file_read(in_folder("precious.txt", path), 100, &data, &size_bytes, &err),
                     STATUS_OK);
    assert_string_equal(data, "precious");
    mem_free(data);
}

/* What cannot be made anew fails: the image has changed meanwhile, or a folder is in the place. */
static void test_texture_store_says_what_it_cannot_mend(void **state)
{
    (void)state;
    char path[PATH_BYTES], converted[PATH_BYTES];
    Error err = {0};
    float found[LOOKS][4];
    const float missing[4] = {1, 0, 1, 1};
    write_noise("noise.png", 5);
    SceneTexture texture = {.name = "noise", .path = in_folder("noise.png", path)};
    Scene scene = {.textures = &texture, .texture_count = 1};
    Opened opened;
    TexStats stats;
    assert_int_equal(open_noise(&scene, &opened, &err), STATUS_OK);
    find_converted("harmed", "", converted);
    harm_payload(converted);
    write_noise("noise.png", 6);
    look_all_over(&opened, found);
    texcache_stats(opened.cache, &stats);
    assert_true(stats.failed_tiles > 0);
    uint32_t missing_count = 0;
    for (uint32_t i = 0; i < LOOKS; ++i)
        missing_count += memcmp(found[i], missing, sizeof missing) == 0;
    assert_in_range(missing_count, 1, LOOKS);
    assert_non_null(strstr(said, "noise: has changed since it was converted"));
    close_scene(&opened);

    write_noise("noise.png", 5);
    assert_int_equal(unlink(converted), 0);
    assert_int_equal(mkdir(converted, 0700), 0);
    assert_int_equal(open_noise(&scene, &opened, &err), STATUS_IO);
    assert_string_equal(err.path, converted);
    close_scene(&opened);
}

/* An image is not read into memory to be known again, and one that claims to be larger than any is refused. */
static void test_texture_store_refuses_endless_images(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    Error err = {0};
    write_odd("endless.png", "x", path);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    SceneTexture texture = {.name = "endless", .path = path};
    Scene scene = {.textures = &texture, .texture_count = 1};
    Opened opened;
    assert_int_equal(open_noise(&scene, &opened, &err), STATUS_LIMIT);
    assert_string_equal(err.path, path);
    assert_non_null(strstr(err.text, "is 1099511627776 bytes long"));
    close_scene(&opened);
}

/* Where the umask lets others of a group write, converted files are found again all the same. */
static void test_texture_store_keeps_its_files_private(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    Error err = {0};
    write_noise("shared.png", 7);
    SceneTexture texture = {.name = "noise", .path = in_folder("shared.png", path)};
    Scene scene = {.textures = &texture, .texture_count = 1};
    Opened opened;
    mode_t before = umask(0);
    for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal(open_noise(&scene, &opened, &err), STATUS_OK);
        assert_int_equal(texture_store_stats(opened.store).converted, i == 0);
        close_scene(&opened);
    }
    umask(before);
}

/* --- what converters go through ---------------------------------------------------------------------- */

/* A program that runs texcache and writes a line each time. */
static void count_runs(char out_script[PATH_BYTES], char out_log[PATH_BYTES])
{
    StrBuf text = {0};
    Error err = {0};
    in_folder("runs", out_log);
    strbuf_printf(&text, "#!/bin/sh\necho run >> '%s'\nexec '%s' \"$@\"\n", out_log, program);
    in_folder("counting-texcache", out_script);
    assert_int_equal(file_write(out_script, text.data, text.size_bytes, &err), STATUS_OK);
    assert_int_equal(chmod(out_script, 0700), 0);
    assert_int_equal(file_write(out_log, "", 0, &err), STATUS_OK);
    strbuf_free(&text);
}

static uint32_t runs_in(const char *log)
{
    uint64_t bytes = 0;
    Error err = {0};
    assert_int_equal(file_size(log, &bytes, &err), STATUS_OK);
    return (uint32_t)(bytes / 4);
}

typedef struct Conversion {
    Converter *converter;
    _Atomic bool is_cancelled;
    Error err;
} Conversion;

static bool is_cancelled(void *data)
{
    return atomic_load((_Atomic bool *)data);
}

static Status convert_odd(Conversion *c, const char *word)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    ConverterWish wish = {.source_path = write_odd("x.odd", word, from),
                          .output_path = in_folder("x.stex", to),
                          .thread_count = 1};
    c->err = (Error){0};
    Error ignored = {0};
    if (file_exists(to))
        assert_int_equal(file_remove(to, &ignored), STATUS_OK);
    Status status = converter_run(c->converter, &wish, &c->err);
    assert_int_equal(file_exists(to), status == STATUS_OK);
    return status;
}

/* What the file of the last conversion says that there is to warn of. */
static void assert_warns(const char *text)
{
    char to[PATH_BYTES];
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_file_header(in_folder("x.stex", to), &info, &err), STATUS_OK);
    assert_string_equal(info.notes, text);
}

static void begin_conversion(Conversion *c, const char *const *command)
{
    ConverterDesc desc = {.size_bytes = sizeof desc,
                          .command = command,
                          .stall_ms = 5000,
                          .is_cancelled = is_cancelled,
                          .data = &c->is_cancelled};
    atomic_store(&c->is_cancelled, false);
    assert_int_equal(converter_create(&desc, &c->converter, &c->err), STATUS_OK);
}

/* What goes wrong with an image costs that image, and says which it was and how. */
static void test_converter_loses_one_image_at_a_time(void **state)
{
    (void)state;
    char script[PATH_BYTES], log[PATH_BYTES];
    count_runs(script, log);
    const char *const command[] = {script, "convert", NULL};
    Conversion c;
    begin_conversion(&c, command);
    for (uint32_t i = 0; i < 20; ++i)
        assert_int_equal(convert_odd(&c, "good"), STATUS_OK);
    assert_int_equal(runs_in(log), 1);
    assert_int_equal(convert_odd(&c, "crash"), STATUS_FORMAT);
    assert_non_null(strstr(c.err.path, "x.odd"));
    assert_non_null(strstr(c.err.text, "crashed"));
    assert_int_equal(convert_odd(&c, "good"), STATUS_OK);
    assert_int_equal(runs_in(log), 2);
    assert_int_equal(convert_odd(&c, ""), STATUS_FORMAT); /* refused: the process lives on */
    assert_non_null(strstr(c.err.text, "no word"));
    assert_int_equal(convert_odd(&c, "hang"), STATUS_LIMIT);
    assert_non_null(strstr(c.err.text, "no progress"));
    assert_int_equal(convert_odd(&c, "nan"), STATUS_OK);
    assert_warns("1 texels were not finite, or beyond 1e30, and have been replaced");
    assert_int_equal(convert_odd(&c, "words"), STATUS_OK);
    assert_warns("this picture is odd");
    assert_int_equal(convert_odd(&c, "silent"), STATUS_OK);
    assert_warns("a warning without text");
    assert_int_equal(convert_odd(&c, "essay"), STATUS_OK);
    char longest[TEX_NOTES_BYTES - 1] = {0}; /* cut, not left out */
    memset(longest, 'y', sizeof longest - 1);
    assert_warns(longest);
    assert_int_equal(convert_odd(&c, "good"), STATUS_OK);
    assert_warns("");
    assert_int_equal(runs_in(log), 3);
    converter_destroy(c.converter);

    const char *const nothing[] = {"/does/not/exist", "convert", NULL};
    begin_conversion(&c, nothing);
    assert_int_equal(convert_odd(&c, "good"), STATUS_NOT_FOUND);
    converter_destroy(c.converter);
    const char *const other[] = {"/bin/cat", NULL}; /* what it says is no answer */
    begin_conversion(&c, other);
    assert_int_not_equal(convert_odd(&c, "good"), STATUS_OK);
    converter_destroy(c.converter);
}

/* What a decoder that a file took over tells that it could do: in a converter, and in a decoder process of the cache. */
static void test_decoders_are_kept_to_their_images(void **state)
{
    (void)state;
    char secret[PATH_BYTES], images[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    write_odd("secret", "nobody's business", secret);
    assert_int_equal(file_make_directories(in_folder("images", images), &err), STATUS_OK);
    write_odd("images/pry.odd", "pry", path);
    SceneTexture texture = {.name = "pry", .path = path};
    Scene scene = {.textures = &texture, .texture_count = 1};
    Opened opened;
    assert_int_equal(open_noise(&scene, &opened, &err), STATUS_FORMAT);
    bool is_unsupported = strstr(said, "without a sandbox") != NULL;
    close_scene(&opened);
    assert_int_equal(is_unsupported, !sandbox_is_supported());
    if (is_unsupported)
        skip(); /* this kernel has no Landlock */
    assert_non_null(strstr(err.text, "pried: read the image,"));
    assert_null(strstr(err.text, "passwd"));
    assert_null(strstr(err.text, "above"));
    assert_null(strstr(err.text, "wrote"));
    assert_null(strstr(err.text, "ran"));

    Arena *arena = arena_create(0, 0);
    assert_non_null(arena);
    const char *const *command;
    TextureCommandDesc desc = {
        .size_bytes = sizeof desc, .program = program, .task = "decode", .scene = &scene};
    assert_int_equal(texture_command(arena, &desc, &command, &err), STATUS_OK);
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 16 << 20, .decoder_command = command};
    TexOpenDesc open = {.size_bytes = sizeof open, .path = path};
    TexCache *cache;
    TexId id;
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_OK);
    Error in_decoder = {0};
    assert_int_equal(texcache_open(cache, &open, &id, &in_decoder), STATUS_FORMAT);
    assert_non_null(strstr(err.text, in_decoder.text));
    texcache_destroy(cache);
    arena_destroy(arena);
}

/* The folders that a command names, one a line. */
static void list_readable(const Scene *scene, char *out, size_t out_bytes, uint32_t *out_count)
{
    Arena *arena = arena_create(0, 0);
    assert_non_null(arena);
    const char *const *command;
    Error err = {0};
    size_t length = 0;
    TextureCommandDesc desc = {
        .size_bytes = sizeof desc, .program = program, .task = "decode", .scene = scene};
    assert_int_equal(texture_command(arena, &desc, &command, &err), STATUS_OK);
    *out_count = 0;
    for (uint32_t i = 2; command[i]; i += 2, ++*out_count) {
        assert_string_equal(command[i], "--readable");
        if (length < out_bytes)
            length += (size_t)snprintf(out + length, out_bytes - length, "%s\n", command[i + 1]);
    }
    arena_destroy(arena);
}

/* Links are followed, a set's too; what is missing adds nothing; of many folders the ones above them are named. */
static void test_texture_command_names_folders_of_images(void **state)
{
    (void)state;
    enum { MANY = TEXTURE_FOLDERS_MAX + 1 };
    static SceneTexture textures[MANY];
    static char paths[MANY][PATH_BYTES], listed[16 * PATH_BYTES];
    char path[PATH_BYTES], expected[2 * PATH_BYTES + 64], target[PATH_BYTES];
    Error err = {0};
    uint32_t count;
    static const char *const folders[] = {"there", "links", "sets"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(folders); ++i)
        assert_int_equal(file_make_directories(in_folder(folders[i], path), &err), STATUS_OK);
    write_odd("there/a.odd", "good", target);
    assert_int_equal(symlink(target, in_folder("links/b.odd", paths[1])), 0);
    assert_int_equal(symlink(target, in_folder("sets/c.1001.odd", path)), 0);
    (void)in_folder("sets/c.<UDIM>.odd", paths[2]);
    (void)in_folder("sets/none.odd", paths[3]);
    memcpy(paths[0], target, sizeof target);
    for (uint32_t i = 0; i < 4; ++i)
        textures[i] = (SceneTexture){.name = "t", .path = paths[i]};
    Scene scene = {.textures = textures, .texture_count = 4};
    list_readable(&scene, listed, sizeof listed, &count);
    (void)snprintf(expected, sizeof expected, "%s\n", in_folder("there", path));
    assert_string_equal(listed, expected);

    write_odd("links/own.odd", "good", paths[0]);
    textures[0].path = paths[0];
    for (uint32_t i = 1; i < MANY; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "there/deep/%u", (unsigned)i);
        assert_int_equal(file_make_directories(in_folder(name, path), &err), STATUS_OK);
        (void)snprintf(name, sizeof name, "there/deep/%u/d.odd", (unsigned)i);
        int fd = open(in_folder(name, paths[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && close(fd) == 0); /* file_write would wait for the disk each time */
        textures[i] = (SceneTexture){.name = "t", .path = paths[i]};
    }
    scene.texture_count = MANY;
    list_readable(&scene, listed, sizeof listed, &count);
    (void)snprintf(expected, sizeof expected, "%s\n", in_folder("links", path));
    (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s\n",
                   in_folder("there/deep", path));
    assert_int_equal(count, 2);
    assert_string_equal(listed, expected);
}

static void cancel_soon(void *flag)
{
    clock_sleep_ns(100000000);
    atomic_store((_Atomic bool *)flag, true);
}

static void test_converter_is_cancelled_at_once(void **state)
{
    (void)state;
    const char *const command[] = {program, "convert", NULL};
    Conversion c;
    Thread *thread;
    begin_conversion(&c, command);
    assert_int_equal(convert_odd(&c, "good"), STATUS_OK);
    assert_int_equal(thread_create("cancel", 0, cancel_soon, &c.is_cancelled, &thread, &c.err),
                     STATUS_OK);
    uint64_t begin_ns = clock_now_ns();
    assert_int_equal(convert_odd(&c, "hang"), STATUS_CANCELLED);
    assert_true(clock_seconds_since(begin_ns) < 4.0); /* less than without */
    thread_join(thread);
    converter_destroy(c.converter);
}

enum { ODD_COUNT = 8 };

typedef struct OddScene {
    char paths[ODD_COUNT][PATH_BYTES], names[ODD_COUNT][16];
    SceneTexture textures[ODD_COUNT];
    Scene scene;
    char folder[PATH_BYTES];
    TexCache *cache;
    TextureStore *store;
    TexThread *thread;
    Waiter *waiter;
    _Atomic bool cancel;
} OddScene;

/* A store of one thread. words: of each texture; what follows the word makes them different. */
static void begin_odd(OddScene *o, const char *const words[ODD_COUNT], const char *salt)
{
    static const bool is_wanted[ODD_COUNT] = {true, true, true, true, true, true, true, true};
    Error err = {0};
    *o = (OddScene){0};
    for (uint32_t i = 0; i < ODD_COUNT; ++i) {
        char text[64];
        (void)snprintf(o->names[i], sizeof o->names[i], "t%u.odd", (unsigned)i);
        (void)snprintf(text, sizeof text, "%s %u %s", words[i], (unsigned)i, salt);
        write_odd(o->names[i], text, o->paths[i]);
        o->textures[i] = (SceneTexture){.name = o->names[i], .path = o->paths[i]};
    }
    o->scene = (Scene){.textures = o->textures, .texture_count = ODD_COUNT};
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 16 << 20};
    assert_int_equal(texcache_create(&d, &o->cache, &err), STATUS_OK);
    said[0] = '\0';
    TextureStoreDesc desc = {.size_bytes = sizeof desc,
                             .scene = &o->scene,
                             .cache = o->cache,
                             .converted_folder = in_folder("odd", o->folder),
                             .texcache_program = program,
                             .is_wanted = is_wanted,
                             .thread_count = 1,
                             .log = &log_kept,
                             .cancel = &o->cancel};
    assert_int_equal(texture_store_create(&desc, &o->store, &err), STATUS_OK);
    assert_int_equal(texcache_thread_create(o->cache, &o->thread, &err), STATUS_OK);
    assert_int_equal(waiter_create_for_thread(&o->waiter, &err), STATUS_OK);
}

static void end_odd(OddScene *o)
{
    texcache_thread_destroy(o->thread);
    waiter_destroy_for_thread(o->waiter);
    texture_store_destroy(o->store);
    texcache_destroy(o->cache);
}

/* What is waited for comes before what comes first in the scene. */
static void test_texture_store_converts_by_demand(void **state)
{
    (void)state;
    static const char *const words[ODD_COUNT] = {"slow", "slow", "slow", "slow",
                                                 "slow", "slow", "slow", "slow"};
    OddScene o;
    Error err = {0};
    uint32_t texture;
    begin_odd(&o, words, "demand");
    texture_store_ask(o.store, 6);
    assert_true(texture_store_await(o.store, 7, o.waiter).id != 0);
    assert_true(texture_store_id(o.store, 6).id != 0);
    /* Besides these the thread may have been at the first one, and may now be at the next. */
    for (uint32_t i = 2; i < 6; ++i)
        assert_int_equal(texture_store_id(o.store, i).id, 0);
    assert_int_equal(texture_store_finish(o.store, &texture, &err), STATUS_OK);
    for (uint32_t i = 0; i < ODD_COUNT; ++i)
        assert_true(texture_store_id(o.store, i).id != 0);
    assert_int_equal(texture_store_stats(o.store).converted, ODD_COUNT);
    assert_false(texture_store_has_failed(o.store) || texture_store_gave_up(o.store));
    end_odd(&o);
}

/* Textures that cannot be had: the first one of the scene is the error, the others are told. */
static void test_texture_store_names_what_fails(void **state)
{
    (void)state;
    static const char *const words[ODD_COUNT] = {"good", "good",  "crash", "good",
                                                 "good", "crash", "good",  "good"};
    OddScene o;
    Error err = {0};
    uint32_t texture = 0;
    begin_odd(&o, words, "fails");
    assert_int_equal(texture_store_await(o.store, 5, o.waiter).id, 0);
    assert_int_equal(texture_store_finish(o.store, &texture, &err), STATUS_FORMAT);
    assert_int_equal(texture, 2);
    assert_string_equal(err.path, "t2.odd");
    assert_non_null(strstr(err.text, "cannot be converted"));
    assert_non_null(strstr(said, "t5.odd: cannot be converted"));
    for (uint32_t i = 0; i < ODD_COUNT; ++i)
        assert_int_equal(texture_store_id(o.store, i).id != 0, i != 2 && i != 5);
    assert_true(texture_store_has_failed(o.store));
    assert_false(texture_store_gave_up(o.store));
    end_odd(&o);
}

static void test_texture_store_gives_up_when_cancelled(void **state)
{
    (void)state;
    static const char *const words[ODD_COUNT] = {"hang", "good", "good", "good",
                                                 "good", "good", "good", "good"};
    OddScene o;
    Error err = {0};
    uint32_t texture;
    Thread *thread;
    begin_odd(&o, words, "cancelled");
    assert_int_equal(thread_create("cancel", 0, cancel_soon, &o.cancel, &thread, &err), STATUS_OK);
    uint64_t begin_ns = clock_now_ns();
    assert_int_equal(texture_store_await(o.store, 0, o.waiter).id, 0);
    assert_int_equal(texture_store_finish(o.store, &texture, &err), STATUS_CANCELLED);
    assert_true(clock_seconds_since(begin_ns) < 4.0);
    assert_true(texture_store_gave_up(o.store));
    thread_join(thread);
    end_odd(&o);
    /* Destroying gives up too. */
    begin_odd(&o, words, "destroyed");
    begin_ns = clock_now_ns();
    end_odd(&o);
    assert_true(clock_seconds_since(begin_ns) < 4.0);
}

/* Many small images, few processes. */
static void test_texture_store_starts_few_processes(void **state)
{
    (void)state;
    enum { COUNT = 300, THREADS = 3 };
    static SceneTexture textures[COUNT];
    static char paths[COUNT][PATH_BYTES];
    static bool is_wanted[COUNT];
    char script[PATH_BYTES], log[PATH_BYTES], converted[PATH_BYTES];
    Error err = {0};
    uint32_t texture;
    for (uint32_t i = 0; i < COUNT; ++i) {
        char name[32], word[32];
        (void)snprintf(name, sizeof name, "many%u.odd", (unsigned)i);
        (void)snprintf(word, sizeof word, "good %u", (unsigned)i);
        textures[i] = (SceneTexture){.name = "many", .path = write_odd(name, word, paths[i])};
        is_wanted[i] = true;
    }
    count_runs(script, log);
    Scene scene = {.textures = textures, .texture_count = COUNT};
    TexCache *cache;
    TextureStore *store;
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 16 << 20};
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_OK);
    TextureStoreDesc desc = {.size_bytes = sizeof desc,
                             .scene = &scene,
                             .cache = cache,
                             .converted_folder = in_folder("many", converted),
                             .texcache_program = script,
                             .is_wanted = is_wanted,
                             .thread_count = THREADS};
    assert_int_equal(texture_store_create(&desc, &store, &err), STATUS_OK);
    assert_int_equal(texture_store_finish(store, &texture, &err), STATUS_OK);
    assert_int_equal(texture_store_stats(store).converted, COUNT);
    assert_true(runs_in(log) <= THREADS);
    texture_store_destroy(store);
    texcache_destroy(cache);
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
    if (setenv("SORT_PLUGIN_PATH", TEST_PLUGIN_DIR "/odd", 1) != 0)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texture_store_converts_once_for_two_renders),
        cmocka_unit_test(test_texture_store_converts_sets_once),
        cmocka_unit_test(test_texture_store_converts_anew_what_is_harmed),
        cmocka_unit_test(test_texture_store_says_what_it_cannot_mend),
        cmocka_unit_test(test_texture_store_refuses_endless_images),
        cmocka_unit_test(test_texture_store_keeps_its_files_private),
        cmocka_unit_test(test_converter_loses_one_image_at_a_time),
        cmocka_unit_test(test_decoders_are_kept_to_their_images),
        cmocka_unit_test(test_texture_command_names_folders_of_images),
        cmocka_unit_test(test_converter_is_cancelled_at_once),
        cmocka_unit_test(test_texture_store_converts_by_demand),
        cmocka_unit_test(test_texture_store_names_what_fails),
        cmocka_unit_test(test_texture_store_gives_up_when_cancelled),
        cmocka_unit_test(test_texture_store_starts_few_processes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
