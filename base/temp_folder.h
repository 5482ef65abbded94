/* Temporary folders that do not outlive their use by much, however the process ends.
 *
 *   $TMPDIR or /tmp / sort-PURPOSE.PID.XXXXXX     mode 0700, locked (flock) while its owner lives
 *
 * The kernel drops the lock when the owner ends. A process that makes a folder first removes those of the same user
 * that nobody holds. Any thread. */
#ifndef SORT_BASE_TEMP_FOLDER_H
#define SORT_BASE_TEMP_FOLDER_H

#include "base/error.h"
#include "base/path.h"

typedef struct TempFolder {
    char path[PATH_BYTES]; /* "": none */
    int fd;                /* holds the lock */
} TempFolder;

/* Makes a folder. purpose: letters, for people who look into /tmp. On success the caller owns the folder
 * (temp_folder_remove). */
Status temp_folder_create(const char *purpose, TempFolder *out_folder, Error *err) SORT_MUST_CHECK;
/* Removes the folder and its content. Does nothing if there is none. */
Status temp_folder_remove(TempFolder *folder, Error *err) SORT_MUST_CHECK;
/* Removes all temporary folders of this process, before it ends by itself. */
void temp_folder_remove_all(void);

#endif
