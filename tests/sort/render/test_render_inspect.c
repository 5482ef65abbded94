/* Looking changes nothing: a render that is traced, watched and measured has the bits of one that is not,
 * and a probed pixel has the lookups and the colour that it has in the whole picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "sort/render/monitor.h"
#include "sort/render/probe.h"
#include "tests/sort/render/render_kit.h"
#include "textures/tex_trace.h"

enum { TEXTURE_PX = 512, WIDTH = 48, HEIGHT = 32 };

static const char wood_ssl[] = "texture2d paint;\n"
                               "shader wood(out closure surface)\n{\n"
                               "    const float3 uvw = global_value<uvw>;\n"
                               "    const color a = texture2d_sample<paint>(4 * uvw.x, uvw.y);\n"
                               "    surface = make_closure<Lambert>(a, global_value<normal>);\n}\n";

static void write_scene(const Kit *kit)
{
    StrBuf meshes = {0};
    uint8_t *pixels = mem_alloc((size_t)TEXTURE_PX * TEXTURE_PX, 3);
    for (size_t i = 0; i < (size_t)3 * TEXTURE_PX * TEXTURE_PX; ++i)
        pixels[i] = (uint8_t)hash_mix64(i);
    kit_write_png(kit, "textures/paint.png", TEXTURE_PX, TEXTURE_PX, pixels);
    mem_free(pixels);
    kit_write_text(kit, "shaders/wood.ssl", wood_ssl);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_write_scene(
        kit, &(KitScene){
                 .width = WIDTH,
                 .height = HEIGHT,
                 .samples = 4,
                 .max_depth = 3,
                 .eye = {0, 0.5f, 4},
                 .fov_y_degrees = 45,
                 .meshes = strbuf_text(&meshes),
                 .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}",
                 .materials = "{\"name\": \"m\", \"shader\": \"shaders/wood.ssl\", \"textures\": "
                              "{\"paint\": {\"file\": \"textures/paint.png\"}}}",
                 .environment = "{\"color\": [0.4, 0.5, 0.7]}"});
    strbuf_free(&meshes);
}

/* All threads' events are there, in one order, and count what the cache counted. */
static void check_trace(const char *path, const Render *render)
{
    static TexTraceEvent event;
    RenderStats stats;
    TexTraceReader *reader;
    Error err = {0};
    bool more = true;
    assert_int_equal(tex_trace_open(path, &reader, &err), STATUS_OK);
    while (more)
        if (tex_trace_next(reader, &event, &more, &err) != STATUS_OK)
            fail_msg("%s", err.text);
    render_stats(render, &stats);
    assert_int_equal(tex_trace_summary(reader)->tile_count, stats.textures.tile_requests);
    assert_true(stats.textures.tile_requests > 0);
    tex_trace_close(reader);
}

static void test_inspect_changes_no_pixel(void **state)
{
    Kit kit;
    char trace[PATH_BYTES + 16], watch[PATH_BYTES + 16];
    uint32_t count;
    Error err = {0};
    (void)state;
    kit_begin(&kit);
    write_scene(&kit);
    RenderOptions options = kit_options(&kit);
    Render *plain = kit_render(&kit, &options);
    float *expected = kit_pixels(plain, &count);

    snprintf(trace, sizeof trace, "%s/a.trace", kit.folder);
    snprintf(watch, sizeof watch, "%s/a.watch", kit.folder);
    options.trace_path = trace;
    StrBuf diagnostics = {0};
    Render *looked_at;
    Monitor *monitor;
    static MonitorTimeline timeline;
    assert_int_equal(render_create(&options, &looked_at, &diagnostics, &err), STATUS_OK);
    assert_int_equal(monitor_start(looked_at, watch, &monitor, &err), STATUS_OK);
    assert_int_equal(render_run(looked_at, &err), STATUS_OK);
    monitor_stop(monitor, &timeline);
    assert_int_equal(render_end_trace(looked_at, &err), STATUS_OK);
    check_trace(trace, looked_at);
    assert_false(file_exists(watch));
    assert_true(timeline.count >= 1);
    assert_int_equal(timeline.samples[timeline.count - 1].paths, WIDTH * HEIGHT * 4);
    float *found = kit_pixels(looked_at, &count);
    assert_memory_equal(found, expected, count * 4 * sizeof(float));
    mem_free(found);
    mem_free(expected);
    strbuf_free(&diagnostics);
    render_destroy(looked_at);
    render_destroy(plain);
    kit_end(&kit);
}

typedef struct Seen {
    uint32_t count, of_camera;
    ProbeLookup first;
    char source[64];
} Seen;

static void see(void *data, const ProbeLookup *lookup)
{
    Seen *s = data;
    if (s->count++ == 0) {
        s->first = *lookup;
        snprintf(s->source, sizeof s->source, "%s", lookup->source);
    }
    s->of_camera += lookup->depth == 0;
    float sum = 0;
    for (uint32_t i = 0; i < lookup->explain.texel_count; ++i)
        sum += lookup->explain.texels[i].weight;
    assert_true(sum > 0.9999f && sum < 1.0001f);
}

static void test_inspect_probe_is_the_pixel_of_the_render(void **state)
{
    Kit kit;
    uint32_t count;
    Error err = {0};
    (void)state;
    kit_begin(&kit);
    write_scene(&kit);
    RenderOptions options = kit_options(&kit);
    Render *whole = kit_render(&kit, &options);
    float *pixels = kit_pixels(whole, &count);
    StrBuf diagnostics = {0};
    static const uint32_t places[][2] = {{24, 28}, {0, 31}, {47, 20}, {3, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        Render *probed;
        Seen seen = {0};
        float rgba[4];
        uint32_t x = places[i][0], y = places[i][1];
        assert_int_equal(render_create(&options, &probed, &diagnostics, &err), STATUS_OK);
        assert_int_equal(render_probe(probed, &(ProbeDesc){x, y, 4, see, &seen}, rgba, &err),
                         STATUS_OK);
        assert_memory_equal(rgba, pixels + 4 * ((size_t)y * WIDTH + x), sizeof rgba);
        if (i == 0) { /* the floor, four times */
            assert_true(seen.of_camera >= 4);
            assert_string_equal(seen.first.material, "m");
            assert_string_equal(seen.first.kind, "shade");
            assert_non_null(strstr(seen.source, "wood.ssl"));
            assert_int_equal(seen.first.line, 5);
            assert_non_null(strstr(seen.first.explain.name, "paint.png"));
            assert_int_equal(seen.first.explain.width, TEXTURE_PX);
            assert_true(seen.first.derivs[0] != 0.0f);
        }
        assert_int_equal(render_probe(probed, &(ProbeDesc){WIDTH, 0, 1, see, &seen}, rgba, &err),
                         STATUS_INVALID);
        render_destroy(probed);
    }
    mem_free(pixels);
    strbuf_free(&diagnostics);
    render_destroy(whole);
    kit_end(&kit);
}

static void test_inspect_program_probes(void **state)
{
    Kit kit;
    KitSaid said;
    char svg[PATH_BYTES + 16];
    (void)state;
    kit_begin(&kit);
    write_scene(&kit);
    snprintf(svg, sizeof svg, "%s/a.svg", kit.folder);
    kit_run_program("sort-render",
                    (const char *const[]){kit.package, "--cache", kit.cache, "--probe", "24,28",
                                          "--probe-out", svg, "--unwatched", NULL},
                    &said);
    assert_int_equal(said.exit_code, 0);
    assert_non_null(strstr(said.output, "wood.ssl:5:"));
    assert_non_null(strstr(said.output, "pixel 24,28: "));
    char *text;
    size_t size;
    assert_int_equal(file_read(svg, 1 << 24, &text, &size, NULL), STATUS_OK);
    assert_non_null(strstr(text, "what the derivatives span"));
    assert_non_null(strstr(text, "weight 0."));
    mem_free(text);
    kit_run_program("sort-render",
                    (const char *const[]){kit.package, "--probe", "1,2", "-o", "x.exr", NULL},
                    &said);
    kit_assert_says(&said, 2, (const char *const[]){"makes no picture", NULL});
    kit_run_program("sort-render", (const char *const[]){kit.package, "--probe", "here", NULL},
                    &said);
    kit_assert_says(&said, 2, (const char *const[]){"no pixel such as 320,240", NULL});
    kit_run_program(
        "sort-render",
        (const char *const[]){kit.package, "--cache", kit.cache, "--probe", "999,0", NULL}, &said);
    kit_assert_says(&said, 2, (const char *const[]){"not in the picture", NULL});
    kit_end(&kit);
}

/* Bytes of paths that are no UTF-8 are replaced in the statistics, which stay a file that all can read. */
static void test_inspect_stats_are_json_whatever_paths_are(void **state)
{
    Kit kit;
    KitSaid said;
    char package[PATH_BYTES], stats[PATH_BYTES];
    Error err = {0};
    (void)state;
    kit_begin(&kit);
    write_scene(&kit);
    assert_int_equal(path_join(kit.folder, "pack\xff\"age\n", package, &err), STATUS_OK);
    assert_int_equal(path_join(kit.folder, "a\xfe.json", stats, &err), STATUS_OK);
    assert_int_equal(path_join(kit.folder, "\xc3(", kit.cache, &err), STATUS_OK);
    assert_int_equal(rename(kit.package, package), 0);
    memcpy(kit.package, package, sizeof package);
    kit_run(&kit, (const char *const[]){"--stats", stats, "--unwatched", NULL}, &said);
    assert_int_equal(said.exit_code, 0);

    char *text;
    size_t size;
    assert_int_equal(file_read(stats, 1 << 24, &text, &size, NULL), STATUS_OK);
    assert_true(str_is_utf8((Str){text, size}));
    JsonDoc *doc;
    JsonCursor root, textures, list, texture, name;
    const char *path;
    if (json_parse(stats, (Str){text, size}, &doc, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    json_root(doc, &root);
    assert_int_equal(json_get_object(&root, "textures", JSON_REQUIRED, &textures, &err), 0);
    assert_int_equal(json_get_array(&textures, "by_texture", JSON_REQUIRED, &list, &err), 0);
    json_at(&list, 0, &texture);
    assert_int_equal(json_get_any(&texture, "name", JSON_REQUIRED, &name, &err), STATUS_OK);
    assert_int_equal(json_as_string(&name, &path, &err), STATUS_OK);
    assert_non_null(strstr(path, "/pack\xef\xbf\xbd\"age\n/textures/paint.png"));
    json_destroy(doc);
    mem_free(text);
    kit_run_program("texcache", (const char *const[]){"stats", stats, NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    assert_non_null(strstr(said.output, "paint.png"));
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inspect_changes_no_pixel),
        cmocka_unit_test(test_inspect_probe_is_the_pixel_of_the_render),
        cmocka_unit_test(test_inspect_program_probes),
        cmocka_unit_test(test_inspect_stats_are_json_whatever_paths_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
