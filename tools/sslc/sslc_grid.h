/* The grid on which `sslc run` and `sslc fit` shade: a window of the unit square, seen straight on.
 *
 * Pixel (x, y), y counted down, is the point u = u0 + (x + 0.5) / width (u1 - u0), v = v1 - (y + 0.5) / height (v1 - v0) of the
 * plane z = 0, where the window is the unit square unless it is given. Globals of that name get: uvw = position = (u, v, 0) with
 * their derivatives a pixel, normal and gnormal (0, 0, 1), I (0, 0, -1), tangent (1, 0, 0), tangent_sign 1. All others are 0 until
 * --global says otherwise. */
#ifndef SORT_TOOLS_SSLC_SSLC_GRID_H
#define SORT_TOOLS_SSLC_SSLC_GRID_H

#include "tools/ssl_kit/grid_host.h"
#include "tools/sslc/sslc_program.h"
#include "tools/sslc/sslc_textures.h"

typedef struct SslcGrid {
    CliTextList params, globals, textures, attributes; /* "name=value" */
    uint32_t width, height, budget;
    float u0, v0, u1, v1;
    const SslcTextures *pictures; /* the textures that are pictures; NULL: none */
} SslcGrid;

/* The unit square, with 256 x 256 pixels and a million turns of loops a point. */
SslcGrid sslc_grid_default(void);
/* Appends the options that set inputs, and --window, as sslc_append_options does. */
uint32_t sslc_grid_options(SslcGrid *values, CliOption *options);
/* Parses "WxH" for CLI_CUSTOM; `out` is an SslcGrid. */
Status sslc_grid_parse_size(const char *text, void *out, Error *err) SORT_MUST_CHECK;

/* Sets all inputs of a host with width * height points, which shades a program of the file. */
Status sslc_grid_set(const SslcGrid *grid, const SslcFile *file, SslProgram *program,
                     GridHost *host, Error *err) SORT_MUST_CHECK;

#endif
