/* png_write.c explains the jumps. */
#include "base/image/png_read.h"
#include "base/alloc.h"
#include "base/file.h"

#include <png.h>
#include <string.h>

typedef struct PngReader {
    png_structp png;
    png_infop info;
    const char *data; /* the file */
    size_t size_bytes, position;
    uint32_t width, height;
    uint8_t *pixels;
    Status status;
    char message[200];
} PngReader;

enum { FILE_BYTES_MAX = 1 << 30 };

static void on_error(png_structp png, png_const_charp message)
{
    PngReader *r = png_get_error_ptr(png);
    (void)snprintf(r->message, sizeof r->message, "%s", message);
    r->status = STATUS_FORMAT;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static void on_read(png_structp png, png_bytep out, size_t size_bytes)
{
    PngReader *r = png_get_io_ptr(png);
    if (size_bytes > r->size_bytes - r->position)
        png_error(png, "the file is cut off");
    memcpy(out, r->data + r->position, size_bytes);
    r->position += size_bytes;
}

static void read_pixels(PngReader *r)
{
    if (setjmp(png_jmpbuf(r->png)))
        return;
    png_set_read_fn(r->png, r, on_read);
    png_set_user_limits(r->png, PNG_SIZE_MAX_PX, PNG_SIZE_MAX_PX);
    png_read_info(r->png, r->info);
    png_set_expand(r->png); /* expands palettes, greys of less than 8 bits, and colour keys */
    png_set_scale_16(r->png);
    png_set_gray_to_rgb(r->png);
    png_set_add_alpha(r->png, 0xff, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->width = png_get_image_width(r->png, r->info);
    r->height = png_get_image_height(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != (size_t)r->width * 4)
        png_error(r->png, "an unknown pixel layout");
    r->pixels = mem_alloc((size_t)r->width * r->height, 4);
    if (!r->pixels) {
        r->status = STATUS_NO_MEMORY;
        (void)snprintf(r->message, sizeof r->message, "out of memory for its pixels");
        return;
    }
    for (int pass = 0; pass < passes; ++pass)
        for (uint32_t y = 0; y < r->height; ++y)
            png_read_row(r->png, r->pixels + (size_t)y * r->width * 4, NULL);
    png_read_end(r->png, NULL);
}

Status png_read(const char *path, uint32_t *out_width, uint32_t *out_height, uint8_t **out_pixels,
                Error *err)
{
    *out_width = *out_height = 0;
    *out_pixels = NULL;
    char *data;
    PngReader r = {0};
    TRY(file_read(path, FILE_BYTES_MAX, &data, &r.size_bytes, err));
    r.data = data;
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    if (r.info) {
        read_pixels(&r);
    } else {
        r.status = STATUS_NO_MEMORY;
        (void)snprintf(r.message, sizeof r.message, "out of memory");
    }
    if (r.png)
        png_destroy_read_struct(&r.png, &r.info, NULL);
    mem_free(data);
    if (r.status != STATUS_OK) {
        mem_free(r.pixels);
        return error_set_at(err, r.status, path, "%s", r.message);
    }
    *out_width = r.width;
    *out_height = r.height;
    *out_pixels = r.pixels;
    return STATUS_OK;
}
