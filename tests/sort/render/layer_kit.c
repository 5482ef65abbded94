#include "tests/sort/render/layer_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"

enum { SIDE = 4, SAMPLES = 256, PIXELS = SIDE * SIDE };

const LayerPlace layer_places[LAYER_PLACES] = {
    {1, {0, 0, 0}}, {1e-3, {0.5, -0.25, 0.125}}, {1e5, {3e5, 1e5, -2e5}}, {1, {5000, -3000, 800}}};

void layer_write_scene(const Kit *kit, const LayerPlace *place, const LayerQuad *quads,
                       size_t count, float eye_height, KitScene scene)
{
    StrBuf meshes = {0}, instances = {0};
    for (size_t i = 0; i < count; ++i) {
        float corners[4][3];
        for (int k = 0; k < 4; ++k)
            for (int c = 0; c < 3; ++c)
                corners[k][c] = (float)(quads[i].corners[k][c] * place->scale + place->move[c]);
        kit_add_quad(kit, &meshes, quads[i].name, (const float(*)[3])corners);
        strbuf_printf(
            &instances, "%s{\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"]%s}",
            i ? ", " : "", quads[i].name, quads[i].name, quads[i].material, quads[i].fields);
    }
    scene.width = scene.height = SIDE;
    scene.samples = SAMPLES;
    scene.max_depth = 2;
    scene.fov_y_degrees = 0.05f;
    for (int c = 0; c < 3; ++c)
        scene.target[c] = scene.eye[c] = (float)place->move[c];
    scene.eye[2] += eye_height * (float)place->scale;
    scene.meshes = strbuf_text(&meshes);
    scene.instances = strbuf_text(&instances);
    scene.environment = "{\"color\": [0.2, 0.2, 0.2]}";
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&instances);
}

/* Each of the PIXELS * SAMPLES rays of a channel is clear or not, so that the error of the mean is at most that of a coin: 5 standard
 * errors are exceeded once in two million channels. */
void layer_check(const Kit *kit, const LayerPlace *place, FilmAov layer, const double expected[3],
                 const char *what)
{
    RenderOptions options = kit_options(kit);
    options.sampler = SAMPLER_INDEPENDENT;
    options.aovs = FILM_AOV_BIT(layer);
    Render *render = kit_render(kit, &options);
    float *values = kit_aov(render, layer);
    for (int c = 0; c < 3; ++c) {
        double mean = 0, p = expected[c];
        for (int i = 0; i < PIXELS; ++i)
            mean += (double)values[3 * i + c] / PIXELS;
        double error = sqrt(fmax(p * (1 - p), 0) / (PIXELS * SAMPLES));
        if (!(fabs(mean - p) <= 5 * error + 2e-6))
            fail_msg("%s, scale %g, channel %d: %.6f instead of %.6f +- %.6f", what, place->scale,
                     c, mean, p, error);
    }
    mem_free(values);
    render_destroy(render);
}
