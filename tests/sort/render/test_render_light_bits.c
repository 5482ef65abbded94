/* Paths of light: their exact sums have the same bits however the work is divided, and what they cannot show is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <embree3/rtcore.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "sort/bsdf/closure_programs.h"
#include "sort/render/probe.h"
#include "sort/wide/wide.h"
#include "ssl/ssl.h"
#include "tests/sort/render/render_kit.h"

static const char ssl[] =
    "shader matte(out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(color(0.7, 0.5, 0.3), global_value<normal>)\n"
    "            + 0.3 * make_closure<Transparent>(color(1));\n}\n"
    "shader glass(out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>);\n}\n"
    "shader card(out closure surface)\n"
    "{\n    surface = make_closure<Emission>(color(3) * global_value<uvw>.x);\n}\n"
    "shader skin(out closure surface)\n"
    "{\n    surface = make_closure<Subsurface>(color(0.5), color(1), 0, global_value<normal>);\n}\n"
    "shader gate(out closure surface)\n"
    "{\n    surface = make_closure<RayPortal>(color(1), global_value<position>, float3(0));\n}\n"
    "shader odd(out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(color(global_value<path_depth> > 0 ? 1 : 0), "
    "global_value<normal>);\n}\n";

#define MATERIAL(name)                                                                             \
    "{\"name\": \"" name "\", \"shader\": \"shaders/s.ssl\", \"entry\": \"" name "\"}"
#define TRANSFORM "\"transform\": [0.4,0,0,0, 0,0.4,0,0.5, 0,0,0.4,0, 0,0,0,1]"

/* What differs from the usual scene; NULL: nothing. */
typedef struct Odd {
    const char *limits, *ball, *ball_fields, *lamp_fields, *environment, *floor_fields;
} Odd;

/* The view of light, and pictures by path tracing whose caustics paths of light look for. */
static const struct {
    WaveView view;
    Odd odd;
} pictures[] = {{WAVE_VIEW_LIGHT, {0}},
                {WAVE_VIEW_NONE,
                 {.ball_fields = ", \"is_caustics_caster\": true",
                  .lamp_fields = ", \"is_caustics_light\": true",
                  .floor_fields = ", \"is_caustics_receiver\": true"}},
                {WAVE_VIEW_NONE, {.limits = "\"caustics\": \"all\""}},
                {WAVE_VIEW_NONE, {.limits = "\"caustics\": \"all\", \"guiding\": \"on\""}}};
enum { PICTURES = sizeof pictures / sizeof *pictures };

static void write_scene(const Kit *kit, const Odd *odd)
{
    StrBuf meshes = {0}, instances = {0}, lights = {0};
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-2, 0, 2}, {2, 0, 2}, {2, 0, -2}, {-2, 0, -2}});
    kit_add_quad(kit, &meshes, "card",
                 (const float[4][3]){{-2, 0, -1}, {-1, 0, -1}, {-1, 1, -1}, {-2, 1, -1}});
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 12);
    strbuf_printf(&instances,
                  "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"matte\"]%s}, "
                  "{\"name\": \"e\", \"mesh\": \"card\", \"materials\": [\"card\"]}, "
                  "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"%s\"], " TRANSFORM "%s}",
                  odd->floor_fields ? odd->floor_fields : "", odd->ball ? odd->ball : "glass",
                  odd->ball_fields ? odd->ball_fields : "");
    strbuf_printf(&lights,
                  "{\"name\": \"l\", \"type\": \"sphere\", \"radiance\": [5, 5, 5], \"radius_m\": "
                  "0.2, \"transform\": [1,0,0,0.3, 0,1,0,2, 0,0,1,0.2, 0,0,0,1]%s}",
                  odd->lamp_fields ? odd->lamp_fields : "");
    kit_write_scene(
        kit,
        &(KitScene){.width = 37,
                    .height = 21,
                    .samples = 4,
                    .max_depth = 5,
                    .limits = odd->limits,
                    .aperture_radius_m = 0.05f,
                    .focus_distance_m = 3,
                    .eye = {0.5f, 1, 3},
                    .target = {0, 0.3f, 0},
                    .fov_y_degrees = 50,
                    .meshes = strbuf_text(&meshes),
                    .instances = strbuf_text(&instances),
                    .materials = MATERIAL("matte") ", " MATERIAL("glass") ", " MATERIAL(
                        "card") ", " MATERIAL("skin") ", " MATERIAL("odd") ", " MATERIAL("gate"),
                    .lights = strbuf_text(&lights),
                    .environment =
                        odd->environment ? odd->environment : "{\"color\": [0.2, 0.3, 0.5]}"});
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&lights);
}

static RenderOptions light_options(const Kit *kit)
{
    RenderOptions options = kit_options(kit);
    options.view = WAVE_VIEW_LIGHT;
    return options;
}

static void assert_same(Hash128 a, Hash128 b, const char *what)
{
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg("%s: other bits", what);
}

static void test_threads_and_waves(void **state)
{
    const Kit *kit = *state;
    static const struct {
        uint32_t threads, wave, fibers;
    } ways[] = {{2, 8, 3}, {7, 0, 0}, {2, 24, 1}, {1, 4096, 2}};
    for (size_t p = 0; p < PICTURES; ++p) {
        RenderOptions options = kit_options(kit);
        RenderStats stats;
        write_scene(kit, &pictures[p].odd);
        options.view = pictures[p].view;
        options.thread_count = 1;
        Hash128 usual = kit_render_bits(kit, &options, &stats);
        assert_int_equal(stats.wave.caustic_paths > 0, options.view == WAVE_VIEW_NONE);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
            options.thread_count = ways[i].threads;
            options.wave_capacity = ways[i].wave;
            options.fibers_max = ways[i].fibers;
            assert_same(usual, kit_render_bits(kit, &options, NULL), "threads and waves");
        }
        /* Paths of light bring something. */
        write_scene(kit, &(Odd){0});
        options.view = WAVE_VIEW_NONE;
        Hash128 other = kit_render_bits(kit, &options, NULL);
        assert_true(memcmp(&usual, &other, sizeof usual) != 0);
    }
}

/* --- CPU classes ------------------------------------------------------------------------------------ */

/* The code that a render takes, which the linker's --wrap lets these functions choose. */
static struct {
    const char *embree;   /* options of its device; NULL: those that the renderer gives */
    uint32_t lanes;       /* of the kernels of materials; 0: those of the class */
    uint32_t class_count; /* the widest of wide_classes is the last of these; 0: this machine's */
} code;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
RTCDevice __real_rtcNewDevice(const char *config);
RTCDevice __wrap_rtcNewDevice(const char *config);
RTCDevice __wrap_rtcNewDevice(const char *config)
{
    return __real_rtcNewDevice(code.embree ? code.embree : config);
}

Status __real_ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                                DiagList *diags, SslProgram **out_program, Error *err);
Status __wrap_ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                                DiagList *diags, SslProgram **out_program, Error *err);
Status __wrap_ssl_program_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how,
                                DiagList *diags, SslProgram **out_program, Error *err)
{
    SslBuildDesc so_wide = *how;
    so_wide.lanes = code.lanes;
    return __real_ssl_program_build(ctx, unit, &so_wide, diags, out_program, err);
}

uint32_t __real_wide_class_here(void);
uint32_t __wrap_wide_class_here(void);
uint32_t __wrap_wide_class_here(void)
{
    return code.class_count > 0 ? code.class_count - 1 : __real_wide_class_here();
}

void __wrap_wide_run(const WideProgram *program, void *rows, uint16_t live);
void __wrap_wide_run(const WideProgram *program, void *rows, uint16_t live)
{
    wide_run_as(program, __wrap_wide_class_here(), rows, live);
}

const ClosurePrograms *__wrap_closure_programs_here(void);
const ClosurePrograms *__wrap_closure_programs_here(void)
{
    return &closure_programs[__wrap_wide_class_here()];
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* Embree rounds otherwise for each class of CPUs, for paths of either integrator: with FMA, and with other approximate reciprocals.
 * With the same code of Embree's, a render has the same bits by the code of every class that this machine runs, and by kernels of 1,
 * 8 and 16 lanes. */
static void test_classes(void **state)
{
    const Kit *kit = *state;
    static const struct {
        const char *cpu; /* of the kernels of materials */
        uint32_t lanes, class_count;
    } ways[] = {{"x86-64", 0, 1},     {"x86-64-v2", 0, 1}, {"x86-64-v2", 1, 1},
                {"x86-64-v2", 8, 1},  {"x86-64-v3", 0, 2}, {"x86-64-v3", 1, 1},
                {"x86-64-v3", 16, 2}, {"x86-64-v4", 0, 3}, {NULL, 0, 0}};
    write_scene(kit, &(Odd){.environment = "{\"image\": {\"file\": \"sky.png\"}}"});
    uint8_t sky[8 * 4 * 3];
    for (size_t i = 0; i < sizeof sky; ++i)
        sky[i] = (uint8_t)(i * 37 % 200);
    kit_write_png(kit, "sky.png", 8, 4, sky);
    const uint32_t classes = wide_class_here() + 1;
    code.embree = "isa=sse2";
    for (int light = 0; light < 2; ++light) {
        RenderOptions options = light_options(kit);
        Hash128 usual = {0};
        options.view = light ? WAVE_VIEW_LIGHT : WAVE_VIEW_NONE;
        for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
            if (ways[i].class_count > classes)
                continue;
            code.lanes = ways[i].lanes, code.class_count = ways[i].class_count;
            options.cpu = ways[i].cpu;
            Hash128 bits = kit_render_bits(kit, &options, NULL);
            if (i == 0)
                usual = bits;
            assert_same(usual, bits, ways[i].cpu ? ways[i].cpu : "native");
        }
    }
    memset(&code, 0, sizeof code);
}

/* Ranges of samples that are merged, and a render that goes on, have the bits of the whole. */
static void check_parts(const Kit *kit, RenderOptions options, const Odd *odd)
{
    Error err = {0};
    StrBuf diagnostics = {0};
    char path[PATH_BYTES];
    write_scene(kit, odd);
    Hash128 whole = kit_render_bits(kit, &options, NULL);
    RenderOptions part = options;
    part.sample_end = 1;
    Render *first = kit_render(kit, &part);
    part.sample_begin = 1, part.sample_end = 4;
    Render *second = kit_render(kit, &part);
    kit_path(kit, "first", path);
    assert_int_equal(film_write_partial(render_film(first), path, &err), STATUS_OK);
    assert_int_equal(film_merge(render_film(second), render_film(first), &err), STATUS_OK);
    assert_same(whole, kit_bits(second), "merged");
    render_destroy(second);
    if (options.view == WAVE_VIEW_LIGHT) {
        /* Both find the same light, but their sums are of other samples. */
        part.view = WAVE_VIEW_NONE;
        Render *other = kit_render(kit, &part);
        assert_int_equal(film_merge(render_film(other), render_film(first), &err), STATUS_INVALID);
        render_destroy(other);
    }
    render_destroy(first);
    Film *film;
    Render *rest;
    assert_int_equal(film_read_partial(path, &film, &err), STATUS_OK);
    assert_int_equal(render_create(&options, &rest, &diagnostics, &err), STATUS_OK);
    assert_int_equal(render_resume(rest, film, &err), STATUS_OK);
    assert_int_equal(render_run(rest, &err), STATUS_OK);
    assert_same(whole, kit_bits(rest), "continued");
    render_destroy(rest);
    strbuf_free(&diagnostics);
}

static void test_parts(void **state)
{
    const Kit *kit = *state;
    for (size_t p = 0; p < PICTURES; ++p) {
        RenderOptions options = kit_options(kit);
        options.view = pictures[p].view;
        check_parts(kit, options, &pictures[p].odd);
    }
}

/* The mean of a channel of a part of the picture, in pixels of the frame, and its standard error over the pixels. */
static double mean_in(Render *render, uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
    const FilmDesc *d = film_desc(render_film(render));
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    double sum = 0;
    for (uint32_t v = y; v < y + height; ++v)
        for (uint32_t u = x; u < x + width; ++u)
            sum += (double)rgba[4 * ((size_t)(v - d->y) * d->crop_width + (u - d->x)) + 1];
    mem_free(rgba);
    return sum / ((double)width * height);
}

/* Where pixels have other numbers of samples, in a crop and by adaptive sampling, caustics are as bright: paths of light are
 * counted, not the samples of the pixel. Layers of light, shadow catchers and a few other things are left to walks. */
static void test_caustics_beside_others(void **state)
{
    const Kit *kit = *state;
    const Odd *odd = &pictures[1].odd;
    RenderStats stats;
    enum { X = 14, Y = 8, SIDE = 8 };
    write_scene(kit, odd);
    RenderOptions options = kit_options(kit);
    SETTING_SET(options.settings, samples, 1024);
    Render *whole = kit_render(kit, &options);
    double mean = mean_in(whole, X, Y, SIDE, SIDE);
    render_destroy(whole);
    static const struct {
        FilmAovSet aovs;
        bool looks;
    } layers[] = {{FILM_AOV_BIT(FILM_AOV_ALBEDO) | FILM_AOV_BIT(FILM_AOV_EMISSION), true},
                  {FILM_DENOISING, true},
                  {FILM_AOV_BIT(FILM_AOV_DIFFUSE_INDIRECT), false},
                  {FILM_LIGHT_GROUPS, false}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        RenderOptions with = kit_options(kit);
        with.aovs = layers[i].aovs;
        Render *render = kit_render(kit, &with);
        render_stats(render, &stats);
        assert_int_equal(stats.wave.caustic_paths > 0, layers[i].looks);
        render_destroy(render);
    }
    RenderOptions cropped = options;
    cropped.crop = (RenderCrop){X, Y, SIDE, SIDE};
    Render *crop = kit_render(kit, &cropped);
    render_stats(crop, &stats);
    assert_true(stats.wave.caustic_paths > 0);
    assert_true(fabs(mean_in(crop, X, Y, SIDE, SIDE) - mean) < 0.01 * mean);
    render_destroy(crop);
    RenderOptions adaptive = options;
    adaptive.adaptive_error = 0.03f;
    Render *judged = kit_render(kit, &adaptive);
    render_stats(judged, &stats);
    assert_true(stats.wave.caustic_paths > 0);
    assert_true(film_sample_count(render_film(judged)) < (uint64_t)37 * 21 * 900);
    assert_true(fabs(mean_in(judged, X, Y, SIDE, SIDE) - mean) < 0.02 * mean);
    render_destroy(judged);
}

static void assert_refused(const RenderOptions *options, const char *part)
{
    char text[2048];
    kit_render_error(options, text);
    if (!strstr(text, "integrator 'light'") || !strstr(text, part))
        fail_msg("'%s' does not name '%s'", text, part);
}

static void assert_not_probed(const Kit *kit)
{
    Error err = {0};
    Render *render;
    float rgba[4];
    StrBuf diagnostics = {0};
    RenderOptions options = light_options(kit);
    assert_int_equal(render_create(&options, &render, &diagnostics, &err), STATUS_OK);
    assert_int_equal(
        render_probe(render, &(ProbeDesc){.x = 3, .y = 3, .sample_count = 1}, rgba, &err),
        STATUS_INVALID);
    assert_non_null(strstr(err.text, "belongs to no pixel"));
    render_destroy(render);
    strbuf_free(&diagnostics);
}

static void test_what_it_cannot_show(void **state)
{
    const Kit *kit = *state;
    static const struct {
        Odd odd;
        const char *part;
    } scenes[] = {
        {{.limits = "\"max_diffuse\": 2"}, "--max-diffuse"},
        {{.limits = "\"clamp_indirect\": 2"}, "--clamp-indirect 0"},
        {{.limits = "\"filter_glossy\": 1"}, "--filter-glossy 0"},
        {{.limits = "\"guiding\": \"on\""}, "--guiding off"},
        {{.limits = "\"max_transparent\": 8"}, "material 'matte' is transparent"},
        {{.ball = "skin"}, "material 'skin' has subsurface"},
        {{.ball = "odd"}, "material 'odd' reads the kind"},
        {{.ball = "gate"}, "material 'gate' is a portal"},
        {{.ball_fields = ", \"invisible_to\": [\"camera\"]"}, "object 'b' is hidden"},
        {{.ball_fields = ", \"is_shadow_catcher\": true"}, "object 'b' is a shadow catcher"},
        {{.ball_fields = ", \"is_holdout\": true"}, "object 'b' is a holdout"},
        {{.lamp_fields = ", \"invisible_to\": [\"glossy\"]"}, "light 'l' is hidden"},
        {{.lamp_fields = ", \"casts_shadows\": false"}, "light 'l' casts no shadow"},
        {{.lamp_fields = ", \"max_bounces\": 2"}, "light 'l' has a limit"},
        {{.environment = "{\"color\": [1, 1, 1], \"invisible_to\": [\"diffuse\"]}"},
         "the environment is hidden"},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        RenderOptions options = light_options(kit);
        write_scene(kit, &scenes[i].odd);
        assert_refused(&options, scenes[i].part);
    }
    write_scene(kit, &(Odd){0});
    RenderOptions options = light_options(kit);
    const SceneCamera eye = {.kind = SCENE_CAMERA_ORTHOGRAPHIC,
                             .camera_to_world = {{{1, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 3}}},
                             .height_m = 3};
    options.eye = &eye;
    assert_refused(&options, "perspective");
    options = light_options(kit);
    options.crop = (RenderCrop){0, 0, 8, 8};
    assert_refused(&options, "crop");
    options = light_options(kit);
    options.aovs = FILM_AOV_BIT(FILM_AOV_ALBEDO);
    assert_refused(&options, "layers");
    options = light_options(kit);
    options.adaptive_error = 0.1f;
    assert_refused(&options, "adaptive");
    options = light_options(kit);
    options.depth_bias[1] = 1;
    assert_refused(&options, "mip levels by depth");
    assert_not_probed(kit);
}

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
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
        cmocka_unit_test(test_threads_and_waves),
#if defined(__x86_64__)
        cmocka_unit_test(test_classes),
#endif
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_caustics_beside_others),
        cmocka_unit_test(test_what_it_cannot_show),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
