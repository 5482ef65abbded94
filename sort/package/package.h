/* A package as a set of files: a folder, or a zip of one. Everything about untrusted names, links,
 * sizes and compression ratios is settled here; what the files mean is not known here.
 *
 * Errors of the functions below carry no path: the caller knows the field of scene.json that named
 * the file, and puts it in front. Any thread may read; each zip reader has its own libzip handle. */
#ifndef SORT_PACKAGE_PACKAGE_H
#define SORT_PACKAGE_PACKAGE_H

#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"

enum {
    PACKAGE_FILE_NAME_BYTES_MAX = 1024, /* of a path inside the package */
    PACKAGE_COMPONENT_BYTES_MAX = 255,
    PACKAGE_ZIP_ENTRIES_MAX = 1 << 20,
    /* Limit for one stream: deflate cannot do better than 1032 to 1. */
    PACKAGE_INFLATE_RATIO_MAX = 1100,
    PACKAGE_INFLATE_SLACK_BYTES = 1024, /* for streams too short to obey a ratio */
    /* Limit for a whole package: real ones stay far below, constant arrays and pictures included. A zip of 1 MB becomes
     * 164 MiB at most. */
    PACKAGE_GROWTH_RATIO_MAX = 100,
    PACKAGE_GROWTH_SLACK_BYTES = 64 << 20
};

/* Returns the most bytes that so many stored bytes may inflate to. */
static inline uint64_t package_growth_limit(uint64_t stored_bytes)
{
    uint64_t most = UINT64_MAX / PACKAGE_GROWTH_RATIO_MAX - PACKAGE_GROWTH_SLACK_BYTES;
    return PACKAGE_GROWTH_SLACK_BYTES +
           PACKAGE_GROWTH_RATIO_MAX * (stored_bytes < most ? stored_bytes : most);
}

typedef struct Package Package;

/* `path`: a folder, the scene.json in one, or a zip. */
Status package_open(const char *path, Package **out_package, Error *err) SORT_MUST_CHECK;
void package_close(Package *package); /* NULL is fine */
bool package_is_zip(const Package *package);
uint64_t package_zip_bytes(const Package *package); /* of the zip file; a folder has none */
/* Names in a zip as they stand there: unchecked, folders too, some perhaps twice, NULL for those that
 * cannot be read. Borrowed: until package_close. A folder has none. */
uint64_t package_zip_count(const Package *package);
const char *package_zip_name(const Package *package, uint64_t index);
/* The folder or the zip, as the user named it. */
const char *package_path(const Package *package);

/* The rules for names alone (docs/reference/scene-package.md, *file*). */
Status package_check_name(const char *file, Error *err) SORT_MUST_CHECK;

/* Name checked, exists, is a plain file inside. STATUS_NOT_FOUND when it is not there. The size is
 * that of the content; *out_stored_bytes (may be NULL): what it takes in the folder or zip. */
Status package_file_size(Package *package, const char *file, uint64_t *out_size_bytes,
                         uint64_t *out_stored_bytes, Error *err) SORT_MUST_CHECK;
/* All of it, at most max_bytes (else STATUS_LIMIT before reading), and a NUL behind. *out_data is
 * the caller's (mem_free). */
Status package_read(Package *package, const char *file, size_t max_bytes, char **out_data,
                    size_t *out_size_bytes, Error *err) SORT_MUST_CHECK;

/* A file that is read in pieces. One thread at a time. */
typedef struct PackageFile PackageFile;
/* used_bytes: nothing at or behind this offset will be read. In a zip the file is inflated once, up
 * to there, and checked to its end. */
Status package_file_open(Package *package, const char *file, uint64_t used_bytes,
                         PackageFile **out_file, Error *err) SORT_MUST_CHECK;
/* STATUS_FORMAT when the file ends before offset + size. */
Status package_file_read(PackageFile *file, uint64_t offset_bytes, size_t size_bytes,
                         void *out_data, Error *err) SORT_MUST_CHECK;
/* Adds what identifies the content without reading it: file, size and time of the last change. Returns false, and adds nothing, when
 * that says nothing: of a zip, and of a file that was changed within the last seconds and may be again in the same tick of
 * the clock. */
bool package_file_identify(const PackageFile *file, HashState *h);
void package_file_close(PackageFile *file); /* NULL is fine */

/* The file on disk: of a folder, the file itself; out of a zip, extracted to `folder` under its own
 * name (replaced when it is there). */
Status package_extract(Package *package, const char *file, const char *folder,
                       char out_path[PATH_BYTES], Error *err) SORT_MUST_CHECK;

#endif
