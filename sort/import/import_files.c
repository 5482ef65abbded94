#define _XOPEN_SOURCE 700 /* realpath */
#include "sort/import/import_files.h"

#include "base/alloc.h"
#include "base/check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPELLINGS_MAX = 3, COMPONENTS_MAX = 64, COUNTED_MAX = 1024 };

typedef struct FileIdentity {
    dev_t device;
    ino_t number;
} FileIdentity;

struct ImportFiles {
    char source[PATH_BYTES]; /* absolute, by its folder's real path */
    char **roots;            /* owned, resolved: the scene file's folder first */
    uint32_t root_count;
    uint64_t total_bytes; /* of what was opened, each file once */
    FileIdentity counted[COUNTED_MAX];
    uint32_t counted_count;
    ImportFilesDesc desc; /* its texts are not used after the making */
};

/* --- making -------------------------------------------------------------------------------- */

static Status add_root(ImportFiles *files, Str folder, Error *err)
{
    char path[PATH_BYTES], real[PATH_BYTES];
    if (folder.size_bytes >= sizeof path)
        return error_set(err, STATUS_LIMIT, "the path of a folder is too long");
    memcpy(path, folder.data, folder.size_bytes);
    path[folder.size_bytes] = '\0';
    if (!realpath(path, real))
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path, "%s",
                            strerror(errno));
    for (uint32_t i = 0; i < files->root_count; ++i)
        if (strcmp(files->roots[i], real) == 0)
            return STATUS_OK;
    char *copy = mem_strdup(real);
    if (!copy)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for the folders of an import");
    files->roots[files->root_count++] = copy;
    return STATUS_OK;
}

static void count_bytes(ImportFiles *files, const struct stat *info)
{
    for (uint32_t i = 0; i < files->counted_count; ++i)
        if (files->counted[i].device == info->st_dev && files->counted[i].number == info->st_ino)
            return;
    if (files->counted_count == COUNTED_MAX)
        return;
    files->counted[files->counted_count++] = (FileIdentity){info->st_dev, info->st_ino};
    files->total_bytes += (uint64_t)info->st_size;
    if (files->desc.allow)
        files->desc.allow(files->desc.allow_data, files->total_bytes);
}

/* A link to a scene file stands for it: its textures lie beside the one or the other. */
static Status take_source(ImportFiles *files, const char *source, Error *err)
{
    struct stat info;
    char real[PATH_BYTES];
    if (stat(source, &info) != 0)
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, source,
                            "cannot be opened for reading: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return error_set_at(err, STATUS_FORMAT, source, "is no regular file");
    if (!realpath(source, real))
        return error_set_at(err, STATUS_IO, source, "%s", strerror(errno));
    TRY(add_root(files, path_dirname(source), err));
    TRY(path_join(files->roots[0], path_basename(source), files->source, err));
    TRY(add_root(files, path_dirname(real), err));
    count_bytes(files, &info);
    return STATUS_OK;
}

Status import_files_create(const ImportFilesDesc *desc, ImportFiles **out_files, Error *err)
{
    *out_files = NULL;
    ImportFiles *files = MEM_NEW(ImportFiles);
    char **roots = MEM_ARRAY(char *, desc->texture_path_count + 2);
    if (!files || !roots) {
        mem_free(files);
        mem_free(roots);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for an import");
    }
    files->desc = *desc;
    files->roots = roots;
    Status status = take_source(files, desc->source, err);
    for (uint32_t i = 0; status == STATUS_OK && i < desc->texture_path_count; ++i)
        status = add_root(files, str_from(desc->texture_paths[i]), err);
    if (status != STATUS_OK) {
        import_files_destroy(files);
        return status;
    }
    *out_files = files;
    return STATUS_OK;
}

const char *const *import_files_roots(const ImportFiles *files, uint32_t *out_count)
{
    *out_count = files->root_count;
    return (const char *const *)files->roots;
}

void import_files_destroy(ImportFiles *files)
{
    if (!files)
        return;
    for (uint32_t i = 0; i < files->root_count; ++i)
        mem_free(files->roots[i]);
    mem_free(files->roots);
    mem_free(files);
}

const char *import_files_source(const ImportFiles *files)
{
    return files->source;
}

/* --- spellings ----------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Replaces %20 and its like; %00 stays, since no name holds it. */
static void decode_percent(const char *in, char out[PATH_BYTES])
{
    size_t size = 0;
    while (*in) {
        int high = in[0] == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;
        bool is_code = low >= 0 && high * 16 + low != 0;
        out[size++] = is_code ? (char)(high * 16 + low) : *in;
        in += is_code ? 3 : 1;
    }
    out[size] = '\0';
}

static void turn_backslashes(const char *in, char out[PATH_BYTES])
{
    size_t at = 0;
    do
        out[at] = in[at] == '\\' ? '/' : in[at];
    while (in[at++] != '\0');
}

typedef struct Spellings {
    char texts[SPELLINGS_MAX][PATH_BYTES];
    uint32_t count;
} Spellings;

static void add_spelling(Spellings *s, const char *text)
{
    ASSERT(s->count < SPELLINGS_MAX && strlen(text) < PATH_BYTES);
    if (s->count == 0 || strcmp(s->texts[s->count - 1], text) != 0)
        memcpy(s->texts[s->count++], text, strlen(text) + 1);
}

/* "file:" and a host, which is this machine or one that we cannot ask. */
static const char *without_scheme(const char *name)
{
    if (strncasecmp(name, "file:", 5) != 0)
        return name;
    name += 5;
    if (strncmp(name, "//", 2) != 0)
        return name;
    const char *slash = strchr(name + 2, '/');
    return slash ? slash : name + 2;
}

/* The most literal one first. `name` fits into a path. */
static void spell(const char *name, Spellings *out)
{
    char text[PATH_BYTES], turned[PATH_BYTES];
    out->count = 0;
    name = without_scheme(name);
    add_spelling(out, name);
    decode_percent(name, text);
    add_spelling(out, text);
    turn_backslashes(text, turned);
    add_spelling(out, turned);
}

/* --- finding ------------------------------------------------------------------------------- */

/* The result of a search: a file, or the reason why the first one that exists cannot be used. */
typedef struct Search {
    ImportFiles *files;
    char *path; /* [PATH_BYTES]: the file */
    struct stat info;
    Error *refusal; /* code STATUS_OK: none */
} Search;

static bool is_inside(const char *path, const char *root)
{
    ASSERT(path_is_absolute(path) && path_is_absolute(root));
    size_t length = strlen(root);
    if (length == 1) /* "/" contains everything */
        return true;
    return strncmp(path, root, length) == 0 && path[length] == '/';
}

static void refuse(Search *s, Status status, const char *text)
{
    if (s->refusal->code == STATUS_OK)
        error_set(s->refusal, status, "%s", text);
}

/* Whether the file at an absolute path is there and may be read. */
static bool is_fit(Search *s, const char *path)
{
    if (!realpath(path, s->path) || stat(s->path, &s->info) != 0 || S_ISDIR(s->info.st_mode))
        return false;
    bool is_allowed = false;
    for (uint32_t i = 0; i < s->files->root_count; ++i)
        is_allowed = is_allowed || is_inside(s->path, s->files->roots[i]);
    if (!is_allowed) {
        refuse(s, STATUS_INVALID, "lies outside of the folder of the scene file, and is not read");
        return false;
    }
    if (!S_ISREG(s->info.st_mode)) {
        refuse(s, STATUS_INVALID, "is no regular file, and is not read");
        return false;
    }
    if ((uint64_t)s->info.st_size > IMPORT_FILE_BYTES_MAX) {
        refuse(s, STATUS_LIMIT, "has more than 4 GiB, and is not read");
        return false;
    }
    return true;
}

/* The entry of `folder` that equals `name` but for the case of ASCII letters, the first in byte order; it may be `name`. */
static bool find_entry(const char *folder, Str name, char out[NAME_MAX + 1])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    bool is_found = false;
    while (dir && (entry = readdir(dir)) != NULL) {
        if (strlen(entry->d_name) != name.size_bytes ||
            strncasecmp(entry->d_name, name.data, name.size_bytes) != 0 ||
            (is_found && strcmp(entry->d_name, out) >= 0))
            continue;
        memcpy(out, entry->d_name, name.size_bytes + 1);
        is_found = true;
    }
    if (dir)
        (void)closedir(dir);
    return is_found;
}

/* `relative` below `root` with each component in whatever case it is there. */
static bool find_in_any_case(const char *root, const char *relative, char out[PATH_BYTES])
{
    char entry[NAME_MAX + 1];
    Error ignored = {0};
    if (path_join(NULL, root, out, &ignored) != STATUS_OK)
        return false;
    while (*relative) {
        Str part = {relative, strcspn(relative, "/")};
        relative += part.size_bytes + (relative[part.size_bytes] == '/');
        if (part.size_bytes == 0 || str_equal_c(part, "."))
            continue;
        if (str_equal_c(part, ".."))
            memcpy(entry, "..", 3);
        else if (part.size_bytes > NAME_MAX || !find_entry(out, part, entry))
            return false;
        if (path_join(out, entry, out, &ignored) != STATUS_OK)
            return false;
    }
    return true;
}

static bool try_below(Search *s, const char *relative, bool in_any_case)
{
    char path[PATH_BYTES];
    Error ignored = {0};
    for (uint32_t i = 0; i < s->files->root_count; ++i) {
        const char *root = s->files->roots[i];
        bool is_named = in_any_case ? find_in_any_case(root, relative, path)
                                    : path_join(root, relative, path, &ignored) == STATUS_OK;
        if (is_named && is_fit(s, path))
            return true;
    }
    return false;
}

/* The last components of a name, most of them first, below the folders: "C:/a/b.png" as "a/b.png", then "b.png". */
static bool try_tails(Search *s, const char *name, bool in_any_case)
{
    uint32_t count = 0;
    const char *starts[COMPONENTS_MAX];
    for (const char *c = strchr(name, '/'); c && count < COMPONENTS_MAX; c = strchr(c + 1, '/'))
        starts[count++] = c + 1;
    for (uint32_t i = 0; i < count; ++i)
        if (*starts[i] && *starts[i] != '/' && !strstr(starts[i], "..") &&
            try_below(s, starts[i], in_any_case))
            return true;
    return false;
}

static bool try_spellings(Search *s, const Spellings *spellings, bool in_any_case)
{
    ASSERT(spellings->count > 0);
    for (uint32_t i = 0; i < spellings->count; ++i) {
        const char *text = spellings->texts[i];
        if (path_is_absolute(text) ? !in_any_case && is_fit(s, text)
                                   : try_below(s, text, in_any_case))
            return true;
    }
    return try_tails(s, spellings->texts[spellings->count - 1], in_any_case);
}

static Status find(ImportFiles *files, const char *name, char out_path[PATH_BYTES],
                   struct stat *out_info, Error *err)
{
    Error refusal = {0};
    Search search = {.files = files, .path = out_path, .refusal = &refusal};
    Spellings spellings;
    out_path[0] = '\0';
    if (name[0] && strlen(name) < PATH_BYTES - 1) {
        spell(name, &spellings);
        if (try_spellings(&search, &spellings, false) || try_spellings(&search, &spellings, true)) {
            *out_info = search.info;
            return STATUS_OK;
        }
    }
    out_path[0] = '\0';
    if (refusal.code != STATUS_OK)
        return error_set(err, refusal.code, "%s", refusal.text);
    return error_set(err, STATUS_NOT_FOUND, "is not there");
}

Status import_files_find(ImportFiles *files, const char *name, char out_path[PATH_BYTES],
                         Error *err)
{
    struct stat info;
    return find(files, name, out_path, &info, err);
}

Status import_files_open(ImportFiles *files, const char *name, int *out_fd, Error *err)
{
    char path[PATH_BYTES];
    struct stat found, opened;
    *out_fd = -1;
    TRY(find(files, name, path, &found, err));
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, STATUS_IO, "cannot be read: %s", strerror(errno));
    if (fstat(fd, &opened) != 0 || opened.st_dev != found.st_dev || opened.st_ino != found.st_ino) {
        close(fd);
        return error_set(err, STATUS_IO, "was exchanged while it was opened");
    }
    count_bytes(files, &opened);
    if (files->desc.opened)
        files->desc.opened(files->desc.opened_data, path);
    *out_fd = fd;
    return STATUS_OK;
}
