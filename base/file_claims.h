/* What a program reads and writes, told before it begins: no output may be another output, or an input.
 *
 *   FileClaims claims = {0};
 *   TRY(file_claim_output(&claims, "-o", o->exr, err));
 *   TRY(file_claim_output(&claims, "--stats", o->stats, err));
 *   TRY(file_claim_input(&claims, "the scene", path, err));
 *
 * Files are compared by what they are, not by what they are called: by device and inode where there is a file, so that
 * links of both kinds, "./" and folders under two names are seen through; else by the folder that the file would be
 * made in and its name there, without regard to case where that folder has none. What is no regular file (a terminal,
 * a pipe, /dev/null) may be named as often as one likes; "-" is what standard output goes to. Folders that belong to
 * somebody, such as a cache, take no outputs. Somebody who moves files meanwhile can still deceive it.
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_BASE_FILE_CLAIMS_H
#define SORT_BASE_FILE_CLAIMS_H

#include "base/error.h"

/* Starts zeroed; file_claims_free in the end. */
typedef struct FileClaims {
    struct FileClaim *items; /* owned */
    uint32_t *table;         /* owned: [table_size] index into items + 1, 0: empty */
    uint32_t count, capacity, table_size;
    struct FolderClaim *folders; /* owned: [folder_count] */
    uint32_t folder_count;
} FileClaims;

/* `role`: who names the file, for messages, such as "--stats"; kept, not copied. A path that is NULL is no file, and so is
 * "-" where standard output is none. STATUS_INVALID: the file is claimed already, by an output or an input, or lies in a
 * claimed folder; STATUS_NO_MEMORY. */
Status file_claim_output(FileClaims *claims, const char *role, const char *path,
                         Error *err) SORT_MUST_CHECK;
/* The same of a file that is read, which others may read, too: STATUS_INVALID only when an output has it. */
Status file_claim_input(FileClaims *claims, const char *role, const char *path,
                        Error *err) SORT_MUST_CHECK;
/* Nothing is to be written below a folder by outputs that are claimed later. One that is not there is not claimed.
 * `path` may be NULL. */
Status file_claim_folder(FileClaims *claims, const char *role, const char *path,
                         Error *err) SORT_MUST_CHECK;
void file_claims_free(FileClaims *claims);

/* All of it for one output, which may be NULL, that is none of the inputs. */
Status file_check_apart(const char *role, const char *output, const char *const *inputs,
                        uint32_t input_count, Error *err) SORT_MUST_CHECK;

#endif
