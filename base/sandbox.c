#define _GNU_SOURCE /* O_PATH, syscall */
#include "base/sandbox.h"
#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface; the headers of older systems lack its later parts. */
enum {
    CREATE_RULESET = 444, /* system calls, the same on every architecture */
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    ASK_VERSION = 1, /* a flag of CREATE_RULESET */
    PATH_BENEATH = 1 /* a type of rule */
};

enum {
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_FIRST = (1 << 13) - 1, /* all of version 1 */
    FS_REFER = 1 << 13,       /* from version 2 on */
    FS_TRUNCATE = 1 << 14,    /* 3 */
    FS_IOCTL_DEV = 1 << 15,   /* 5 */
    NET_TCP = 3,              /* 4: bind and connect */
    SCOPE_ALL = 3,            /* 6: abstract sockets and signals */
    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_WRITE = FS_READ | FS_WRITE_FILE | FS_TRUNCATE | FS_REFER | FS_REMOVE_DIR | FS_REMOVE_FILE |
               FS_MAKE_DIR | FS_MAKE_REG,
    FS_ENTRIES = FS_REMOVE_DIR | FS_MAKE_DIR,
    FS_OF_FILES = FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE
};

typedef struct Ruleset {
    uint64_t handled_fs, handled_net, scoped;
} Ruleset;

typedef struct PathRule {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed)) PathRule;

static Status fail(const char *path, Error *err)
{
    return error_set_at(err, STATUS_IO, path, "cannot be a limit of a sandbox: %s",
                        strerror(errno));
}

/* Allows access below a path, which may be NULL. */
static Status allow(int ruleset, const char *path, uint64_t access, Error *err)
{
    struct stat info;
    if (!path)
        return STATUS_OK;
    PathRule rule = {.allowed = access, .fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.fd < 0)
        return errno == ENOENT ? STATUS_OK : fail(path, err);
    bool is_allowed = fstat(rule.fd, &info) == 0;
    if (is_allowed && !S_ISDIR(info.st_mode))
        rule.allowed &= FS_OF_FILES;
    is_allowed = is_allowed && syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0u) == 0;
    Status status = is_allowed ? STATUS_OK : fail(path, err);
    (void)close(rule.fd);
    return status;
}

static Status allow_all(const SandboxDesc *desc, int ruleset, uint64_t handled, Error *err)
{
    for (uint32_t i = 0; i < desc->readable_count; ++i)
        TRY(allow(ruleset, desc->readable[i], FS_READ & handled, err));
#if SORT_ASAN || SORT_TSAN /* which read there at the end */
    TRY(allow(ruleset, "/proc", FS_READ & handled, err));
#endif
    TRY(allow(ruleset, desc->writable, FS_WRITE & handled, err));
    TRY(allow(ruleset, desc->entries, FS_ENTRIES & handled, err));
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(RESTRICT_SELF, ruleset, 0u) == 0
               ? STATUS_OK
               : fail(NULL, err);
}

bool sandbox_is_supported(void)
{
    return syscall(CREATE_RULESET, NULL, (size_t)0, (unsigned)ASK_VERSION) >= 1;
}

Status sandbox_enter(const SandboxDesc *desc, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    long version = syscall(CREATE_RULESET, NULL, (size_t)0, (unsigned)ASK_VERSION);
    if (version < 1)
        return error_set(err, STATUS_UNSUPPORTED, "this kernel has no Landlock");
    Ruleset set = {.handled_fs = FS_FIRST};
    set.handled_fs |= (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
                      (version >= 5 ? FS_IOCTL_DEV : 0);
    set.handled_net = version >= 4 ? NET_TCP : 0;
    set.scoped = version >= 6 ? SCOPE_ALL : 0;
    int ruleset = (int)syscall(CREATE_RULESET, &set, sizeof set, 0u);
    if (ruleset < 0)
        return fail(NULL, err);
    Status status = allow_all(desc, ruleset, set.handled_fs, err);
    (void)close(ruleset);
    return status;
}
