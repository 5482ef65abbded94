/* path, file, process: on a folder of their own under the system's temporary one. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    for (size_t i = 0; i < SORT_COUNT_OF(fine); i++)
        assert_int_equal(path_check_relative(fine[i], &err), STATUS_OK);
    for (size_t i = 0; i < SORT_COUNT_OF(bad); i++)
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
    assert_int_equal(entry_count(in_folder("out")), 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_parts),
        cmocka_unit_test(test_path_refuses_ways_out),
        cmocka_unit_test(test_path_refuses_links_that_leave),
        cmocka_unit_test(test_file_replaces_atomically),
        cmocka_unit_test(test_file_reads_within_bounds),
        cmocka_unit_test(test_file_trees),
        cmocka_unit_test(test_process_captures_and_tells_the_end),
        cmocka_unit_test(test_process_times_out),
        cmocka_unit_test(test_process_limits_memory),
        cmocka_unit_test(test_process_that_cannot_run),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
