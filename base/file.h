/* Whole files and folders. Output files appear complete or not at all: they are written without a name (or under a
 * temporary one where the file system does not support that), flushed, and renamed. Nameless files of a killed process
 * vanish with it; temporary ones are removed when the same file is written next. Errors carry the path and the system's
 * reason: STATUS_NOT_FOUND for missing files, STATUS_IO for other failures. Any thread. */
#ifndef SORT_BASE_FILE_H
#define SORT_BASE_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include <stdio.h>

/* Reads a regular file of at most max_bytes (else STATUS_LIMIT, before reading it). *out_data is owned by the
 * caller (mem_free) and is followed by a NUL byte. */
Status file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_size_bytes,
                 Error *err) SORT_MUST_CHECK;
/* Adds the content of a regular file to a digest, piecewise, as one hash128_update of the content would. */
Status file_hash(const char *path, HashState *h, Error *err) SORT_MUST_CHECK;
/* Replaces `path` with these bytes, atomically. */
Status file_write(const char *path, const void *data, size_t size_bytes,
                  Error *err) SORT_MUST_CHECK;
/* As file_write for what another process reads at once: it does not wait for the disk, so that the file may be lost if the
 * machine fails. */
Status file_write_fleeting(const char *path, const void *data, size_t size_bytes,
                           Error *err) SORT_MUST_CHECK;

/* Like file_read and file_write, for folders where other users should not have been. Reading refuses links and
 * files that others can write (STATUS_INVALID, STATUS_IO); writing replaces a link instead of following it. */
Status file_read_private(const char *path, size_t max_bytes, char **out_data,
                         size_t *out_size_bytes, Error *err) SORT_MUST_CHECK;
Status file_write_private(const char *path, const void *data, size_t size_bytes,
                          Error *err) SORT_MUST_CHECK;

/* Returns whether the path is a regular file, not a link, that only this user can have written. */
bool file_is_private(const char *path);

/* Replaces a file with content that is produced piece by piece: write to `stream`, then commit or abandon. One
 * of the two must be called after a successful begin. */
typedef struct FileReplace {
    FILE *stream;          /* owned; opened for reading and writing */
    char path[PATH_BYTES]; /* the final name */
    /* beside `path`; removed by commit or abandon; "" if it has no name (yet) */
    char temp_path[PATH_BYTES];
    bool is_unnamed, is_in_place;
    bool is_fleeting; /* commit does not wait for the disk; file_replace_begin sets it to false */
} FileReplace;
/* Begins a replacement. A link is kept; its target is replaced or created. */
Status file_replace_begin(const char *path, FileReplace *out_file, Error *err) SORT_MUST_CHECK;
/* Completes the replacement. Reports every earlier write error of the stream. On failure the old file is
 * untouched. */
Status file_replace_commit(FileReplace *file, Error *err) SORT_MUST_CHECK;
void file_replace_abandon(FileReplace *file);
/* Checks that the file could now be replaced by one of this size: it reserves the room in the folder, subject
 * to disk, quotas and the process's limit, and releases it. Pipes and devices always have room, and are not opened. */
Status file_check_room(const char *path, uint64_t size_bytes, Error *err) SORT_MUST_CHECK;

/* An exclusive lock between processes, on a file that is created if necessary and stays. It is released when
 * the process ends, however it ends. It does not exclude threads of one process that share `fd`. */
typedef struct FileLock {
    int fd; /* owned */
} FileLock;
/* Waits for the lock. Links and non-regular files are refused. */
Status file_lock(const char *path, FileLock *out_lock, Error *err) SORT_MUST_CHECK;
/* Tries to take the lock without waiting; *out_is_locked says whether it was taken. */
Status file_try_lock(const char *path, FileLock *out_lock, bool *out_is_locked,
                     Error *err) SORT_MUST_CHECK;
void file_unlock(FileLock *lock);

bool file_exists(const char *path); /* any kind of file; links are followed */
/* Returns whether the path is a pipe or a device, following links: such a file is written in place, and never
 * replaced or removed. */
bool file_is_special(const char *path);
/* Replaces a path that ends in a link by the link's target, whether or not that exists. Returns false and sets
 * errno if links form a cycle or names grow too long. */
bool file_follow_links(char path[PATH_BYTES]);
bool file_is_directory(const char *path);
/* Opens a file to read it, without waiting for what is behind a pipe. The path is relative to the descriptor `folder` and
 * stays below it, also where links lead; far faster than to resolve it. Returns a descriptor, the caller's; -1 if there is
 * no such file, if an absolute link is on its way, or if the system cannot tell. */
int file_open_beneath(int folder, const char *path);
Status file_size(const char *path, uint64_t *out_size_bytes, Error *err) SORT_MUST_CHECK;
/* Makes a folder with all its parents; an existing folder is no error. */
Status file_make_directories(const char *path, Error *err) SORT_MUST_CHECK;
/* Makes a folder for content that is trusted later (machine code, converted images), with mode 0700. Errors:
 * also STATUS_INVALID if another user owns the folder, may write in it, or could replace it. */
Status file_make_private_directory(const char *path, Error *err) SORT_MUST_CHECK;
/* Returns $TMPDIR, else /tmp. */
const char *file_temp_parent(void);
/* Makes a new private folder (mode 0700) in `parent`, named `prefix`, a dot and random letters. */
Status file_make_directory_in(const char *parent, const char *prefix, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;
/* Makes a new private folder (mode 0700) in file_temp_parent(), named `prefix` plus random letters. For
 * temporary folders of the process itself use TempFolder (temp_folder.h). */
Status file_make_temp_directory(const char *prefix, char out_path[PATH_BYTES],
                                Error *err) SORT_MUST_CHECK;
/* Removes a file or link; a missing one is no error. */
Status file_remove(const char *path, Error *err) SORT_MUST_CHECK;
/* Removes a folder and its content; links are removed, not followed. A missing folder is no error. */
Status file_remove_tree(const char *path, Error *err) SORT_MUST_CHECK;
/* Removes the content of the folder that `fd` is open on (O_DIRECTORY), and closes fd. `path` is for messages. */
Status file_empty_directory(int fd, const char *path, Error *err) SORT_MUST_CHECK;
/* Lists entry names (not paths; without . and ..) in byte order. Names and array live in `arena`. */
Status file_list_directory(const char *path, Arena *arena, const char *const **out_names,
                           uint32_t *out_count, Error *err) SORT_MUST_CHECK;

#endif
