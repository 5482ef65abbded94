/* sort-render compare: how far two pictures are apart, for scripts and for people. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/image/exr_read.h"
#include "base/json_write.h"
#include "tools/sort_render/render_command.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Means over all pixels and R, G, B. The relative error divides squares by those of the reference, as an eye does. */
typedef struct Difference {
    double mean[2]; /* of the picture, of the reference */
    double mse, relative_mse, max;
    double trimmed_relative_mse; /* without the worst pixels */
    uint64_t not_finite;
} Difference;

/* Added to the reference's square, so that black pixels count too: (1/10)^2. */
#define RELATIVE_FLOOR 0.01

enum { EXR_NAME_BYTES = 256 };

/* The channel of a layer, NULL: of the picture. */
static const ExrImageChannel *find_channel(const ExrImage *image, const char *layer, char suffix,
                                           char name[EXR_NAME_BYTES])
{
    (void)snprintf(name, EXR_NAME_BYTES, "%s%s%c", layer ? layer : "", layer ? "." : "", suffix);
    return exr_image_channel(image, name);
}

static Status compare_channel(const ExrImage *a, const ExrImage *b, const char *layer, char suffix,
                              const char *const paths[2], double *relative, Difference *d,
                              Error *err)
{
    char name[EXR_NAME_BYTES];
    const ExrImageChannel *first = find_channel(a, layer, suffix, name);
    const ExrImageChannel *second = find_channel(b, layer, suffix, name);
    if (first && !second && layer) /* a denoised picture's reference has no such layer */
        second = find_channel(b, NULL, suffix, name);
    if (!first || !second)
        return error_set_at(err, STATUS_INVALID, paths[first ? 1 : 0], "has no channel %s", name);
    const float *x = first->data, *y = second->data;
    double count = 3.0 * a->width * a->height;
    for (size_t i = 0; i < (size_t)a->width * a->height; ++i) {
        double p = (double)x[i], q = (double)y[i], difference = p - q;
        if (!isfinite(p) || !isfinite(q)) {
            ++d->not_finite;
            continue;
        }
        d->mean[0] += p / count;
        d->mean[1] += q / count;
        d->mse += difference * difference / count;
        relative[i] += difference * difference / (q * q + RELATIVE_FLOOR) / 3.0;
        d->max = fmax(d->max, fabs(difference));
    }
    return STATUS_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From those of the pixels, which it puts in order. A few pixels that met a small bright thing by chance can outweigh all
 * others: so the mean is given without a share of them too. */
static void set_relative(double *relative, size_t count, double trimmed_share, Difference *d)
{
    double sum = 0.0;
    size_t kept = count - (size_t)((double)count * trimmed_share);
    ASSERT(count > 0);
    qsort(relative, count, sizeof *relative, by_size);
    for (size_t i = 0; i < count; ++i) {
        sum += relative[i];
        if (i + 1 == kept)
            d->trimmed_relative_mse = sum / (double)kept;
    }
    d->relative_mse = sum / (double)count;
}

static Status compare(const ExrImage *a, const ExrImage *b, const char *const paths[2],
                      const char *layer, double trimmed_share, Difference *d, Error *err)
{
    *d = (Difference){0};
    if (a->width != b->width || a->height != b->height)
        return error_set_at(err, STATUS_INVALID, paths[0], "has %u x %u pixels, and %s %u x %u",
                            a->width, a->height, paths[1], b->width, b->height);
    size_t count = (size_t)a->width * a->height;
    double *relative = MEM_ARRAY(double, count);
    Status status = relative ? STATUS_OK
                             : error_set_at(err, STATUS_NO_MEMORY, paths[0],
                                            "no memory to compare %zu pixels", count);
    for (uint32_t c = 0; c < 3 && status == STATUS_OK; ++c)
        status = compare_channel(a, b, layer, "RGB"[c], paths, relative, d, err);
    if (status == STATUS_OK)
        set_relative(relative, count, trimmed_share, d);
    mem_free(relative);
    return status;
}

static void print_text(const Difference *d, double trimmed_percent)
{
    printf("mean          %.6g, of the reference %.6g\n", d->mean[0], d->mean[1]);
    printf("RMSE          %.6g\n", sqrt(d->mse));
    printf("relative MSE  %.6g, %.6g without the worst %g %% of the pixels\n", d->relative_mse,
           d->trimmed_relative_mse, trimmed_percent);
    printf("largest       %.6g\n", d->max);
    if (d->not_finite)
        printf("not finite    %llu values, left out\n", (unsigned long long)d->not_finite);
}

static void print_json(const Difference *d)
{
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    json_write_double(&w, "mean", d->mean[0]);
    json_write_double(&w, "reference_mean", d->mean[1]);
    json_write_double(&w, "rmse", sqrt(d->mse));
    json_write_double(&w, "relative_mse", d->relative_mse);
    json_write_double(&w, "trimmed_relative_mse", d->trimmed_relative_mse);
    json_write_double(&w, "max", d->max);
    json_write_u64(&w, "not_finite", d->not_finite);
    json_write_end(&w);
    puts(strbuf_text(&text));
    strbuf_free(&text);
}

typedef struct CompareCommand {
    const char *layer; /* NULL: the picture itself */
    bool is_json;
    double trimmed_percent;
    CliResult args; /* the picture, the reference */
} CompareCommand;

static bool parse(CompareCommand *c, int argc, char **argv, int *out_code)
{
    /* clang-format off */
    const CliOption options[] = {
        {.name = "layer", .kind = CLI_TEXT, .out = &c->layer, .value_name = "NAME", .help = "compare this layer, such as albedo; if the reference does not have it, with its picture"},
        {.name = "json", .kind = CLI_FLAG, .out = &c->is_json, .help = "print one JSON record"},
        {.name = "trim", .kind = CLI_FLOAT, .out = &c->trimmed_percent, .min = 0, .max = 99, .value_name = "PERCENT", .help = "the trimmed relative MSE leaves out this many of the worst pixels (1)"},
    };
    /* clang-format on */
    static const char *const examples[] = {"sort-render compare noisy.exr reference.exr",
                                           "measure the error of the first picture", NULL};
    const CliProgram program = {
        .name = "sort-render compare",
        .usage = "[options] PICTURE.exr REFERENCE.exr",
        .summary = "Measures the difference of two pictures of equal size, over all pixels and R, "
                   "G, B. Relative MSE divides squared differences by the squares of the reference "
                   "plus 0.01; it is also given without the worst pixels.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(2, 2, "PICTURE"),
        .examples = examples};
    return tool_parse(&program, argc, argv, &c->args, out_code);
}

int compare_main(int argc, char **argv)
{
    CompareCommand command = {.trimmed_percent = 1.0};
    int code;
    if (!parse(&command, argc, argv, &code))
        return code;
    const char *const paths[2] = {command.args.args[0], command.args.args[1]};
    Error err = {0};
    ExrImage *images[2] = {NULL, NULL};
    Difference d;
    Status status = exr_read(paths[0], &images[0], &err);
    if (status == STATUS_OK)
        status = exr_read(paths[1], &images[1], &err);
    if (status == STATUS_OK)
        status = compare(images[0], images[1], paths, command.layer,
                         command.trimmed_percent / 100.0, &d, &err);
    if (status == STATUS_OK) {
        if (command.is_json)
            print_json(&d);
        else
            print_text(&d, command.trimmed_percent);
    }
    exr_image_destroy(images[0]);
    exr_image_destroy(images[1]);
    return status == STATUS_OK ? EXIT_DONE : tool_fail(&err, EXIT_FAILED);
}
