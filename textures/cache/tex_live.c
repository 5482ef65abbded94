#define _DEFAULT_SOURCE /* O_NOFOLLOW */
#include "textures/tex_live.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/path.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIVE_MAGIC "\x93STXLV\r\n"

struct TexLivePublisher {
    int fd;
    char *path;
    uint64_t process_start, sequence;
};

/* Returns the start time of a process in the kernel's ticks; 0 if there is no such process or its start time is
 * unknown. */
static uint64_t process_start_of(uint32_t process_id)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", process_id);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t count = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[count] = 0;
    /* The process name in brackets may contain anything; the start time is the 20th field behind it. */
    const char *at = strrchr(text, ')');
    for (uint32_t i = 0; at && i < 20; ++i)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

bool tex_live_is_alive(const TexLive *live)
{
    if (kill((pid_t)live->process_id, 0) != 0 && errno == ESRCH)
        return false;
    uint64_t start = process_start_of(live->process_id);
    return start == 0 || live->process_start == 0 || start == live->process_start;
}

static uint32_t crc_of(const TexLive *live)
{
    uint32_t zero = 0;
    const uint8_t *bytes = (const uint8_t *)live;
    size_t at = offsetof(TexLive, crc), behind = at + sizeof zero;
    uint32_t crc = crc32c(0, bytes, at);
    crc = crc32c(crc, &zero, sizeof zero);
    return crc32c(crc, bytes + behind, sizeof *live - behind);
}

/* --- publishing --------------------------------------------------------------------------- */

/* Handles a file that already has the name: it belongs to a live render, which is an error, or was left behind
 * and is removed. */
static Status clear_way(const char *path, Error *err)
{
    TexLive *live = MEM_NEW(TexLive);
    if (!live)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    Status status = tex_live_read(path, live, err);
    if (status == STATUS_OK && tex_live_is_alive(live))
        status = error_set_at(err, STATUS_INVALID, path,
                              "the render of process %" PRIu32 " publishes here", live->process_id);
    else if (status == STATUS_OK && unlink(path) != 0)
        status = error_set_at(err, STATUS_IO, path, "cannot be removed: %s", strerror(errno));
    else if (status == STATUS_FORMAT || status == STATUS_UNSUPPORTED)
        status = error_set_at(err, STATUS_INVALID, path,
                              "is there, and is no file that a render has left behind");
    mem_free(live);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

Status tex_live_begin(const char *path, TexLivePublisher **out_publisher, Error *err)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    *out_publisher = NULL;
    int fd = open(path, flags, 0600);
    if (fd < 0 && errno == EEXIST) {
        TRY(clear_way(path, err));
        fd = open(path, flags, 0600);
    }
    if (fd < 0)
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path,
                            "cannot be made: %s", strerror(errno));
    TexLivePublisher *p = MEM_NEW(TexLivePublisher);
    if (p)
        p->path = mem_strdup(path);
    if (!p || !p->path) {
        close(fd);
        unlink(path);
        mem_free(p);
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    }
    p->fd = fd;
    p->process_start = process_start_of((uint32_t)getpid());
    *out_publisher = p;
    return STATUS_OK;
}

void tex_live_publish(TexLivePublisher *p, TexLive *live)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(live->magic, LIVE_MAGIC, sizeof live->magic);
    live->version = TEX_LIVE_VERSION;
    live->size_bytes = sizeof *live;
    live->process_id = (uint32_t)getpid();
    live->process_start = p->process_start;
    live->sequence = ++p->sequence;
    live->wall_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    live->crc = crc_of(live);
    ssize_t written = pwrite(p->fd, live, sizeof *live, 0);
    SORT_UNUSED(written); /* the check sum of a short write does not agree */
}

void tex_live_end(TexLivePublisher *p)
{
    if (!p)
        return;
    unlink(p->path);
    close(p->fd);
    mem_free(p->path);
    mem_free(p);
}

/* --- reading ------------------------------------------------------------------------------ */

static Status read_once(const char *path, TexLive *out, bool *out_is_torn, Error *err)
{
    *out_is_torn = false;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path,
                            "cannot be opened: %s", strerror(errno));
    memset(out, 0, sizeof *out);
    ssize_t count = pread(fd, out, sizeof *out, 0);
    close(fd);
    if (count < 0)
        return error_set_at(err, STATUS_IO, path, "cannot be read: %s", strerror(errno));
    if (count == 0) { /* the file has just been created */
        *out_is_torn = true;
        return error_set_at(err, STATUS_FORMAT, path, "is empty");
    }
    if ((size_t)count < offsetof(TexLive, crc) ||
        memcmp(out->magic, LIVE_MAGIC, sizeof out->magic) != 0)
        return error_set_at(err, STATUS_FORMAT, path, "is nothing that a render publishes");
    if (out->version != TEX_LIVE_VERSION || out->size_bytes != sizeof *out)
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "comes from another version of sort-render");
    if ((size_t)count != sizeof *out || out->crc != crc_of(out)) {
        *out_is_torn = true;
        return error_set_at(err, STATUS_FORMAT, path,
                            "is damaged, or never quiet enough to be read");
    }
    return STATUS_OK;
}

/* Checks that all names are terminated. */
static bool is_sound(const TexLive *live)
{
    bool ok = memchr(live->scene, 0, sizeof live->scene) != NULL;
    for (uint32_t i = 0; i < TEX_LIVE_TEXTURES; ++i)
        ok = ok && memchr(live->textures[i].name, 0, TEX_LIVE_NAME_BYTES) != NULL;
    return ok;
}

Status tex_live_read(const char *path, TexLive *out_live, Error *err)
{
    enum { TRIES = 20 };
    bool is_torn = true;
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < TRIES && is_torn; ++i) {
        if (i > 0)
            clock_sleep_ns(2000000);
        status = read_once(path, out_live, &is_torn, err);
    }
    if (status == STATUS_OK && !is_sound(out_live))
        return error_set_at(err, STATUS_FORMAT, path, "has names without an end");
    return status;
}
