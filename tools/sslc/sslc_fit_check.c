/* Gradients against differences of the loss. */
#include "base/alloc.h"
#include "base/check.h"
#include "tools/sslc/sslc_fit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct Check {
    FitShader *shader;
    const FitSpace *space;
    bool has_edges;
    double *x, *beside; /* [space->total] a place beside the start, and the gradient there */
    double *gradient;   /* [space->total] at the start */
    double largest;     /* of its numbers, each times its bounds */
    bool agree;         /* all so far */
} Check;

/* One number, or all of a texture at once along its gradient. */
typedef struct Direction {
    const char *name;
    double low, high;      /* bounds of what moves */
    uint32_t first, count; /* of the numbers that move */
    const double *along;   /* [count] how far each moves; NULL: 1 */
    double gradient;       /* along it */
} Direction;

/* Goes to the place that is `h` along the direction from the start. Returns how far that is, as the shader gets it. */
static double go(const Check *k, const Direction *d, double h)
{
    double moved = 0, length = 0;
    ASSERT(d->count > 0 && d->first + d->count <= k->space->total);
    memcpy(k->x, k->space->start, k->space->total * sizeof *k->x);
    for (uint32_t i = 0; i < d->count; ++i) {
        double along = d->along ? d->along[i] : 1, from = k->space->start[d->first + i];
        k->x[d->first + i] = from + h * along;
        moved += along * ((double)(float)(from + h * along) - from);
        length += along * along;
    }
    return moved / length;
}

static Status difference(const Check *k, const Direction *d, double h, double *out, Error *err)
{
    double above, below;
    ASSERT(h > 0);
    double upper = go(k, d, h);
    TRY(fit_shader_evaluate(k->shader, k->x, &above, NULL, err));
    double lower = go(k, d, -h);
    TRY(fit_shader_evaluate(k->shader, k->x, &below, NULL, err));
    *out = (above - below) / (upper - lower);
    return STATUS_OK;
}

/* What a number of the gradient is held against. */
typedef struct Comparison {
    double gradient, reference, doubt;
    double tolerance, of_largest; /* relative to itself, and to the largest of the gradient */
} Comparison;

/* Central differences of the loss, of two steps, one twice the other: their extrapolation is the reference, and how far they differ
 * says how good it is. */
static Status compare_at_start(const Check *k, const Direction *d, Comparison *c, Error *err)
{
    double h = (d->high - d->low) / 1024, wide, narrow;
    TRY(difference(k, d, 2 * h, &wide, err));
    TRY(difference(k, d, h, &narrow, err));
    c->reference = (4 * narrow - wide) / 3;
    c->doubt = fabs(narrow - wide);
    c->tolerance = 0.01;
    c->of_largest = 1e-5;
    return STATUS_OK;
}

static double along(const Direction *d, const double *gradient)
{
    double sum = 0;
    for (uint32_t i = 0; i < d->count; ++i)
        sum += (d->along ? d->along[i] : 1) * gradient[d->first + i];
    return sum;
}

/* A line through the start, along one direction, in cells. The loss is compared at ends that are CELLS apart, SHIFTS times, each a cell
 * further, and with the points in other places of their pixels: what a hard edge sweeps over is counted in whole points. */
enum { CELLS = 64, SHIFTS = 17, NODES = CELLS + SHIFTS, MIDDLE = NODES / 2 };

typedef struct Line {
    double slopes[SHIFTS];   /* of the loss between ends */
    double gradients[NODES]; /* in the middle of each cell */
} Line;

static Status walk_shift(const Check *k, const Direction *d, double cell, uint32_t shift, Line *out,
                         Error *err)
{
    double value, ends[2], first = cell * ((double)shift - MIDDLE);
    for (uint32_t i = 0; i < 2; ++i) {
        (void)go(k, d, first + i * CELLS * cell);
        TRY(fit_shader_evaluate(k->shader, k->x, &ends[i], NULL, err));
    }
    out->slopes[shift] = (ends[1] - ends[0]) / (CELLS * cell);
    for (uint32_t node = shift; node < NODES; node += SHIFTS) {
        (void)go(k, d, cell * ((double)node - MIDDLE + 0.5));
        TRY(fit_shader_evaluate(k->shader, k->x, &value, k->beside, err));
        out->gradients[node] = isfinite(value) ? along(d, k->beside) : (double)NAN;
    }
    return STATUS_OK;
}

/* Places in pixels are multiples of two numbers modulo 1 that fill the square evenly. [Roberts2018] */
static Status walk_line(const Check *k, const Direction *d, double cell, Line *out, Error *err)
{
    for (uint32_t shift = 0; shift < SHIFTS; ++shift) {
        double x = shift * 0.7548776662466927, y = shift * 0.5698402909980532;
        TRY(fit_shader_move(k->shader, x - floor(x + 0.5), y - floor(y + 0.5), err));
        TRY(walk_shift(k, d, cell, shift, out, err));
    }
    return fit_shader_move(k->shader, 0, 0, err);
}

/* A loss with edges has steps that small differences do not see, but along a line the mean of the gradient must be what the loss
 * changes by. */
static Status compare_along(const Check *k, const Direction *d, Comparison *c, Error *err)
{
    Line line;
    double cell = (d->high - d->low) / (16 * (double)CELLS);
    double sum = 0, squares = 0, shifts = SHIFTS;
    TRY(walk_line(k, d, cell, &line, err));
    c->gradient = 0;
    for (uint32_t j = 0; j < SHIFTS; ++j) {
        double slope = line.slopes[j], mean = 0;
        for (uint32_t i = j; i < j + CELLS; ++i)
            mean += line.gradients[i] / (double)CELLS;
        c->gradient += mean / shifts;
        c->reference += slope / shifts;
        sum += (slope - mean) / shifts;
        squares += (slope - mean) * (slope - mean) / shifts;
    }
    c->doubt = 2 * sqrt(fmax(0, squares - sum * sum) / shifts); /* two standard errors */
    c->tolerance = 0.05;
    c->of_largest = 0.01;
    return STATUS_OK;
}

/* Prints a line. */
static Status check_direction(Check *k, const Direction *d, Error *err)
{
    Comparison c = {.gradient = d->gradient};
    TRY(k->has_edges ? compare_along(k, d, &c, err) : compare_at_start(k, d, &c, err));
    double allowed = c.tolerance * fmax(fabs(c.gradient), fabs(c.reference)) + c.doubt +
                     c.of_largest * k->largest / (d->high - d->low);
    bool agree = fabs(c.gradient - c.reference) <= allowed;
    k->agree = k->agree && agree;
    (void)printf("%-20s %15.6g %15.6g %15.2g%s\n", d->name, c.gradient, c.reference, c.doubt,
                 agree ? "" : "  differs");
    return STATUS_OK;
}

/* The number of a texture with the largest gradient in absolute value below `limit`. */
static uint32_t find_largest(const FitField *field, const double *gradient, double limit)
{
    uint32_t best = field->count;
    for (uint32_t i = 0; i < field->count; ++i)
        if (fabs(gradient[i]) < limit &&
            (best == field->count || fabs(gradient[i]) > fabs(gradient[best])))
            best = i;
    return best;
}

/* All texels at once, along their gradient or, where that is zero, by as much, and then the few with the largest. */
static Status check_texture(Check *k, uint32_t texture, Error *err)
{
    enum { SINGLE_TEXELS = 4 };
    const FitField *field = &k->space->fields[texture];
    const FitTexture *t = &k->space->textures[texture];
    const uint32_t width = tex_picture_level(t->picture, 0).width;
    const double *own = k->gradient + t->first;
    uint32_t most = find_largest(field, own, (double)INFINITY);
    double length = most < field->count ? fabs(own[most]) : 0, limit = (double)INFINITY;
    double *direction = MEM_ARRAY(double, field->count);
    if (!direction)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Direction whole = {
        field->name, field->low[0], field->high[0], t->first, field->count, direction, 0};
    for (uint32_t i = 0; i < field->count; ++i) {
        direction[i] = length > 0 ? own[i] / length : 1;
        whole.gradient += direction[i] * own[i];
    }
    Status status = check_direction(k, &whole, err);
    uint32_t singles = length > 0 ? SINGLE_TEXELS : 0;
    for (uint32_t n = 0; n < singles && status == STATUS_OK; ++n) {
        char name[SSLC_NAME_BYTES];
        uint32_t i = find_largest(field, own, limit), texel = i / TEX_PICTURE_CHANNELS;
        if (i == field->count)
            break;
        (void)snprintf(name, sizeof name, "%s[%u,%u].%c", field->name, texel % width, texel / width,
                       "rgba"[i % TEX_PICTURE_CHANNELS]);
        const Direction one = {name,
                               field->low[i % TEX_PICTURE_CHANNELS],
                               field->high[i % TEX_PICTURE_CHANNELS],
                               t->first + i,
                               1,
                               NULL,
                               own[i]};
        status = check_direction(k, &one, err);
        limit = fabs(own[i]);
    }
    mem_free(direction);
    return status;
}

/* The largest number of the gradient, each times its bounds. */
static double find_scale(const FitSpace *space, const double *gradient)
{
    double largest = 0;
    for (uint32_t i = 0; i < space->count; ++i)
        largest = fmax(largest, fabs(gradient[i]) * (space->params[i].high - space->params[i].low));
    for (uint32_t t = 0; t < space->texture_count; ++t)
        for (uint32_t i = 0; i < space->fields[t].count; ++i)
            largest = fmax(largest, fabs(gradient[space->textures[t].first + i]) *
                                        (space->fields[t].high[0] - space->fields[t].low[0]));
    return largest;
}

static Status check_all(Check *k, Error *err)
{
    const FitSpace *space = k->space;
    double value;
    const char *text;
    TRY(fit_shader_evaluate(k->shader, space->start, &value, k->gradient, err));
    if (!isfinite(value)) {
        (void)fit_shader_undefined(k->shader, &text);
        return error_set(err, STATUS_INVALID, "the loss is not finite at the start: %s", text);
    }
    k->largest = find_scale(space, k->gradient);
    (void)printf("%-20s %15s %15s %15s\n", "parameter", "gradient", "differences", "uncertain by");
    for (uint32_t i = 0; i < space->count; ++i) {
        const FitParam *p = &space->params[i];
        const Direction one = {p->name, p->low, p->high, i, 1, NULL, k->gradient[i]};
        TRY(check_direction(k, &one, err));
    }
    for (uint32_t t = 0; t < space->texture_count; ++t)
        TRY(check_texture(k, t, err));
    return STATUS_OK;
}

Status fit_check_gradients(FitShader *shader, const FitSpace *space, bool has_edges,
                           bool *out_agree, Error *err)
{
    Check k = {.shader = shader,
               .space = space,
               .has_edges = has_edges,
               .x = MEM_ARRAY(double, space->total),
               .beside = MEM_ARRAY(double, space->total),
               .gradient = MEM_ARRAY(double, space->total),
               .agree = true};
    Status status = k.x && k.beside && k.gradient
                        ? check_all(&k, err)
                        : error_set(err, STATUS_NO_MEMORY, "out of memory");
    *out_agree = k.agree;
    mem_free(k.x);
    mem_free(k.beside);
    mem_free(k.gradient);
    return status;
}
