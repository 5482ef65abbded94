/* Finds the frequency of a wave by its exact gradient: fit_frequency wave.ssl START WANTED
 *
 *   cc fit_frequency.c $(pkg-config --cflags --libs sort-ssl) -o fit_frequency && ./fit_frequency wave.ssl 2.7 3
 *
 * The shader is run at 256 points with the wanted frequency, and then its parameter goes down the gradient of the mean squared
 * difference from that. Each step runs two programs: the shader, and the derivative of it that the library makes. */
#include <sort_ssl.h>
#include <stdio.h>
#include <stdlib.h>

enum { U, V, GLOBAL_COUNT, SOURCE_MAX = 1 << 16, POINTS = 256, STEPS = 40 };

/* A program with its points and parameters. */
typedef struct Side {
    SortSslProgram *program;
    SortSslParams *params;
    SortSslBatch *batch;
} Side;

static SortSslError err;

static SortSslStatus make_side(const SortSslUnit *unit, Side *side)
{
    SortSslStatus status = sort_ssl_program_build(unit, NULL, NULL, &side->program, &err);
    if (!status)
        status = sort_ssl_params_create(side->program, &side->params, &err);
    if (!status)
        status = sort_ssl_batch_create(side->program, POINTS, &side->batch, &err);
    for (uint32_t i = 0; !status && i < POINTS; ++i)
        sort_ssl_batch_global(side->batch, i / 16, U, SORT_SSL_VALUE, 0)[i % 16] =
            (float)i / POINTS;
    return status;
}

static SortSslStatus run(Side *side, double frequency)
{
    const SortSslRunDesc how = {.size_bytes = sizeof how, .params = side->params};
    SortSslStatus status = sort_ssl_params_set(side->params, "frequency", &frequency, 1, &err);
    return status ? status : sort_ssl_batch_run(side->batch, &how, &err);
}

static float height(const Side *side, uint32_t point)
{
    return sort_ssl_batch_output(side->batch, point / 16, 0, SORT_SSL_VALUE, 0)[point % 16];
}

/* The gradient of the mean of (height - target)^2: adjoints are the derivatives of that by each height. */
static SortSslStatus step(Side *value, Side *gradient, SortSslSum *sum, const float *target,
                          double *frequency)
{
    double slope, loss = 0;
    SortSslStatus status = run(value, *frequency);
    for (uint32_t i = 0; !status && i < POINTS; ++i) {
        float difference = height(value, i) - target[i];
        loss += (double)difference * (double)difference / POINTS;
        sort_ssl_batch_attribute(gradient->batch, i / 16, 0, SORT_SSL_VALUE, 0)[i % 16] =
            2 * difference / POINTS;
    }
    if (status || (status = run(gradient, *frequency)) ||
        (status = sort_ssl_sum_add(sum, gradient->batch, &err)) ||
        (status = sort_ssl_sum_value(sum, 0, 0, &slope, &err)))
        return status;
    printf("frequency %.6f  loss %.3g  slope %.3g\n", *frequency, loss, slope);
    *frequency -= 0.05 * slope;
    return status;
}

static SortSslStatus fit(const SortSslUnit *unit, double start, double wanted)
{
    const SortSslInput input = {SORT_SSL_INPUT_PARAM, "frequency"};
    const char *const output = "height";
    const SortSslDerivativeDesc how = {.size_bytes = sizeof how,
                                       .is_backward = true,
                                       .inputs = &input,
                                       .outputs = &output,
                                       .input_count = 1,
                                       .output_count = 1};
    float target[POINTS];
    Side value = {0}, gradient = {0};
    SortSslUnit *backward = NULL;
    SortSslStatus status = sort_ssl_unit_differentiate(unit, &how, NULL, &backward, &err);
    if (!status && !(status = make_side(unit, &value)) &&
        !(status = make_side(backward, &gradient)))
        status = run(&value, wanted);
    for (uint32_t i = 0; !status && i < POINTS; ++i)
        target[i] = height(&value, i);
    for (int i = 0; !status && i < STEPS; ++i) {
        SortSslSum *sum = NULL; /* of this step */
        if (!(status = sort_ssl_sum_create(gradient.program, &sum, &err)))
            status = step(&value, &gradient, sum, target, &start);
        sort_ssl_sum_destroy(sum);
    }
    Side *sides[] = {&value, &gradient};
    for (int i = 0; i < 2; ++i) {
        sort_ssl_batch_destroy(sides[i]->batch);
        sort_ssl_params_destroy(sides[i]->params);
        sort_ssl_program_destroy(sides[i]->program);
    }
    sort_ssl_unit_destroy(backward);
    return status;
}

int main(int argc, char **argv)
{
    static char text[SOURCE_MAX];
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: fit_frequency wave.ssl START WANTED\n");
        return 2;
    }
    SortSslSource source = {sizeof source, argv[1], text, fread(text, 1, sizeof text, file), NULL};
    fclose(file);
    const SortSslGlobal globals[GLOBAL_COUNT] = {{"u", SORT_SSL_FLOAT, true},
                                                 {"v", SORT_SSL_FLOAT, true}};
    const SortSslContextDesc host = {
        .size_bytes = sizeof host, .globals = globals, .global_count = GLOBAL_COUNT};
    SortSslContext *ctx = NULL;
    SortSslUnit *unit = NULL;
    SortSslStatus status = sort_ssl_context_create(&host, &ctx, &err);
    if (!status && !(status = sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err)))
        status = fit(unit, strtod(argv[2], NULL), strtod(argv[3], NULL));
    if (status)
        fprintf(stderr, "error: %s\n", err.text);
    sort_ssl_unit_destroy(unit);
    sort_ssl_context_destroy(ctx);
    return status ? 1 : 0;
}
