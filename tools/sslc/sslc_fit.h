/* What the files of `sslc fit` share.
 *
 *   FitSpace    which numbers of parameters and textures are fitted, with bounds and starts   (sslc_fit_space.c)
 *   FitShader   the shader and its gradient on the grid, in threads, and the loss of both      (sslc_fit_shader.c)
 *   report      one page of HTML                                                              (sslc_fit_report.c)
 *   check       gradients against differences of the loss                                     (sslc_fit_check.c)
 *   explain     what each number does to the picture                                          (sslc_fit_explain.c) */
#ifndef SORT_TOOLS_SSLC_SSLC_FIT_H
#define SORT_TOOLS_SSLC_SSLC_FIT_H

#include "fit/fit.h"
#include "fit/picture_loss.h"
#include "ssl/ssl_sum.h"
#include "tools/sslc/sslc_grid.h"
#include "tools/sslc/sslc_picture.h"

/* --- the space ---------------------------------------------------------------------------------- */

/* A number of a parameter that is fitted. */
typedef struct FitNumber {
    uint32_t param, number; /* SslUnitInfo.params, and which of its numbers */
} FitNumber;

/* A texture that is fitted: all channels of all its texels. */
typedef struct FitTexture {
    uint32_t slot;       /* SslUnitInfo.textures */
    TexPicture *picture; /* of the list of textures */
    uint32_t first;      /* among all numbers of the space; the others follow, row by row */
} FitTexture;

/* What is fitted: numbers of parameters, and then of textures. */
typedef struct FitSpace {
    const SslUnitInfo *unit;
    FitParam *params;   /* [count] named "width", "tint[0]" */
    FitNumber *numbers; /* [count] */
    uint32_t count;
    bool *is_fitted; /* [unit->param_count] */
    double *
        *start_values; /* [unit->param_count] all numbers of fitted parameters; NULL for others */
    FitTexture *textures; /* [texture_count] */
    FitField *fields;     /* [texture_count] named "textures.wood" */
    uint32_t texture_count;
    uint32_t total; /* `count`, and all numbers of textures */
    double *start;  /* [total] */
} FitSpace;

typedef struct FitSpaceDesc {
    const SslUnitInfo *unit;
    /* "width", "width=0.1..2", "textures.wood", "textures.wood=0..4"; none: all of floats whose metadata have `min` and `max` */
    const CliTextList *names;
    const CliTextList *starts; /* "name=value"; other parameters start at their defaults */
    const CliTextList *looks;  /* "texture=formula", as -t has them */
    SslcTextures *textures;    /* those that are pictures, to which the fitted ones are added */
    uint32_t width, height;    /* of textures that do not start as pictures */
    bool whole;                /* ints are possible */
    Arena *arena;              /* texts and lists are its */
} FitSpaceDesc;
Status fit_space_find(FitSpace *space, const FitSpaceDesc *desc, Error *err) SORT_MUST_CHECK;
/* Gives the pictures of textures their numbers among x[total]. */
Status fit_space_set_textures(const FitSpace *space, const double *x, Error *err) SORT_MUST_CHECK;
/* Sets the parameters of a program's block to their numbers among x[]. */
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

/* --- the shader --------------------------------------------------------------------------------- */

typedef struct FitShader FitShader;

typedef struct FitShaderDesc {
    const SslcGrid *grid;
    SslcFile *file;
    const SslUnit *unit;
    const SslcBuildOptions *build;
    const FitSpace *space;
    const SslcPicture *target;
    uint32_t output; /* of the unit: float, or one of three */
    uint32_t threads;
    LossKind loss;
    uint32_t levels;
    uint64_t
        texel_bytes; /* memory for gradients of textures; what exceeds it goes to a temporary file */
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
/* Moves the points of the picture from now on, from where they are at first, by parts of a pixel; the target stays. */
Status fit_shader_move(FitShader *shader, double right, double down, Error *err) SORT_MUST_CHECK;
/* Sets the part of the levels, the finest first, that gradients leave out from now on: 0, as at first, none; 1: all but the coarsest. */
void fit_shader_coarsen(FitShader *shader, double part);
/* What the shader gave at the last evaluation; it lives until the next. */
const SslcPicture *fit_shader_picture(const FitShader *shader);
/* Computes the derivative of the picture by a number of the space; it lives until the next. Needs needs_tangents. */
Status fit_shader_tangent(FitShader *shader, const double *x, uint32_t number,
                          const SslcPicture **out, Error *err) SORT_MUST_CHECK;
/* How many evaluations were not finite or had faults, and what the first of them had. */
uint64_t fit_shader_undefined(const FitShader *shader, const char **out_text);
/* Whether the gradient of a number of the space is zero whatever the parameters are. */
bool fit_shader_is_flat(const FitShader *shader, uint32_t number);
bool fit_shader_is_texture_flat(const FitShader *shader, uint32_t texture);

/* --- the report --------------------------------------------------------------------------------- */

typedef struct FitReport {
    const char *shader, *target; /* names to show */
    const FitSpace *space;
    const Fit *fit;
    const SslcPicture *pictures[3]; /* target, start, result; textures are as they result */
    double start_loss;
    const char *method, *loss; /* words */
} FitReport;
/* Writes a page that needs no other file. */
Status fit_report_write(const char *path, const FitReport *report, Error *err) SORT_MUST_CHECK;

/* --- the check ------------------------------------------------------------------------------------ */

/* Prints the gradient at the start beside differences of the loss: of each parameter, of each texture along its gradient, and of its
 * texels with the largest. With edges: its mean along a line through the start. */
Status fit_check_gradients(FitShader *shader, const FitSpace *space, bool has_edges,
                           bool *out_agree, Error *err) SORT_MUST_CHECK;

/* --- the explanation ------------------------------------------------------------------------------ */

/* Prints for each number of the space how much it changes the picture at its start, and how much of that its derivative tells:
 * the rest comes by steps, or by kinks. */
Status fit_explain(FitShader *shader, const FitSpace *space, Error *err) SORT_MUST_CHECK;

#endif
