/* sort-render verify: are partial results whole, and what do they hold. One line of JSON a file, for programs that
 * distribute a render. */
#include "tools/sort_render/render_command.h"

#include "base/check.h"
#include "base/json_write.h"

typedef struct VerifyCommand {
    double adaptive; /* 0: pixels are not judged */
    CliResult args;
} VerifyCommand;

static bool parse(VerifyCommand *c, int argc, char **argv, int *out_code)
{
    /* One option a line. */
    /* clang-format off */
    const CliOption options[] = {
        {.name = "adaptive", .kind = CLI_FLOAT, .out = &c->adaptive, .min = 1e-5, .max = 1, .value_name = "E", .help = "also count the pixels that adaptive sampling with this error would leave open"},
    };
    /* clang-format on */
    static const char *const examples[] = {"sort-render verify parts/*.part",
                                           "check all parts and print what each holds", NULL};
    const CliProgram program = {
        .name = "sort-render verify",
        .usage = "[options] PARTIAL...",
        .summary =
            "Reads partial results and checkpoints to their end, checks their check sums, and "
            "prints a line of JSON for each: what it holds, or what is wrong with it.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 65536, "PARTIAL"),
        .examples = examples};
    return tool_parse(&program, argc, argv, &c->args, out_code);
}

/* The fields that parts of one render share, with those that tell parts apart. */
static void write_film(JsonWriter *w, const Film *film)
{
    char hash[HASH128_TEXT_BYTES];
    const FilmDesc *d = film_desc(film);
    uint32_t count;
    const FilmRange *ranges = film_ranges(film, &count);
    FilmDropped dropped = film_dropped(film);
    ASSERT(count <= FILM_MAX_RANGES);
    json_write_string(w, "scene", hash128_text(d->identity.scene, hash));
    json_write_string(w, "cpu", d->identity.cpu_class);
    json_write_string(w, "filter", d->identity.filter);
    json_write_u64(w, "nominal_samples", d->identity.nominal_samples);
    json_write_u64(w, "seed", d->identity.seed);
    json_write_bool(w, "is_guided", d->identity.guiding == FILM_GUIDED);
    json_write_u64(w, "width", d->width);
    json_write_u64(w, "height", d->height);
    json_write_array(w, "crop");
    json_write_u64(w, NULL, d->x);
    json_write_u64(w, NULL, d->y);
    json_write_u64(w, NULL, d->crop_width);
    json_write_u64(w, NULL, d->crop_height);
    json_write_end(w);
    json_write_array(w, "ranges");
    for (uint32_t i = 0; i < count; ++i) {
        json_write_array(w, NULL);
        json_write_u64(w, NULL, ranges[i].begin);
        json_write_u64(w, NULL, ranges[i].end);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_u64(w, "samples", film_sample_count(film));
    json_write_u64(w, "dropped", dropped.count);
    json_write_bool(w, "is_checkpoint", film_checkpoint(film).job > 0);
    json_write_bool(w, "is_damaged", (film_shot(film)->has & FILM_SHOT_DAMAGED) != 0);
    json_write_double(w, "render_seconds", film_shot(film)->render_s);
    json_write_u64(w, "bytes", film_size_bytes(film));
}

static Status describe(const VerifyCommand *c, const char *path, JsonWriter *w, Error *err)
{
    Film *film;
    TRY(film_read_partial(path, &film, err));
    bool can_judge = film_aovs_have(film_desc(film)->aovs, FILM_AOV_VARIANCE);
    write_film(w, film);
    if (c->adaptive > 0.0 && can_judge)
        json_write_u64(w, "open_pixels", film_judge(film, (float)c->adaptive));
    film_destroy(film);
    return c->adaptive > 0.0 && !can_judge
               ? error_set_at(err, STATUS_INVALID, path,
                              "it holds no variance, so --adaptive cannot judge it")
               : STATUS_OK;
}

/* Prints the file's line. Returns whether the file is whole. */
static bool verify(const VerifyCommand *c, const char *path)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    Error err = {0};
    StrBuf line = {0};
    JsonWriter w = json_writer(&line, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    json_write_string(&w, "path", path);
    Status status = describe(c, path, &w, &err);
    if (status != STATUS_OK)
        json_write_string(&w, "error", error_format(&err, text, sizeof text));
    json_write_end(&w);
    printf("%s\n", strbuf_text(&line));
    strbuf_free(&line);
    if (status != STATUS_OK)
        (void)tool_fail(&err, EXIT_FAILED);
    return status == STATUS_OK;
}

int verify_main(int argc, char **argv)
{
    VerifyCommand command = {0};
    int code;
    if (!parse(&command, argc, argv, &code))
        return code;
    bool are_whole = true;
    for (uint32_t i = 0; i < command.args.arg_count; ++i)
        are_whole = verify(&command, command.args.args[i]) && are_whole;
    return are_whole ? EXIT_DONE : EXIT_FAILED;
}
