/* What a gradient by the texels of a texture costs: nanoseconds a point of a shader that looks up a picture, and of its backward unit
 * with the exact sums of what texels get, by how large the footprints are. */
#include "base/thread.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/bench_ssl_host.h"
#include "tools/ssl_kit/grid_sum.h"

enum { WIDTH = 256, HEIGHT = 64, POINTS = WIDTH * HEIGHT, TEXELS = 256 };
static const SslGlobalRow globals[] = {{"u", SSL_FLOAT2, true, "", ""}};

static const char source[] =
    "texture2d paint; texture2d grain;\n"
    "shader main(float k = 0.7, out color o) { const float2 p = global_value<u>;\n"
    "  const float4 g = texture2d_sample_rgba<grain>(4 * p.x, 4 * p.y);\n"
    "  o = texture2d_sample<paint>(p.x, p.y) * (k + g.x * g.y) + color(g.z * exp(-k * g.w)); }\n";

static SslUnit *differentiate(const SslUnit *unit)
{
    const SslDerivativeInput inputs[] = {{SSL_INPUT_TEXTURE, "paint"},
                                         {SSL_INPUT_TEXTURE, "grain"}};
    const char *const output = "o";
    const SslDerivativeDesc how = {.size_bytes = sizeof how,
                                   .is_backward = true,
                                   .inputs = inputs,
                                   .input_count = 2,
                                   .outputs = &output,
                                   .output_count = 1};
    Error err = {0};
    DiagList *diags = diag_list_create();
    SslUnit *made;
    if (ssl_unit_differentiate(unit, &how, diags, &made, &err) != STATUS_OK)
        bench_die("derivative", &err, diags);
    diag_list_destroy(diags);
    return made;
}

/* step: the width of a pixel in texels. */
static GridHost *make_host(SslProgram *program, TexPicture *picture, float step)
{
    Error err = {0};
    GridHost *host;
    if (grid_host_create(program, globals, 1, POINTS, &host, &err) != STATUS_OK)
        bench_die("host", &err, NULL);
    grid_host_watch(host, GRID_WATCH_NONE);
    for (uint32_t slot = 0; slot < 2; ++slot)
        grid_host_set_picture(host, slot, picture);
    for (uint32_t i = 0; i < POINTS; ++i) {
        *grid_host_global(host, 0, 0, 0, i) = step * ((float)(i % WIDTH) + 0.3f) / TEXELS;
        *grid_host_global(host, 0, 0, 1, i) = step * ((float)(i / WIDTH) + 0.6f) / TEXELS;
        *grid_host_global(host, 0, 1, 0, i) = step / TEXELS;
        *grid_host_global(host, 0, 2, 1, i) = 0.5f * step / TEXELS;
        for (uint32_t k = 0; k < 3 && ssl_program_info(program)->unit->attribute_count; ++k)
            *grid_host_attribute(host, 0, 0, k, i) = 0.01f * (float)(i % 7 + k);
    }
    return host;
}

static void run(void *data)
{
    grid_host_run(data);
}

typedef struct Summed {
    GridHost *host;
    GridSum *sum;
    SslTexelSum *texels[2];
} Summed;

static void add(void *data)
{
    const Summed *s = data;
    Error err = {0};
    ssl_sum_clear(grid_sum_total(s->sum));
    for (uint32_t i = 0; i < 2; ++i)
        ssl_texel_sum_clear(s->texels[i]);
    if (grid_sum_run(s->sum, s->host, 0, POINTS / SSL_BLOCK, &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
}

static void least(double *out, double seconds)
{
    double ns = seconds * 1e9 / POINTS;
    *out = *out == 0 || ns < *out ? ns : *out;
}

static void measure(SslContext *ctx, TexPicture *picture, float step, uint32_t rounds,
                    double seconds)
{
    SslUnit *unit = bench_compile_unit(ctx, "texels", source), *back = differentiate(unit);
    SslProgram *plain = bench_build(ctx, unit, NULL), *backward = bench_build(ctx, back, NULL);
    GridHost *values = make_host(plain, picture, step);
    Summed summed = {.host = make_host(backward, picture, step)};
    const SslTexelSumDesc desc = {.size_bytes = sizeof desc,
                                  .place_count = tex_picture_places(picture)};
    Error err = {0};
    if (grid_sum_create(backward, 32, &summed.sum, &err) != STATUS_OK ||
        ssl_texel_sum_create(&desc, &summed.texels[0], &err) != STATUS_OK ||
        ssl_texel_sum_create(&desc, &summed.texels[1], &err) != STATUS_OK)
        bench_die("sum", &err, NULL);
    grid_sum_set_texels(summed.sum, summed.texels);
    double value_ns = 0, gradient_ns = 0;
    for (uint32_t i = 0; i < rounds; ++i) {
        least(&value_ns, bench_time(run, values, seconds));
        least(&gradient_ns, bench_time(add, &summed, seconds));
    }
    printf("%12.2f  %9.1f  %13.1f  %16.2f\n", (double)step, value_ns, gradient_ns,
           gradient_ns / value_ns);
    for (uint32_t i = 0; i < 2; ++i)
        ssl_texel_sum_destroy(summed.texels[i]);
    grid_sum_destroy(summed.sum);
    grid_host_destroy(summed.host);
    grid_host_destroy(values);
    ssl_program_release(backward);
    ssl_program_release(plain);
    ssl_unit_release(back);
    ssl_unit_release(unit);
}

int main(int argc, char **argv)
{
    static const float steps[] = {0.25f, 1, 5};
    bool is_quick = bench_is_quick(argc, argv);
    const SslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    const TexPictureDesc desc = {.size_bytes = sizeof desc, .width = TEXELS, .height = TEXELS};
    Error err = {0};
    TexPicture *picture;
    if (tex_picture_create(&desc, &picture, &err) != STATUS_OK)
        bench_die("picture", &err, NULL);
    for (uint32_t i = 0; i < TEXELS * TEXELS * 4; ++i)
        tex_picture_texels(picture)[i] = (float)(i * 37 % 101) / 101;
    if (tex_picture_build(picture, &err) != STATUS_OK)
        bench_die("levels", &err, NULL);
    SslContext *ctx = bench_context(&tables);
    printf("%12s  %9s  %13s  %16s\n", "texels/pixel", "value, ns", "gradients, ns",
           "gradient / value");
    for (size_t i = 0; i < SORT_COUNT_OF(steps); ++i)
        measure(ctx, picture, steps[i], is_quick ? 1 : 7, is_quick ? 0.0 : 0.03);
    tex_picture_destroy(picture);
    ssl_context_destroy(ctx);
    return 0;
}
