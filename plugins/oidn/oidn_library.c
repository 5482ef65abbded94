#define _XOPEN_SOURCE 700 /* realpath */
#include "plugins/oidn/oidn_library.h"

#include "plugins/plugin_check.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static const char *const file_names[] = {"libOpenImageDenoise.so.2", "libOpenImageDenoise.so",
                                         "libOpenImageDenoise.so.1"};
enum { FILE_NAMES = sizeof file_names / sizeof *file_names };

/* A function's address, by its name in version 2, or before. Both are functions of the same shape. */
typedef struct Symbol {
    size_t offset; /* in OidnLibrary */
    const char *name, *old_name;
} Symbol;

static const Symbol symbols[] = {
    {offsetof(OidnLibrary, new_device), "oidnNewDevice", NULL},
    {offsetof(OidnLibrary, set_device_int), "oidnSetDeviceInt", "oidnSetDevice1i"},
    {offsetof(OidnLibrary, get_device_int), "oidnGetDeviceInt", "oidnGetDevice1i"},
    {offsetof(OidnLibrary, commit_device), "oidnCommitDevice", NULL},
    {offsetof(OidnLibrary, get_device_error), "oidnGetDeviceError", NULL},
    {offsetof(OidnLibrary, new_filter), "oidnNewFilter", NULL},
    {offsetof(OidnLibrary, set_image), "oidnSetSharedFilterImage", NULL},
    {offsetof(OidnLibrary, set_bool), "oidnSetFilterBool", "oidnSetFilter1b"},
    {offsetof(OidnLibrary, commit_filter), "oidnCommitFilter", NULL},
    {offsetof(OidnLibrary, execute_filter), "oidnExecuteFilter", NULL},
    {offsetof(OidnLibrary, release_filter), "oidnReleaseFilter", NULL},
    {offsetof(OidnLibrary, release_device), "oidnReleaseDevice", NULL}};
_Static_assert(sizeof symbols / sizeof *symbols == sizeof(OidnLibrary) / sizeof(void *),
               "each function has a name");

static bool find_symbols(void *library, const char *path, OidnLibrary *out, char *why,
                         size_t why_bytes)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
        void *address = dlsym(library, symbols[i].name);
        if (!address && symbols[i].old_name)
            address = dlsym(library, symbols[i].old_name);
        if (!address) {
            (void)snprintf(why, why_bytes, "%s: has no function %s: is it Open Image Denoise?",
                           path[0] ? path : "the library", symbols[i].name);
            return false;
        }
        memcpy((char *)out + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

/* Opens all files of a pattern until one is a library. */
static void *open_pattern(const char *folders, const char *file)
{
    char pattern[PATH_ROOM];
    void *library = NULL;
    glob_t found;
    int length = snprintf(pattern, sizeof pattern, "%s/%s", folders, file);
    ASSERT(length > 0);
    if (length >= (int)sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !library; ++i)
        library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

/* The folder lib of the Blender that PATH finds, into out; false: there is none. */
static bool find_blender(char out[PATH_ROOM])
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t size = strcspn(at, ":");
        char name[PATH_ROOM], *real = NULL;
        int length = snprintf(name, sizeof name, "%.*s/blender", (int)size, at);
        if (length < (int)sizeof name && access(name, X_OK) == 0 && (real = realpath(name, NULL))) {
            char *slash = strrchr(real, '/');
            length = snprintf(out, PATH_ROOM, "%.*s/lib", (int)(slash - real), real);
            free(real);
            return length < PATH_ROOM;
        }
        at += size + (at[size] == ':');
    }
    return false;
}

static void *open_usual(void)
{
    static const char *const folders[] = {"/opt/blender*/lib", "/usr/local/blender*/lib",
                                          "/snap/blender/current/lib", "/usr/local/lib"};
    char blender[PATH_ROOM];
    bool has_blender = find_blender(blender);
    void *library = NULL;
    for (size_t i = 0; i < FILE_NAMES && !library; ++i)
        library = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < FILE_NAMES && has_blender && !library; ++i)
        library = open_pattern(blender, file_names[i]);
    for (size_t k = 0; k < sizeof folders / sizeof *folders; ++k)
        for (size_t i = 0; i < FILE_NAMES && !library; ++i)
            library = open_pattern(folders[k], file_names[i]);
    return library;
}

/* Opens the file that links lead to: the library looks for its parts beside itself. */
static void *open_named(const char *path)
{
    char *real = realpath(path, NULL);
    void *library = dlopen(real ? real : path, RTLD_NOW | RTLD_LOCAL);
    free(real);
    return library;
}

bool oidn_library_open(const char *path, OidnLibrary *out, char *why, size_t why_bytes)
{
    void *library = path[0] ? open_named(path) : open_usual();
    if (library)
        return find_symbols(library, path, out, why, why_bytes);
    const char *reason = path[0] ? dlerror() : NULL;
    (void)snprintf(why, why_bytes, "%s",
                   reason ? reason
                          : "Open Image Denoise is not installed: name its library, such as the "
                            "lib/libOpenImageDenoise.so.2 of a Blender, with --denoiser");
    return false;
}
