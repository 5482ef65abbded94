#define _GNU_SOURCE /* O_TMPFILE, fallocate, syscall */
#include "base/file.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns an error with the system's reason, from errno; `what` is the verb of the message, such as "open". */
static Status fail_errno(Error *err, const char *path, const char *what)
{
    int reason = errno;
    Status code = reason == ENOENT || reason == ENOTDIR ? STATUS_NOT_FOUND
                  : reason == ENOMEM                    ? STATUS_NO_MEMORY
                                                        : STATUS_IO;
    return error_set_at(err, code, path, "cannot %s: %s", what, strerror(reason));
}

static Status read_all(int fd, const char *path, char *data, size_t size_bytes, Error *err)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t part = read(fd, data + done, size_bytes - done);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return fail_errno(err, path, "read");
        if (part == 0)
            return error_set_offset(err, STATUS_IO, path, done,
                                    "the file became shorter while it was read");
        done += (size_t)part;
    }
    return STATUS_OK;
}

/* Returns whether users other than this one can have written the file. */
static bool is_open_to_others(const struct stat *info)
{
    return info->st_uid != geteuid() || (info->st_mode & 022) != 0;
}

bool file_is_private(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && !is_open_to_others(&info);
}

/* Reads a whole file. is_private accepts only a file that no other user can have written. */
static Status read_whole(const char *path, size_t max_bytes, bool is_private, char **out_data,
                         size_t *out_size_bytes, Error *err)
{
    *out_data = NULL;
    *out_size_bytes = 0;
    /* O_NONBLOCK keeps a pipe from blocking the open */
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    int fd = open(path, is_private ? flags | O_NOFOLLOW : flags);
    if (fd < 0)
        return fail_errno(err, path, "open");
    Status status = STATUS_OK;
    char *data = NULL;
    struct stat info;
    if (fstat(fd, &info) != 0)
        status = fail_errno(err, path, "open");
    else if (!S_ISREG(info.st_mode))
        status = error_set_at(err, STATUS_IO, path, "not a regular file");
    else if (is_private && is_open_to_others(&info))
        status = error_set_at(err, STATUS_INVALID, path, "others than this user can write it");
    else if ((uint64_t)info.st_size > max_bytes)
        status = error_set_at(err, STATUS_LIMIT, path, "%jd bytes long; at most %zu are accepted",
                              (intmax_t)info.st_size, max_bytes);
    if (status == STATUS_OK) {
        size_t size_bytes = (size_t)info.st_size;
        data = mem_realloc(NULL, 1, size_bytes + 1);
        if (!data) {
            status = error_set_at(err, STATUS_NO_MEMORY, path, "out of memory for %zu bytes",
                                  size_bytes);
        } else if ((status = read_all(fd, path, data, size_bytes, err)) == STATUS_OK) {
            data[size_bytes] = '\0';
            *out_size_bytes = size_bytes;
            *out_data = data;
            data = NULL;
        }
    }
    mem_free(data);
    (void)close(fd);
    return status;
}

Status file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_size_bytes,
                 Error *err)
{
    return read_whole(path, max_bytes, false, out_data, out_size_bytes, err);
}

Status file_read_private(const char *path, size_t max_bytes, char **out_data,
                         size_t *out_size_bytes, Error *err)
{
    return read_whole(path, max_bytes, true, out_data, out_size_bytes, err);
}

static Status hash_all(int fd, const char *path, HashState *h, Error *err)
{
    enum { PIECE_BYTES = 1 << 20 };
    char *piece = mem_realloc(NULL, 1, PIECE_BYTES);
    if (!piece)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    ssize_t part;
    while ((part = read(fd, piece, PIECE_BYTES)) > 0 || (part < 0 && errno == EINTR))
        if (part > 0)
            hash128_update(h, piece, (size_t)part);
    Status status = part < 0 ? fail_errno(err, path, "read") : STATUS_OK;
    mem_free(piece);
    return status;
}

Status file_hash(const char *path, HashState *h, Error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0)
        return fail_errno(err, path, "open");
    Status status = fstat(fd, &info) == 0 && S_ISREG(info.st_mode)
                        ? hash_all(fd, path, h, err)
                        : error_set_at(err, STATUS_IO, path, "not a regular file");
    (void)close(fd);
    return status;
}

static Status begin_replace(const char *path, bool follows_links, FileReplace *out_file,
                            Error *err);

static Status write_whole(const char *path, const void *data, size_t size_bytes, bool follows_links,
                          Error *err)
{
    FileReplace file;
    TRY(begin_replace(path, follows_links, &file, err));
    bool is_private =
        !follows_links; /* a private file that the umask let others write would be rejected later */
    if ((is_private && fchmod(fileno(file.stream), 0600) != 0) ||
        (size_bytes > 0 && fwrite(data, 1, size_bytes, file.stream) != size_bytes)) {
        Status status = fail_errno(err, path, "write");
        file_replace_abandon(&file);
        return status;
    }
    return file_replace_commit(&file, err);
}

Status file_write(const char *path, const void *data, size_t size_bytes, Error *err)
{
    return write_whole(path, data, size_bytes, true, err);
}

Status file_write_fleeting(const char *path, const void *data, size_t size_bytes, Error *err)
{
    FileReplace file;
    TRY(file_replace_begin(path, &file, err));
    file.is_fleeting = true;
    if (size_bytes > 0 && fwrite(data, 1, size_bytes, file.stream) != size_bytes) {
        Status status = fail_errno(err, path, "write");
        file_replace_abandon(&file);
        return status;
    }
    return file_replace_commit(&file, err);
}

Status file_write_private(const char *path, const void *data, size_t size_bytes, Error *err)
{
    return write_whole(path, data, size_bytes, false, err);
}

/* --- files that appear complete or not at all ------------------------------------------------- */

enum { TEMP_SUFFIX = sizeof ".00000000.tmp" - 1, NAMES_TRIED = 100 };

/* Makes a unique temporary name beside the file. */
static bool make_temp_name(FileReplace *file, uint64_t *seed)
{
    *seed = hash_mix64(*seed + 0x9e3779b97f4a7c15u);
    int length = snprintf(file->temp_path, sizeof file->temp_path, "%s.%08" PRIx32 ".tmp",
                          file->path, (uint32_t)(*seed >> 32));
    bool fits = length > 0 && (size_t)length < sizeof file->temp_path;
    if (!fits)
        errno = ENAMETOOLONG;
    return fits;
}

static uint64_t temp_seed(const FileReplace *file)
{
    return clock_now_ns() ^ ((uint64_t)getpid() << 40) ^ (uintptr_t)file;
}

static Str folder_of(const FileReplace *file, char out_folder[PATH_BYTES])
{
    Str folder = path_dirname(file->path);
    memcpy(out_folder, folder.data, folder.size_bytes);
    out_folder[folder.size_bytes] = '\0';
    return (Str){out_folder, folder.size_bytes};
}

/* Opens a file without a name, which disappears with the process. Returns -1 if the file system does not
 * support that, or if there is no /proc through which the file can be named later. */
static int open_unnamed(FileReplace *file)
{
    char folder[PATH_BYTES];
    (void)folder_of(file, folder);
    int fd = access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)
                                                : -1;
    file->is_unnamed = fd >= 0;
    if (fd >= 0)
        (void)flock(fd,
                    LOCK_EX |
                        LOCK_NB); /* nobody else can hold it; it counts once the file has a name */
    return fd;
}

static bool is_temp_name(const char *name, const char *final)
{
    size_t size = strlen(final);
    return strlen(name) == size + TEMP_SUFFIX && strncmp(name, final, size) == 0 &&
           name[size] == '.' && strspn(name + size + 1, "0123456789abcdef") == 8 &&
           strcmp(name + size + 9, ".tmp") == 0;
}

/* Removes temporary files that killed processes of this user left beside this file. A process that is still
 * writing holds a lock. */
static void sweep_temps(const FileReplace *file)
{
    char folder[PATH_BYTES];
    (void)folder_of(file, folder);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int dir_fd = dir ? dirfd(dir) : -1;
    while (dir_fd >= 0 && (entry = readdir(dir)) != NULL) {
        if (!is_temp_name(entry->d_name, path_basename(file->path)))
            continue;
        int fd = openat(dir_fd, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat info;
        if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dir_fd, entry->d_name, 0);
        if (fd >= 0)
            (void)close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

/* Returns whether the open file still has this name. */
static bool is_named(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Opens a temporary file whose mode obeys the umask, which that of mkstemp does not. */
static int open_named(FileReplace *file)
{
    uint64_t seed = temp_seed(file);
    for (int attempt = 0; attempt < NAMES_TRIED && make_temp_name(file, &seed); ++attempt) {
        int fd = open(file->temp_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return fd;
        /* File systems without locks are not swept; on others, somebody may have swept the file just before it
         * was locked. */
        if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
            is_named(fd, file->temp_path))
            return fd;
        if (fd >= 0)
            (void)close(fd);
    }
    file->temp_path[0] = '\0';
    return -1;
}

bool file_follow_links(char path[PATH_BYTES])
{
    enum { LINKS_MAX = 40 };
    char target[PATH_BYTES], next[PATH_BYTES], parent[PATH_BYTES];
    for (int links = 0; links < LINKS_MAX; ++links) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0)
            return true;
        target[length] = '\0';
        Str dirname = path_dirname(path);
        memcpy(parent, dirname.data, dirname.size_bytes);
        parent[dirname.size_bytes] = '\0';
        if ((size_t)length == sizeof target - 1 ||
            path_join(parent, target, next, NULL) != STATUS_OK)
            break;
        memcpy(path, next, sizeof next);
    }
    errno = ELOOP;
    return false;
}

static Status begin_replace(const char *path, bool follows_links, FileReplace *out_file, Error *err)
{
    *out_file = (FileReplace){0};
    TRY(path_join(NULL, path, out_file->path, err));
    struct stat info;
    bool exists = follows_links && stat(path, &info) == 0;
    int fd = -1;
    if (exists && S_ISDIR(info.st_mode))
        return error_set_at(err, STATUS_IO, path, "is a folder");
    if (exists && !S_ISREG(info.st_mode)) { /* /dev/null or a pipe is written in place */
        fd = open(path, O_WRONLY | O_CLOEXEC);
        out_file->is_in_place = true;
    } else if (exists && access(path, W_OK) != 0) {
        fd = -1; /* errno is set: in a writable folder the rename would replace a protected file */
    } else if (strlen(path_basename(out_file->path)) + TEMP_SUFFIX > NAME_MAX) {
        errno = ENAMETOOLONG; /* reported before the work and not after it */
    } else if (!follows_links || file_follow_links(out_file->path)) { /* a link is kept */
        sweep_temps(out_file);
        fd = open_unnamed(out_file);
        if (fd < 0)
            fd = open_named(out_file);
    }
    if (fd < 0)
        return fail_errno(err, path, "create");
    out_file->stream = fdopen(fd, out_file->is_in_place ? "wb" : "w+b");
    if (!out_file->stream) {
        Status status = fail_errno(err, path, "create");
        (void)close(fd);
        if (out_file->temp_path[0])
            (void)unlink(out_file->temp_path);
        return status;
    }
    return STATUS_OK;
}

Status file_replace_begin(const char *path, FileReplace *out_file, Error *err)
{
    return begin_replace(path, true, out_file, err);
}

/* link() cannot replace a file but rename() can, so a nameless file first gets a temporary name. */
static bool give_name(FileReplace *file)
{
    char descriptor[64];
    uint64_t seed = temp_seed(file);
    (void)snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fileno(file->stream));
    for (int attempt = 0; attempt < NAMES_TRIED && make_temp_name(file, &seed); ++attempt) {
        if (linkat(AT_FDCWD, descriptor, AT_FDCWD, file->temp_path, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    file->temp_path[0] = '\0';
    return false;
}

Status file_check_room(const char *path, uint64_t size_bytes, Error *err)
{
    FileReplace file;
    /* Opening a pipe would wait for a reader, and closing it would tell the reader that this was all. */
    if (file_is_special(path))
        return access(path, W_OK) == 0 ? STATUS_OK : fail_errno(err, path, "write");
    TRY(file_replace_begin(path, &file, err));
    Status status = STATUS_OK;
    int result = 0;
    if (size_bytes > 0)
        while ((result = fallocate(fileno(file.stream), 0, 0, (off_t)size_bytes)) != 0 &&
               errno == EINTR)
            continue;
    /* Not every file system can reserve room. */
    if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS)
        status = error_set_at(err, STATUS_IO, path, "has no room for its %llu bytes: %s",
                              (unsigned long long)size_bytes, strerror(errno));
    file_replace_abandon(&file);
    return status;
}

Status file_replace_commit(FileReplace *file, Error *err)
{
    Status status = STATUS_OK;
    if (fflush(file->stream) != 0 || ferror(file->stream) ||
        (!file->is_in_place && !file->is_fleeting && fsync(fileno(file->stream)) != 0) ||
        (file->is_unnamed && !give_name(file)))
        status = fail_errno(err, file->path, "write");
    /* As long as the file is open and locked, it is not taken for one that was left behind. */
    if (status == STATUS_OK && !file->is_in_place && rename(file->temp_path, file->path) != 0)
        status = fail_errno(err, file->path, "replace");
    if (status != STATUS_OK && file->temp_path[0])
        (void)unlink(file->temp_path);
    if (fclose(file->stream) != 0 && status == STATUS_OK)
        status = fail_errno(err, file->path, "write");
    file->stream = NULL;
    return status;
}

void file_replace_abandon(FileReplace *file)
{
    if (file->temp_path[0])
        (void)unlink(file->temp_path);
    (void)fclose(file->stream);
    file->stream = NULL;
}

/* Opens and locks a file; `operation` is that of flock(). */
static Status lock_file(const char *path, int operation, FileLock *out_lock, bool *out_is_locked,
                        Error *err)
{
    struct stat info;
    out_lock->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    int result = out_lock->fd;
    if (result >= 0 && (fstat(result, &info) != 0 || !S_ISREG(info.st_mode))) {
        file_unlock(out_lock);
        return error_set_at(err, STATUS_IO, path, "cannot be locked: not a regular file");
    }
    while (out_lock->fd >= 0 && (result = flock(out_lock->fd, operation)) != 0 && errno == EINTR)
        continue;
    *out_is_locked = result >= 0;
    if (result >= 0)
        return STATUS_OK;
    bool is_held = out_lock->fd >= 0 && errno == EWOULDBLOCK;
    Status status =
        is_held ? STATUS_OK
                : error_set_at(err, STATUS_IO, path, "cannot be locked: %s", strerror(errno));
    file_unlock(out_lock);
    return status;
}

Status file_lock(const char *path, FileLock *out_lock, Error *err)
{
    bool is_locked;
    return lock_file(path, LOCK_EX, out_lock, &is_locked, err);
}

Status file_try_lock(const char *path, FileLock *out_lock, bool *out_is_locked, Error *err)
{
    return lock_file(path, LOCK_EX | LOCK_NB, out_lock, out_is_locked, err);
}

void file_unlock(FileLock *lock)
{
    if (lock->fd >= 0)
        (void)close(lock->fd);
    lock->fd = -1;
}

bool file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool file_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int file_open_beneath(int folder, const char *path)
{
    enum {
        OPENAT2 = 437,
        NO_MAGIC_LINKS = 0x02,
        BENEATH = 0x08
    }; /* headers of older systems lack them */
    const struct {
        uint64_t flags, mode, resolve;
    } how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = NO_MAGIC_LINKS | BENEATH};
    return (int)syscall(OPENAT2, folder, path, &how, sizeof how);
}

Status file_size(const char *path, uint64_t *out_size_bytes, Error *err)
{
    struct stat info;
    *out_size_bytes = 0;
    if (stat(path, &info) != 0)
        return fail_errno(err, path, "open");
    *out_size_bytes = (uint64_t)info.st_size;
    return STATUS_OK;
}

static Status make_directories(const char *path, mode_t mode, Error *err)
{
    char part[PATH_BYTES];
    TRY(path_join(NULL, path, part, err));
    if (part[0] == '\0')
        return error_set(err, STATUS_INVALID, "a folder without a name");
    /* Makes each parent in turn, then the folder itself; other processes may be making the same folders. */
    for (char *at = part + 1;; ++at) {
        if (*at != '/' && *at != '\0')
            continue;
        bool is_last = *at == '\0';
        *at = '\0';
        if (mkdir(part, mode) != 0) {
            if (errno != EEXIST)
                return fail_errno(err, part, "create the folder");
            if (!file_is_directory(part))
                return error_set_at(err, STATUS_IO, part, "is not a folder");
        }
        if (is_last)
            return STATUS_OK;
        *at = '/';
    }
}

Status file_make_directories(const char *path, Error *err)
{
    return make_directories(path, 0777, err);
}

/* The owner of a folder can change what its names lead to, and so can others if its mode allows. 65534 stands
 * for users unknown to this system, such as the host's root inside a container. */
static bool is_trusted_owner(uid_t owner)
{
    enum { UNKNOWN = 65534 };
    return owner == 0 || owner == geteuid() || owner == UNKNOWN;
}

static bool is_trusted_parent(const struct stat *info)
{
    return is_trusted_owner(info->st_uid) &&
           ((info->st_mode & S_IWOTH) == 0 || (info->st_mode & S_ISVTX) != 0);
}

/* Calls `is_trusted` for each of the names that lead to absolute `path`, with what lstat says of it. */
static Status check_each_name(const char *path, bool (*is_trusted)(const struct stat *), Error *err)
{
    char part[PATH_BYTES];
    TRY(path_join(NULL, path, part, err));
    for (char *at = part + 1;; ++at) {
        if (*at != '/' && *at != '\0')
            continue;
        bool is_last = *at == '\0';
        struct stat info;
        *at = '\0';
        if (lstat(part, &info) != 0)
            return fail_errno(err, part, "look at");
        if (!is_trusted(&info))
            return error_set_at(err, STATUS_INVALID, part,
                                "another user can change it, and with it what lies in %s", path);
        if (is_last)
            return STATUS_OK;
        *at = '/';
    }
}

/* A link in a world-writable folder belongs to its creator; that the folder it leads to is ours proves nothing. */
static bool is_trusted_name(const struct stat *info)
{
    return !S_ISLNK(info->st_mode) || is_trusted_owner(info->st_uid);
}

Status file_make_private_directory(const char *path, Error *err)
{
    char absolute[PATH_BYTES], real[PATH_BYTES];
    struct stat info;
    TRY(make_directories(path, 0700, err));
    if (path[0] == '/') {
        TRY(path_join(NULL, path, absolute, err));
    } else {
        char here[PATH_BYTES];
        if (!getcwd(here, sizeof here))
            return fail_errno(err, path, "find");
        TRY(path_join(here, path, absolute, err));
    }
    TRY(check_each_name(absolute, is_trusted_name, err));
    if (!realpath(absolute, real) || lstat(real, &info) != 0)
        return fail_errno(err, path, "look at");
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
        return error_set_at(err, STATUS_INVALID, path,
                            "is no folder that this user alone can write");
    return check_each_name(real, is_trusted_parent, err);
}

const char *file_temp_parent(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] ? folder : "/tmp";
}

Status file_make_directory_in(const char *parent, const char *prefix, char out_path[PATH_BYTES],
                              Error *err)
{
    char name[256];
    (void)snprintf(name, sizeof name, "%.200s.XXXXXX", prefix);
    TRY(path_join(parent, name, out_path, err));
    if (!mkdtemp(out_path)) {
        Status status = fail_errno(err, parent, "create a temporary folder");
        out_path[0] = '\0';
        return status;
    }
    return STATUS_OK;
}

Status file_make_temp_directory(const char *prefix, char out_path[PATH_BYTES], Error *err)
{
    return file_make_directory_in(file_temp_parent(), prefix, out_path, err);
}

Status file_remove(const char *path, Error *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return fail_errno(err, path, "remove");
    return STATUS_OK;
}

/* The greatest depth of a tree that is removed; each level holds a descriptor open. */
enum { REMOVE_DEPTH_MAX = 128 };

static Status remove_content(int fd, const char *path, int depth, Error *err)
{
    DIR *dir = depth < REMOVE_DEPTH_MAX ? fdopendir(fd) : NULL;
    if (!dir) {
        Status status = depth < REMOVE_DEPTH_MAX
                            ? fail_errno(err, path, "open")
                            : error_set_at(err, STATUS_LIMIT, path, "folders nested too deeply");
        (void)close(fd);
        return status;
    }
    Status status = STATUS_OK;
    struct dirent *entry;
    while (status == STATUS_OK && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
            continue;
        /* If it cannot be unlinked it is a folder, or the refusal is real, which opening it shows. */
        int reason = errno;
        int child = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child < 0) {
            errno = reason;
            status = fail_errno(err, path, "remove the content");
            break;
        }
        status = remove_content(child, path, depth + 1, err);
        if (status == STATUS_OK && unlinkat(fd, name, AT_REMOVEDIR) != 0)
            status = fail_errno(err, path, "remove the content");
    }
    (void)closedir(dir);
    return status;
}

Status file_empty_directory(int fd, const char *path, Error *err)
{
    return remove_content(fd, path, 0, err);
}

Status file_remove_tree(const char *path, Error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT                      ? STATUS_OK
               : errno == ENOTDIR || errno == ELOOP ? file_remove(path, err)
                                                    : fail_errno(err, path, "open");
    TRY(remove_content(fd, path, 0, err));
    if (rmdir(path) != 0)
        return fail_errno(err, path, "remove");
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

Status file_list_directory(const char *path, Arena *arena, const char *const **out_names,
                           uint32_t *out_count, Error *err)
{
    *out_names = NULL;
    *out_count = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return fail_errno(err, path, "open the folder");
    ARRAY(const char *) names = {0};
    Status status = STATUS_OK;
    struct dirent *entry;
    errno = 0;
    while (status == STATUS_OK && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *name = arena_strndup(arena, entry->d_name, strlen(entry->d_name));
        if (!name || !array_push(arena, &names, name))
            status = error_set_at(err, STATUS_NO_MEMORY, path, "out of memory for its entries");
        errno = 0;
    }
    if (status == STATUS_OK && errno != 0)
        status = fail_errno(err, path, "read the folder");
    (void)closedir(dir);
    if (status != STATUS_OK)
        return status;
    if (names.count > 0)
        qsort(names.data, names.count, sizeof *names.data, compare_names);
    *out_names = names.data;
    *out_count = names.count;
    return STATUS_OK;
}
