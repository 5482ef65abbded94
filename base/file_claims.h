/* Claims on the files that a program reads and writes, made before it begins: no output may be another output or an
 * input.
 *
 *   FileClaims claims = {0};
 *   TRY(file_claim_output(&claims, "-o", o->exr, err));
 *   TRY(file_claim_output(&claims, "--stats", o->stats, err));
 *   TRY(file_claim_input(&claims, "the scene", path, err));
 *
 * Files are compared by identity, not by name: by device and inode if the file exists, so that links of both kinds, "./"
 * and folders with two names are recognised; otherwise by the folder in which the file would be created and its name
 * there, ignoring case if the folder does. A non-regular file (a terminal, a pipe, /dev/null) may be named any number of
 * times; "-" means the target of standard output. Claimed folders, such as a cache, accept no outputs. A process that
 * moves files meanwhile can still defeat the check.
 *
 * Thread rule: one thread at a time. */
#ifndef SORT_BASE_FILE_CLAIMS_H
#define SORT_BASE_FILE_CLAIMS_H

#include "base/error.h"

/* Zero-initialise; release with file_claims_free. */
typedef struct FileClaims {
    struct FileClaim *items; /* owned */
    uint32_t *table;         /* owned: [table_size] index into items + 1, 0: empty */
    uint32_t count, capacity, table_size;
    struct FolderClaim *folders; /* owned: [folder_count] */
    uint32_t folder_count;
} FileClaims;

/* Claims an output. `role` names the origin of the path for messages, such as "--stats"; it is borrowed until
 * file_claims_free. A path that is NULL is ignored, and so is "-" if standard output is no file. Errors:
 * STATUS_INVALID if the file is claimed by an output or an input, or lies in a claimed folder;
 * STATUS_NO_MEMORY. */
Status file_claim_output(FileClaims *claims, const char *role, const char *path,
                         Error *err) SORT_MUST_CHECK;
/* Checks that file_claim_output would claim the file, and claims nothing. Errors: as file_claim_output. */
Status file_check_output(FileClaims *claims, const char *role, const char *path,
                         Error *err) SORT_MUST_CHECK;
/* Claims an input, which may be claimed as an input several times. Errors: STATUS_INVALID only if an output has
 * claimed it; STATUS_NO_MEMORY. */
Status file_claim_input(FileClaims *claims, const char *role, const char *path,
                        Error *err) SORT_MUST_CHECK;
/* Claims a folder: outputs that are claimed later must not lie below it. A missing folder is not claimed.
 * `path` may be NULL. */
Status file_claim_folder(FileClaims *claims, const char *role, const char *path,
                         Error *err) SORT_MUST_CHECK;
void file_claims_free(FileClaims *claims);

/* Checks that an output, which may be NULL, is none of the inputs, without a FileClaims. */
Status file_check_apart(const char *role, const char *output, const char *const *inputs,
                        uint32_t input_count, Error *err) SORT_MUST_CHECK;

#endif
