/* Command lines: what is understood, and what is said about the rest. */
#include "base/cli.h"
#include "base/cli_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct Values {
    bool is_verbose, is_quiet, has_color;
    const char *output;
    CliTextList paths;
    int64_t offset;
    uint32_t threads, curve;
    double exposure;
    uint64_t memory;
    int range[2];
} Values;

static Status parse_range(const char *text, void *out, Error *err)
{
    int *range = out;
    if (strlen(text) != 3 || text[1] != ':')
        return error_set(err, STATUS_INVALID, "'%s' is not a range such as 0:8", text);
    range[0] = text[0] - '0';
    range[1] = text[2] - '0';
    return STATUS_OK;
}

static const char *const curves[] = {"standard", "filmic", NULL};
static const char *const examples[] = {"sort-render scene -o a.exr", "renders the scene", NULL};

/* Runs cli_parse on the words of `line`. */
static Status parse_line(const char *line, Values *v, CliResult *result, Error *err)
{
    static char words[400];
    static char *argv[40] = {words};
    int argc = 1;
    assert_true(strlen(line) < sizeof words);
    memcpy(words, line, strlen(line) + 1);
    char *at = words;
    while ((at = strchr(at, ' ')) != NULL) {
        *at++ = '\0';
        argv[argc++] = at;
    }
    *v = (Values){.has_color = true, .threads = 7};
    const CliOption options[] = {
        {.name = "output",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &v->output,
         .value_name = "FILE",
         .help = "where the picture goes"},
        {.name = "verbose",
         .short_name = 'v',
         .kind = CLI_FLAG,
         .out = &v->is_verbose,
         .help = "say more"},
        {.name = "quiet",
         .short_name = 'q',
         .kind = CLI_FLAG,
         .out = &v->is_quiet,
         .help = "say less"},
        {.name = "color",
         .kind = CLI_FLAG,
         .has_negation = true,
         .out = &v->has_color,
         .help = "colour the messages"},
        {.name = "texture-path",
         .kind = CLI_TEXT_LIST,
         .out = &v->paths,
         .value_name = "DIR",
         .help = "one more folder in which textures are looked for, in the order in which they are "
                 "given, after the package itself"},
        {.name = "threads",
         .short_name = 't',
         .kind = CLI_U32,
         .out = &v->threads,
         .min = 1,
         .max = 1024,
         .value_name = "N",
         .help = "worker threads",
         .group = "Machine"},
        {.name = "offset", .kind = CLI_INT, .out = &v->offset, .value_name = "N", .help = "x"},
        {.name = "exposure",
         .kind = CLI_FLOAT,
         .out = &v->exposure,
         .min = -20,
         .max = 20,
         .value_name = "STOPS",
         .help = "brightness"},
        {.name = "texture-memory",
         .kind = CLI_SIZE,
         .out = &v->memory,
         .min = 1 << 20,
         .max = 0x1p63,
         .value_name = "SIZE",
         .help = "budget"},
        {.name = "curve",
         .kind = CLI_CHOICE,
         .out = &v->curve,
         .choices = curves,
         .value_name = "NAME",
         .help = "tone curve"},
        {.name = "samples",
         .kind = CLI_CUSTOM,
         .parse = parse_range,
         .out = v->range,
         .value_name = "A:B",
         .help = "samples"},
        {.name = "secret", .kind = CLI_FLAG, .is_hidden = true, .out = &v->is_quiet, .help = "?"},
    };
    const CliProgram program = {.name = "sort-render",
                                .usage = "[options] SCENE",
                                .summary = "Renders a scene.",
                                .options = options,
                                .option_count = SORT_COUNT_OF(options),
                                .args_min = 1,
                                .args_max = 2,
                                .args_name = "SCENE",
                                .examples = examples};
    *err = (Error){0};
    Status status = cli_parse(&program, argc, argv, result, err);
    if (result->wants_help) {
        StrBuf help = {0};
        cli_help(&program, &help);
        static char text[4000];
        (void)snprintf(text, sizeof text, "%s", strbuf_text(&help));
        strbuf_free(&help);
        v->output = text;
    }
    return status;
}

static void test_cli_understands_all_forms(void **state)
{
    SORT_UNUSED(state);
    Values v;
    CliResult r;
    Error err;
    assert_int_equal(
        parse_line("p scene -o a.exr --threads=4 --exposure -1.5 other -vq --offset -3 "
                   "--texture-memory 256M --curve filmic --samples 3:8 --no-color",
                   &v, &r, &err),
        STATUS_OK);
    assert_int_equal(r.arg_count, 2);
    assert_string_equal(r.args[0], "scene");
    assert_string_equal(r.args[1], "other");
    assert_string_equal(v.output, "a.exr");
    assert_true(v.threads == 4 && v.exposure == -1.5 && v.is_verbose && v.is_quiet);
    assert_true(v.memory == 256u << 20 && v.curve == 1 && v.range[0] == 3 && v.range[1] == 8);
    assert_true(v.offset == -3 && !v.has_color);

    assert_int_equal(parse_line("p -ob.exr -t2 -- -scene", &v, &r, &err), STATUS_OK);
    assert_string_equal(v.output, "b.exr");
    assert_string_equal(r.args[0], "-scene");
    assert_true(v.threads == 2 && v.has_color);
    assert_int_equal(parse_line("p - --texture-path a --texture-path b", &v, &r, &err), STATUS_OK);
    assert_string_equal(r.args[0], "-");
    assert_int_equal(v.paths.count, 2);
    assert_string_equal(v.paths.items[1], "b");
    assert_int_equal(parse_line("p a -vt 3 --output=", &v, &r, &err), STATUS_OK);
    assert_true(v.is_verbose && v.threads == 3);
    assert_string_equal(v.output, "");
    assert_int_equal(parse_line("p --version", &v, &r, &err), STATUS_OK);
    assert_true(r.wants_version);
}

static void test_cli_explains_mistakes(void **state)
{
    SORT_UNUSED(state);
    static const char *const cases[][2] = {
        {"p a --thread 3", "unknown option '--thread'; did you mean '--threads'?"},
        {"p a --treads=3", "unknown option '--treads'; did you mean '--threads'?"},
        {"p a --frobnicate", "unknown option '--frobnicate'; --help lists them"},
        {"p a --secre", "unknown option '--secre'; --help lists them"},
        {"p a --help=1", "option '--help' takes no value"},
        {"p a -x", "unknown option '-x'; --help lists them"},
        {"p a -vx", "unknown option '-x'; --help lists them"},
        {"p a --threads", "option '--threads' needs a value: N"},
        {"p a --threads 0", "option '--threads': must be between 1 and 1024"},
        {"p a --threads 3.5", "option '--threads': '3.5' is not an integer"},
        {"p a --threads 99999999999999999999",
         "option '--threads': '99999999999999999999' is out of range"},
        {"p a --threads=", "option '--threads': '' is not an integer"},
        {"p a --exposure nan", "option '--exposure': 'nan' is not a number"},
        {"p a --exposure 1e3", "option '--exposure': must be between -20 and 20"},
        {"p a --texture-memory 100K", "option '--texture-memory': must be at least 1 MiB"},
        {"p a --texture-memory 5X",
         "option '--texture-memory': '5X' is not a size such as 512K, 256M or 2G"},
        {"p a --texture-memory -5",
         "option '--texture-memory': '-5' is not a size such as 512K, 256M or 2G"},
        {"p a --curve flimic", "option '--curve': unknown value 'flimic'; did you mean 'filmic'?"},
        {"p a --curve x", "option '--curve': unknown value 'x'; it is one of: standard, filmic"},
        {"p a --samples 3", "option '--samples': '3' is not a range such as 0:8"},
        {"p a --verbose=1", "option '--verbose' takes no value"},
        {"p a --no-color=1", "option '--no-color' takes no value"},
        {"p", "SCENE is missing; usage: sort-render [options] SCENE"},
        {"p a b c", "unexpected argument 'c'; usage: sort-render [options] SCENE"},
    };
    Values v;
    CliResult r;
    Error err;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        assert_int_equal(parse_line(cases[i][0], &v, &r, &err), STATUS_INVALID);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void test_cli_prints_help(void **state)
{
    SORT_UNUSED(state);
    Values v;
    CliResult r;
    Error err;
    assert_int_equal(parse_line("p -h --nonsense", &v, &r, &err), STATUS_OK);
    assert_true(r.wants_help);
    assert_string_equal(
        v.output,
        "Usage: sort-render [options] SCENE\n"
        "\n"
        "Renders a scene.\n"
        "\n"
        "Options:\n"
        "  -o, --output FILE           where the picture goes\n"
        "  -v, --verbose               say more\n"
        "  -q, --quiet                 say less\n"
        "      --[no-]color            colour the messages\n"
        "      --texture-path DIR      one more folder in which textures are looked for,\n"
        "                              in the order in which they are given, after the\n"
        "                              package itself\n"
        "\n"
        "Machine:\n"
        "  -t, --threads N             worker threads\n"
        "      --offset N              x\n"
        "      --exposure STOPS        brightness\n"
        "      --texture-memory SIZE   budget\n"
        "      --curve NAME            tone curve: standard, filmic\n"
        "      --samples A:B           samples\n"
        "\n"
        "  -h, --help                  print this text\n"
        "      --version               print the version\n"
        "\n"
        "Examples:\n"
        "  sort-render scene -o a.exr\n"
        "      renders the scene\n");
}

static int run_nothing(int argc, char **argv)
{
    SORT_UNUSED(argv);
    return argc;
}

static void test_cli_finds_commands(void **state)
{
    SORT_UNUSED(state);
    static const CliCommand commands[] = {{"make", "writes a texture file", run_nothing},
                                          {"info", "prints what a file holds", run_nothing}};
    Error err = {0};
    assert_ptr_equal(cli_find_command(commands, 2, "info", &err), &commands[1]);
    assert_null(cli_find_command(commands, 2, "inof", &err));
    assert_string_equal(err.text, "unknown command 'inof'; did you mean 'info'?");
    assert_null(cli_find_command(commands, 2, "destroy", &err));
    assert_string_equal(err.text, "unknown command 'destroy'; --help lists them");
    StrBuf help = {0};
    cli_commands_help("texcache", "Paged textures.", commands, 2, &help);
    assert_string_equal(strbuf_text(&help), "Usage: texcache COMMAND [arguments]\n\n"
                                            "Paged textures.\n\nCommands:\n"
                                            "  make        writes a texture file\n"
                                            "  info        prints what a file holds\n\n"
                                            "'texcache COMMAND --help' explains one of them.\n");
    strbuf_free(&help);
}

static void test_cli_sizes(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"0", 0},           {"1048576", 1 << 20},        {"512k", 512 << 10},
                 {"1.5G", 3u << 29}, {"2GiB", (uint64_t)2 << 30}, {"1T", (uint64_t)1 << 40},
                 {"7B", 7}};
    static const char *const bad[] = {"",    "M",         "1MB", "1 M", "-1",
                                      "1K2", "99999999T", "inf", "nan"};
    uint64_t bytes;
    char out[32];
    for (size_t i = 0; i < SORT_COUNT_OF(sizes); ++i) {
        assert_int_equal(cli_parse_size(sizes[i].text, &bytes, NULL), STATUS_OK);
        assert_int_equal(bytes, sizes[i].bytes);
    }
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i)
        assert_int_equal(cli_parse_size(bad[i], &bytes, NULL), STATUS_INVALID);
    assert_string_equal(cli_format_size(1, out), "1 byte");
    assert_string_equal(cli_format_size(1023, out), "1023 bytes");
    assert_string_equal(cli_format_size(512 << 10, out), "512 KiB");
    assert_string_equal(cli_format_size(3435973837u, out), "3.2 GiB");
    assert_string_equal(cli_format_size((1 << 20) - 1, out), "1 MiB");
}

/* What a table becomes for man and for shells: quoted, hidden options left out, values as they can be guessed. */
static void test_cli_pages(void **state)
{
    (void)state;
    bool flag = false;
    const char *text = NULL;
    uint32_t choice = 0;
    const CliOption options[] = {
        {.name = "out-file",
         .short_name = 'o',
         .kind = CLI_TEXT,
         .out = &text,
         .value_name = "FILE",
         .help = "it's where [all] goes",
         .group = "Output"},
        {.name = "curve",
         .kind = CLI_CHOICE,
         .out = &choice,
         .choices = curves,
         .value_name = "C",
         .help = "tone curve"},
        {.name = "secret", .kind = CLI_FLAG, .is_hidden = true, .out = &flag, .help = "hidden"},
    };
    const CliProgram program = {.name = "a-tool sub",
                                .options = options,
                                .option_count = SORT_COUNT_OF(options),
                                .args_name = "THING"};
    const char *const commands[] = {"sub"};
    StrBuf out = {0};
    cli_manual_options(&program, &out);
    assert_string_equal(strbuf_text(&out),
                        ".SS Output\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-out\\-file\\fR \\fIFILE\\fR\n"
                        "It\\(aqs where [all] goes.\n"
                        ".TP\n\\fB\\-\\-curve\\fR \\fIC\\fR\n"
                        "Tone curve: \\fBstandard\\fR, \\fBfilmic\\fR.\n");
    strbuf_clear(&out);
    cli_manual_text(".SH no request\n'nor this\\", &out);
    assert_string_equal(strbuf_text(&out), "\\&.SH no request\n\\&\\(aqnor this\\e");
    const struct {
        CliShell shell;
        const char *words[3];
    } shells[] = {
        {CLI_SHELL_BASH,
         {"sub)", "--out-file|-o) COMPREPLY=($(compgen -f", "-W 'standard filmic'"}},
        {CLI_SHELL_ZSH, {"sub)", "it'\\''s where \\[all\\] goes", "(standard filmic)"}},
        {CLI_SHELL_FISH,
         {"seen_subcommand_from sub", "-l out-file -s o -r -d 'it\\'s where",
          "-a 'standard filmic'"}},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(shells); ++i) {
        strbuf_clear(&out);
        cli_completion_begin(shells[i].shell, "a-tool", commands, 1, &out);
        cli_completion_add(shells[i].shell, &program, &out);
        cli_completion_end(shells[i].shell, "a-tool", &out);
        for (size_t k = 0; k < 3; ++k)
            if (!strstr(strbuf_text(&out), shells[i].words[k]))
                fail_msg("%s lacks %s:\n%s", cli_shell_names[i], shells[i].words[k], out.data);
        assert_null(strstr(strbuf_text(&out), "secret"));
    }
    strbuf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_understands_all_forms),
        cmocka_unit_test(test_cli_explains_mistakes),
        cmocka_unit_test(test_cli_prints_help),
        cmocka_unit_test(test_cli_finds_commands),
        cmocka_unit_test(test_cli_sizes),
        cmocka_unit_test(test_cli_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
