/* OpenImageIO's TextureSystem behind C functions, for the benchmark that measures against it (tests/bench). */
#ifndef SORT_PLUGINS_OIIO_TEXTURE_H
#define SORT_PLUGINS_OIIO_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum OiioFilter { OIIO_BILINEAR, OIIO_TRILINEAR, OIIO_ANISO } OiioFilter;

/* Writes a tiled, mip-mapped TIFF of RGBA bytes, as `maketx` does. */
bool oiio_make_texture(const char *path, uint32_t size, const uint8_t *rgba);

typedef struct OiioTextures OiioTextures;
OiioTextures *oiio_textures_open(const char *const *paths, uint32_t count, float memory_mib);
void oiio_textures_close(OiioTextures *t);

/* Does `count` lookups on one thread, of the texture files[i] (or [0] if files is NULL), by handle or by name.
 * coords: [count][6], s, t, ds/dx, dt/dx, ds/dy, dt/dy. Returns the sum of the results. */
float oiio_run(OiioTextures *t, OiioFilter filter, bool by_name, const uint32_t *files,
               const float (*coords)[6], uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
