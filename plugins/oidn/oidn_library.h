/* The functions of Open Image Denoise that are used, of its versions 1.4 to 2: declared here by its public documentation, since the
 * distribution has neither library nor headers. */
#ifndef SORT_PLUGINS_OIDN_LIBRARY_H
#define SORT_PLUGINS_OIDN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct OidnLibrary {
    void *(*new_device)(int type);
    void (*set_device_int)(void *device, const char *name, int value);
    int (*get_device_int)(void *device, const char *name);
    void (*commit_device)(void *device);
    int (*get_device_error)(void *device, const char **out_message);
    void *(*new_filter)(void *device, const char *type);
    void (*set_image)(void *filter, const char *name, void *pixels, int format, size_t width,
                      size_t height, size_t byte_offset, size_t pixel_stride, size_t row_stride);
    void (*set_bool)(void *filter, const char *name, bool value);
    void (*commit_filter)(void *filter);
    void (*execute_filter)(void *filter);
    void (*release_filter)(void *filter);
    void (*release_device)(void *device);
} OidnLibrary;

enum { OIDN_CPU = 1, OIDN_FLOAT3 = 3 };

/* Opens the library at `path`; "": where it usually is, which are the system's folders and those of Blender. Returns
 * false with the reason in why. It stays open until the process ends. */
bool oidn_library_open(const char *path, OidnLibrary *out, char *why, size_t why_bytes);

#endif
