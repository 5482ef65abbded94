#include "textures/cache/descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

/* Returns `wanted`, or half of the descriptors that the process may still open if that is less. The other half
 * is left to pictures, plugins and child processes. */
static uint32_t fair_limit(uint32_t wanted)
{
    struct rlimit all;
    if (getrlimit(RLIMIT_NOFILE, &all) != 0 || all.rlim_cur == RLIM_INFINITY ||
        all.rlim_cur / 4 >= wanted)
        return wanted;
    uint32_t room = 0;
    for (rlim_t fd = 0; fd < all.rlim_cur; ++fd)
        room += fcntl((int)fd, F_GETFD) < 0 && errno == EBADF;
    uint32_t fair = room / 2 > 0 ? room / 2 : 1;
    return fair < wanted ? fair : wanted;
}

void descriptor_pool_init(DescriptorPool *p, uint32_t limit)
{
    *p = (DescriptorPool){.limit = fair_limit(limit)};
    mutex_init(&p->lock);
    cond_init(&p->changed);
}

void descriptor_pool_destroy(DescriptorPool *p)
{
    mutex_destroy(&p->lock);
    cond_destroy(&p->changed);
}

void descriptor_init(Descriptor *d, const char *path)
{
    *d = (Descriptor){.path = path, .fd = -1};
}

/* --- the list by last use; under the lock ------------------------------------------------- */

static void list_remove(DescriptorPool *p, Descriptor *d)
{
    if (d->older)
        d->older->newer = d->newer;
    else
        p->oldest = d->newer;
    if (d->newer)
        d->newer->older = d->older;
    else
        p->newest = d->older;
    d->older = d->newer = NULL;
}

static void list_append(DescriptorPool *p, Descriptor *d)
{
    d->older = p->newest;
    d->newer = NULL;
    if (p->newest)
        p->newest->newer = d;
    else
        p->oldest = d;
    p->newest = d;
}

static void close_one(DescriptorPool *p, Descriptor *d)
{
    list_remove(p, d);
    stex_close(d->fd);
    d->fd = -1;
    --p->open_count;
}

/* Makes a place for one more open file. Returns false while all open files are in use. */
static bool make_place(DescriptorPool *p)
{
    if (p->open_count < p->limit)
        return true;
    for (Descriptor *d = p->oldest; d; d = d->newer) {
        if (d->users == 0) {
            close_one(p, d);
            return true;
        }
    }
    return false;
}

/* Compares an open file's header with the one that was read first. */
static bool verify_header(const Descriptor *d, int fd, TileFailure *out_failure)
{
    StexHeader header;
    uint64_t file_bytes;
    Status status = stex_read_header(fd, d->path, &header, &file_bytes, NULL);
    if (status == STATUS_OK && header.header_crc == d->header->header_crc &&
        header.file_bytes == d->header->file_bytes)
        return true;
    *out_failure = status == STATUS_IO
                       ? (TileFailure){.fault = TILE_FAULT_READ, .error_number = EIO}
                       : (TileFailure){.fault = TILE_FAULT_REPLACED};
    return false;
}

/* Opens the file and verifies its header. The caller does not hold the lock. */
static bool open_and_verify(const Descriptor *d, int *out_fd, StexStamp *out_stamp,
                            TileFailure *out_failure, Error *err)
{
    *out_failure = (TileFailure){.fault = TILE_FAULT_OPEN};
    errno = 0;
    if (stex_open(d->path, out_fd, err) != STATUS_OK) {
        out_failure->error_number = errno;
        return false;
    }
    /* The stamp is taken before the header is read, so that a write between the two is noticed. */
    if (!stex_stamp(*out_fd, out_stamp)) {
        out_failure->error_number = errno;
        stex_close(*out_fd);
        error_set_at(err, STATUS_IO, d->path, "cannot be examined: %s",
                     strerror(out_failure->error_number));
        return false;
    }
    if (d->header && !verify_header(d, *out_fd, out_failure)) {
        stex_close(*out_fd);
        return false;
    }
    return true;
}

/* Reacts to a file that could not be opened. If the process has run out of descriptors and some of the pool's
 * are unused, the limit is lowered by one and the call returns true. */
static bool lower_limit(DescriptorPool *p, const TileFailure *failure)
{
    bool is_want = failure->fault == TILE_FAULT_OPEN &&
                   (failure->error_number == EMFILE || failure->error_number == ENFILE);
    if (!is_want || p->open_count == 0)
        return false;
    if (p->open_count < p->limit)
        p->limit = p->open_count;
    return true;
}

bool descriptor_acquire(DescriptorPool *p, Descriptor *d, int *out_fd, TileFailure *out_failure,
                        Error *err)
{
    mutex_lock(&p->lock);
    bool ok = true, is_again = true;
    while (is_again) {
        is_again = false;
        while (d->fd < 0 && (d->is_opening || !make_place(p)))
            cond_wait(&p->changed, &p->lock);
        if (d->fd >= 0) {
            list_remove(p, d);
            ok = true;
            break;
        }
        d->is_opening = true;
        ++p->open_count;
        mutex_unlock(&p->lock);
        int fd = -1;
        StexStamp stamp;
        ok = open_and_verify(d, &fd, &stamp, out_failure, err);
        mutex_lock(&p->lock);
        d->is_opening = false;
        if (ok) {
            d->fd = fd;
            d->stamp = stamp;
            d->is_detached = false;
            ++p->opened;
        } else {
            --p->open_count;
            is_again = lower_limit(p, out_failure);
        }
        cond_broadcast(&p->changed);
    }
    if (ok) {
        list_append(p, d);
        ++d->users;
        *out_fd = d->fd;
    }
    mutex_unlock(&p->lock);
    return ok;
}

bool descriptor_confirm(DescriptorPool *p, Descriptor *d, bool *out_is_news,
                        TileFailure *out_failure)
{
    *out_is_news = false;
    StexStamp now;
    if (!stex_stamp(d->fd, &now)) {
        *out_failure = (TileFailure){.fault = TILE_FAULT_READ, .error_number = errno};
        return false;
    }
    mutex_lock(&p->lock);
    bool is_untouched = stex_stamps_equal(&now, &d->stamp);
    mutex_unlock(&p->lock);
    if (is_untouched)
        return true;
    if (!verify_header(d, d->fd, out_failure))
        return false;
    bool is_detached = !stex_is_at_path(&now, d->path);
    mutex_lock(&p->lock);
    d->stamp = now;
    *out_is_news = is_detached && !d->is_detached;
    d->is_detached = is_detached;
    mutex_unlock(&p->lock);
    return true;
}

void descriptor_release(DescriptorPool *p, Descriptor *d)
{
    mutex_lock(&p->lock);
    if (--d->users == 0)
        cond_broadcast(&p->changed);
    mutex_unlock(&p->lock);
}

void descriptor_renew(DescriptorPool *p, Descriptor *d)
{
    mutex_lock(&p->lock);
    while (d->is_opening || d->users > 0)
        cond_wait(&p->changed, &p->lock);
    if (d->fd >= 0)
        close_one(p, d);
    cond_broadcast(&p->changed);
    mutex_unlock(&p->lock);
}

void descriptor_close(DescriptorPool *p, Descriptor *d)
{
    mutex_lock(&p->lock);
    if (d->fd >= 0)
        close_one(p, d);
    cond_broadcast(&p->changed);
    mutex_unlock(&p->lock);
}

void descriptor_pool_counts(DescriptorPool *p, uint64_t *out_opened, uint64_t *out_open_now)
{
    mutex_lock(&p->lock);
    *out_opened = p->opened;
    *out_open_now = p->open_count;
    mutex_unlock(&p->lock);
}
