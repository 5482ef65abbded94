/* The types and steps of ssl-test.
 *
 *   ssl_test.c         the program: options, files, threads
 *   ssl_test_threads.c files on several threads, within a limit of time
 *   ssl_test_file.c    one file: its cases at each level
 *   ssl_test_build.c   a case's settings, and its kernel
 *   ssl_test_check.c   what came out against what was expected
 *   ssl_test_diags.c   the same for errors and warnings
 *   ssl_test_report.c  text, TAP, JUnit */
#ifndef SORT_TOOLS_SSL_TEST_SSL_TEST_H
#define SORT_TOOLS_SSL_TEST_SSL_TEST_H

#include "tools/ssl_kit/expect.h"
#include "tools/ssl_kit/grid_host.h"

enum { TEST_POINTS = SSL_BLOCK + 5, TEST_LEVELS = 2 };

/* One file under test. */
typedef struct TestFile {
    const char *path;
    uint32_t passed, failed;
    StrBuf out; /* what it has to say */
    double seconds;
} TestFile;

/* The last program of a level, for the next case if only inputs differ. program: NULL if there is none. */
typedef struct TestBuild {
    SslProgram *program;
    const ExpectCase *test_case; /* the one that it was built for */
} TestBuild;

/* The state of running one file; `report` collects failures with places in the file. */
typedef struct TestRun {
    TestFile *file;
    Str text;
    Arena *arena;
    DiagList *report;
    ExpectFile expect;
    SslContextDesc tables;
    SslContext *ctx;
    TestBuild builds[TEST_LEVELS]; /* by index of test_levels */
} TestRun;

/* A case at one level, built and run. */
typedef struct TestShot {
    TestRun *run;
    const ExpectCase *test_case;
    const char *level;
    const SslProgram *program;
    const SslProgramInfo *info;
    GridHost *host;
    uint32_t next_lobe, next_lookup; /* how far the expectations got */
} TestShot;

/* Compiles and runs a file at every level; counts and texts go into it. */
void test_file_run(TestFile *file);

/* Runs files on several threads, 0: one a CPU. Those that take longer than limit_seconds, 0: none, fail, and their threads
 * are left: if *out_left is not 0, the process may only end by _Exit. */
Status test_run_files(TestFile *files, uint32_t count, uint32_t threads, double limit_seconds,
                      uint32_t *out_left, Error *err) SORT_MUST_CHECK;

/* The optimisation levels that every case is run at. */
extern const struct TestLevel {
    const char *name;
    uint32_t llvm_level; /* as SslBuildDesc */
} test_levels[TEST_LEVELS];

/* The program of a case at test_levels[level]; diagnostics go to `diags`, unless it is that of an earlier case.
 * The run owns it until the next call for the level, or test_release_builds. NULL: not built, and said why. */
SslProgram *test_build_case(TestRun *run, const ExpectCase *test_case, uint32_t level,
                            DiagList *diags, Error *err);
void test_release_builds(TestRun *run);
/* The unit of a group that the file describes. */
Status test_link_group(TestRun *run, const ExpectGroup *group, DiagList *diags,
                       SslUnit **out_unit) SORT_MUST_CHECK;
/* Those settings of `from` that are applied to a program that is built. False: reported. */
bool test_apply_settings(TestShot *shot, const ExpectCase *from);

bool test_expects(const ExpectCase *test_case, ExpectKind kind);
/* One expectation; false: it does not hold, and was reported. */
bool test_check_expectation(TestShot *shot, const Expectation *e);
/* All points have the same inputs: any difference is a defect of code generation. */
void test_check_lanes(TestShot *shot);
/* Faults, closures and lookups that a case does not speak of although it should. */
void test_check_unexpected(TestShot *shot);
/* Every diagnostic must be expected, and every expected one must come. */
void test_check_diags(TestRun *run, const DiagList *diags);

typedef enum TestFormat { TEST_FORMAT_TEXT, TEST_FORMAT_TAP, TEST_FORMAT_JUNIT } TestFormat;
/* All files, in order, on stdout. is_verbose: of text, a line for every file. */
void test_report(const TestFile *files, uint32_t count, TestFormat format, bool is_verbose);

#endif
