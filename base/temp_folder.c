/* A folder is locked by a descriptor of the folder itself, so no lock file can be missing. Between its
 * making and its locking another process may take it for an abandoned one: the process that then gets the
 * lock finds a folder without a name, and makes another. */
#define _DEFAULT_SOURCE /* flock */
#include "base/temp_folder.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LIVE_MAX = 64,
    ATTEMPTS = 16,
    OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

static const char prefix[] = "sort-";

/* The folders that this process holds, for temp_folder_remove_all. */
static struct {
    Mutex mutex;
    char *paths[LIVE_MAX]; /* owned */
} live = {.mutex = MUTEX_INIT};

/* When the list is full, one more folder stays behind if a signal ends the process, until the next sweep. */
static void remember(const char *path)
{
    mutex_lock(&live.mutex);
    for (int i = 0; i < LIVE_MAX; ++i)
        if (!live.paths[i]) {
            live.paths[i] = mem_strdup(path);
            break;
        }
    mutex_unlock(&live.mutex);
}

static void forget(const char *path)
{
    mutex_lock(&live.mutex);
    for (int i = 0; i < LIVE_MAX; ++i)
        if (live.paths[i] && strcmp(live.paths[i], path) == 0) {
            mem_free(live.paths[i]);
            live.paths[i] = NULL;
            break;
        }
    mutex_unlock(&live.mutex);
}

void temp_folder_remove_all(void)
{
    Error ignored = {0};
    mutex_lock(&live.mutex);
    for (int i = 0; i < LIVE_MAX; ++i)
        if (live.paths[i])
            (void)!file_remove_tree(live.paths[i], &ignored);
    mutex_unlock(&live.mutex);
}

/* Matches sort-PURPOSE.PID.XXXXXX. */
static bool is_our_name(const char *name)
{
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *digits = strchr(name, '.');
    size_t count = digits ? strspn(digits + 1, "0123456789") : 0;
    return count > 0 && digits[1 + count] == '.' && strlen(digits + 2 + count) == 6;
}

/* Returns whether only this user can have put anything into the folder. */
static bool is_ours(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 0077) == 0;
}

static void sweep(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;
    Error ignored = {0};
    int dir_fd = dir ? dirfd(dir) : -1;
    while (dir_fd >= 0 && (entry = readdir(dir)) != NULL) {
        if (!is_our_name(entry->d_name))
            continue;
        int fd = openat(dir_fd, entry->d_name, OPEN_FOLDER);
        if (fd < 0)
            continue;
        if (!is_ours(fd) || flock(fd, LOCK_EX | LOCK_NB) != 0) {
            (void)close(fd);
            continue;
        }
        /* The lock is dropped with the last descriptor, which is kept until the name is gone. */
        int content = dup(fd);
        if (content >= 0 && file_empty_directory(content, entry->d_name, &ignored) == STATUS_OK)
            (void)unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
        (void)close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

/* Locks the folder. Returns false if another process's sweep was faster. */
static bool hold(TempFolder *folder)
{
    struct stat info;
    folder->fd = open(folder->path, OPEN_FOLDER);
    if (folder->fd < 0)
        return false;
    (void)flock(folder->fd, LOCK_EX); /* on file systems without locks nothing is swept either */
    if (fstat(folder->fd, &info) == 0 && info.st_nlink > 0)
        return true;
    (void)close(folder->fd);
    return false;
}

Status temp_folder_create(const char *purpose, TempFolder *out_folder, Error *err)
{
    const char *parent = file_temp_parent();
    char name[64];
    *out_folder = (TempFolder){.fd = -1};
    sweep(parent);
    (void)snprintf(name, sizeof name, "%s%.30s.%ld", prefix, purpose, (long)getpid());
    for (int attempt = 0; attempt < ATTEMPTS; ++attempt) {
        TRY(file_make_temp_directory(name, out_folder->path, err));
        if (hold(out_folder)) {
            remember(out_folder->path);
            return STATUS_OK;
        }
    }
    out_folder->path[0] = '\0';
    return error_set_at(err, STATUS_IO, parent, "cannot keep a temporary folder");
}

Status temp_folder_remove(TempFolder *folder, Error *err)
{
    if (!folder->path[0])
        return STATUS_OK;
    Status status = file_remove_tree(folder->path, err);
    forget(folder->path);
    (void)close(folder->fd);
    *folder = (TempFolder){.fd = -1};
    return status;
}
