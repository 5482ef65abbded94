/* Temporary folders that do not outlive their use by much, however the process ends.
 *
 *   $TMPDIR or /tmp / sort-PURPOSE.PID.XXXXXX     mode 0700, locked (flock) while its owner lives
 *
 * The kernel drops the lock when the owner ends. Whoever makes the next folder removes those of the same user
 * that nobody holds. Any thread. */
#ifndef SORT_BASE_TEMP_FOLDER_H
#define SORT_BASE_TEMP_FOLDER_H

#include "base/error.h"
#include "base/path.h"

typedef struct TempFolder {
    char path[PATH_BYTES]; /* "": none */
    int fd;                /* holds the lock */
} TempFolder;

/* purpose: letters, for whoever looks into /tmp. On success the caller owns the folder (temp_folder_remove). */
Status temp_folder_create(const char *purpose, TempFolder *out_folder, Error *err) SORT_MUST_CHECK;
/* With all in it. Does nothing when there is none. */
Status temp_folder_remove(TempFolder *folder, Error *err) SORT_MUST_CHECK;
/* Those of this process, before it ends by itself. */
void temp_folder_remove_all(void);

#endif
