/* Finds the texels of a texture by their exact gradients: fit_texels
 *
 *   cc fit_texels.c $(pkg-config --cflags --libs sort-ssl) -o fit_texels && ./fit_texels
 *
 * A row of 32 texels is seen at 400 points through a shader that squares it. The host owns the texture: `look_up` blends two
 * texels, and `spread` is its transpose, which adds the adjoint of a lookup to the gradients of the same texels by the same
 * weights. The sums are exact: they have the same bits in whatever order points are run. */
#include <sort_ssl.h>
#include <stdio.h>

enum { TEXELS = 32, POINTS = 400, STEPS = 200, U = 0 };

static const char source[] = "texture2d row;\n"
                             "shader seen(out float light)\n"
                             "{\n"
                             "    const float r = texture2d_sample<row>(global_value<u>, 0.5).r;\n"
                             "    light = r * r;\n"
                             "}\n";

/* A program with its points. */
typedef struct Side {
    SortSslProgram *program;
    SortSslBatch *batch;
} Side;

typedef struct Row {
    float texels[TEXELS];
    SortSslTexelSum *gradient;
} Row;

static SortSslError err;

/* The two texels nearest to s, and the weight of the second. */
static float find(float s, uint64_t places[2])
{
    float x = s * TEXELS - 0.5f;
    x = x < 0 ? 0 : x > TEXELS - 1 ? TEXELS - 1 : x;
    places[0] = (uint64_t)x;
    places[1] = places[0] + 1 < TEXELS ? places[0] + 1 : places[0];
    return x - (float)places[0];
}

static void look_up(void *user, const SortSslTextureCall *call)
{
    const Row *row = user;
    for (uint32_t lane = 0; lane < call->lane_count; ++lane) {
        uint64_t places[2];
        float part = find(call->coord[lane], places);
        if (!(call->lane_mask >> lane & 1))
            continue;
        for (uint32_t channel = 0; channel < 4; ++channel)
            call->result[channel * call->lane_count + lane] =
                (1 - part) * row->texels[places[0]] + part * row->texels[places[1]];
    }
}

static void spread(void *user, const SortSslTextureCall *call)
{
    const Row *row = user;
    for (uint32_t lane = 0; lane < call->lane_count; ++lane) {
        uint64_t places[2];
        float part = find(call->coord[lane], places), adjoint = 0;
        if (!(call->lane_mask >> lane & 1))
            continue;
        for (uint32_t channel = 0; channel < 4; ++channel) /* all channels are one texel */
            adjoint += call->result[channel * call->lane_count + lane];
        const float numbers[2] = {(1 - part) * adjoint, part * adjoint};
        if (sort_ssl_texel_sum_add(row->gradient, places, 2, numbers, 1, &err))
            fprintf(stderr, "error: %s\n", err.text);
    }
}

static SortSslStatus make_side(const SortSslUnit *unit, Side *side)
{
    SortSslStatus status = sort_ssl_program_build(unit, NULL, NULL, &side->program, &err);
    if (!status)
        status = sort_ssl_batch_create(side->program, POINTS, &side->batch, &err);
    for (uint32_t i = 0; !status && i < POINTS; ++i)
        sort_ssl_batch_global(side->batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] =
            ((float)i + 0.5f) / POINTS;
    return status;
}

static SortSslStatus run(const Side *side, Row *row)
{
    const SortSslRunDesc how = {.size_bytes = sizeof how,
                                .texture_lookup = look_up,
                                .user = row,
                                .texture_adjoint = spread};
    return sort_ssl_batch_run(side->batch, &how, &err);
}

static float *light(const Side *side, uint32_t point)
{
    return (float *)sort_ssl_batch_output(side->batch, point / 16, 0, SORT_SSL_VALUE, 0) +
           point % 16;
}

/* A step down the gradient of the mean of (light - target)^2. */
static SortSslStatus step(const Side *value, const Side *backward, Row *row, const float *target,
                          double *out_loss)
{
    const SortSslTexelSumDesc sums = {.size_bytes = sizeof sums, .place_count = TEXELS};
    double gradient[TEXELS];
    SortSslStatus status = run(value, row);
    *out_loss = 0;
    for (uint32_t i = 0; !status && i < POINTS; ++i) {
        float difference = *light(value, i) - target[i];
        *out_loss += (double)difference * (double)difference / POINTS;
        sort_ssl_batch_attribute(backward->batch, i / 16, 0, SORT_SSL_VALUE, 0)[i % 16] =
            2 * difference / POINTS;
    }
    if (status || (status = sort_ssl_texel_sum_create(&sums, &row->gradient, &err)))
        return status;
    if (!(status = run(backward, row)))
        status = sort_ssl_texel_sum_read(row->gradient, 0, TEXELS, gradient, &err);
    for (uint32_t i = 0; !status && i < TEXELS; ++i)
        row->texels[i] -= 4 * (float)gradient[i];
    sort_ssl_texel_sum_destroy(row->gradient);
    return status;
}

static SortSslStatus fit(const SortSslUnit *unit)
{
    const SortSslInput input = {SORT_SSL_INPUT_TEXTURE, "row"};
    const char *const output = "light";
    const SortSslDerivativeDesc how = {.size_bytes = sizeof how,
                                       .is_backward = true,
                                       .inputs = &input,
                                       .outputs = &output,
                                       .input_count = 1,
                                       .output_count = 1};
    float target[POINTS], wanted[TEXELS];
    double loss = 0, worst = 0;
    Side value = {0}, backward = {0};
    SortSslUnit *derivative = NULL;
    Row row = {{0}, NULL};
    for (uint32_t i = 0; i < TEXELS; ++i) /* steps of different heights */
        row.texels[i] = wanted[i] = 0.3f + 0.1f * (float)(i * i % 7);
    SortSslStatus status = sort_ssl_unit_differentiate(unit, &how, NULL, &derivative, &err);
    if (!status && !(status = make_side(unit, &value)) &&
        !(status = make_side(derivative, &backward)))
        status = run(&value, &row);
    for (uint32_t i = 0; !status && i < POINTS; ++i)
        target[i] = *light(&value, i);
    for (uint32_t i = 0; i < TEXELS; ++i)
        row.texels[i] = 0.5f;
    for (int i = 0; !status && i < STEPS; ++i) {
        status = step(&value, &backward, &row, target, &loss);
        if (!status && i % 20 == 0)
            printf("step %d  loss %.3g\n", i, loss);
    }
    for (uint32_t i = 0; i < TEXELS; ++i) {
        double off = (double)row.texels[i] - (double)wanted[i];
        worst = off > worst ? off : -off > worst ? -off : worst;
    }
    if (!status)
        printf("texels are found to %.3g\n", worst);
    const Side *sides[] = {&value, &backward};
    for (int i = 0; i < 2; ++i) {
        sort_ssl_batch_destroy(sides[i]->batch);
        sort_ssl_program_destroy(sides[i]->program);
    }
    sort_ssl_unit_destroy(derivative);
    return status;
}

int main(void)
{
    const SortSslSource text = {sizeof text, "fit_texels.c", source, sizeof source - 1, NULL};
    const SortSslGlobal globals[] = {{"u", SORT_SSL_FLOAT, true}};
    const SortSslContextDesc host = {
        .size_bytes = sizeof host, .globals = globals, .global_count = 1};
    SortSslContext *ctx = NULL;
    SortSslUnit *unit = NULL;
    SortSslStatus status = sort_ssl_context_create(&host, &ctx, &err);
    if (!status && !(status = sort_ssl_unit_compile(ctx, &text, NULL, &unit, &err)))
        status = fit(unit);
    if (status)
        fprintf(stderr, "error: %s\n", err.text);
    sort_ssl_unit_destroy(unit);
    sort_ssl_context_destroy(ctx);
    return status ? 1 : 0;
}
