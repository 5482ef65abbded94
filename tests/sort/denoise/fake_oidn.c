/* A library with the functions of Open Image Denoise that does what a test wants: FAULT. Without a fault the filter halves
 * colours where albedo is below one, so that a test sees what it was given. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAULT_NONE, FAULT_CRASH, FAULT_EXIT, FAULT_HANG, FAULT_ERROR, FAULT_NAN, FAULT_NO_DEVICE };

static const int fault = FAULT;

typedef struct Filter {
    float *color, *albedo, *normal, *output;
    size_t count;
    bool is_hdr, is_clean;
} Filter;

static int device;

void *oidnNewDevice(int type);
void oidnSetDeviceInt(void *d, const char *name, int value);
int oidnGetDeviceInt(void *d, const char *name);
void oidnCommitDevice(void *d);
int oidnGetDeviceError(void *d, const char **out_message);
void *oidnNewFilter(void *d, const char *type);
void oidnSetSharedFilterImage(void *filter, const char *name, void *pixels, int format,
                              size_t width, size_t height, size_t offset, size_t pixel_stride,
                              size_t row_stride);
void oidnSetFilterBool(void *filter, const char *name, bool value);
void oidnCommitFilter(void *filter);
void oidnExecuteFilter(void *filter);
void oidnReleaseFilter(void *filter);
void oidnReleaseDevice(void *d);

void *oidnNewDevice(int type)
{
    printf("a library that talks on standard output, to device %d\n", type);
    (void)fflush(stdout);
    return fault == FAULT_NO_DEVICE ? NULL : &device;
}

void oidnSetDeviceInt(void *d, const char *name, int value)
{
    (void)d, (void)name, (void)value;
}

int oidnGetDeviceInt(void *d, const char *name)
{
    (void)d, (void)name;
    return 20501;
}

void oidnCommitDevice(void *d)
{
    (void)d;
}

int oidnGetDeviceError(void *d, const char **out_message)
{
    (void)d;
    if (fault != FAULT_ERROR)
        return 0;
    *out_message = "the weights are gone";
    return 1;
}

void *oidnNewFilter(void *d, const char *type)
{
    (void)d;
    return strcmp(type, "RT") == 0 ? calloc(1, sizeof(Filter)) : NULL;
}

void oidnSetSharedFilterImage(void *filter, const char *name, void *pixels, int format,
                              size_t width, size_t height, size_t offset, size_t pixel_stride,
                              size_t row_stride)
{
    Filter *f = filter;
    if (format != 3 || offset || pixel_stride || row_stride)
        abort();
    f->count = width * height;
    if (strcmp(name, "color") == 0)
        f->color = pixels;
    else if (strcmp(name, "albedo") == 0)
        f->albedo = pixels;
    else if (strcmp(name, "normal") == 0)
        f->normal = pixels;
    else if (strcmp(name, "output") == 0)
        f->output = pixels;
    else
        abort();
}

void oidnSetFilterBool(void *filter, const char *name, bool value)
{
    Filter *f = filter;
    if (strcmp(name, "hdr") == 0)
        f->is_hdr = value;
    else if (strcmp(name, "cleanAux") == 0)
        f->is_clean = value;
    else
        abort();
}

void oidnCommitFilter(void *filter)
{
    (void)filter;
}

static void fail(void)
{
    if (fault == FAULT_CRASH)
        abort();
    if (fault == FAULT_EXIT)
        _exit(0);
    while (fault == FAULT_HANG)
        (void)pause();
}

void oidnExecuteFilter(void *filter)
{
    const Filter *f = filter;
    if (!f->color)
        return; /* a guide */
    fail();
    if (!f->is_hdr || f->is_clean != (f->albedo != NULL))
        abort();
    for (size_t i = 0; i < 3 * f->count; ++i) {
        if (!(fabsf(f->color[i]) <= 65504.0f) || (f->albedo && !isfinite(f->albedo[i])) ||
            (f->normal && !(fabsf(f->normal[i]) <= 1.0f)))
            abort();
        f->output[i] = f->color[i] * (f->albedo && f->albedo[i] < 1.0f ? 0.5f : 1.0f);
    }
    if (fault == FAULT_NAN)
        f->output[0] = NAN;
}

void oidnReleaseFilter(void *filter)
{
    free(filter);
}

void oidnReleaseDevice(void *d)
{
    (void)d;
}
