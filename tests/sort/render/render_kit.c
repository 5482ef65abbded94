#include "tests/sort/render/render_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/image/png_write.h"
#include "base/process.h"

static void ok(Status status, const Error *err)
{
    char text[2048];
    if (status != STATUS_OK)
        fail_msg("%s", error_format(err, text, sizeof text));
}

void kit_begin(Kit *kit)
{
    Error err = {0};
    ok(file_make_temp_directory("sort-test", kit->folder, &err), &err);
    ok(path_join(kit->folder, "package", kit->package, &err), &err);
    ok(path_join(kit->folder, "cache", kit->cache, &err), &err);
    ok(file_make_directories(kit->package, &err), &err);
}

void kit_end(Kit *kit)
{
    Error err = {0};
    ok(file_remove_tree(kit->folder, &err), &err);
}

void kit_write(const Kit *kit, const char *name, const void *data, size_t size_bytes)
{
    char path[PATH_BYTES], folder[PATH_BYTES];
    Error err = {0};
    ok(path_join(kit->package, name, path, &err), &err);
    snprintf(folder, sizeof folder, "%.*s", STR_ARG(path_dirname(path)));
    ok(file_make_directories(folder, &err), &err);
    ok(file_write(path, data, size_bytes, &err), &err);
}

void kit_write_text(const Kit *kit, const char *name, const char *text)
{
    kit_write(kit, name, text, strlen(text));
}

void kit_path(const Kit *kit, const char *name, char out[PATH_BYTES])
{
    Error err = {0};
    assert_int_equal(path_join(kit->folder, name, out, &err), STATUS_OK);
}

void kit_write_matte(const Kit *kit)
{
    kit_write_text(kit, "shaders/matte.ssl",
                   "shader matte(color albedo = color(0.6, 0.5, 0.4), out closure surface)\n"
                   "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n");
}

void kit_write_png(const Kit *kit, const char *name, uint32_t width, uint32_t height,
                   const uint8_t *rgb)
{
    char path[PATH_BYTES];
    Error err = {0};
    kit_write_text(kit, name, ""); /* makes the folder */
    ok(path_join(kit->package, name, path, &err), &err);
    ok(png_write(path, width, height, 3, rgb, &err), &err);
}

static void add_section(StrBuf *json, const char *name, const char *text)
{
    if (text)
        strbuf_printf(json, ",\n \"%s\": [%s]", name, text);
}

void kit_write_scene(const Kit *kit, const KitScene *s)
{
    StrBuf json = {0};
    mat4 m = mat4_look_at(f3(s->eye[0], s->eye[1], s->eye[2]),
                          f3(s->target[0], s->target[1], s->target[2]), f3(0, 1, 0));
    strbuf_printf(&json,
                  "{\"sort_package\": 1,\n \"settings\": {\"resolution\": [%u, %u], \"samples\": "
                  "%u, \"max_depth\": %u%s%s%s},\n",
                  s->width, s->height, s->samples, s->max_depth,
                  s->has_transparent_film ? ", \"transparent_film\": true" : "",
                  s->limits ? ", " : "", s->limits ? s->limits : "");
    strbuf_printf(&json,
                  " \"cameras\": [{\"name\": \"c\", \"fov_y_degrees\": %.9g, "
                  "\"aperture_radius_m\": %.9g, \"focus_distance_m\": %.9g%s%s, \"transform\": [",
                  (double)s->fov_y_degrees, (double)s->aperture_radius_m,
                  s->focus_distance_m > 0 ? (double)s->focus_distance_m : 1.0,
                  s->camera ? ", " : "", s->camera ? s->camera : "");
    for (int i = 0; i < 16; ++i)
        strbuf_printf(&json, "%s%.9g", i ? ", " : "", (double)m.m[i / 4][i % 4]);
    strbuf_printf(&json, "]}]");
    add_section(&json, "shader_aovs", s->shader_aovs);
    add_section(&json, "meshes", s->meshes);
    add_section(&json, "curves", s->curves);
    add_section(&json, "instances", s->instances);
    add_section(&json, "materials", s->materials);
    add_section(&json, "lights", s->lights);
    add_section(&json, "portals", s->portals);
    if (s->groups)
        strbuf_printf(&json, ",\n \"groups\": {%s}", s->groups);
    if (s->environment)
        strbuf_printf(&json, ",\n \"environment\": %s", s->environment);
    strbuf_printf(&json, "}\n");
    kit_write_text(kit, "scene.json", strbuf_text(&json));
    strbuf_free(&json);
}

void kit_write_ball(const Kit *kit, const KitScene *scene)
{
    KitScene with = *scene;
    StrBuf meshes = {0};
    const float eye[3] = {0, 1, 4};
    kit_write_matte(kit);
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 12);
    memcpy(with.eye, eye, sizeof eye);
    with.max_depth = 3;
    with.fov_y_degrees = 45;
    with.meshes = strbuf_text(&meshes);
    with.instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}";
    with.materials = "{\"name\": \"m\", \"shader\": \"shaders/matte.ssl\"}";
    with.environment = "{\"color\": [0.2, 0.3, 0.5]}";
    kit_write_scene(kit, &with);
    strbuf_free(&meshes);
}

static void add_mesh(const Kit *kit, StrBuf *out, const char *name, const float *positions,
                     const float *uv, uint32_t vertices, const uint32_t *indices,
                     uint32_t triangles)
{
    char file[256];
    size_t position_bytes = 12 * (size_t)vertices, uv_bytes = 8 * (size_t)vertices,
           index_bytes = 12 * (size_t)triangles;
    char *blob = mem_alloc(1, position_bytes + uv_bytes + index_bytes);
    assert_non_null(blob);
    memcpy(blob, positions, position_bytes);
    memcpy(blob + position_bytes, uv, uv_bytes);
    memcpy(blob + position_bytes + uv_bytes, indices, index_bytes);
    snprintf(file, sizeof file, "meshes/%s.bin", name);
    kit_write(kit, file, blob, position_bytes + uv_bytes + index_bytes);
    mem_free(blob);
    strbuf_printf(out,
                  "%s{\"name\": \"%s\", \"vertex_count\": %u, \"triangle_count\": %u,\n"
                  "  \"positions\": {\"file\": \"%s\", \"type\": \"float32\", \"components\": 3, "
                  "\"count\": %u},\n"
                  "  \"uv\": [{\"file\": \"%s\", \"offset_bytes\": %zu, \"type\": \"float32\", "
                  "\"components\": 2, \"count\": %u}],\n"
                  "  \"indices\": {\"file\": \"%s\", \"offset_bytes\": %zu, \"type\": \"uint32\", "
                  "\"components\": 3, \"count\": %u}}",
                  out->size_bytes ? ",\n " : "", name, vertices, triangles, file, vertices, file,
                  position_bytes, vertices, file, position_bytes + uv_bytes, triangles);
}

void kit_add_quad(const Kit *kit, StrBuf *out, const char *name, const float corners[4][3])
{
    kit_add_quads(kit, out, name, 1, corners);
}

void kit_add_quads(const Kit *kit, StrBuf *out, const char *name, uint32_t count,
                   const float (*corners)[3])
{
    enum { MOST = 8 };
    float uv[MOST * 8];
    uint32_t indices[MOST * 6];
    assert_true(count <= MOST);
    for (uint32_t q = 0; q < count; ++q) {
        memcpy(uv + (size_t)8 * q, (const float[8]){0, 0, 1, 0, 1, 1, 0, 1}, 8 * sizeof *uv);
        for (uint32_t i = 0; i < 6; ++i)
            indices[6 * q + i] = 4 * q + (const uint32_t[]){0, 1, 2, 0, 2, 3}[i];
    }
    add_mesh(kit, out, name, &corners[0][0], uv, 4 * count, indices, 2 * count);
}

void kit_add_sphere(const Kit *kit, StrBuf *out_json, const char *name, float radius,
                    uint32_t segments)
{
    uint32_t columns = 2 * segments, vertices = (columns + 1) * (segments + 1), triangles = 0;
    float *positions = MEM_ARRAY(float, 3 * (size_t)vertices),
          *uv = MEM_ARRAY(float, 2 * (size_t)vertices);
    uint32_t *indices = MEM_ARRAY(uint32_t, 6 * (size_t)columns * segments);
    assert_true(positions && uv && indices);
    for (uint32_t j = 0; j <= segments; ++j) {
        for (uint32_t i = 0; i <= columns; ++i) {
            uint32_t v = j * (columns + 1) + i;
            double theta = 3.14159265358979 * j / segments,
                   phi = 2 * 3.14159265358979 * i / columns;
            positions[3 * v] = radius * (float)(sin(theta) * cos(phi));
            positions[3 * v + 1] = radius * (float)cos(theta);
            positions[3 * v + 2] = -radius * (float)(sin(theta) * sin(phi));
            uv[2 * v] = (float)i / (float)columns;
            uv[2 * v + 1] = 1.0f - (float)j / (float)segments;
        }
    }
    for (uint32_t j = 0; j < segments; ++j) {
        for (uint32_t i = 0; i < columns; ++i) {
            uint32_t a = j * (columns + 1) + i, b = a + columns + 1;
            const uint32_t quad[6] = {a, b, b + 1, a, b + 1, a + 1};
            memcpy(indices + (size_t)6 * (j * columns + i), quad, sizeof quad);
            triangles += 2;
        }
    }
    add_mesh(kit, out_json, name, positions, uv, vertices, indices, triangles);
    mem_free(positions);
    mem_free(uv);
    mem_free(indices);
}

void kit_write_floor(const Kit *kit, uint32_t size_px, const char *materials, const char *groups)
{
    StrBuf meshes = {0};
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}});
    kit_write_scene(
        kit,
        &(KitScene){.width = size_px,
                    .height = size_px,
                    .samples = 1,
                    .max_depth = 2,
                    .eye = {0, 0, 3},
                    .fov_y_degrees = 40,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}",
                    .materials = materials,
                    .groups = groups,
                    .environment = "{\"color\": [1, 1, 1]}"});
    strbuf_free(&meshes);
}

RenderOptions kit_options(const Kit *kit)
{
    return (RenderOptions){.size_bytes = sizeof(RenderOptions),
                           .scene_path = kit->package,
                           .thread_count = 2,
                           .texture_memory_bytes =
                               64 << 20, /* sanitizers touch the tables of a budget */
                           .cache_folder = kit->cache,
                           .texcache_program = SORT_TEST_BIN "/texcache"};
}

Render *kit_render(const Kit *kit, const RenderOptions *options)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render = NULL;
    char text[2048];
    SORT_UNUSED(kit);
    Status status = render_create(options, &render, &diagnostics, &err);
    if (status == STATUS_OK)
        status = render_run(render, &err);
    if (status != STATUS_OK)
        fail_msg("%s%s", strbuf_text(&diagnostics), error_format(&err, text, sizeof text));
    strbuf_free(&diagnostics);
    return render;
}

const char *kit_render_error(const RenderOptions *options, char out[2048])
{
    Error err = {0};
    StrBuf diagnostics = {0};
    Render *render = NULL;
    char text[1536];
    Status status = render_create(options, &render, &diagnostics, &err);
    if (status == STATUS_OK) {
        status = render_run(render, &err);
        render_destroy(render);
    }
    if (status == STATUS_OK)
        fail_msg("an error was expected");
    snprintf(out, 2048, "%s%s", strbuf_text(&diagnostics), error_format(&err, text, sizeof text));
    strbuf_free(&diagnostics);
    return out;
}

float *kit_pixels(Render *render, uint32_t *out_count)
{
    const FilmDesc *film = film_desc(render_film(render));
    *out_count = film->crop_width * film->crop_height;
    float *rgba = MEM_ARRAY(float, 4 * (size_t)*out_count);
    assert_non_null(rgba);
    film_resolve(render_film(render), rgba);
    return rgba;
}

Hash128 kit_bits(Render *render)
{
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    Hash128 hash = hash128(rgba, (size_t)count * 4 * sizeof *rgba);
    mem_free(rgba);
    return hash;
}

Hash128 kit_render_bits(const Kit *kit, const RenderOptions *options, RenderStats *out_stats)
{
    Render *render = kit_render(kit, options);
    Hash128 hash = kit_bits(render);
    if (out_stats)
        render_stats(render, out_stats);
    render_destroy(render);
    return hash;
}

void kit_assert_equal_bits(const Kit *kit, const RenderOptions *options)
{
    static const struct {
        uint32_t threads, wave;
    } ways[] = {{2, 0}, {8, 0}, {8, 8}, {8, 200}};
    RenderOptions own = *options;
    own.thread_count = 1;
    Hash128 one = kit_render_bits(kit, &own, NULL);
    for (size_t i = 0; i < SORT_COUNT_OF(ways); ++i) {
        own.thread_count = ways[i].threads;
        own.wave_capacity = ways[i].wave;
        if (!hash128_equal(one, kit_render_bits(kit, &own, NULL)))
            fail_msg("%u threads, waves of %u differ", ways[i].threads, ways[i].wave);
    }
}

float *kit_aov(Render *render, FilmAov aov)
{
    const FilmDesc *film = film_desc(render_film(render));
    float *values = mem_alloc((size_t)film->crop_width * film->crop_height,
                              film_aov_info(aov)->channel_count * sizeof *values);
    assert_non_null(values);
    film_resolve_aov(render_film(render), aov, values);
    return values;
}

void kit_mean(const float *rgba, uint32_t count, int channel, double *out_mean, double *out_error)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; ++i) {
        double v = (double)rgba[4 * i + (uint32_t)channel];
        sum += v;
        squares += v * v;
    }
    double mean = sum / count;
    *out_mean = mean;
    *out_error = sqrt(fmax(squares / count - mean * mean, 0) / count);
}

void kit_run_program(const char *program, const char *const *arguments, KitSaid *out)
{
    enum { ARGUMENTS_MAX = 32 };
    char path[PATH_BYTES];
    const char *argv[ARGUMENTS_MAX + 2] = {path};
    Error err = {0};
    snprintf(path, sizeof path, "%s/%s", SORT_TEST_BIN, program);
    for (uint32_t i = 0; arguments[i]; ++i) {
        assert_true(i < ARGUMENTS_MAX);
        argv[i + 1] = arguments[i];
    }
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_CAPTURE,
                        .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    ok(process_run(&desc, 120000, &result, &err), &err);
    assert_true(result.has_exited);
    out->exit_code = result.exit_code;
    snprintf(out->output, sizeof out->output, "%s", strbuf_text(&result.output));
    snprintf(out->errors, sizeof out->errors, "%s", strbuf_text(&result.errors));
    process_result_free(&result);
}

void kit_run(const Kit *kit, const char *const *more, KitSaid *out)
{
    char picture[PATH_BYTES];
    Error err = {0};
    const char *arguments[32] = {kit->package, "--cache",    kit->cache, "-o",
                                 picture,      "--progress", "none"};
    uint32_t count = 7;
    ok(path_join(kit->folder, "out.exr", picture, &err), &err);
    for (; more && *more; ++more)
        arguments[count++] = *more;
    kit_run_program("sort-render", arguments, out);
}

void kit_assert_says(const KitSaid *said, int exit_code, const char *const *parts)
{
    if (said->exit_code != exit_code)
        fail_msg("exit code %d, expected %d; said: %s", said->exit_code, exit_code, said->errors);
    for (; *parts; ++parts)
        if (!strstr(said->errors, *parts))
            fail_msg("'%s' is not in: %s", *parts, said->errors);
}

void kit_assert_channels(const Kit *kit, const char *const *names)
{
    Error err = {0};
    char path[PATH_BYTES], *bytes;
    size_t size;
    ok(path_join(kit->folder, "out.exr", path, &err), &err);
    ok(file_read(path, 1 << 24, &bytes, &size, &err), &err);
    for (; *names; ++names) {
        bool is_there = false;
        for (size_t at = 0; at + strlen(*names) < size && !is_there; ++at)
            is_there = strcmp(bytes + at, *names) == 0;
        if (!is_there)
            fail_msg("no channel '%s'", *names);
    }
    mem_free(bytes);
}
