/* The kit of the rendering tests: writes tiny packages to a temporary folder and renders them. */
#ifndef SORT_TESTS_RENDER_KIT_H
#define SORT_TESTS_RENDER_KIT_H

#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "sort/render/render.h"

typedef struct Kit {
    char folder[PATH_BYTES];  /* removed by kit_end */
    char package[PATH_BYTES]; /* folder/package */
    char cache[PATH_BYTES];   /* folder/cache */
} Kit;

void kit_begin(Kit *kit);
void kit_end(Kit *kit);
/* Writes a file of the package. */
void kit_write(const Kit *kit, const char *name, const void *data, size_t size_bytes);
void kit_write_text(const Kit *kit, const char *name, const char *text);
/* The path of a file beside the package. */
void kit_path(const Kit *kit, const char *name, char out[PATH_BYTES]);
/* Writes the shader shaders/matte.ssl: a Lambert surface whose parameter is `albedo`. */
void kit_write_matte(const Kit *kit);

/* A scene.json around sections that a test writes itself: cameras, meshes and the rest as JSON text.
 * Missing sections are NULL. */
typedef struct KitScene {
    uint32_t width, height, samples, max_depth;
    bool has_transparent_film;
    const char *limits; /* further fields of the settings, or NULL */
    const char *camera; /* further fields of the camera, or NULL */
    float eye[3], target[3], fov_y_degrees, aperture_radius_m, focus_distance_m;
    const char *meshes, *instances, *materials, *lights, *environment; /* contents of the arrays */
    const char *groups;                         /* contents of the object, or NULL */
    const char *curves, *shader_aovs, *portals; /* contents of the arrays, or NULL */
} KitScene;
void kit_write_scene(const Kit *kit, const KitScene *scene);
/* The package of a matte ball under a sky; `scene` has the size, the samples and the lights. */
void kit_write_ball(const Kit *kit, const KitScene *scene);

/* An image of the package, as PNG: rows from the top. */
void kit_write_png(const Kit *kit, const char *name, uint32_t width, uint32_t height,
                   const uint8_t *rgb);

/* Mesh files meshes/NAME.bin and their entry for the meshes section, appended to `out_json`. */
void kit_add_quad(const Kit *kit, StrBuf *out_json, const char *name, const float corners[4][3]);
/* A mesh of at most 8 such quads: corners of one after the other. */
void kit_add_quads(const Kit *kit, StrBuf *out_json, const char *name, uint32_t count,
                   const float (*corners)[3]);
/* A convex polyhedron with uv around a sphere: flat faces, no normals. */
void kit_add_sphere(const Kit *kit, StrBuf *out_json, const char *name, float radius,
                    uint32_t segments);

/* A package of a white sky and one quad of material m, "floor", seen from above; materials and groups as in
 * KitScene. */
void kit_write_floor(const Kit *kit, uint32_t size_px, const char *materials, const char *groups);

/* Sensible defaults for tests; cache folder and texcache program set. */
RenderOptions kit_options(const Kit *kit);
/* Creates and runs; fails the test with the messages when that fails. The caller destroys it. */
Render *kit_render(const Kit *kit, const RenderOptions *options);
/* Creates and runs. Returns the text of the expected error, in `out`; fails the test when there is none. */
const char *kit_render_error(const RenderOptions *options, char out[2048]);
/* RGBA of a finished render, owned by the caller (mem_free). */
float *kit_pixels(Render *render, uint32_t *out_count);
/* Returns the hash of the pixels' bits: equal pictures have equal bits. */
Hash128 kit_bits(Render *render);
/* Renders, and hashes the picture. out_stats may be NULL. */
Hash128 kit_render_bits(const Kit *kit, const RenderOptions *options, RenderStats *out_stats);
/* Fails unless pictures by one thread and by several threads and waves of several sizes have equal bits. */
void kit_assert_equal_bits(const Kit *kit, const RenderOptions *options);
/* One AOV of a finished render that holds it, owned by the caller. */
float *kit_aov(Render *render, FilmAov aov);
/* Mean and standard error of channel c over all pixels. */
void kit_mean(const float *rgba, uint32_t count, int channel, double *out_mean, double *out_error);

/* --- the programs, as a user runs them -------------------------------------------------------- */

typedef struct KitSaid {
    int exit_code;
    char output[16384], errors[4096]; /* standard output and error, cut */
} KitSaid;

/* Runs build/<preset>/bin/PROGRAM with arguments (NULL-terminated) and waits for it. */
void kit_run_program(const char *program, const char *const *arguments, KitSaid *out);
/* sort-render on the kit's package with its cache folder, writing out.exr, without progress; `more` are
 * further arguments, NULL-terminated, or NULL. */
void kit_run(const Kit *kit, const char *const *more, KitSaid *out);
/* The picture that kit_run wrote has channels of these names (NULL-terminated). */
void kit_assert_channels(const Kit *kit, const char *const *names);
/* The exit code, and parts of what was said on standard error. */
void kit_assert_says(const KitSaid *said, int exit_code, const char *const *parts);
/* These take their arguments and parts in a row; the parts end with NULL. */
#define KIT_RENDER(said, ...)                                                                      \
    kit_run_program("sort-render", (const char *const[]){__VA_ARGS__, NULL}, said)
#define KIT_RUN(kit, said, ...) kit_run(kit, (const char *const[]){__VA_ARGS__, NULL}, said)
#define KIT_ASSERT_SAYS(said, exit_code, ...)                                                      \
    kit_assert_says(said, exit_code, (const char *const[]){__VA_ARGS__})

#endif
