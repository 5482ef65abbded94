#include "plugins/assimp/assimp_io.h"
#include "plugins/plugin_check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* A file that consists of `text` followed by `stream` from tail_offset; either may be missing. */
typedef struct OpenFile {
    struct aiFile file;
    const char *text; /* borrowed */
    size_t text_bytes, size_bytes, position;
    FILE *stream; /* owned */
    int64_t tail_offset;
} OpenFile;

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
        ASSERT(f->position >= f->text_bytes && f->tail_offset >= 0);
        int64_t at = f->tail_offset + (int64_t)(f->position - f->text_bytes);
        if (fseek(f->stream, (long)at, SEEK_SET) != 0)
            return done;
        size_t got = fread(out + done, 1, bytes - done, f->stream);
        f->position += got;
        done += got;
    }
    ASSERT(done <= bytes);
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
    size_t position = base + offset; /* a negative offset wraps around to the right position */
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

static FILE *open_stream(const AssimpIo *io, const char *name)
{
    int fd = io->api->open_file(io->api->host, name);
    FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

/* Opens the part after the text, if any. Returns false if the file is too short or missing. */
static bool open_tail(const AssimpIo *io, const char *name, OpenFile *f)
{
    f->stream = open_stream(io, name);
    long end = f->stream && fseek(f->stream, 0, SEEK_END) == 0 ? ftell(f->stream) : -1;
    if (end < 0 || end < f->tail_offset) {
        if (f->stream)
            fclose(f->stream);
        return false;
    }
    ASSERT(f->size_bytes == f->text_bytes);
    f->size_bytes += (size_t)(end - f->tail_offset);
    return true;
}

static void note_materials(AssimpIo *io, const char *name, bool is_open)
{
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    if (!dot || strcasecmp(dot, ".mtl") != 0)
        return;
    io->has_materials = io->has_materials || is_open;
    if (!is_open && !io->missing[0])
        snprintf(io->missing, sizeof io->missing, "%s", slash ? slash + 1 : name);
}

static struct aiFile *file_open(struct aiFileIO *file_io, const char *name, const char *mode)
{
    AssimpIo *io = (AssimpIo *)file_io->UserData;
    bool is_text = io->info && strcmp(name, io->path) == 0;
    OpenFile *f = strchr(mode, 'w') ? NULL : calloc(1, sizeof *f);
    if (!f)
        return NULL;
    if (is_text) {
        f->text = io->info->text;
        f->text_bytes = f->size_bytes = io->info->text_bytes;
        f->tail_offset = io->info->tail_offset;
    }
    bool is_open = (is_text && f->tail_offset < 0) || open_tail(io, name, f);
    note_materials(io, name, is_open);
    if (!is_open) {
        free(f);
        return NULL;
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

void assimp_io_init(AssimpIo *io, const SortHostApi *api, const char *path, const GltfInfo *info)
{
    *io = (AssimpIo){.io = {.OpenProc = file_open, .CloseProc = file_close, .UserData = (char *)io},
                     .api = api,
                     .path = path,
                     .info = info};
}
