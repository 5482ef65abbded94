/* The balance of energy in a box like Cornell's, which has no closed form: what the lamp emits is absorbed by the walls
 * or leaves through the open side. Each part is measured by a picture of its own.
 *
 * The room is a cube of one metre, open at the front. From its middle a view of 90 degrees fits a wall exactly, and its
 * pixels are equal parts of it. Of a diffuse wall that reflects rho and shows L on average, the flux absorbed is
 * (1 - rho) / rho pi (L - Le) A. In the open side stands a white diffuse sheet that only the camera sees: it shows E / pi
 * of what arrives there, and no other ray knows of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "tests/sort/render/render_kit.h"

enum { FACES = 6, SIDE = 24, SAMPLES = 256, FRONT = 5 };

#define PI           3.14159265358979323846
#define LAMP_WIDTH   0.4 /* of the ceiling, over all its depth */
#define LAMP_EMITS   10.0
#define CEILING      1
#define SIGNIFICANCE 4.9 /* standard errors: a false alarm in a million */

/* Floor, ceiling, left, right, back; the front is open. The whites, red and green of the measured box. */
static const double reflects[FACES] = {0.725, 0.725, 0.63, 0.14, 0.725, 0};

static const char ssl[] =
    "shader wall(float albedo = 0.5, float radiance = 0, out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(color(albedo), global_value<normal>) + "
    "make_closure<Emission>(color(radiance));\n}\n";

/* Turns the face into the view, which looks along -z. */
static float3 turn(int face, float3 p)
{
    switch (face) {
    case 0:
        return f3(p.x, -p.z, p.y);
    case CEILING:
        return f3(p.x, p.z, -p.y);
    case 2:
        return f3(-p.z, p.y, p.x);
    case 3:
        return f3(p.z, p.y, -p.x);
    case FRONT:
        return f3(-p.x, p.y, -p.z);
    default:
        return p;
    }
}

/* The part of a face from x0 to x1, as it lies in the view of another. */
static void add_part(const Kit *kit, StrBuf *meshes, const char *name, int face, float x0, float x1,
                     int viewed)
{
    const float at[4][2] = {{x0, -0.5f}, {x1, -0.5f}, {x1, 0.5f}, {x0, 0.5f}};
    float corners[4][3];
    for (int i = 0; i < 4; ++i) {
        float3 p = f3(at[i][0], at[i][1], -0.5f);
        /* From the view to the face: three turns undo one, of a quarter or a half. */
        for (int k = 0; k < 3; ++k)
            p = turn(face, p);
        p = turn(viewed, p);
        corners[i][0] = p.x, corners[i][1] = p.y, corners[i][2] = p.z;
    }
    kit_add_quad(kit, meshes, name, corners);
}

static void add_instance(StrBuf *instances, const char *name, const char *more)
{
    strbuf_printf(instances, "%s{\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"]%s}",
                  instances->size_bytes ? ", " : "", name, name, name, more);
}

static void add_material(StrBuf *materials, const char *name, double albedo, double radiance)
{
    strbuf_printf(
        materials,
        "%s{\"name\": \"%s\", \"shader\": \"shaders/s.ssl\", \"parameters\": {\"albedo\": "
        "%.9g, \"radiance\": %.9g}}",
        materials->size_bytes ? ", " : "", name, albedo, radiance);
}

static void write_room(const Kit *kit, int viewed)
{
    static const char *const names[FACES] = {"floor", "ceiling", "left", "right", "back", "sheet"};
    const float half_lamp = (float)LAMP_WIDTH / 2;
    StrBuf meshes = {0}, instances = {0}, materials = {0};
    for (int face = 0; face < FACES; ++face) {
        float end = face == CEILING ? -half_lamp : 0.5f;
        add_part(kit, &meshes, names[face], face, -0.5f, end, viewed);
        add_instance(&instances, names[face],
                     face == FRONT
                         ? ", \"invisible_to\": [\"diffuse\", \"glossy\", \"transmission\", "
                           "\"shadow\"]"
                         : "");
        add_material(&materials, names[face], face == FRONT ? 1 : reflects[face], 0);
    }
    add_part(kit, &meshes, "lamp", CEILING, -half_lamp, half_lamp, viewed);
    add_part(kit, &meshes, "beside", CEILING, half_lamp, 0.5f, viewed);
    add_instance(&instances, "lamp", "");
    add_instance(&instances, "beside", "");
    add_material(&materials, "lamp", reflects[CEILING], LAMP_EMITS);
    add_material(&materials, "beside", reflects[CEILING], 0);
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_write_scene(kit, &(KitScene){.width = SIDE,
                                     .height = SIDE,
                                     .samples = SAMPLES,
                                     .max_depth = 200,
                                     .target = {0, 0, -1},
                                     .fov_y_degrees = 90,
                                     .meshes = strbuf_text(&meshes),
                                     .instances = strbuf_text(&instances),
                                     .materials = strbuf_text(&materials)});
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&materials);
}

/* The mean radiance of a face, and the variance of that. Samples are independent, so that the variance is known. */
static void measure(int face, double *out_mean, double *out_variance)
{
    Kit kit;
    kit_begin(&kit);
    write_room(&kit, face);
    RenderOptions options = kit_options(&kit);
    options.sampler = SAMPLER_INDEPENDENT;
    SETTING_SET(options.settings, seed, (uint32_t)face);
    options.filter = PIXEL_FILTER_BOX;
    options.filter_width_px = 1;
    options.aovs = FILM_AOV_BIT(FILM_AOV_VARIANCE);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count), *variance = kit_aov(render, FILM_AOV_VARIANCE);
    *out_mean = *out_variance = 0;
    for (uint32_t i = 0; i < count; ++i) {
        *out_mean += (double)rgba[4 * i] / count;
        *out_variance += (double)variance[i] / count / count;
    }
    mem_free(rgba);
    mem_free(variance);
    render_destroy(render);
    kit_end(&kit);
}

static void test_balance_of_an_open_room(void **state)
{
    (void)state;
    const double emitted = PI * LAMP_EMITS * LAMP_WIDTH;
    double sum = 0, variance = 0, escaped = 0;
    for (int face = 0; face < FACES; ++face) {
        double mean, error_squared;
        measure(face, &mean, &error_squared);
        double own = face == CEILING ? LAMP_EMITS * LAMP_WIDTH : 0;
        double weight = face == FRONT ? PI : PI * (1 - reflects[face]) / reflects[face];
        sum += weight * (mean - own);
        variance += weight * weight * error_squared;
        if (face == FRONT)
            escaped = weight * mean;
    }
    double error = sqrt(variance);
    if (!(fabs(sum - emitted) <= SIGNIFICANCE * error))
        fail_msg("emitted %g; absorbed and escaped %g +- %g", emitted, sum, error);
    /* The sum is known, and every part of it matters. */
    assert_true(error < 0.002 * emitted);
    assert_true(escaped > 0.1 * emitted && escaped < 0.9 * emitted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_balance_of_an_open_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
