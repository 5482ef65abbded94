#include "base/file_claims.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Identifies the file that a path denotes: device and inode if it exists; otherwise those of the nearest
 * existing folder, and the remaining names. */
typedef struct Place {
    dev_t device;
    ino_t inode;
    char rest[PATH_BYTES]; /* "" if the file exists */
} Place;

typedef struct FileClaim {
    const char *role; /* borrowed */
    char *path;       /* owned: the path as given */
    dev_t device;
    ino_t inode;
    char *rest; /* owned */
    bool is_output;
} FileClaim;

typedef struct FolderClaim {
    const char *role; /* borrowed */
    dev_t device;
    ino_t inode;
} FolderClaim;

/* Removes empty names and "." from a path. */
static void drop_dots(char *path)
{
    char *out = path;
    for (const char *at = path; *at;) {
        size_t bytes = strcspn(at, "/");
        if (bytes > 0 && !(bytes == 1 && at[0] == '.')) {
            if (out > path)
                *out++ = '/';
            memmove(out, at, bytes);
            out += bytes;
        }
        at += bytes + (at[bytes] == '/');
    }
    *out = '\0';
}

/* Finds the place of a path. Returns false for a non-regular file, which needs no protection. */
static bool find_place(const char *path, Place *out, Status *out_status, Error *err)
{
    struct stat info;
    char whole[PATH_BYTES], folder[PATH_BYTES];
    if (strcmp(path, "-") == 0) {
        if (fstat(STDOUT_FILENO, &info) != 0)
            return false;
        *out = (Place){.device = info.st_dev, .inode = info.st_ino};
        return S_ISREG(info.st_mode);
    }
    *out_status = path_join(NULL, path, whole, err);
    if (*out_status != STATUS_OK)
        return false;
    if (stat(whole, &info) == 0) {
        *out = (Place){.device = info.st_dev, .inode = info.st_ino};
        return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
    }
    if (!file_follow_links(whole))
        return false; /* opening it says why */
    memcpy(folder, whole, sizeof folder);
    do {
        Str parent = path_dirname(folder);
        memmove(folder, parent.data, parent.size_bytes);
        folder[parent.size_bytes] = '\0';
    } while (stat(folder, &info) != 0 && strcmp(folder, ".") != 0 && strcmp(folder, "/") != 0);
    *out = (Place){.device = info.st_dev, .inode = info.st_ino};
    size_t skip = strlen(folder);
    if (strncmp(whole, folder, skip) != 0 || whole[skip] != '/')
        skip = 0;
    memcpy(out->rest, whole + skip, strlen(whole + skip) + 1);
    drop_dots(out->rest);
    return true;
}

/* Finds out whether a folder treats two names as one: makes the first for a moment and looks up the second. */
static bool are_one_name(const Place *a, const char *a_path, const char *b_path)
{
    struct stat made, found;
    if (strchr(a->rest, '/'))
        return false;
    int fd = open(a_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    bool is_one = fstat(fd, &made) == 0 && stat(b_path, &found) == 0 &&
                  made.st_dev == found.st_dev && made.st_ino == found.st_ino;
    (void)close(fd);
    (void)unlink(a_path);
    return is_one;
}

static bool same_but_for_case(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b))
        ++a, ++b;
    return *a == *b;
}

static bool is_claim_of(const FileClaim *claim, const Place *place, const char *path)
{
    if (claim->device != place->device || claim->inode != place->inode)
        return false;
    return strcmp(claim->rest, place->rest) == 0 ||
           (same_but_for_case(claim->rest, place->rest) && are_one_name(place, path, claim->path));
}

static uint64_t hash_place(dev_t device, ino_t inode, const char *rest)
{
    uint64_t h = hash_mix64((uint64_t)device ^ hash_mix64((uint64_t)inode));
    for (; *rest; ++rest)
        h = hash_mix64(h ^ (uint64_t)tolower((unsigned char)*rest));
    return h;
}

static void table_put(FileClaims *c, uint32_t index)
{
    const FileClaim *claim = &c->items[index];
    uint64_t at = hash_place(claim->device, claim->inode, claim->rest);
    while (c->table[at % c->table_size])
        ++at;
    c->table[at % c->table_size] = index + 1;
}

static bool grow(FileClaims *c)
{
    if (c->count < c->capacity)
        return true;
    uint32_t capacity = c->capacity ? 2 * c->capacity : 16;
    FileClaim *items = mem_realloc(c->items, capacity, sizeof *items);
    uint32_t *table = items ? MEM_ARRAY(uint32_t, 2 * (size_t)capacity) : NULL;
    if (items)
        c->items = items;
    if (!table)
        return false;
    mem_free(c->table);
    c->table = table;
    c->capacity = capacity;
    c->table_size = 2 * capacity;
    for (uint32_t i = 0; i < c->count; ++i)
        table_put(c, i);
    return true;
}

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = mem_alloc(bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static Status refuse_below(const FileClaims *c, const struct stat *folder, const char *role,
                           const char *path, Error *err)
{
    for (uint32_t i = 0; i < c->folder_count; ++i)
        if (c->folders[i].device == folder->st_dev && c->folders[i].inode == folder->st_ino)
            return error_set_at(err, STATUS_INVALID, path,
                                "is %s and lies in %s: what is written needs a place of its own",
                                role, c->folders[i].role);
    return STATUS_OK;
}

/* Checks all folders above the target of a path. */
static Status check_folders(const FileClaims *c, const char *role, const char *path, Error *err)
{
    struct stat info, above;
    char whole[PATH_BYTES];
    if (c->folder_count == 0)
        return STATUS_OK;
    TRY(path_join(NULL, path, whole, err));
    if (!file_follow_links(whole))
        return STATUS_OK; /* opening it says why */
    Str parent = path_dirname(whole);
    memmove(whole, parent.data, parent.size_bytes);
    whole[parent.size_bytes] = '\0';
    /* ".." leads to the folder above, independently of names. */
    for (bool is_known = stat(whole, &info) == 0; is_known; info = above) {
        TRY(refuse_below(c, &info, role, path, err));
        if (strlen(whole) + 4 > sizeof whole)
            break;
        memcpy(whole + strlen(whole), "/..", 4);
        is_known = stat(whole, &above) == 0 &&
                   !(above.st_dev == info.st_dev && above.st_ino == info.st_ino);
    }
    return STATUS_OK;
}

Status file_claim_folder(FileClaims *c, const char *role, const char *path, Error *err)
{
    struct stat info;
    if (!path || stat(path, &info) != 0)
        return STATUS_OK;
    FolderClaim *folders = mem_realloc(c->folders, c->folder_count + 1, sizeof *folders);
    if (!folders)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for names of files");
    c->folders = folders;
    folders[c->folder_count++] = (FolderClaim){role, info.st_dev, info.st_ino};
    return STATUS_OK;
}

/* keeps: the claim is made, and not only checked. */
static Status claim(FileClaims *c, const char *role, const char *path, bool is_output, bool keeps,
                    Error *err)
{
    Place place;
    Status status = STATUS_OK;
    if (!path || !find_place(path, &place, &status, err))
        return status;
    if (is_output && strcmp(path, "-") != 0)
        TRY(check_folders(c, role, path, err));
    bool is_known = false;
    uint64_t at = hash_place(place.device, place.inode, place.rest);
    for (; c->table_size > 0 && c->table[at % c->table_size]; ++at) {
        const FileClaim *other = &c->items[c->table[at % c->table_size] - 1];
        if (!is_claim_of(other, &place, path))
            continue;
        if (strcmp(path, "-") == 0 && strcmp(other->path, "-") == 0) {
            is_known = true; /* the paths are equal up to here, so one continues the other */
            continue;
        }
        if (is_output || other->is_output)
            return error_set_at(err, STATUS_INVALID, path,
                                "is %s and also %s%s%s%s: what is written needs a file of its own",
                                role, other->role, strcmp(path, other->path) ? " (" : "",
                                strcmp(path, other->path) ? other->path : "",
                                strcmp(path, other->path) ? ")" : "");
        is_known = true;
    }
    if (is_known || !keeps)
        return STATUS_OK;
    FileClaim item = {role,        copy_text(path),       place.device,
                      place.inode, copy_text(place.rest), is_output};
    if (!item.path || !item.rest || !grow(c)) {
        mem_free(item.path);
        mem_free(item.rest);
        return error_set(err, STATUS_NO_MEMORY, "out of memory for names of files");
    }
    c->items[c->count] = item;
    table_put(c, c->count++);
    return STATUS_OK;
}

Status file_claim_output(FileClaims *claims, const char *role, const char *path, Error *err)
{
    return claim(claims, role, path, true, true, err);
}

Status file_check_output(FileClaims *claims, const char *role, const char *path, Error *err)
{
    return claim(claims, role, path, true, false, err);
}

Status file_claim_input(FileClaims *claims, const char *role, const char *path, Error *err)
{
    return claim(claims, role, path, false, true, err);
}

void file_claims_free(FileClaims *c)
{
    for (uint32_t i = 0; i < c->count; ++i) {
        mem_free(c->items[i].path);
        mem_free(c->items[i].rest);
    }
    mem_free(c->items);
    mem_free(c->table);
    mem_free(c->folders);
    *c = (FileClaims){0};
}

Status file_check_apart(const char *role, const char *output, const char *const *inputs,
                        uint32_t input_count, Error *err)
{
    FileClaims claims = {0};
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && output && i < input_count; ++i)
        status = file_claim_input(&claims, "what is read", inputs[i], err);
    if (status == STATUS_OK)
        status = file_claim_output(&claims, role, output, err);
    file_claims_free(&claims);
    return status;
}
