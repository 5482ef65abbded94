/* Paths that begin at lamps find the light that paths from the camera find: z-tests of blocks of pixels, for every kind of lamp and
 * for surfaces whose scattering is not symmetric.
 *
 * Each integrator renders a scene with a few seeds, whose pictures are independent. The means of a block differ by less than
 * Z_MAX of their standard error. The error is estimated from SEEDS pictures of each, so that the ratio has Student's distribution
 * with 2 SEEDS - 2 = 22 degrees of freedom: |t| > 7 has a chance of 5e-7, and with Bonferroni over the 32 blocks and channels of
 * 130 cases a false alarm one of 2e-3, once, as seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 8, BLOCK = 2, BLOCKS = SIDE / BLOCK * (SIDE / BLOCK), SEEDS = 12, SAMPLES = 32 };
#define Z_MAX 7.0

static const char ssl[] =
    "shader matte(color albedo = color(0.7, 0.5, 0.3), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n"
    "shader bumpy(out closure surface)\n"
    "{\n"
    "    vector at = 9 * vector(global_value<position>);\n"
    "    vector bent = 0.45 * vector(sin(at.x), sin(at.y + 1), sin(at.z + 2));\n"
    "    surface = make_closure<Lambert>(color(0.7), normalize(global_value<normal> + "
    "normal(bent)));\n"
    "}\n"
    "shader bent(out closure surface)\n" /* away from the wall */
    "{\n"
    "    surface = make_closure<Lambert>(color(0.9), normalize(global_value<normal> + normal(0, 0, "
    "3)));\n"
    "}\n"
    "shader toon(out closure surface)\n"
    "{\n    surface = make_closure<ToonDiffuse>(color(0.9), 0.35, 0.1, "
    "global_value<normal>);\n}\n"
    "shader shy(out closure surface)\n" /* black to those who look down on it */
    "{\n"
    "    float cosine = abs(dot(vector(global_value<normal>), global_value<I>));\n"
    "    surface = make_closure<Lambert>(color(cosine > 0.8 ? 0 : 0.9), global_value<normal>);\n"
    "}\n"
    "shader metal(float roughness = 0.4, out closure surface)\n"
    "{\n    surface = make_closure<Conductor>(color(0.9, 0.7, 0.4), roughness, "
    "global_value<normal>);\n}\n"
    "shader glass(float roughness = 0.4, float ior = 1.5, out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(ior, roughness, color(1), color(0.9, 1, 0.8), "
    "global_value<normal>);\n}\n"
    "shader satin(float roughness = 0.2, float share = 1, out closure surface)\n"
    "{\n"
    "    surface = share * make_closure<Conductor>(color(0.9, 0.7, 0.4), roughness, "
    "global_value<normal>)\n"
    "            + (1 - share) * make_closure<Lambert>(color(0.3, 0.5, 0.9), "
    "global_value<normal>);\n"
    "}\n"
    "shader glaze(out closure surface)\n" /* with lobes without a blur, with little and with much */
    "{\n"
    "    surface = 0.3 * make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>)\n"
    "            + 0.4 * make_closure<Conductor>(color(1), 0.15, global_value<normal>)\n"
    "            + 0.3 * make_closure<Lambert>(color(1), global_value<normal>);\n"
    "}\n"
    "shader dented(out closure surface)\n"
    "{\n"
    "    vector at = 9 * vector(global_value<position>);\n"
    "    vector bent = 0.3 * vector(sin(at.x), sin(at.y + 1), sin(at.z + 2));\n"
    "    surface = make_closure<Conductor>(color(0.9), 0.2, normalize(global_value<normal> + "
    "normal(bent)));\n"
    "}\n"
    "shader dimpled(float roughness = 0.15, out closure surface)\n" /* otherwise from inside, as bumps are */
    "{\n"
    "    vector at = 9 * vector(global_value<position>);\n"
    "    vector bent = 0.2 * vector(sin(at.x), sin(at.y + 1), sin(at.z + 2));\n"
    "    surface = make_closure<Dielectric>(1.4, roughness, color(1), color(0.9), "
    "normalize(global_value<normal> + normal(bent)));\n"
    "}\n"
    "shader moody(out closure surface)\n" /* emits other light where the camera sees it */
    "{\n"
    "    surface = make_closure<Emission>(color(global_value<path_depth> == 0 ? 30 : 2));\n"
    "}\n"
    "shader pane(out closure surface)\n"
    "{\n"
    "    surface = 0.6 * make_closure<Transparent>(color(1, 0.8, 0.6))\n"
    "            + 0.4 * make_closure<Conductor>(color(1), 0.2, global_value<normal>);\n"
    "}\n"
    "shader mixed(out closure surface)\n"
    "{\n"
    "    surface = 0.4 * make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>)\n"
    "            + 0.3 * make_closure<Transparent>(color(1, 0.8, 0.6))\n"
    "            + 0.3 * make_closure<Lambert>(color(1), global_value<normal>);\n"
    "}\n"
    "shader facing(out closure surface)\n" /* a colour that depends on who looks */
    "{\n"
    "    float cosine = abs(dot(vector(global_value<normal>), global_value<I>));\n"
    "    surface = make_closure<Lambert>(color(cosine, 1 - cosine, 0.5), global_value<normal>);\n"
    "}\n"
    "shader card(out closure surface)\n" /* other light on either side and at every place */
    "{\n"
    "    float3 uv = global_value<uvw>;\n"
    "    float side = global_value<backfacing> ? 8 : 3;\n"
    "    surface = make_closure<Emission>(side * color(uv.x, 1, uv.y))\n"
    "            + make_closure<Lambert>(color(0.3), global_value<normal>);\n"
    "}\n"
    "shader sky(out closure surface)\n"
    "{\n"
    "    vector d = global_value<I>;\n"
    "    surface = make_closure<Emission>(color(1 + d.x, 1 + d.y, d.z > 0.9 ? 8 : 0.5));\n"
    "}\n";

/* Textures are read at their finest level, but for what the camera sees: so the former are compared without mip levels, the latter
 * with direct light alone. */
static const char textured_ssl[] =
    "texture2d paint;\n"
    "shader painted(out closure surface)\n"
    "{\n"
    "    const float3 uv = global_value<uvw>;\n"
    "    surface = make_closure<Lambert>(color(texture2d_sample<paint>(uv.x, uv.y)), "
    "global_value<normal>);\n"
    "}\n"
    "shader screen(out closure surface)\n"
    "{\n"
    "    const float3 uv = global_value<uvw>;\n"
    "    surface = make_closure<Emission>(9 * color(texture2d_sample<paint>(uv.x, 0.3 * uv.y)));\n"
    "}\n"
    "shader fine(out closure surface)\n" /* as bright as its footprint is long */
    "{\n"
    "    const float3 uv = global_value<uvw>;\n"
    "    const float size = fwidth(uv.x) + fwidth(uv.y);\n"
    "    surface = make_closure<Lambert>(color(saturate(1.5 * size)), global_value<normal>);\n"
    "}\n";

#define MATERIAL(name, entry, parameters)                                                          \
    "{\"name\": \"" name "\", \"shader\": \"shaders/s.ssl\", \"entry\": \"" entry                  \
    "\", \"parameters\": {" parameters "}}"
#define MATERIALS                                                                                                                                          \
    MATERIAL("matte", "matte", "")                                                                                                                         \
    ", " MATERIAL("bent", "bent", "") ", " MATERIAL("toon", "toon", "") ", " MATERIAL("shy", "shy", "") ", " MATERIAL("bumpy", "bumpy", "") ", " MATERIAL( \
        "metal", "metal",                                                                                                                                  \
        "") ", " MATERIAL("glass", "glass",                                                                                                                \
                          "") ", " MATERIAL("clear", "glass",                                                                                              \
                                            "\"roughness\": 0") ", " MATERIAL("mixed", "mixed",                                                            \
                                                                              "") ", " MATERIAL("facing",                                                  \
                                                                                                "facing",                                                  \
                                                                                                "") ", " MATERIAL("card",                                  \
                                                                                                                  "card",                                  \
                                                                                                                  "") ", " MATERIAL("sky",                 \
                                                                                                                                    "sky",                 \
                                                                                                                                    "")

#define TEXTURED(name)                                                                             \
    "{\"name\": \"" name "\", \"shader\": \"shaders/textured.ssl\", \"entry\": \"" name            \
    "\", \"textures\": {\"paint\": {\"file\": \"textures/paint.png\"}}}"
#define TEXTURED_MATERIALS ", " TEXTURED("painted") ", " TEXTURED("screen") ", " TEXTURED("fine")

typedef enum Lamp {
    LAMP_NONE,
    LAMP_POINT,
    LAMP_BULB, /* a point with a radius */
    LAMP_SPOT,
    LAMP_SPOT_BULB,
    LAMP_NARROW, /* a spot that shines on the floor alone */
    LAMP_RECTANGLE,
    LAMP_BEAM,  /* a rectangle with a spread */
    LAMP_SHEET, /* of two sides */
    LAMP_DISK,
    LAMP_BALL,
    LAMP_SUN, /* without a size */
    LAMP_WIDE_SUN
} Lamp;

typedef struct Case {
    const char *what;
    Lamp lamp;
    bool has_card;           /* a mesh that emits */
    const char *card;        /* its material; NULL: card */
    const char *environment; /* or NULL */
    const char *floor, *ball;
    double scale, offset; /* 0: 1; in metres */
    double aperture;
    const char *camera;      /* more fields, or NULL */
    const char *lamp_fields; /* likewise, after a comma */
    bool moves;              /* ball and card, while the shutter is open */
    /* The ball hangs below the lamp, out of the picture's lower half, which alone is looked at: the camera sees nothing in clear
     * glass. */
    bool is_high;
    bool is_small; /* the lamp, if it is a ball */
    bool has_pane; /* between the lamp and a ball that does not hang */
    bool has_black_wall;
    PixelFilterKind filter;
    float filter_width_px;
    bool guides;    /* path tracing does */
    bool is_smooth; /* the ball throws caustics without flags */
    bool
        is_alone; /* it is compared with paths from the camera alone, not with paths of light alone */
    bool walks; /* path tracing looks for the lamp through the ball (sort/integrator/caustics.h) */
    uint32_t path_samples; /* 0: SAMPLES */
    TexMip mip;
    uint32_t max_depth; /* 0: 6 */
} Case;

/* A ball whose normals are smooth, far from those of its few triangles. */
static void add_smooth_ball(const Kit *kit, StrBuf *meshes, uint32_t segments)
{
    StrBuf own = {0};
    kit_add_sphere(kit, &own, "ball", 1.0f, segments);
    const char *text = strbuf_text(&own), *positions = strstr(text, "\"positions\"");
    const char *end = strchr(positions, '}');
    assert_non_null(end);
    strbuf_printf(meshes, ",\n %.*s, \"normals\"%.*s%s", (int)(end + 1 - text), text,
                  (int)(end + 1 - positions - 11), positions + 11, end + 1);
    strbuf_free(&own);
}

static double scale_of(const Case *c)
{
    return c->scale > 0 ? c->scale : 1;
}

static void add_instance(StrBuf *out, const Case *c, const char *mesh, const char *material,
                         double size, const double p[3], bool moves, const char *more)
{
    double s = scale_of(c) * size, first = scale_of(c) * p[0] + c->offset;
    strbuf_printf(out, "%s{\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"], \"%s\": %s",
                  strbuf_text(out)[0] ? ", " : "", mesh, mesh, material,
                  moves ? "motion" : "transform", moves ? "[" : "");
    for (int key = 0; key <= moves; ++key)
        strbuf_printf(out, "%s[%.9g,0,0,%.9g, 0,%.9g,0,%.9g, 0,0,%.9g,%.9g, 0,0,0,1]",
                      key ? ", " : "", s * (1 + 0.5 * key), first + 0.4 * key * scale_of(c), s,
                      scale_of(c) * p[1], s, scale_of(c) * p[2] - c->offset);
    strbuf_printf(out, "%s%s}", moves ? "]" : "", more);
}

/* Radiance stays as it is at all scales; intensities grow with the square. */
static void add_lamp(StrBuf *out, const Case *c)
{
    const double p[3] = {-0.4, 1.7, 0.5};
    double s = scale_of(c), intensity = 2 * s * s;
    bool is_spot = c->lamp == LAMP_SPOT || c->lamp == LAMP_SPOT_BULB || c->lamp == LAMP_NARROW;
    int angle = c->lamp == LAMP_NARROW ? 30 : 50;
    strbuf_printf(out, "{\"name\": \"l\"");
    switch (c->lamp) {
    case LAMP_NONE:
        break;
    case LAMP_POINT:
    case LAMP_BULB:
    case LAMP_SPOT:
    case LAMP_SPOT_BULB:
    case LAMP_NARROW:
        strbuf_printf(out, ", \"type\": \"%s\", \"intensity\": [%.9g, %.9g, %.9g]",
                      is_spot ? "spot" : "point", intensity, intensity, 2 * intensity);
        if (is_spot)
            strbuf_printf(out, ", \"outer_angle_degrees\": %d, \"inner_angle_degrees\": 20", angle);
        if (c->lamp == LAMP_BULB || c->lamp == LAMP_SPOT_BULB)
            strbuf_printf(out, ", \"radius_m\": %.9g", 0.3 * s);
        break;
    case LAMP_RECTANGLE:
    case LAMP_BEAM:
    case LAMP_SHEET:
    case LAMP_DISK:
        strbuf_printf(out, ", \"type\": \"%s\", \"radiance\": [6, 6, 12], \"size\": [%.9g, %.9g]%s",
                      c->lamp == LAMP_DISK ? "area_ellipse" : "area_rectangle", s, 0.6 * s,
                      c->lamp == LAMP_BEAM    ? ", \"spread_degrees\": 50"
                      : c->lamp == LAMP_SHEET ? ", \"is_two_sided\": true"
                                              : "");
        break;
    case LAMP_BALL:
        strbuf_printf(out, ", \"type\": \"sphere\", \"radiance\": [6, 6, 12], \"radius_m\": %.9g",
                      (c->walks || c->is_small ? 0.06 : 0.25) * s);
        break;
    case LAMP_SUN:
    case LAMP_WIDE_SUN:
        strbuf_printf(out,
                      ", \"type\": \"distant\", \"irradiance\": [2, 2, 4], \"angle_degrees\": %d",
                      c->lamp == LAMP_SUN ? 0 : 20);
        break;
    }
    if (c->walks)
        strbuf_printf(out, ", \"is_caustics_light\": true");
    strbuf_printf(out, "%s, \"transform\": [1,0,0,%.9g, 0,0,1,%.9g, 0,-1,0,%.9g, 0,0,0,1]}",
                  c->lamp_fields ? c->lamp_fields : "", s * p[0] + c->offset, s * p[1],
                  s * p[2] - c->offset);
}

/* An image of loud texels, twice as wide as high. */
static void write_image(const Kit *kit, const char *name)
{
    enum { WIDTH = 32, HEIGHT = 16 };
    uint8_t pixels[WIDTH * HEIGHT * 3];
    for (size_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = hash_mix64(i) & 1 ? 230 : 40;
    kit_write_png(kit, name, WIDTH, HEIGHT, pixels);
}

/* An image of the sky that is black but for a sun of six degrees, above and behind the camera. */
static void write_sun(const Kit *kit, const char *name)
{
    enum { WIDTH = 64, HEIGHT = 32 };
    uint8_t pixels[WIDTH * HEIGHT * 3] = {0};
    for (uint32_t c = 0; c < 3; ++c)
        pixels[3 * (5 * WIDTH + 36) + c] = (uint8_t)(200 + 20 * c);
    kit_write_png(kit, name, WIDTH, HEIGHT, pixels);
}

static void write_case(const Kit *kit, const Case *c)
{
    StrBuf meshes = {0}, instances = {0}, light = {0};
    const double s = scale_of(c);
    const double eye[3] = {0.3, 1.2, 3.2}, target[3] = {0, 0.4, 0}, low[3] = {0.3, 0.45, 0.2},
                 high[3] = {-0.4, 1.1, 0.5}, none[3] = {0, 0, 0}, card[3] = {-0.6, 0.8, 0.2},
                 pane[3] = {0, 1.1, 0.3};
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-2, 0, 2}, {2, 0, 2}, {2, 0, -2}, {-2, 0, -2}});
    kit_add_quad(
        kit, &meshes, "wall",
        (const float[4][3]){{-2, -1, -1.2f}, {2, -1, -1.2f}, {2, 3, -1.2f}, {-2, 3, -1.2f}});
    kit_add_quad(
        kit, &meshes, "card",
        (const float[4][3]){{-.4f, -.2f, 0}, {.4f, -.2f, .2f}, {.4f, .2f, .2f}, {-.4f, .2f, 0}});
    if (c->has_pane)
        kit_add_quad(
            kit, &meshes, "pane",
            (const float[4][3]){{-.6f, 0, .6f}, {.6f, 0, .6f}, {.6f, 0, -.6f}, {-.6f, 0, -.6f}});
    add_smooth_ball(kit, &meshes, c->is_high ? 24 : 5);
    const char *receiver = c->walks ? ", \"is_caustics_receiver\": true" : "";
    add_instance(&instances, c, "floor", c->floor, 1, none, false, receiver);
    add_instance(&instances, c, "wall", c->has_black_wall ? "black" : "matte", 1, none, false,
                 receiver);
    add_instance(&instances, c, "ball", c->ball, 0.4, c->is_high ? high : low, c->moves,
                 c->walks ? ", \"is_caustics_caster\": true" : "");
    if (c->has_card)
        add_instance(&instances, c, "card", c->card ? c->card : "card", 1, card, c->moves, "");
    if (c->has_pane)
        add_instance(&instances, c, "pane", "pane", 1, pane, false, "");
    if (c->lamp != LAMP_NONE)
        add_lamp(&light, c);
    KitScene scene = {
        .width = SIDE,
        .height = SIDE,
        .samples = 1,
        .max_depth = c->max_depth ? c->max_depth : 6,
        .fov_y_degrees = 50,
        .camera = c->camera,
        .aperture_radius_m = (float)(c->aperture * s),
        .focus_distance_m = (float)(2.5 * s),
        .meshes = strbuf_text(&meshes),
        .instances = strbuf_text(&instances),
        .materials = MATERIALS TEXTURED_MATERIALS
        ", " MATERIAL("mirror", "metal", "\"roughness\": 0") ", " MATERIAL("black", "matte", "\"albedo\": [0, 0, 0]") ", " MATERIAL("satin", "satin", "") ", " MATERIAL("half", "satin", "\"share\": 0.5") ", " MATERIAL(
            "frosted", "glass",
            "\"roughness\": 0.2") ", " MATERIAL("glaze", "glaze",
                                                "") ", " MATERIAL("pane", "pane",
                                                                  "") ", " MATERIAL("dented",
                                                                                    "dented",
                                                                                    "") ","
                                                                                        " " MATERIAL("dimpled", "dimpled", "") ", " MATERIAL(
                                                                                            "ripple"
                                                                                            "s",
                                                                                            "dimple"
                                                                                            "d",
                                                                                            "\"roug"
                                                                                            "hness"
                                                                                            "\": 0") ", " MATERIAL("moody",
                                                                                                                   "moody",
                                                                                                                   ""),
        .lights = c->lamp != LAMP_NONE ? strbuf_text(&light) : NULL,
        .environment = c->environment};
    for (int k = 0; k < 3; ++k) {
        double offset = k == 0 ? c->offset : k == 2 ? -c->offset : 0;
        scene.eye[k] = (float)(s * eye[k] + offset);
        scene.target[k] = (float)(s * target[k] + offset);
    }
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_write_text(kit, "shaders/textured.ssl", textured_ssl);
    write_image(kit, "textures/paint.png");
    write_sun(kit, "textures/sun.png");
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&light);
}

/* Sums over the seeds of the means of blocks and of their squares, by block and channel. */
typedef struct Sums {
    double sum[BLOCKS][3], square[BLOCKS][3];
} Sums;

/* is_first: the seeds are those of the first of two pictures. */
static void measure(const Kit *kit, const Case *c, WaveView view, bool is_first, uint32_t samples,
                    Sums *out)
{
    RenderOptions options = kit_options(kit);
    options.view = view;
    options.sampler = SAMPLER_INDEPENDENT;
    options.filter = c->filter;
    options.filter_width_px = c->filter_width_px;
    options.mip = c->mip;
    if (c->guides && view == WAVE_VIEW_NONE)
        options.guiding = 1 + SCENE_GUIDING_ON;
    options.caustics = 1 + (c->is_smooth  ? SCENE_CAUSTICS_ALL
                            : c->is_alone ? SCENE_CAUSTICS_FLAGS
                                          : SCENE_CAUSTICS_AUTO);
    SETTING_SET(options.settings, samples, samples);
    memset(out, 0, sizeof *out);
    Render *render = NULL;
    for (uint32_t seed = 0; seed < SEEDS; ++seed) {
        Error err = {0};
        uint32_t count;
        SETTING_SET(options.settings, seed, seed + (is_first ? 1 : 100));
        if (!render) {
            render = kit_render(kit, &options);
        } else {
            assert_int_equal(render_again(render, &options, &err), STATUS_OK);
            assert_int_equal(render_run(render, &err), STATUS_OK);
        }
        RenderStats stats;
        render_stats(render, &stats);
        bool looks = (c->walks || c->is_smooth) && view == WAVE_VIEW_NONE;
        if (looks != (stats.wave.caustic_paths > 0))
            fail_msg("%s: %llu paths of light for caustics", c->what,
                     (unsigned long long)stats.wave.caustic_paths);
        float *rgba = kit_pixels(render, &count);
        double mean[BLOCKS][3] = {{0}};
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t k = 0; k < 3; ++k)
                mean[i / SIDE / BLOCK * (SIDE / BLOCK) + i % SIDE / BLOCK][k] +=
                    (double)rgba[4 * i + k] / (BLOCK * BLOCK);
        for (uint32_t b = 0; b < BLOCKS; ++b)
            for (uint32_t k = 0; k < 3; ++k) {
                out->sum[b][k] += mean[b][k];
                out->square[b][k] += mean[b][k] * mean[b][k];
            }
        mem_free(rgba);
    }
    render_destroy(render);
}

/* The mean over the seeds, and the variance of that. */
static double mean_of(const Sums *s, uint32_t b, uint32_t k, double *out_variance)
{
    double mean = s->sum[b][k] / (double)SEEDS;
    *out_variance = fmax(s->square[b][k] / (double)SEEDS - mean * mean, 0) / (double)(SEEDS - 1);
    return mean;
}

/* Compares a case. Returns the largest |z|. *out_ratio: the variance of paths of light over that of paths from the camera, for equal
 * numbers of samples. */
static double compare(const Kit *kit, const Case *c, double *out_ratio)
{
    Sums path, light;
    uint32_t path_samples = c->path_samples ? c->path_samples : SAMPLES;
    double path_variance = 0, light_variance = 0;
    double worst = 0;
    write_case(kit, c);
    measure(kit, c, WAVE_VIEW_NONE, true, path_samples, &path);
    Case rival = *c;
    rival.is_smooth &= !c->is_alone;
    measure(kit, &rival, c->is_alone ? WAVE_VIEW_NONE : WAVE_VIEW_LIGHT, false,
            c->is_alone ? path_samples : SAMPLES, &light);
    for (uint32_t b = c->is_high ? BLOCKS / 2 : 0; b < BLOCKS; ++b)
        for (uint32_t k = 0; k < 3; k += 2) {
            double vp, vl, p = mean_of(&path, b, k, &vp), l = mean_of(&light, b, k, &vl);
            double z = (l - p) / sqrt(vp + vl + 1e-12 * p * p + 1e-30);
            path_variance += vp * path_samples, light_variance += vl * (double)SAMPLES;
            if (!(fabs(z) <= worst))
                worst = fabs(z);
        }
    *out_ratio = light_variance / path_variance;
    return worst;
}

static void assert_agrees(const Kit *kit, const Case *c)
{
    double ratio, worst = compare(kit, c, &ratio);
    if (!(worst <= Z_MAX))
        fail_msg("%s: z = %g", c->what, worst);
}

#define GRAY_SKY   "{\"color\": [0.5, 0.6, 0.9]}"
#define SHADER_SKY "{\"material\": \"sky\"}"
#define IMAGE_SKY  "{\"image\": {\"file\": \"textures/paint.png\"}, \"strength\": 2}"
static const Case cases[] = {
    {"point", LAMP_POINT, .floor = "matte", .ball = "matte"},
    {"bulb", LAMP_BULB, .floor = "matte", .ball = "matte"},
    {"spot", LAMP_SPOT, .floor = "matte", .ball = "matte"},
    {"spot bulb", LAMP_SPOT_BULB, .floor = "matte", .ball = "matte"},
    {"rectangle", LAMP_RECTANGLE, .floor = "matte", .ball = "matte"},
    {"beam", LAMP_BEAM, .floor = "matte", .ball = "matte"},
    {"sheet", LAMP_SHEET, .floor = "matte", .ball = "matte"},
    {"disk", LAMP_DISK, .floor = "matte", .ball = "matte"},
    {"ball", LAMP_BALL, .floor = "matte", .ball = "matte"},
    {"sun", LAMP_SUN, .floor = "matte", .ball = "matte"},
    {"wide sun", LAMP_WIDE_SUN, .floor = "matte", .ball = "matte"},
    {"card", LAMP_NONE, true, .floor = "matte", .ball = "matte"},
    {"sky", LAMP_NONE, .environment = GRAY_SKY, .floor = "matte", .ball = "matte"},
    {"shader sky", LAMP_NONE, .environment = SHADER_SKY, .floor = "matte", .ball = "matte"},
    {"image sky", LAMP_NONE, .environment = IMAGE_SKY, .floor = "matte", .ball = "metal",
     .mip = TEX_MIP_OFF},
    {"screen", LAMP_NONE, true, .card = "screen", .floor = "matte", .ball = "matte",
     .mip = TEX_MIP_OFF},
    {"painted", LAMP_RECTANGLE, true, .card = "screen", .environment = IMAGE_SKY,
     .floor = "painted", .ball = "painted", .mip = TEX_MIP_OFF},
    {"painted, seen", LAMP_RECTANGLE, .floor = "painted", .ball = "painted", .max_depth = 1},
    {"fine", LAMP_RECTANGLE, .floor = "fine", .ball = "fine", .max_depth = 1},
    {"fine, lens", LAMP_RECTANGLE, .floor = "fine", .ball = "fine", .max_depth = 1,
     .aperture = 0.2},
    {"all", LAMP_RECTANGLE, true, .environment = GRAY_SKY, .floor = "matte", .ball = "matte"},
    {"permeable", LAMP_BALL, true, .floor = "matte", .ball = "matte",
     .lamp_fields = ", \"is_solid\": false"},
    {"bumpy", LAMP_RECTANGLE, .floor = "bumpy", .ball = "bumpy"},
    {"bent", LAMP_NARROW, .floor = "bent", .ball = "matte"},
    {"toon", LAMP_NARROW, .floor = "toon", .ball = "matte"},
    {"shy", LAMP_NARROW, .floor = "shy", .ball = "matte"},
    {"metal", LAMP_RECTANGLE, .floor = "metal", .ball = "metal"},
    {"rough glass", LAMP_RECTANGLE, .floor = "matte", .ball = "glass"},
    {"glass floor", LAMP_RECTANGLE, .floor = "glass", .ball = "bumpy"},
    {"facing", LAMP_RECTANGLE, .floor = "facing", .ball = "facing"},
    {"mixed", LAMP_BALL, .floor = "matte", .ball = "mixed", .is_high = true},
    {"clear", LAMP_BALL, .floor = "matte", .ball = "clear", .is_high = true},
    {"clear, sky", LAMP_NONE, .environment = GRAY_SKY, .floor = "matte", .ball = "clear",
     .is_high = true},
    {"clear, bulb", LAMP_BULB, .floor = "matte", .ball = "clear", .is_high = true,
     .lamp_fields = ", \"is_solid\": false"},
    {"small", LAMP_RECTANGLE, true, .floor = "matte", .ball = "glass", .scale = 1e-3},
    {"large", LAMP_RECTANGLE, true, .floor = "matte", .ball = "glass", .scale = 1e3},
    {"far", LAMP_RECTANGLE, true, .floor = "matte", .ball = "glass", .offset = 1e4},
    {"lens", LAMP_RECTANGLE, .floor = "matte", .ball = "matte", .aperture = 0.2},
    {"blades", LAMP_RECTANGLE, .floor = "matte", .ball = "matte", .aperture = 0.3,
     .camera = "\"aperture_blades\": 5, \"aperture_ratio\": 1.5, \"clip_m\": [2.9, 4]"},
    {"filter", LAMP_RECTANGLE, .floor = "matte", .ball = "matte", .filter = PIXEL_FILTER_GAUSSIAN,
     .filter_width_px = 5},
    {"box", LAMP_RECTANGLE, .floor = "matte", .ball = "matte", .filter = PIXEL_FILTER_BOX,
     .filter_width_px = 1},
    {"moving", LAMP_NONE, true, .environment = GRAY_SKY, .floor = "matte", .ball = "matte",
     .moves = true},
};

static void test_cases(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_agrees(&kit, &cases[i]);
    }
    kit_end(&kit);
}

/* The light of a small lamp through a ball of glass: paths of light agree with walks, and paths that find it by chance have at
 * least 25 times their variance, a fifth of which the error is. */
static void test_caustic(void **state)
{
    (void)state;
    Kit kit;
    double ratio;
    Case c = {"caustic",       LAMP_BALL,     .floor = "matte",   .ball = "clear",
              .is_high = true, .walks = true, .path_samples = 128};
    kit_begin(&kit);
    double worst = compare(&kit, &c, &ratio);
    if (!(worst <= Z_MAX))
        fail_msg("with walks: z = %g", worst);
    c.walks = false, c.is_small = true;
    worst = compare(&kit, &c, &ratio);
    if (!(worst <= Z_MAX) || !(ratio < 0.04))
        fail_msg("without walks: z = %g, ratio of variances %g", worst, ratio);
    kit_end(&kit);
}

/* Paths of light that look for caustics beside paths from the camera: they share what both find, and find the rest alone. What lamps
 * without a size send to the floor by way of the wall, after reflection by the ball, neither finds: there the wall is black. */
static const Case caustic_cases[] = {
    {"point", LAMP_POINT, .floor = "matte", .ball = "clear"},
    {"bulb", LAMP_BULB, .floor = "matte", .ball = "clear", .lamp_fields = ", \"is_solid\": false"},
    {"spot", LAMP_SPOT, .floor = "matte", .ball = "clear"},
    {"spot bulb", LAMP_SPOT_BULB, .floor = "matte", .ball = "clear"},
    {"rectangle", LAMP_RECTANGLE, .floor = "matte", .ball = "clear"},
    {"beam", LAMP_BEAM, .floor = "matte", .ball = "clear"},
    {"sheet", LAMP_SHEET, .floor = "matte", .ball = "clear"},
    {"disk", LAMP_DISK, .floor = "matte", .ball = "clear"},
    {"ball", LAMP_BALL, .floor = "matte", .ball = "clear"},
    {"sun", LAMP_SUN, .floor = "matte", .ball = "clear"},
    {"wide sun", LAMP_WIDE_SUN, .floor = "matte", .ball = "clear"},
    {"mixed", LAMP_BALL, .floor = "matte", .ball = "mixed"},
    {"mirror", LAMP_BALL, .floor = "matte", .ball = "mirror"},
    {"glossy floor", LAMP_BALL, .floor = "metal", .ball = "clear"},
    {"bumpy floor", LAMP_BALL, .floor = "bumpy", .ball = "clear"},
    {"floor that looks", LAMP_RECTANGLE, .floor = "facing", .ball = "clear"},
    {"small", LAMP_BALL, .floor = "matte", .ball = "clear", .scale = 1e-3},
    {"large", LAMP_BALL, .floor = "matte", .ball = "clear", .scale = 1e3},
    {"far", LAMP_RECTANGLE, .floor = "matte", .ball = "clear", .offset = 1e4},
    {"lens", LAMP_BALL, .floor = "matte", .ball = "clear", .aperture = 0.2},
    {"filter", LAMP_BALL, .floor = "matte", .ball = "clear", .filter = PIXEL_FILTER_GAUSSIAN,
     .filter_width_px = 5},
    {"moving", LAMP_BALL, .floor = "matte", .ball = "clear", .moves = true},
    {"sun in an image", LAMP_NONE, .floor = "matte", .ball = "clear", .mip = TEX_MIP_OFF,
     .environment = "{\"image\": {\"file\": \"textures/sun.png\"}, \"strength\": 90, "
                    "\"is_caustics_light\": true}"},
    {"two bounces", LAMP_BALL, .floor = "matte", .ball = "clear", .max_depth = 3},
};

/* Without flags: the lights that paths from the camera meet, meshes too. */
static const Case smooth_cases[] = {
    {"card", LAMP_NONE, true, .floor = "matte", .ball = "clear"},
    {"screen", LAMP_NONE, true, .card = "screen", .floor = "matte", .ball = "clear",
     .mip = TEX_MIP_OFF},
    {"guided", LAMP_BALL, true, .floor = "matte", .ball = "clear", .guides = true},
    {"guided, mixed", LAMP_NONE, true, .floor = "metal", .ball = "mixed", .guides = true},
    {"moving card", LAMP_BALL, true, .floor = "matte", .ball = "clear", .moves = true},
    {"card and ball", LAMP_BALL, true, .floor = "matte", .ball = "clear"},
    {"card and bulb", LAMP_BULB, true, .floor = "matte", .ball = "clear",
     .lamp_fields = ", \"is_solid\": false"},
    {"card and sky", LAMP_NONE, true, .environment = GRAY_SKY, .floor = "matte", .ball = "clear"},
    {"wide sun", LAMP_WIDE_SUN, .floor = "matte", .ball = "clear"},
    {"mixed", LAMP_NONE, true, .floor = "matte", .ball = "mixed"},
    {"mirror", LAMP_NONE, true, .floor = "matte", .ball = "mirror"},
    {"metal floor", LAMP_NONE, true, .floor = "metal", .ball = "clear"},
    {"bumpy floor", LAMP_NONE, true, .floor = "bumpy", .ball = "clear"},
    {"floor that looks", LAMP_NONE, true, .floor = "facing", .ball = "clear"},
    {"glass floor", LAMP_NONE, true, .floor = "glass", .ball = "clear"},
    {"small", LAMP_NONE, true, .floor = "matte", .ball = "clear", .scale = 1e-3},
    {"large", LAMP_NONE, true, .floor = "matte", .ball = "clear", .scale = 1e3},
    {"far", LAMP_NONE, true, .floor = "matte", .ball = "clear", .offset = 1e4},
    {"lens", LAMP_NONE, true, .floor = "matte", .ball = "clear", .aperture = 0.2},
    {"two bounces", LAMP_NONE, true, .floor = "matte", .ball = "clear", .max_depth = 3},
    {"three bounces", LAMP_NONE, true, .floor = "matte", .ball = "clear", .max_depth = 4},
};

static void test_smooth(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof smooth_cases / sizeof *smooth_cases; ++i) {
        Case c = smooth_cases[i];
        c.is_smooth = c.is_high = true;
        c.path_samples = 4 * SAMPLES;
        assert_agrees(&kit, &c);
    }
    kit_end(&kit);
}

/* Casters with a blur, to which light sampling brings light, too. Compared with scattering and light sampling alone, since paths of
 * light alone have rare bright splats where a floor is glossy. With so many samples the pane tells whether the shadow rays that it
 * meets get back what paths of light do not bring through it (z = 14 if not, with twice as many). */
static const Case glossy_cases[] = {
    {"rectangle", LAMP_RECTANGLE, .floor = "matte", .ball = "satin"},
    {"beam", LAMP_BEAM, .floor = "matte", .ball = "satin"},
    {"sheet", LAMP_SHEET, .floor = "matte", .ball = "satin"},
    {"disk", LAMP_DISK, .floor = "matte", .ball = "satin"},
    {"ball", LAMP_BALL, .floor = "matte", .ball = "satin"},
    {"wide sun", LAMP_WIDE_SUN, .floor = "matte", .ball = "satin"},
    {"bulb", LAMP_BULB, .floor = "matte", .ball = "satin", .lamp_fields = ", \"is_solid\": false"},
    {"card", LAMP_NONE, true, .floor = "matte", .ball = "satin"},
    {"screen", LAMP_NONE, true, .card = "screen", .floor = "matte", .ball = "satin",
     .mip = TEX_MIP_OFF},
    {"card, ball and sky", LAMP_BALL, true, .environment = GRAY_SKY, .floor = "matte",
     .ball = "satin"},
    {"sky", LAMP_NONE, .environment = IMAGE_SKY, .floor = "matte", .ball = "satin",
     .mip = TEX_MIP_OFF},
    {"sun in an image", LAMP_NONE, .floor = "matte", .ball = "satin", .mip = TEX_MIP_OFF,
     .environment = "{\"image\": {\"file\": \"textures/sun.png\"}, \"strength\": 90}"},
    {"permeable", LAMP_BALL, true, .floor = "matte", .ball = "satin",
     .lamp_fields = ", \"is_solid\": false"},
    {"pane", LAMP_BALL, .has_pane = true, .is_small = true, .floor = "matte", .ball = "satin",
     .path_samples = 8192},
    {"pane and sky", LAMP_NONE, .has_pane = true, .floor = "matte", .ball = "satin",
     .mip = TEX_MIP_OFF,
     .environment = "{\"image\": {\"file\": \"textures/sun.png\"}, \"strength\": 90}"},
    {"mixed floor", LAMP_BALL, .floor = "mixed", .ball = "satin"},
    {"frosted", LAMP_BALL, .floor = "matte", .ball = "frosted"},
    {"frosted, card", LAMP_NONE, true, .floor = "matte", .ball = "frosted"},
    {"half", LAMP_BALL, .floor = "matte", .ball = "half"},
    {"glaze", LAMP_BALL, .floor = "matte", .ball = "glaze"},
    {"glaze, card", LAMP_NONE, true, .floor = "metal", .ball = "glaze"},
    {"dented", LAMP_BALL, .floor = "matte", .ball = "dented"},
    {"dimpled", LAMP_RECTANGLE, .floor = "matte", .ball = "dimpled", .path_samples = 2048},
    {"ripples", LAMP_RECTANGLE, .floor = "matte", .ball = "ripples", .path_samples = 2048},
    {"moody card", LAMP_BALL, true, .card = "moody", .floor = "matte", .ball = "clear"},
    {"satin floor", LAMP_BALL, .floor = "satin", .ball = "satin"},
    {"satin floor, clear ball", LAMP_BALL, .floor = "satin", .ball = "clear"},
    {"half floor, frosted ball", LAMP_BALL, .floor = "half", .ball = "frosted"},
    {"metal floor", LAMP_BALL, true, .floor = "metal", .ball = "satin"},
    {"bumpy floor", LAMP_BALL, .floor = "bumpy", .ball = "satin"},
    {"floor that looks", LAMP_RECTANGLE, .floor = "facing", .ball = "satin"},
    {"guided", LAMP_BALL, true, .floor = "matte", .ball = "satin", .guides = true},
    {"moving", LAMP_BALL, true, .floor = "matte", .ball = "satin", .moves = true},
    {"small", LAMP_NONE, true, .floor = "matte", .ball = "satin", .scale = 1e-3},
    {"large", LAMP_BALL, .floor = "matte", .ball = "satin", .scale = 1e3},
    {"far", LAMP_RECTANGLE, true, .floor = "matte", .ball = "satin", .offset = 1e4},
    {"lens", LAMP_NONE, true, .floor = "matte", .ball = "satin", .aperture = 0.2},
    {"two bounces", LAMP_BALL, true, .floor = "matte", .ball = "satin", .max_depth = 3},
    {"three bounces", LAMP_BALL, true, .floor = "matte", .ball = "satin", .max_depth = 4},
};

static void test_glossy(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof glossy_cases / sizeof *glossy_cases; ++i) {
        Case c = glossy_cases[i];
        c.is_smooth = c.is_alone = true;
        c.is_high = i % 2 != 0 && !c.has_pane;
        if (c.path_samples == 0)
            c.path_samples = 4 * SAMPLES;
        assert_agrees(&kit, &c);
    }
    kit_end(&kit);
}

static void test_caustic_paths(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof caustic_cases / sizeof *caustic_cases; ++i) {
        Case c = caustic_cases[i];
        c.walks = c.is_high = true;
        c.path_samples = 4 * SAMPLES;
        assert_agrees(&kit, &c);
    }
    kit_end(&kit);
}

/* A trial finds where paths of light pay, and leaves other pictures as they are, to the bit. */
static void test_trial(void **state)
{
    (void)state;
    static const struct {
        Case c;
        bool tries, looks;
    } trials[] = {
        {{"small lamp", LAMP_BALL, .is_small = true, .floor = "matte", .ball = "clear"},
         true,
         true},
        {{"even sky", LAMP_NONE, .environment = GRAY_SKY, .floor = "matte", .ball = "clear"},
         true,
         false},
        {{"rough ball", LAMP_BALL, .is_small = true, .floor = "matte", .ball = "satin"},
         true,
         true},
        {{"matte ball", LAMP_BALL, .is_small = true, .floor = "matte", .ball = "facing"},
         false,
         false},
    };
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; ++i) {
        RenderStats stats;
        write_case(&kit, &trials[i].c);
        RenderOptions options = kit_options(&kit);
        options.width_px = options.height_px = 128;
        Hash128 bits = kit_render_bits(&kit, &options, &stats);
        if ((stats.caustics.seconds > 0) != trials[i].tries ||
            (stats.wave.caustic_paths > 0) != trials[i].looks)
            fail_msg("%s: gain %g", trials[i].c.what, stats.caustics.gain);
        options.caustics = 1 + SCENE_CAUSTICS_FLAGS;
        Hash128 alone = kit_render_bits(&kit, &options, &stats);
        assert_true(stats.wave.caustic_paths == 0);
        assert_int_equal(memcmp(&bits, &alone, sizeof bits) != 0, trials[i].looks);
        options.caustics = 0;
        options.width_px = 127;
        Render *small = kit_render(&kit, &options);
        render_stats(small, &stats);
        assert_true(stats.caustics.seconds == 0);
        render_destroy(small);
    }
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),         cmocka_unit_test(test_caustic),
        cmocka_unit_test(test_caustic_paths), cmocka_unit_test(test_smooth),
        cmocka_unit_test(test_glossy),        cmocka_unit_test(test_trial)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
