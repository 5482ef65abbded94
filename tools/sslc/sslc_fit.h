/* What the files of `sslc fit` share.
 *
 *   FitSpace    which numbers of which parameters are fitted, with bounds and starts          (sslc_fit_space.c)
 *   FitPicture  numbers of pixels: the target, what the shader gives                          (sslc_fit_picture.c)
 *   FitShader   the shader and its gradient on the grid, in threads, and the loss of both      (sslc_fit_shader.c)
 *   report      one page of HTML                                                              (sslc_fit_report.c)
 *   explain     what each number does to the picture                                          (sslc_fit_explain.c) */
#ifndef SORT_TOOLS_SSLC_SSLC_FIT_H
#define SORT_TOOLS_SSLC_SSLC_FIT_H

#include "fit/fit.h"
#include "fit/picture_loss.h"
#include "ssl/ssl_sum.h"
#include "tools/sslc/sslc_grid.h"

/* --- the space ---------------------------------------------------------------------------------- */

/* A number of a parameter that is fitted. */
typedef struct FitNumber {
    uint32_t param, number; /* SslUnitInfo.params, and which of its numbers */
} FitNumber;

typedef struct FitSpace {
    const SslUnitInfo *unit;
    FitParam *params;   /* [count] named "width", "tint[0]" */
    FitNumber *numbers; /* [count] */
    uint32_t count;
    bool *is_fitted; /* [unit->param_count] */
    double *
        *start_values; /* [unit->param_count] all numbers of fitted parameters; NULL for others */
} FitSpace;

/* Finds what to fit: the parameters of `names` ("width", "width=0.1..2"), or, if there are none, all of floats whose metadata have
 * `min` and `max`. `starts` are "name=value" of the command line; other parameters start at their defaults. whole: ints are
 * possible. Texts and lists are the arena's. */
Status fit_space_find(FitSpace *space, const SslUnitInfo *unit, const CliTextList *names,
                      const CliTextList *starts, bool whole, Arena *arena,
                      Error *err) SORT_MUST_CHECK;
/* Sets a parameter of a program's block to its numbers among x[count]. */
Status fit_space_set(const FitSpace *space, const SslProgram *program, void *block, const double *x,
                     Error *err) SORT_MUST_CHECK;
/* Sets the tangents that a forward derivative by all fitted parameters has, which follow the parameters of the unit: 1 for a number of
 * the space, else 0. */
Status fit_space_set_direction(const FitSpace *space, const SslProgram *program, void *block,
                               uint32_t number, Error *err) SORT_MUST_CHECK;
/* Appends the values of a parameter as options take them: "width=0.25", "tint=(0.1 0.2 0.3)". */
void fit_space_print(const FitSpace *space, uint32_t param, const double *x, StrBuf *out);
/* All of them as an object of JSON, as scene packages have it. */
void fit_space_json(const FitSpace *space, const double *x, StrBuf *out);

/* --- pictures ----------------------------------------------------------------------------------- */

typedef struct FitPicture {
    uint32_t width, height, channels; /* 1 or 3 */
    float *numbers;                   /* [height][width][channels], linear; owned */
} FitPicture;

/* Reads an .exr, or a .png whose colours are sRGB. channels: 3, or 1 for its luminance. width, height: means over the pixels
 * that lie in a new one, if they are not 0. */
Status fit_picture_read(const char *path, uint32_t channels, uint32_t width, uint32_t height,
                        FitPicture *out, Error *err) SORT_MUST_CHECK;
void fit_picture_free(FitPicture *picture);
/* Writes an .exr or .png, by the name. */
Status fit_picture_write(const char *path, const FitPicture *picture, Error *err) SORT_MUST_CHECK;

/* --- the shader --------------------------------------------------------------------------------- */

typedef struct FitShader FitShader;

typedef struct FitShaderDesc {
    const SslcGrid *grid;
    SslcFile *file;
    const SslUnit *unit;
    const SslcBuildOptions *build;
    const FitSpace *space;
    const FitPicture *target;
    uint32_t output; /* of the unit: float, or one of three */
    uint32_t threads;
    LossKind loss;
    uint32_t levels;
    bool needs_gradient, needs_tangents;
    bool has_edges; /* of gradients: edges count */
    /* With edges: parameters that only comparisons read are shaken by up to this part of their bounds, from pixel to pixel; 0: none. */
    double noise;
} FitShaderDesc;

/* Builds the kernels. Prints errors of the source, for which *out_shader is NULL and the status STATUS_SOURCE. */
Status fit_shader_create(const FitShaderDesc *desc, FitShader **out_shader,
                         Error *err) SORT_MUST_CHECK;
void fit_shader_destroy(FitShader *shader); /* NULL is allowed */
/* FitDesc.evaluate; `data` is the FitShader. */
Status fit_shader_evaluate(void *data, const double *x, double *out_value, double *out_gradient,
                           Error *err);
/* Sets how much parameters are shaken from now on, a part of FitShaderDesc.noise, which is 0 at first, and other random numbers for
 * another seed. STATUS_INVALID: no parameter is to be shaken. */
Status fit_shader_shake(FitShader *shader, double part, uint32_t seed, Error *err) SORT_MUST_CHECK;
/* Sets the part of the levels, the finest first, that gradients leave out from now on: 0, as at first, none; 1: all but the coarsest. */
void fit_shader_coarsen(FitShader *shader, double part);
/* What the shader gave at the last evaluation; it lives until the next. */
const FitPicture *fit_shader_picture(const FitShader *shader);
/* Computes the derivative of the picture by a number of the space; it lives until the next. Needs needs_tangents. */
Status fit_shader_tangent(FitShader *shader, const double *x, uint32_t number,
                          const FitPicture **out, Error *err) SORT_MUST_CHECK;
/* How many evaluations were not finite or had faults, and what the first of them had. */
uint64_t fit_shader_undefined(const FitShader *shader, const char **out_text);
/* Whether the gradient of a number of the space is zero whatever the parameters are. */
bool fit_shader_is_flat(const FitShader *shader, uint32_t number);

/* --- the report --------------------------------------------------------------------------------- */

typedef struct FitReport {
    const char *shader, *target; /* names to show */
    const FitSpace *space;
    const Fit *fit;
    const FitPicture *pictures[3]; /* target, start, result */
    double start_loss;
    const char *method, *loss; /* words */
} FitReport;
/* Writes a page that needs no other file. */
Status fit_report_write(const char *path, const FitReport *report, Error *err) SORT_MUST_CHECK;

/* --- the explanation ------------------------------------------------------------------------------ */

/* Prints for each number of the space how much it changes the picture at its start, and how much of that its derivative tells:
 * the rest comes by steps, or by kinks. */
Status fit_explain(FitShader *shader, const FitSpace *space, Error *err) SORT_MUST_CHECK;

#endif
