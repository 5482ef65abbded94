#include "plugins/assimp/gltf_io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_NAME_MAX = 4096 };

/* `text`, then `stream` from tail_offset; either may be missing. */
typedef struct OpenFile {
    struct aiFile file;
    const char *text; /* borrowed */
    size_t text_bytes, size_bytes, position;
    FILE *stream; /* owned */
    int64_t tail_offset;
} OpenFile;

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void gltf_decode_percent(const char *in, char *out, size_t out_bytes)
{
    size_t size = 0;
    while (*in && size + 1 < out_bytes) {
        int high = in[0] == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;
        out[size++] = low >= 0 ? (char)(high * 16 + low) : *in;
        in += low >= 0 ? 3 : 1;
    }
    out[size] = '\0';
}

static OpenFile *open_of(struct aiFile *file)
{
    return (OpenFile *)file->UserData;
}

static size_t read_bytes(OpenFile *f, char *out, size_t bytes)
{
    size_t done = 0;
    if (f->position < f->text_bytes) {
        size_t left = f->text_bytes - f->position;
        done = bytes < left ? bytes : left;
        memcpy(out, f->text + f->position, done);
        f->position += done;
    }
    if (done < bytes && f->stream) {
        int64_t at = f->tail_offset + (int64_t)(f->position - f->text_bytes);
        if (fseek(f->stream, (long)at, SEEK_SET) != 0)
            return done;
        size_t got = fread(out + done, 1, bytes - done, f->stream);
        f->position += got;
        done += got;
    }
    return done;
}

static size_t file_read(struct aiFile *file, char *out, size_t size, size_t count)
{
    if (size == 0 || count > SIZE_MAX / size)
        return 0;
    return read_bytes(open_of(file), out, size * count) / size;
}

static size_t file_write(struct aiFile *file, const char *data, size_t size, size_t count)
{
    (void)file, (void)data, (void)size, (void)count;
    return 0;
}

static size_t file_tell(struct aiFile *file)
{
    return open_of(file)->position;
}

static size_t file_size(struct aiFile *file)
{
    return open_of(file)->size_bytes;
}

static enum aiReturn file_seek(struct aiFile *file, size_t offset, enum aiOrigin origin)
{
    OpenFile *f = open_of(file);
    size_t base = origin == aiOrigin_CUR ? f->position : origin == aiOrigin_END ? f->size_bytes : 0;
    size_t position = base + offset; /* a negative offset wraps, and comes out right */
    if (position > f->size_bytes)
        return aiReturn_FAILURE;
    f->position = position;
    return aiReturn_SUCCESS;
}

static void file_flush(struct aiFile *file)
{
    (void)file;
}

static void file_close(struct aiFileIO *io, struct aiFile *file)
{
    (void)io;
    OpenFile *f = open_of(file);
    if (f->stream)
        fclose(f->stream);
    free(f);
}

static FILE *open_stream(const char *name)
{
    FILE *stream = fopen(name, "rb");
    if (!stream) {
        char decoded[FILE_NAME_MAX];
        gltf_decode_percent(name, decoded, sizeof decoded);
        stream = fopen(decoded, "rb");
    }
    return stream;
}

static struct aiFile *file_open(struct aiFileIO *file_io, const char *name, const char *mode)
{
    const GltfIo *io = (const GltfIo *)file_io->UserData;
    bool is_main = strcmp(name, io->path) == 0;
    OpenFile *f = strchr(mode, 'w') ? NULL : calloc(1, sizeof *f);
    if (!f)
        return NULL;
    if (is_main) {
        f->text = io->info->text;
        f->text_bytes = f->size_bytes = io->info->text_bytes;
        f->tail_offset = io->info->tail_offset;
    }
    if (!is_main || f->tail_offset >= 0) {
        f->stream = open_stream(name);
        long end = f->stream && fseek(f->stream, 0, SEEK_END) == 0 ? ftell(f->stream) : -1;
        if (end < f->tail_offset) {
            if (f->stream)
                fclose(f->stream);
            free(f);
            return NULL;
        }
        f->size_bytes += (size_t)(end - f->tail_offset);
    }
    f->file = (struct aiFile){.ReadProc = file_read,
                              .WriteProc = file_write,
                              .TellProc = file_tell,
                              .FileSizeProc = file_size,
                              .SeekProc = file_seek,
                              .FlushProc = file_flush,
                              .UserData = (char *)f};
    return &f->file;
}

void gltf_io_init(GltfIo *io, const char *path, const GltfInfo *info)
{
    *io = (GltfIo){.io = {.OpenProc = file_open, .CloseProc = file_close, .UserData = (char *)io},
                   .path = path,
                   .info = info};
}
