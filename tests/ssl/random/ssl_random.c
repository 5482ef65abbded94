/* ssl-random: random programs against the interpreter of the source. docs/internals/ssl-testing.md.
 *
 *   ssl-random --seed 0 --count 100000 -j 2     all programs of these seeds; the first that fails is made smaller and printed
 *   ssl-random --seed 17 --count 1 --print      the source of one */
#include "base/alloc.h"
#include "base/check.h"
#include "base/cli.h"
#include "base/file.h"
#include "base/thread.h"
#include "tests/ssl/random/random_check.h"
#include "tests/ssl/random/random_source.h"
#include "tests/ssl/random/shrink.h"
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 500, THREADS_MAX = 64, SHRINK_TRIES = 1500 };

typedef struct Session {
    RandomHost host;
    RandomSize size;
    uint64_t first; /* of the batch */
    const char *folder;
    bool prints, is_derived; /* is_derived: programs of derivatives */
    /* So many programs of derivatives are evaluated for one that is compiled to kernels, too, which takes much longer. */
    uint32_t kernels_every;
    Mutex mutex; /* guards the rest */
    RandomTally tally;
    uint64_t failures, failed_seed; /* the first */
    bool goes_on;                   /* past failures, which are listed and not made smaller */
} Session;

/* Seeds at work: printed if the compiler crashes, by a handler that knows nothing else. */
static _Atomic uint64_t seeds_at_work[THREADS_MAX];

static void on_crash(int signal_number)
{
    char line[64];
    for (uint32_t i = 0; i < THREADS_MAX; ++i) {
        uint64_t seed = atomic_load(&seeds_at_work[i]);
        int size = /* NOLINTNEXTLINE(bugprone-signal-handler): the seed is told before the crash goes on */
            seed ? snprintf(line, sizeof line, "crashed with seed %" PRIu64 "\n", seed - 1) : 0;
        if (size > 0 && write(STDERR_FILENO, line, (size_t)size) < 0)
            break;
    }
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

/* The program of a sequence of choices, as text in `out`. Sizes vary with the seed. */
static void write_source(const Session *s, Choices *choices, uint64_t seed, Arena *arena,
                         StrBuf *out)
{
    const RandomSize size = {.functions = s->size.functions,
                             .statements = 1 + (uint32_t)(seed % s->size.statements),
                             .is_fused = seed % 4 == 1};
    if (s->is_derived)
        random_derivative_source(choices, &size, arena, out);
    else
        random_source(choices, &size, arena, out);
}

static RandomVerdict check_source(const Session *s, Str text, uint64_t seed, RandomTally *tally,
                                  StrBuf *report)
{
    if (s->is_derived)
        return random_check_derivatives(&s->host, text, seed, seed % s->kernels_every == 0, tally,
                                        report);
    return random_check(&s->host, text, seed, tally, report);
}

static RandomVerdict check_choices(Session *s, Choices *choices, uint64_t seed, Arena *arena,
                                   RandomTally *tally, StrBuf *source, StrBuf *report)
{
    write_source(s, choices, seed, arena, source);
    const Str text = {source->data, source->size_bytes};
    return check_source(s, text, seed, tally, report);
}

static Arena *new_arena(void)
{
    Arena *arena = arena_create(0, 0);
    CHECK(arena);
    return arena;
}

typedef struct Failure {
    Session *session;
    uint64_t seed;
} Failure;

static bool still_fails(void *data, const uint32_t *list, uint32_t count)
{
    Failure *f = data;
    Arena *arena = new_arena();
    Choices choices = choices_replay(arena, list, count);
    RandomTally tally = {0};
    StrBuf source = {0}, report = {0};
    bool is_bad =
        check_choices(f->session, &choices, f->seed, arena, &tally, &source, &report) == RANDOM_BAD;
    strbuf_free(&source);
    strbuf_free(&report);
    arena_destroy(arena);
    return is_bad;
}

/* Prints the failing program and what is wrong with it, as it is and made smaller. */
static void report_failure(Session *s, uint64_t seed)
{
    Arena *arena = new_arena();
    Choices choices = choices_random(arena, seed);
    RandomTally tally = {0};
    StrBuf source = {0}, report = {0};
    (void)check_choices(s, &choices, seed, arena, &tally, &source, &report);
    (void)printf("seed %" PRIu64 " fails:\n%s", seed, strbuf_text(&report));
    (void)fflush(stdout); /* making it smaller takes a while */
    Failure failure = {s, seed};
    Shrink shrinking = {still_fails, &failure, SHRINK_TRIES};
    uint32_t count = choices.list.count;
    shrink(&shrinking, choices.list.data, &count);
    Choices smaller = choices_replay(arena, choices.list.data, count);
    strbuf_clear(&source);
    strbuf_clear(&report);
    (void)check_choices(s, &smaller, seed, arena, &tally, &source, &report);
    (void)printf("made smaller:\n%s%s", strbuf_text(&report), strbuf_text(&source));
    strbuf_free(&source);
    strbuf_free(&report);
    arena_destroy(arena);
}

static void save_source(const Session *s, uint64_t seed, const StrBuf *source)
{
    char path[PATH_BYTES];
    Error err = {0};
    (void)snprintf(path, sizeof path, "%s/random_%" PRIu64 ".ssl", s->folder, seed);
    if (file_write(path, source->data, source->size_bytes, &err) != STATUS_OK)
        (void)fprintf(stderr, "ssl-random: %s\n", err.text);
}

/* Under the session's mutex. */
static void note_failure(Session *s, uint64_t seed, const StrBuf *report)
{
    if (s->failures == 0 || seed < s->failed_seed)
        s->failed_seed = seed;
    ++s->failures;
    if (s->goes_on) {
        (void)printf("seed %" PRIu64 " fails:\n%s", seed, strbuf_text(report));
        (void)fflush(stdout);
    }
}

static void run_one(void *data, uint32_t index)
{
    Session *s = data;
    uint64_t seed = s->first + index;
    Arena *arena = new_arena();
    Choices choices = choices_random(arena, seed);
    RandomTally tally = {0};
    StrBuf source = {0}, report = {0};
    if (s->prints || s->folder) {
        write_source(s, &choices, seed, arena, &source);
        if (s->folder)
            save_source(s, seed, &source);
        else
            (void)printf("%s", strbuf_text(&source));
    } else {
        atomic_store(&seeds_at_work[index % THREADS_MAX], seed + 1);
        RandomVerdict verdict = check_choices(s, &choices, seed, arena, &tally, &source, &report);
        atomic_store(&seeds_at_work[index % THREADS_MAX], 0);
        mutex_lock(&s->mutex);
        random_tally_add(&s->tally, &tally);
        if (verdict == RANDOM_BAD)
            note_failure(s, seed, &report);
        mutex_unlock(&s->mutex);
    }
    strbuf_free(&source);
    strbuf_free(&report);
    arena_destroy(arena);
}

static double percent(uint64_t part, uint64_t rest)
{
    return part + rest ? 100.0 * (double)part / (double)(part + rest) : 0;
}

/* In percent, at most, of what could have been compared: more, and the test would test too little. */
enum { SKIPPED_MAX_PERCENT = 20 };

static bool report_tally(const RandomTally *t)
{
    const struct {
        const char *name;
        uint64_t done, skipped;
    } rows[] = {
        {"points", t->points - t->points_skipped, t->points_skipped},
        {"values", t->values, t->values_skipped},
        {"derivatives", t->derivatives, t->derivatives_skipped},
        {"programs past a limit", t->programs - t->refused, t->refused},
        {"transposes", t->transposes, t->transposes_skipped},
        {"transposes in kernels", t->kernel_transposes, t->kernel_transposes_skipped},
        {"dual numbers", t->duals, t->duals_skipped},
        {"slopes", t->slopes, t->slopes_skipped},
        /* Not capped: these say how well the interpreter could follow, at a few points and in code that makes
                 * infinities of what it gets. */
        {"central differences", t->differences, t->differences_skipped},
        {"points of bsdfs", t->bsdf_points - t->bsdf_points_skipped, t->bsdf_points_skipped}};
    bool is_good = true;
    (void)printf("%" PRIu64 " programs; %" PRIu64 " derivatives not 0, %" PRIu64
                 " closure weights, %" PRIu64 " texture lookups, %" PRIu64 " bsdfs with %" PRIu64
                 " numbers, %" PRIu64 " comparisons over edges, %" PRIu64 " programs filtered\n",
                 t->programs, t->derivatives_nonzero, t->closures, t->lookups, t->bsdfs,
                 t->bsdf_numbers, t->edge_gradients, t->filtered);
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        double skipped = percent(rows[i].skipped, rows[i].done);
        bool is_capped = i < 4;
        (void)printf("%-22s %12" PRIu64 " compared, %.2f %% skipped%s\n", rows[i].name,
                     rows[i].done, skipped,
                     is_capped && skipped > SKIPPED_MAX_PERCENT ? ": too many" : "");
        is_good = is_good && !(is_capped && skipped > SKIPPED_MAX_PERCENT);
    }
    return is_good;
}

static int run_session(Session *s, uint64_t seed, uint64_t count, uint32_t jobs, bool is_quiet)
{
    for (uint64_t done = 0; done < count && (s->goes_on || !s->failures); done += BATCH) {
        uint64_t left = count - done;
        s->first = seed + done;
        parallel_for(jobs, (uint32_t)(left < BATCH ? left : BATCH), run_one, s);
        if (!is_quiet && count > BATCH && done % (4 * BATCH) == 0)
            (void)fprintf(stderr,
                          "%" PRIu64 " programs, %" PRIu64 " failed; seeds from %" PRIu64
                          " are next\n",
                          s->tally.programs, s->failures, seed + done + BATCH);
    }
    if (s->prints || s->folder)
        return 0;
    if (s->failures > 0 && !s->goes_on)
        report_failure(s, s->failed_seed);
    (void)printf("seeds %" PRIu64 " to %" PRIu64 "\n", seed, seed + count - 1);
    if (s->failures > 0)
        (void)printf("%" PRIu64 " programs failed\n", s->failures);
    return report_tally(&s->tally) && s->failures == 0 ? 0 : 1;
}

/* One source from a file, with the inputs of a seed: for what was printed smaller, and then by hand. */
static int check_file(Session *s, const char *path, uint64_t seed)
{
    char *text = NULL;
    size_t size = 0;
    Error err = {0};
    StrBuf report = {0};
    RandomVerdict verdict = RANDOM_BAD;
    if (file_read(path, 16 << 20, &text, &size, &err) == STATUS_OK) {
        verdict = check_source(s, (Str){text, size}, seed, &s->tally, &report);
        (void)printf("%s", strbuf_text(&report));
        (void)report_tally(&s->tally);
    } else {
        (void)fprintf(stderr, "ssl-random: %s\n", err.text);
    }
    strbuf_free(&report);
    mem_free(text);
    return verdict == RANDOM_BAD ? 1 : 0;
}

static int fail_usage(const Error *err)
{
    char message[1024];
    (void)fprintf(stderr, "ssl-random: %s\n", error_format(err, message, sizeof message));
    return 2;
}

int main(int argc, char **argv)
{
    Session s = {
        .size = {.functions = 4, .statements = 8}, .kernels_every = 16, .mutex = MUTEX_INIT};
    int64_t seed = 0, count = 1000;
    uint32_t jobs = 0;
    bool is_quiet = false;
    const char *source = NULL;
    const CliOption options[] = {
        {.name = "seed",
         .kind = CLI_INT,
         .out = &seed,
         .max = 1e15,
         .value_name = "N",
         .help = "the first"},
        {.name = "count",
         .short_name = 'n',
         .kind = CLI_INT,
         .out = &count,
         .min = 1,
         .max = 1e15,
         .value_name = "N",
         .help = "how many"},
        {.name = "jobs",
         .short_name = 'j',
         .kind = CLI_U32,
         .out = &jobs,
         .max = THREADS_MAX,
         .value_name = "N",
         .help = "programs at once; 0, the default: one a CPU"},
        {.name = "functions",
         .kind = CLI_U32,
         .out = &s.size.functions,
         .max = 40,
         .value_name = "N",
         .help = "functions of a program, at most"},
        {.name = "statements",
         .kind = CLI_U32,
         .out = &s.size.statements,
         .min = 1,
         .max = 200,
         .value_name = "N",
         .help = "statements of a function, at most"},
        {.name = "derivatives",
         .kind = CLI_FLAG,
         .out = &s.is_derived,
         .help = "programs of fwd_diff and bwd_diff, held against each other"},
        {.name = "kernels-every",
         .kind = CLI_U32,
         .out = &s.kernels_every,
         .min = 1,
         .max = 1u << 30,
         .value_name = "N",
         .help = "of so many programs of derivatives, one is built as kernels, too; default 16"},
        {.name = "print",
         .kind = CLI_FLAG,
         .out = &s.prints,
         .help = "print the programs, do not run them"},
        {.name = "save",
         .kind = CLI_TEXT,
         .out = &s.folder,
         .value_name = "FOLDER",
         .help = "write the programs there, do not run them"},
        {.name = "keep-going",
         .short_name = 'k',
         .kind = CLI_FLAG,
         .out = &s.goes_on,
         .help = "list what fails and go on"},
        {.name = "source",
         .kind = CLI_TEXT,
         .out = &source,
         .value_name = "FILE",
         .help = "check this program instead, with the inputs of the seed"},
        {.name = "quiet",
         .short_name = 'q',
         .kind = CLI_FLAG,
         .out = &is_quiet,
         .help = "no progress"},
    };
    const CliProgram program = {
        .name = "ssl-random",
        .usage = "[options]",
        .summary = "Holds compiled random programs against an interpreter of their source.",
        .options = options,
        .option_count = SORT_COUNT_OF(options),
        .args_name = "argument"};
    CliResult args;
    Error err = {0};
    if (cli_parse(&program, argc, argv, &args, &err) != STATUS_OK)
        return fail_usage(&err);
    if (args.wants_help) {
        StrBuf text = {0};
        cli_help(&program, &text);
        (void)fputs(strbuf_text(&text), stdout);
        strbuf_free(&text);
        return 0;
    }
    (void)signal(SIGSEGV, on_crash);
    (void)signal(SIGABRT, on_crash);
    if (random_host_create(&s.host, &err) != STATUS_OK)
        return fail_usage(&err);
    int code =
        source ? check_file(&s, source, (uint64_t)seed)
               : run_session(&s, (uint64_t)seed, (uint64_t)count, s.prints ? 1 : jobs, is_quiet);
    random_host_destroy(&s.host);
    return code;
}
