/* path, file, process, temp_folder: on a folder of their own under the system's temporary one. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/temp_folder.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[PATH_BYTES];

static int set_up(void **state)
{
    SORT_UNUSED(state);
    return file_make_temp_directory("test_files", folder, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    SORT_UNUSED(state);
    return file_remove_tree(folder, NULL) == STATUS_OK && !file_exists(folder) ? 0 : -1;
}

/* folder/name; the same buffer is used in turn by the last four calls. */
static const char *in_folder(const char *name)
{
    static char paths[4][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    assert_int_equal(path_join(folder, name, path, NULL), STATUS_OK);
    return path;
}

static void test_path_parts(void **state)
{
    SORT_UNUSED(state);
    char out[PATH_BYTES];
    assert_int_equal(path_join("a", "b", out, NULL), STATUS_OK);
    assert_string_equal(out, "a/b");
    assert_int_equal(path_join("a/", "b", out, NULL), STATUS_OK);
    assert_string_equal(out, "a/b");
    assert_int_equal(path_join("", "b", out, NULL), STATUS_OK);
    assert_string_equal(out, "b");
    assert_int_equal(path_join("a", "/b", out, NULL), STATUS_OK);
    assert_string_equal(out, "/b");
    assert_int_equal(path_join(out, "c", out, NULL), STATUS_OK); /* in place */
    assert_string_equal(out, "/b/c");
    static char longest[PATH_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(path_join("a", longest, out, NULL), STATUS_LIMIT);

    assert_true(str_equal_c(path_dirname("a/b/c.exr"), "a/b"));
    assert_true(str_equal_c(path_dirname("c.exr"), "."));
    assert_true(str_equal_c(path_dirname("/c"), "/"));
    assert_string_equal(path_basename("a/b/c.exr"), "c.exr");
    assert_string_equal(path_extension("a/b.c/d.tar.gz"), ".gz");
    assert_string_equal(path_extension("a.b/c"), "");
    assert_string_equal(path_extension(".hidden"), "");
    assert_true(str_equal_c(path_stem("a/b/c.exr"), "c"));
    assert_true(path_has_extension("A.EXR", ".exr"));
    assert_false(path_has_extension("a.exr2", ".exr"));
    assert_false(path_has_extension("a.ex", ".exr"));
    assert_int_equal(path_replace_extension("x/y.gltf", ".json", out, NULL), STATUS_OK);
    assert_string_equal(out, "x/y.json");
    assert_int_equal(path_replace_extension("x.d/y", ".json", out, NULL), STATUS_OK);
    assert_string_equal(out, "x.d/y.json");
}

static void test_path_refuses_ways_out(void **state)
{
    SORT_UNUSED(state);
    static const char *const fine[] = {"a", "a/b.exr", "a/./b", "..a/b..", "...", "\xc3\xa9"};
    static const char *const bad[] = {"",     "/a",  "..",   "../a",  "a/../b", "a/..",   "a\\b",
                                      "C:/a", "c:a", "a\nb", "a\x7f", "\xff",   "a//../b"};
    Error err = {0};
    for (size_t i = 0; i < SORT_COUNT_OF(fine); ++i)
        assert_int_equal(path_check_relative(fine[i], &err), STATUS_OK);
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i)
        assert_int_equal(path_check_relative(bad[i], &err), STATUS_FORMAT);
    assert_int_equal(path_check_relative("a/../b", &err), STATUS_FORMAT);
    assert_string_equal(err.text, "the path 'a/../b' is refused: it goes up with '..'");
}

static void test_path_refuses_links_that_leave(void **state)
{
    SORT_UNUSED(state);
    char out[PATH_BYTES];
    Error err = {0};
    assert_int_equal(file_make_directories(in_folder("package/textures"), &err), STATUS_OK);
    assert_int_equal(file_make_directories(in_folder("package2"), &err), STATUS_OK);
    assert_int_equal(file_write(in_folder("secret"), "s", 1, &err), STATUS_OK);
    assert_int_equal(file_write(in_folder("package2/near"), "s", 1, &err), STATUS_OK);
    assert_int_equal(file_write(in_folder("package/textures/a"), "a", 1, &err), STATUS_OK);
    assert_int_equal(symlink("textures/a", in_folder("package/inside")), 0);
    assert_int_equal(symlink("../secret", in_folder("package/outside")), 0);
    assert_int_equal(symlink("..", in_folder("package/up")), 0);
    assert_int_equal(symlink("../package2", in_folder("package/sibling")), 0);
    assert_int_equal(symlink("package", in_folder("alias")), 0);

    const char *root = in_folder("package");
    assert_int_equal(path_resolve_inside(root, "textures/a", out, &err), STATUS_OK);
    assert_int_equal(path_resolve_inside(root, "inside", out, &err), STATUS_OK);
    assert_true(str_ends_with(str_from(out), STR_LIT("/package/textures/a")));
    assert_int_equal(path_resolve_inside(in_folder("alias"), "inside", out, &err), STATUS_OK);
    assert_int_equal(path_resolve_inside(root, "outside", out, &err), STATUS_FORMAT);
    assert_non_null(strstr(err.text, "a symbolic link leads outside the folder"));
    assert_string_equal(out, "");
    assert_int_equal(path_resolve_inside(root, "up/secret", out, &err), STATUS_FORMAT);
    assert_int_equal(path_resolve_inside(root, "sibling/near", out, &err), STATUS_FORMAT);
    assert_int_equal(path_resolve_inside(root, "gone", out, &err), STATUS_NOT_FOUND);
    assert_int_equal(path_resolve_inside(root, "textures/a/b", out, &err), STATUS_NOT_FOUND);
    assert_int_equal(path_resolve_inside(root, "../secret", out, &err), STATUS_FORMAT);
}

/* What is opened by descriptor is inside, too; where the system cannot tell, nothing is opened. */
static void test_open_beneath_stays_inside(void **state)
{
    SORT_UNUSED(state);
    static const char *const inside[] = {"textures/a", "inside", "back/textures/a"};
    static const char *const outside[] = {"outside",  "up/secret", "../secret",   "sibling/near",
                                          "absolute", "gone",      "textures/a/b"};
    assert_int_equal(symlink(in_folder("package/textures/a"), in_folder("package/absolute")), 0);
    assert_int_equal(symlink("textures/..", in_folder("package/back")), 0);
    int package = open(in_folder("package"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(package >= 0);
    int probe = file_open_beneath(package, "textures/a");
    bool can_tell = probe >= 0 || errno != ENOSYS;
    if (probe >= 0)
        close(probe);
    for (size_t i = 0; can_tell && i < SORT_COUNT_OF(inside); ++i) {
        int file = file_open_beneath(package, inside[i]);
        char c = 0;
        assert_true(file >= 0);
        assert_int_equal(read(file, &c, 1), 1);
        assert_int_equal(c, 'a');
        close(file);
    }
    for (size_t i = 0; i < SORT_COUNT_OF(outside); ++i)
        assert_int_equal(file_open_beneath(package, outside[i]), -1);
    close(package);
}

static void check_content(const char *path, const char *expected)
{
    char *data;
    size_t size_bytes;
    assert_int_equal(file_read(path, 1000, &data, &size_bytes, NULL), STATUS_OK);
    assert_int_equal(size_bytes, strlen(expected));
    assert_string_equal(data, expected);
    mem_free(data);
}

static uint32_t entry_count(const char *path)
{
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count;
    assert_int_equal(file_list_directory(path, arena, &names, &count, NULL), STATUS_OK);
    arena_destroy(arena);
    return count;
}

static void test_file_replaces_atomically(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    assert_int_equal(file_make_directories(in_folder("out"), &err), STATUS_OK);
    const char *path = in_folder("out/a.txt");
    mode_t old = umask(027);
    assert_int_equal(file_write(path, "one", 3, &err), STATUS_OK);
    (void)umask(old);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    check_content(path, "one");

    FileReplace file;
    assert_int_equal(file_replace_begin(path, &file, &err), STATUS_OK);
    (void)fputs("two", file.stream);
    (void)fflush(file.stream);
    check_content(path, "one"); /* still */
    assert_int_equal(entry_count(in_folder("out")), file.is_unnamed ? 1 : 2);
    file_replace_abandon(&file);
    assert_int_equal(entry_count(in_folder("out")), 1);
    check_content(path, "one");
    assert_int_equal(file_replace_begin(path, &file, &err), STATUS_OK);
    (void)fputs("three", file.stream);
    assert_int_equal(file_replace_commit(&file, &err), STATUS_OK);
    check_content(path, "three");
    assert_int_equal(entry_count(in_folder("out")), 1);

    assert_int_equal(symlink("a.txt", in_folder("out/link")), 0);
    assert_int_equal(file_write(in_folder("out/link"), "four", 4, &err), STATUS_OK);
    check_content(path, "four");
    assert_int_equal(lstat(in_folder("out/link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));

    assert_int_equal(file_write("/dev/null", "x", 1, &err), STATUS_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(file_write("/dev/full", "x", 1, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(file_write(in_folder("gone/a"), "x", 1, &err), STATUS_NOT_FOUND);
    assert_int_equal(file_write(folder, "x", 1, &err), STATUS_IO);
}

/* Whether a pipe has room is told at once, and without its reader taking the answer for the end of what is written. */
static void test_pipes_are_not_opened_to_ask_for_room(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    const char *path = in_folder("room.pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_check_room(path, 1 << 20, &err), STATUS_OK);
    struct pollfd reader = {.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), .events = POLLIN};
    assert_true(reader.fd >= 0);
    assert_int_equal(file_check_room(path, 1 << 20, &err), STATUS_OK);
    assert_int_equal(poll(&reader, 1, 0), 0);
    assert_int_equal(file_write(path, "x", 1, &err), STATUS_OK);
    assert_int_equal(poll(&reader, 1, 0), 1);
    assert_int_equal(close(reader.fd), 0);
}

static Status make_private(const char *name)
{
    Error err = {0};
    Status status = file_make_private_directory(in_folder(name), &err);
    assert_true(status == STATUS_OK || err.text[0]);
    return status;
}

/* What others could have made, or could change, holds nothing that is trusted. */
static void test_private_folders_are_this_users(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    struct stat info;
    assert_int_equal(make_private("own/cache/kernels"), STATUS_OK);
    assert_int_equal(stat(in_folder("own/cache"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(make_private("own/cache/kernels"), STATUS_OK); /* again */
    for (uint32_t i = 0; i < 2; ++i) {
        static const mode_t open_to[] = {0770, 0702};
        assert_int_equal(chmod(in_folder("own/cache/kernels"), open_to[i]), 0);
        assert_int_equal(make_private("own/cache/kernels"), STATUS_INVALID);
    }
    assert_int_equal(chmod(in_folder("own/cache/kernels"), 0755), 0);
    assert_int_equal(make_private("own/cache/kernels"), STATUS_OK);

    assert_int_equal(chmod(in_folder("own"), 0777), 0); /* anybody can rename what is in it */
    assert_int_equal(make_private("own/cache/kernels"), STATUS_INVALID);
    assert_int_equal(chmod(in_folder("own"), 01777), 0); /* as /tmp */
    assert_int_equal(make_private("own/cache/kernels"), STATUS_OK);
    assert_int_equal(symlink("own/cache", in_folder("way")), 0);
    assert_int_equal(make_private("way/kernels"), STATUS_OK); /* our own link */
    assert_int_equal(file_write(in_folder("plain"), "x", 1, &err), STATUS_OK);
    assert_int_equal(file_make_private_directory(in_folder("plain"), &err), STATUS_IO);

    if (geteuid() != 0)
        return; /* only root can make files of others */
    enum { OTHER = 12345 };
    assert_int_equal(lchown(in_folder("way"), OTHER, OTHER), 0);
    assert_int_equal(make_private("way/kernels"), STATUS_INVALID);
    assert_int_equal(chown(in_folder("own/cache/kernels"), OTHER, OTHER), 0);
    assert_int_equal(make_private("own/cache/kernels"), STATUS_INVALID);
    assert_int_equal(chown(in_folder("own/cache/kernels"), 0, 0), 0);
    assert_int_equal(chown(in_folder("own/cache"), OTHER, OTHER), 0);
    assert_int_equal(make_private("own/cache/kernels"), STATUS_INVALID);
}

static void test_private_files_are_this_users(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    char *data;
    size_t size_bytes;
    const char *path = in_folder("p.kept"), *other = in_folder("p.other");
    assert_int_equal(file_write(other, "precious", 8, &err), STATUS_OK);
    assert_int_equal(symlink("p.other", path), 0);
    assert_int_equal(file_read_private(path, 99, &data, &size_bytes, &err), STATUS_IO);
    assert_int_equal(file_write_private(path, "new", 3, &err), STATUS_OK);
    check_content(other, "precious"); /* the link was replaced */
    assert_int_equal(file_read_private(path, 99, &data, &size_bytes, &err), STATUS_OK);
    mem_free(data);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(file_read_private(path, 99, &data, &size_bytes, &err), STATUS_INVALID);
    mode_t before = umask(0); /* what is written is private whatever that says */
    assert_int_equal(file_write_private(path, "new", 3, &err), STATUS_OK);
    umask(before);
    assert_int_equal(file_read_private(path, 99, &data, &size_bytes, &err), STATUS_OK);
    mem_free(data);
    assert_true(file_is_private(path) && !file_is_private(in_folder("p.gone")));

    FileLock lock;
    const char *pipe = in_folder("p.pipe"), *link = in_folder("p.lock");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(file_read_private(pipe, 99, &data, &size_bytes, &err), STATUS_IO);
    assert_int_equal(file_lock(pipe, &lock, &err), STATUS_IO);
    assert_int_equal(symlink("p.gone", link), 0);
    assert_int_equal(file_lock(link, &lock, &err), STATUS_IO);
    assert_false(file_exists(in_folder("p.gone"))); /* nothing is made where a link points */
    assert_int_equal(file_write_private(pipe, "new", 3, &err), STATUS_OK); /* at once */
    check_content(pipe, "new");
}

static void test_file_reads_within_bounds(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    char *data;
    size_t size_bytes;
    const char *path = in_folder("data");
    assert_int_equal(file_write(path, "", 0, &err), STATUS_OK);
    check_content(path, "");
    assert_int_equal(file_write(path, "12345", 5, &err), STATUS_OK);
    assert_int_equal(file_read(path, 4, &data, &size_bytes, &err), STATUS_LIMIT);
    assert_null(data);
    assert_int_equal(file_read(folder, 99, &data, &size_bytes, &err), STATUS_IO);
    assert_string_equal(err.text, "not a regular file");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(file_read(in_folder("pipe"), 99, &data, &size_bytes, &err), STATUS_IO);
    assert_int_equal(file_read(in_folder("gone"), 99, &data, &size_bytes, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.text, "cannot open: No such file or directory");
    mem_fail_nth(1);
    assert_int_equal(file_read(path, 9, &data, &size_bytes, &err), STATUS_NO_MEMORY);
    mem_fail_nth(0);
    uint64_t size = 0;
    assert_int_equal(file_size(path, &size, &err), STATUS_OK);
    assert_int_equal(size, 5);
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(file_size(path, &size, &err), STATUS_NOT_FOUND);
}

static void test_file_trees(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    assert_int_equal(file_make_directories(in_folder("tree/a/b//c/"), &err), STATUS_OK);
    assert_int_equal(file_make_directories(in_folder("tree/a/b/c"), &err), STATUS_OK);
    assert_true(file_is_directory(in_folder("tree/a/b/c")));
    assert_int_equal(file_write(in_folder("tree/file"), "x", 1, &err), STATUS_OK);
    assert_int_equal(file_make_directories(in_folder("tree/file/b"), &err), STATUS_IO);
    assert_string_equal(err.text, "is not a folder");
    assert_int_equal(file_make_directories(in_folder("tree/file"), &err), STATUS_IO);
    assert_int_equal(file_write(in_folder("kept"), "x", 1, &err), STATUS_OK);
    assert_int_equal(symlink("../../kept", in_folder("tree/a/link")), 0);
    assert_int_equal(symlink("../..", in_folder("tree/a/up")), 0);

    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count;
    assert_int_equal(file_list_directory(in_folder("tree/a"), arena, &names, &count, &err),
                     STATUS_OK);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "b");
    assert_string_equal(names[1], "link");
    assert_string_equal(names[2], "up");
    assert_int_equal(file_list_directory(in_folder("gone"), arena, &names, &count, &err),
                     STATUS_NOT_FOUND);
    arena_destroy(arena);

    assert_int_equal(file_remove_tree(in_folder("tree"), &err), STATUS_OK);
    assert_false(file_exists(in_folder("tree")));
    assert_true(file_exists(in_folder("kept")));
    assert_int_equal(file_remove_tree(in_folder("tree"), &err), STATUS_OK);
    assert_int_equal(file_remove_tree(in_folder("kept"), &err), STATUS_OK);
    assert_false(file_exists(in_folder("kept")));
}

static ProcessDesc shell(const char **argv, const char *script)
{
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (ProcessDesc){.size_bytes = sizeof(ProcessDesc),
                         .argv = argv,
                         .standard_output = PROCESS_CAPTURE,
                         .standard_error = PROCESS_CAPTURE};
}

static void test_process_captures_and_tells_the_end(void **state)
{
    SORT_UNUSED(state);
    const char *argv[4];
    char text[96];
    Error err = {0};
    ProcessResult result;
    ProcessDesc desc = shell(argv, "echo out; echo err >&2; cat; exit 3");
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_OK);
    assert_true(result.has_exited && result.exit_code == 3 && !result.has_timed_out);
    assert_string_equal(strbuf_text(&result.output), "out\n");
    assert_string_equal(strbuf_text(&result.errors), "err\n");
    assert_string_equal(process_result_describe(&result, text), "exit code 3");
    process_result_free(&result);

    desc = shell(argv, "kill -SEGV $$");
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_OK);
    assert_false(result.has_exited);
    assert_int_equal(result.signal, SIGSEGV);
    assert_string_equal(process_result_describe(&result, text),
                        "killed by signal 11 (Segmentation fault)");
    process_result_free(&result);

    /* more than a pipe holds, on both streams */
    desc =
        shell(argv, "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789;"
                    " echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done");
    desc.capture_max_bytes = 100000;
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_OK);
    assert_true(result.is_output_cut);
    assert_int_equal(result.output.size_bytes, 100000);
    assert_int_equal(result.errors.size_bytes, 100000);
    process_result_free(&result);
}

static void test_process_times_out(void **state)
{
    SORT_UNUSED(state);
    const char *argv[4];
    Error err = {0};
    ProcessResult result;
    uint64_t start_ns = clock_now_ns();
    /* the grandchild keeps the pipes open for longer */
    ProcessDesc desc = shell(argv, "echo begun; sleep 20 & sleep 20");
    assert_int_equal(process_run(&desc, 200, &result, &err), STATUS_OK);
    assert_true(clock_seconds_since(start_ns) < 10);
    assert_true(result.has_timed_out && result.signal == SIGKILL);
    assert_string_equal(strbuf_text(&result.output), "begun\n");
    process_result_free(&result);

    Process *p;
    desc = shell(argv, "sleep 20");
    assert_int_equal(process_spawn(&desc, &p, &err), STATUS_OK);
    process_terminate(p);
    assert_int_equal(process_wait(p, 0, &result, &err), STATUS_OK);
    assert_int_equal(result.signal, SIGTERM);
    process_result_free(&result);
}

static void test_process_limits_memory(void **state)
{
    SORT_UNUSED(state);
    const char *argv[] = {"/bin/sh", "-c", "ulimit -v", NULL};
    Error err = {0};
    ProcessResult result;
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_CAPTURE,
                        .memory_limit_bytes = (uint64_t)512 << 20};
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_OK);
    assert_string_equal(strbuf_text(&result.output), "524288\n");
    process_result_free(&result);
}

static void test_process_that_cannot_run(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    ProcessResult result;
    char path[PATH_BYTES];
    const char *argv[] = {in_folder("no-such-program"), NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc, .argv = argv};
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.path, argv[0]);
    argv[0] = folder;
    assert_int_equal(process_run(&desc, 0, &result, &err), STATUS_IO);
    assert_int_equal(process_executable_path(path, &err), STATUS_OK);
    assert_string_equal(path_basename(path), "test_base_files");
}

/* --- what does not outlive us ---------------------------------------------------------------- */

/* In a child of ours that is then killed: runs `body`, says so, and waits. */
static pid_t start_and_wait_for(void (*body)(int told_fd), char *out_told, size_t out_bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body(ends[1]);
        pause();
        _exit(0);
    }
    ssize_t got = read(ends[0], out_told, out_bytes - 1);
    assert_true(got > 0);
    out_told[got] = '\0';
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void kill_and_reap(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* From a thread that has ended by then, as decoders are started. */
static void spawn_sleep(void *data)
{
    int told_fd = *(int *)data;
    const char *argv[] = {"sh", "-c", "echo $$ 1>&2; trap '' TERM INT HUP; sleep 60; sleep 60",
                          NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_DISCARD,
                        .standard_error = PROCESS_INHERIT};
    Process *p;
    dup2(told_fd, STDERR_FILENO);
    (void)!process_spawn(&desc, &p, NULL);
}

static void spawn_in_a_thread(int told_fd)
{
    Thread *thread;
    if (thread_create("spawner", 0, spawn_sleep, &told_fd, &thread, NULL) == STATUS_OK)
        thread_join(thread);
}

static bool is_running(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    char state = 'X';
    if (file) {
        (void)!fscanf(file, "%*d %*s %c", &state);
        fclose(file);
    }
    return state != 'X' && state != 'Z';
}

static void test_a_child_ends_with_us(void **state)
{
    SORT_UNUSED(state);
    char told[64];
    pid_t parent = start_and_wait_for(spawn_in_a_thread, told, sizeof told);
    pid_t child = (pid_t)strtol(told, NULL, 10);
    assert_true(child > 0 && is_running(child)); /* though the thread that made it has ended */
    kill_and_reap(parent);
    for (int i = 0; i < 200 && is_running(child); ++i)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_false(is_running(child));
}

static void make_temp_folder(int told_fd)
{
    TempFolder temp;
    char path[PATH_BYTES];
    if (temp_folder_create("test", &temp, NULL) != STATUS_OK ||
        path_join(temp.path, "file", path, NULL) != STATUS_OK ||
        file_write(path, "x", 1, NULL) != STATUS_OK)
        _exit(1);
    (void)!write(told_fd, temp.path, strlen(temp.path));
}

static void test_temp_folders_of_the_dead_are_swept(void **state)
{
    SORT_UNUSED(state);
    char dead[PATH_BYTES], alive[PATH_BYTES];
    const char *others[] = {"sort-test.12.old", "sort-test", "sort-test.x.abcdef",
                            "other.12.abcdef"};
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    pid_t first = start_and_wait_for(make_temp_folder, dead, sizeof dead);
    pid_t second = start_and_wait_for(make_temp_folder, alive, sizeof alive);
    for (size_t i = 0; i < SORT_COUNT_OF(others); ++i) /* names that are not ours */
        assert_int_equal(mkdir(in_folder(others[i]), 0700), 0);
    const char *link = in_folder("sort-test.13.abcdef"),
               *open_to_all = in_folder("sort-test.14.abcdef");
    assert_int_equal(symlink(alive, link), 0);
    assert_int_equal(mkdir(open_to_all, 0777), 0);
    assert_int_equal(chmod(open_to_all, 0777), 0);
    kill_and_reap(first);

    TempFolder temp;
    assert_int_equal(temp_folder_create("test", &temp, NULL), STATUS_OK);
    assert_false(file_exists(dead));
    assert_true(file_exists(alive));
    assert_true(file_exists(link) && file_exists(open_to_all));
    for (size_t i = 0; i < SORT_COUNT_OF(others); ++i)
        assert_true(file_exists(in_folder(others[i])));
    kill_and_reap(second);
    assert_true(file_exists(temp.path));
    assert_int_equal(temp_folder_remove(&temp, NULL), STATUS_OK);
    assert_int_equal(temp_folder_create("test", &temp, NULL), STATUS_OK);
    assert_false(file_exists(alive));
    temp_folder_remove_all();
    assert_false(file_exists(temp.path));
    assert_int_equal(temp_folder_remove(&temp, NULL), STATUS_OK);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

static bool has_unnamed_files = true;

/* What base/file.c calls: a file system, such as NFS, may know no files without a name. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    if ((flags & O_TMPFILE) == O_TMPFILE && !has_unnamed_files) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(path, flags, mode);
}

static void write_half(int told_fd)
{
    FileReplace file;
    if (file_replace_begin(in_folder("half.exr"), &file, NULL) != STATUS_OK)
        _exit(1);
    (void)fputs("half", file.stream);
    (void)fflush(file.stream);
    (void)!write(told_fd, "x", 1);
}

static uint32_t count_named(const char *beginning)
{
    Arena *arena = arena_create(0, 0);
    const char *const *names;
    uint32_t count, found = 0;
    assert_int_equal(file_list_directory(folder, arena, &names, &count, NULL), STATUS_OK);
    for (uint32_t i = 0; i < count; ++i)
        found += strncmp(names[i], beginning, strlen(beginning)) == 0;
    arena_destroy(arena);
    return found;
}

static void test_half_files_of_the_dead_go(void **state)
{
    SORT_UNUSED(state);
    char told[8];
    kill_and_reap(start_and_wait_for(write_half, told, sizeof told));
    assert_int_equal(count_named("half.exr"), 0);

    /* where they need a name, the next writer of the file removes it, and no other one's */
    has_unnamed_files = false;
    kill_and_reap(start_and_wait_for(write_half, told, sizeof told));
    assert_int_equal(count_named("half.exr"), 1);
    assert_int_equal(file_write(in_folder("half.exr.0123abcd.tmp.exr"), "x", 1, NULL), STATUS_OK);
    pid_t alive = start_and_wait_for(write_half, told, sizeof told);
    assert_int_equal(count_named("half.exr"), 2);
    assert_int_equal(file_write(in_folder("half.exr"), "whole", 5, NULL), STATUS_OK);
    assert_int_equal(count_named("half.exr"), 3);
    kill_and_reap(alive);
    assert_int_equal(file_write(in_folder("half.exr"), "whole", 5, NULL), STATUS_OK);
    assert_int_equal(count_named("half.exr"), 2);
    has_unnamed_files = true;
}

/* A process can also die after a nameless file got its temporary name and before that becomes the final one. */
static void test_half_files_of_the_dead_go_that_had_no_name(void **state)
{
    SORT_UNUSED(state);
    const char *left = in_folder("named.exr.0123abcd.tmp");
    int fd = open(left, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* as the living hold it */
    assert_int_equal(file_write(in_folder("named.exr"), "whole", 5, NULL), STATUS_OK);
    assert_int_equal(count_named("named.exr"), 2);
    assert_int_equal(close(fd), 0);
    assert_int_equal(file_write(in_folder("named.exr"), "whole", 5, NULL), STATUS_OK);
    assert_int_equal(count_named("named.exr"), 1);
}

/* A file that is about to become another one is locked, so that nobody takes it for one of the dead. */
static void test_files_without_a_name_are_locked(void **state)
{
    SORT_UNUSED(state);
    FileReplace file;
    char descriptor[64];
    assert_int_equal(file_replace_begin(in_folder("locked.exr"), &file, NULL), STATUS_OK);
    (void)snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fileno(file.stream));
    int other = open(descriptor, O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    assert_int_equal(close(other), 0);
    assert_int_equal(file_replace_commit(&file, NULL), STATUS_OK);
}

/* A digest of a file is that of its bytes, also of more than one piece; nothing waits at a pipe. */
static void test_files_are_hashed_in_pieces(void **state)
{
    (void)state;
    enum { BYTES = (1 << 20) + 12345 };
    const char *path = in_folder("pieces");
    char *data = mem_realloc(NULL, 1, BYTES);
    assert_non_null(data);
    for (uint32_t i = 0; i < BYTES; ++i)
        data[i] = (char)(i * 2654435761u >> 24);
    Error err = {0};
    HashState whole, pieces;
    assert_int_equal(file_write(path, data, BYTES, &err), STATUS_OK);
    hash128_begin(&whole);
    hash128_begin(&pieces);
    hash128_update(&whole, data, BYTES);
    assert_int_equal(file_hash(path, &pieces, &err), STATUS_OK);
    Hash128 a = hash128_end(&whole), b = hash128_end(&pieces);
    assert_memory_equal(&a, &b, sizeof a);
    mem_free(data);
    assert_int_equal(file_remove(path, &err), STATUS_OK);
    assert_int_equal(file_hash(path, &pieces, &err), STATUS_NOT_FOUND);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_hash(path, &pieces, &err), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_parts),
        cmocka_unit_test(test_path_refuses_ways_out),
        cmocka_unit_test(test_path_refuses_links_that_leave),
        cmocka_unit_test(test_open_beneath_stays_inside),
        cmocka_unit_test(test_file_replaces_atomically),
        cmocka_unit_test(test_pipes_are_not_opened_to_ask_for_room),
        cmocka_unit_test(test_private_folders_are_this_users),
        cmocka_unit_test(test_private_files_are_this_users),
        cmocka_unit_test(test_file_reads_within_bounds),
        cmocka_unit_test(test_file_trees),
        cmocka_unit_test(test_process_captures_and_tells_the_end),
        cmocka_unit_test(test_process_times_out),
        cmocka_unit_test(test_process_limits_memory),
        cmocka_unit_test(test_process_that_cannot_run),
        cmocka_unit_test(test_a_child_ends_with_us),
        cmocka_unit_test(test_temp_folders_of_the_dead_are_swept),
        cmocka_unit_test(test_half_files_of_the_dead_go),
        cmocka_unit_test(test_half_files_of_the_dead_go_that_had_no_name),
        cmocka_unit_test(test_files_without_a_name_are_locked),
        cmocka_unit_test(test_files_are_hashed_in_pieces),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
