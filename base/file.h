/* Whole files and folders. Output files appear complete or not at all: they are written without a name (under a
 * temporary one where the file system knows no other way), flushed, and renamed. What a killed process
 * had without a name goes with it; what had a temporary one is removed when the same file is written next. Errors carry the path and the system's
 * reason (STATUS_NOT_FOUND for what is not there, STATUS_IO for the rest). Any thread. */
#ifndef SORT_BASE_FILE_H
#define SORT_BASE_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include <stdio.h>

/* Reads a regular file of at most max_bytes (else STATUS_LIMIT, before reading it). *out_data is
 * owned by the caller (mem_free) and has one NUL byte after the content. */
Status file_read(const char *path, size_t max_bytes, char **out_data, size_t *out_size_bytes,
                 Error *err) SORT_MUST_CHECK;
/* Adds the content of a regular file to a digest, in pieces: the same as hash128_update of all of it. */
Status file_hash(const char *path, HashState *h, Error *err) SORT_MUST_CHECK;
/* Replaces `path` with these bytes, atomically. */
Status file_write(const char *path, const void *data, size_t size_bytes,
                  Error *err) SORT_MUST_CHECK;

/* The same in folders where nobody else should have been: a file that others can write, or a link, is not read
 * (STATUS_INVALID, STATUS_IO); a link is replaced, not followed. */
Status file_read_private(const char *path, size_t max_bytes, char **out_data,
                         size_t *out_size_bytes, Error *err) SORT_MUST_CHECK;
Status file_write_private(const char *path, const void *data, size_t size_bytes,
                          Error *err) SORT_MUST_CHECK;

/* Whether it is a regular file, and no link, that this user alone can have written. */
bool file_is_private(const char *path);

/* The same for content that is produced piece by piece: write to `stream`, then commit or abandon;
 * one of the two must be called after a successful begin. */
typedef struct FileReplace {
    FILE *stream;               /* owned; opened for reading and writing */
    char path[PATH_BYTES];      /* the final name */
    char temp_path[PATH_BYTES]; /* beside it; gone after commit or abandon; "": it has none (yet) */
    bool is_unnamed, is_in_place;
} FileReplace;
/* A link stays a link: what it names is replaced, or made. */
Status file_replace_begin(const char *path, FileReplace *out_file, Error *err) SORT_MUST_CHECK;
/* Notices every earlier write error of the stream. On failure the old file is untouched. */
Status file_replace_commit(FileReplace *file, Error *err) SORT_MUST_CHECK;
void file_replace_abandon(FileReplace *file);
/* Whether the file could be replaced by one of this size now: asks the folder, the disk, quotas and the limit of
 * the process for the room, and gives it back. What is no regular file always has room. */
Status file_check_room(const char *path, uint64_t size_bytes, Error *err) SORT_MUST_CHECK;

/* An exclusive lock between processes, on a file that is created if it is not there and stays. Waits. It is given
 * back when the process ends, however it does. Not between threads of one process that share `fd`. */
typedef struct FileLock {
    int fd; /* owned */
} FileLock;
/* What is no regular file, or a link, is refused. */
Status file_lock(const char *path, FileLock *out_lock, Error *err) SORT_MUST_CHECK;
/* The same without waiting: *out_is_locked says whether it is ours now. */
Status file_try_lock(const char *path, FileLock *out_lock, bool *out_is_locked,
                     Error *err) SORT_MUST_CHECK;
void file_unlock(FileLock *lock);

bool file_exists(const char *path); /* anything, links followed */
/* A pipe or a device, links followed: written into, and never replaced or removed. */
bool file_is_special(const char *path);
/* Replaces a path that ends in a link by what the link names, whether or not that is there. False, and errno is
 * set: links go in circles, or names grow too long. */
bool file_follow_links(char path[PATH_BYTES]);
bool file_is_directory(const char *path);
Status file_size(const char *path, uint64_t *out_size_bytes, Error *err) SORT_MUST_CHECK;
/* With all parents; a folder that is there already is fine. */
Status file_make_directories(const char *path, Error *err) SORT_MUST_CHECK;
/* The same, for what is trusted later (machine code, converted images): STATUS_INVALID when another user owns the
 * folder or may write in it, or could put another one in its place. What it makes has the mode 0700. */
Status file_make_private_directory(const char *path, Error *err) SORT_MUST_CHECK;
/* $TMPDIR, else /tmp. */
const char *file_temp_parent(void);
/* A new private folder (mode 0700) in `parent`, called `prefix`, a dot and random letters. */
Status file_make_directory_in(const char *parent, const char *prefix, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;
/* A new private folder (mode 0700) there, called `prefix` and random letters. What a process makes for itself is
 * a TempFolder (temp_folder.h). */
Status file_make_temp_directory(const char *prefix, char out_path[PATH_BYTES],
                                Error *err) SORT_MUST_CHECK;
/* A file or link; that it is not there is fine. */
Status file_remove(const char *path, Error *err) SORT_MUST_CHECK;
/* A folder and all in it; links are removed, not followed. That it is not there is fine. */
Status file_remove_tree(const char *path, Error *err) SORT_MUST_CHECK;
/* Takes all out of the folder that `fd` is open on (O_DIRECTORY), and closes fd. `path` is for messages. */
Status file_empty_directory(int fd, const char *path, Error *err) SORT_MUST_CHECK;
/* Entry names (not paths; without . and ..) in byte order. Names and array live in `arena`. */
Status file_list_directory(const char *path, Arena *arena, const char *const **out_names,
                           uint32_t *out_count, Error *err) SORT_MUST_CHECK;

#endif
