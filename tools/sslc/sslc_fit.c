/* sslc fit: finds the values of a shader's parameters with which it looks like a picture. */
#include "tools/sslc/sslc_fit.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/file_claims.h"
#include "base/path.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { FIT_INTERRUPTED = 4 }; /* the exit code; sort-render has the same */

typedef struct FitOptions {
    SslcBuildOptions build;
    SslcGrid grid;
    CliTextList fit, write_textures;
    SslcGrid texels; /* only the size, of textures that do not start as pictures */
    uint64_t texel_bytes;
    const char *target, *output, *picture, *values, *report, *checkpoint, *derivative;
    uint32_t loss, levels, rounds, hops, method, iterations, starts, threads;
    int64_t seed;
    double step, time_limit, checkpoint_interval, noise;
    bool resume, check_gradients, explain, quiet, has_size, has_texels, edges;
} FitOptions;

typedef struct Run {
    const FitOptions *options;
    SslcFile *file;
    Arena *arena;
    SslUnit *unit;
    FitSpace space;
    SslcTextures textures;
    SslcPicture target, start;
    FitShader *shader;
    Fit *fit;
    double start_loss;
    SslcGrid grid;          /* with the target's size */
    const char *stopped_by; /* NULL: the fit has come to its end */
    bool has_failed;
} Run;

static const char *const loss_words[] = {"l1", "l2", NULL};
static const char *const method_words[] = {"adam", "lbfgs", "cma", NULL};

/* --- setting up ---------------------------------------------------------------------------------- */

static Status find_output(const Run *run, uint32_t *out_output, uint32_t *out_channels, Error *err)
{
    const SslUnitInfo *unit = ssl_unit_info(run->unit);
    const char *name = run->options->output;
    for (uint32_t i = 0; i < unit->output_count; ++i) {
        const SslOutputInfo *output = &unit->outputs[i];
        bool is_picture = output->type == SSL_FLOAT || output->type == SSL_FLOAT3 ||
                          (output->type >= SSL_COLOR && output->type <= SSL_NORMAL);
        if (name ? strcmp(output->name, name) != 0 : !is_picture)
            continue;
        if (!is_picture)
            return error_set(err, STATUS_INVALID,
                             "output '%s' is of type %s; a picture is of floats or of color and "
                             "other triples",
                             name, ssl_value_name(output->type, output->shape));
        *out_output = i;
        *out_channels = ssl_type_scalars(output->type);
        return STATUS_OK;
    }
    return name ? error_set(err, STATUS_INVALID, "the shader has no output '%s'", name)
                : error_set(err, STATUS_INVALID,
                            "the shader has no output that is a picture: a float, "
                            "or a color or another triple");
}

/* Returns a digest of all that the loss depends on. */
static Hash128 digest_of(const Run *run)
{
    const FitOptions *o = run->options;
    HashState s;
    hash128_begin(&s);
    hash128_update_text(&s, ssl_unit_info(run->unit)->name);
    hash128_update(&s, run->file->text, run->file->size_bytes);
    hash128_update(&s, run->target.numbers,
                   (size_t)run->target.width * run->target.height * run->target.channels *
                       sizeof(float));
    const float window[4] = {run->grid.u0, run->grid.v0, run->grid.u1, run->grid.v1};
    hash128_update(&s, window, sizeof window);
    for (uint32_t i = 0; i < run->textures.count; ++i) { /* also those that are not fitted */
        TexPicture *picture = run->textures.items[i].picture;
        const TexPictureLevel level = tex_picture_level(picture, 0);
        hash128_update_text(&s, run->textures.items[i].name);
        hash128_update_u64(&s, (uint64_t)level.width << 32 | level.height);
        hash128_update(&s, tex_picture_texels(picture),
                       (size_t)level.width * level.height * TEX_PICTURE_CHANNELS * sizeof(float));
    }
    const uint32_t numbers[] = {run->target.width, run->target.height,         o->loss,   o->levels,
                                run->grid.budget,  (uint32_t)(o->noise * 1e6), o->rounds, o->hops};
    hash128_update(&s, numbers, sizeof numbers);
    hash128_update_text(&s, o->output ? o->output : "");
    const CliTextList *lists[] = {&o->grid.params, &o->grid.globals, &o->grid.textures,
                                  &o->grid.attributes, &o->build.constants};
    for (size_t i = 0; i < SORT_COUNT_OF(lists); ++i) {
        hash128_update_u64(&s, lists[i]->count);
        for (uint32_t k = 0; k < lists[i]->count; ++k)
            hash128_update_text(&s, lists[i]->items[k]);
    }
    return hash128_end(&s);
}

/* What is baked into the code has no place where it could be changed. */
static Status check_constants(const Run *run, Error *err)
{
    const CliTextList *constants = &run->options->build.constants;
    for (uint32_t i = 0; i < constants->count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *value;
        uint32_t param = 0;
        TRY(sslc_split(constants->items[i], name, &value, err));
        TRY(sslc_find_param(ssl_unit_info(run->unit), name, &param, err));
        if (run->space.is_fitted[param])
            return error_set(err, STATUS_INVALID,
                             "parameter '%s' is a constant: it cannot be fitted", name);
    }
    return STATUS_OK;
}

static Status check_things(const Run *run, Error *err)
{
    bool has_any = run->options->hops == 0;
    for (uint32_t i = 0; i < run->space.count; ++i)
        has_any = has_any || run->space.params[i].group;
    return has_any ? STATUS_OK
                   : error_set(err, STATUS_INVALID,
                               "--hops: no name of a parameter that is fitted ends in a number "
                               "that says of which thing it is, like x3");
}

static Status check_flat(const Run *run, Error *err)
{
    for (uint32_t i = 0; i < run->space.count; ++i)
        if (fit_shader_is_flat(run->shader, i))
            return error_set(
                err, STATUS_INVALID,
                "parameter '%s' has no derivative: only comparisons, conversions to int "
                "and what is detached read it; leave it out, or use %s",
                ssl_unit_info(run->unit)->params[run->space.numbers[i].param].name,
                run->options->edges ? "--noise or --method cma" : "--edges or --method cma");
    for (uint32_t i = 0; i < run->space.texture_count; ++i)
        if (fit_shader_is_texture_flat(run->shader, i))
            return error_set(
                err, STATUS_INVALID,
                "texture '%s' has no derivative: it is not looked up, or only comparisons and what "
                "is detached read it; leave it out%s",
                run->space.unit->textures[run->space.textures[i].slot],
                run->options->edges ? "" : ", or use --edges");
    return STATUS_OK;
}

/* "NAME=FILE" of --write-texture for a fitted texture; NULL: none. */
static const char *file_of_texture(const Run *run, uint32_t texture)
{
    const char *name = run->space.unit->textures[run->space.textures[texture].slot];
    const CliTextList *files = &run->options->write_textures;
    size_t length = strlen(name);
    for (uint32_t i = 0; i < files->count; ++i)
        if (strncmp(files->items[i], name, length) == 0 && files->items[i][length] == '=')
            return files->items[i] + length + 1;
    return NULL;
}

/* What a .png cannot hold is not cut off. */
static Status check_png(const char *path, const char *name, const FitField *field, Error *err)
{
    if (!path_has_extension(path, ".png") || (field->low[0] >= 0 && field->high[0] <= 1))
        return STATUS_OK;
    return error_set_at(
        err, STATUS_INVALID, path,
        "texture '%s' is fitted from %g to %g, and a .png holds 0 to 1: write an .exr", name,
        field->low[0], field->high[0]);
}

/* What is found is written somewhere, and what is written is fitted. */
static Status check_texture_files(const Run *run, Error *err)
{
    const FitOptions *o = run->options;
    const SslUnitInfo *unit = run->space.unit;
    for (uint32_t i = 0; i < o->write_textures.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *file;
        uint32_t slot = 0;
        bool is_fitted = false;
        TRY(sslc_split(o->write_textures.items[i], name, &file, err));
        TRY(sslc_find_texture(unit, name, &slot, err));
        if (sslc_textures_count(&o->write_textures, name) > 1)
            return error_set(err, STATUS_INVALID, "--write-texture: texture '%s' is given twice",
                             name);
        for (uint32_t k = 0; k < run->space.texture_count; ++k)
            is_fitted = is_fitted || run->space.textures[k].slot == slot;
        if (!is_fitted)
            return error_set(err, STATUS_INVALID,
                             "--write-texture: texture '%s' is not fitted: add --fit textures.%s",
                             name, name);
    }
    for (uint32_t i = 0; i < run->space.texture_count && !o->check_gradients; ++i) {
        const char *name = unit->textures[run->space.textures[i].slot];
        if (!file_of_texture(run, i))
            return error_set(err, STATUS_INVALID,
                             "texture '%s' is fitted, and nothing says where it is to be written: "
                             "--write-texture %s=FILE.exr, or .png",
                             name, name);
        TRY(check_png(file_of_texture(run, i), name, &run->space.fields[i], err));
    }
    return STATUS_OK;
}

static Status find_space(Run *run, bool whole, Error *err)
{
    const FitOptions *o = run->options;
    TRY(sslc_textures_load(&run->textures, &o->grid.textures, err));
    const FitSpaceDesc desc = {.unit = ssl_unit_info(run->unit),
                               .names = &o->fit,
                               .starts = &o->grid.params,
                               .looks = &o->grid.textures,
                               .textures = &run->textures,
                               .width = o->has_texels ? o->texels.width : run->target.width,
                               .height = o->has_texels ? o->texels.height : run->target.height,
                               .whole = whole,
                               .arena = run->arena};
    TRY(fit_space_find(&run->space, &desc, err));
    return check_texture_files(run, err);
}

static Status set_up(Run *run, Error *err)
{
    const FitOptions *o = run->options;
    uint32_t output, channels = 0;
    bool needs_tangents = o->explain || o->derivative;
    bool needs_gradient = !needs_tangents && (o->method != FIT_CMA || o->check_gradients);
    TRY(find_output(run, &output, &channels, err));
    TRY(sslc_picture_read(o->target, channels, o->has_size ? o->grid.width : 0,
                          o->has_size ? o->grid.height : 0, &run->target, err));
    TRY(find_space(run, !needs_gradient && !needs_tangents, err));
    TRY(check_constants(run, err));
    TRY(check_things(run, err));
    if (needs_tangents && run->space.count == 0)
        return error_set(err, STATUS_INVALID,
                         "--explain and --derivative tell of parameters, and only textures are "
                         "fitted");
    run->grid = o->grid;
    run->grid.pictures = &run->textures;
    run->grid.width = run->target.width;
    run->grid.height = run->target.height;
    const FitDesc desc = {.size_bytes = sizeof desc,
                          .method = (FitMethod)o->method,
                          .params = run->space.params,
                          .param_count = run->space.count,
                          .fields = run->space.fields,
                          .field_count = run->space.texture_count,
                          .iterations = o->iterations,
                          .starts = o->starts,
                          .hops = o->hops,
                          .seed = (uint64_t)o->seed,
                          .step = o->step,
                          .problem = digest_of(run),
                          .evaluate = fit_shader_evaluate};
    FitDesc described = desc;
    TRY(fit_create(&described, &run->fit, err)); /* refuses bounds before the shader is built */
    fit_destroy(run->fit);
    run->fit = NULL;
    const FitShaderDesc shader = {.grid = &run->grid,
                                  .file = run->file,
                                  .unit = run->unit,
                                  .build = &o->build,
                                  .space = &run->space,
                                  .target = &run->target,
                                  .output = output,
                                  .threads = o->threads,
                                  .loss = (LossKind)o->loss,
                                  .levels = o->levels,
                                  .texel_bytes = o->texel_bytes,
                                  .needs_gradient = needs_gradient,
                                  .needs_tangents = needs_tangents,
                                  .has_edges = o->edges,
                                  .noise = o->noise};
    TRY(fit_shader_create(&shader, &run->shader, err));
    if (needs_gradient)
        TRY(check_flat(run, err));
    described.data = run->shader;
    return fit_create(&described, &run->fit, err);
}

/* The picture at the parameters with which the fit starts. */
static Status keep_start(Run *run, Error *err)
{
    const char *text;
    TRY(fit_shader_evaluate(run->shader, run->space.start, &run->start_loss, NULL, err));
    if (!isfinite(run->start_loss)) {
        (void)fit_shader_undefined(run->shader, &text);
        return error_set(err, STATUS_INVALID, "the loss is not finite at the start: %s", text);
    }
    const SslcPicture *now = fit_shader_picture(run->shader);
    size_t count = (size_t)now->width * now->height * now->channels;
    run->start = *now;
    run->start.numbers = MEM_ARRAY(float, count);
    if (!run->start.numbers)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    memcpy(run->start.numbers, now->numbers, count * sizeof *now->numbers);
    return STATUS_OK;
}

/* --- derivatives --------------------------------------------------------------------------------- */

/* Writes the derivative of the picture at the start by the number --derivative names. */
static Status write_derivative(Run *run, Error *err)
{
    uint32_t number = run->space.count;
    for (uint32_t i = 0; i < run->space.count; ++i)
        if (strcmp(run->space.params[i].name, run->options->derivative) == 0)
            number = i;
    if (number == run->space.count)
        return error_set(
            err, STATUS_INVALID,
            "--derivative: '%s' is none of the numbers that are fitted; --explain lists "
            "them",
            run->options->derivative);
    const SslcPicture *tangent;
    TRY(fit_shader_tangent(run->shader, run->space.start, number, &tangent, err));
    return sslc_picture_write(run->options->picture, tangent, err);
}

/* --- the loop ------------------------------------------------------------------------------------- */

static void print_progress(const Run *run, double seconds, uint64_t iterations_before)
{
    FitProgress p = fit_progress(run->fit);
    const uint32_t *firsts;
    uint32_t count, starts;
    (void)fit_history(run->fit, &count, &firsts, &starts);
    uint64_t all = (uint64_t)run->options->iterations * run->options->starts;
    uint64_t done = (uint64_t)p.start * run->options->iterations + p.iteration;
    uint64_t here = count > iterations_before ? count - iterations_before : 0;
    if (fit_is_done(run->fit)) {
        (void)fprintf(stderr, "%u of %u starts: best %.6g; %.0f s\n", p.start, run->options->starts,
                      p.best, seconds);
        return;
    }
    (void)fprintf(stderr, "start %u of %u, iteration %u of %u: loss %.6g, best %.6g; %.0f s",
                  p.start + 1, run->options->starts, p.iteration, run->options->iterations, p.value,
                  p.best, seconds);
    if (here > 0 && all > done)
        (void)fprintf(stderr, ", at most %.0f s to go",
                      (double)(all - done) * seconds / (double)here);
    (void)fputc('\n', stderr);
}

static volatile sig_atomic_t caught_signal;

static void catch_signal(int signal_number)
{
    caught_signal = signal_number;
}

/* From now on the first SIGINT or SIGTERM ends the fit with its results, the next one the program. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = catch_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Returns what ends the fit before its end, NULL: nothing. */
static const char *find_stop(const FitOptions *o, uint64_t begin_ns)
{
    if (caught_signal)
        return caught_signal == SIGINT ? "SIGINT" : "SIGTERM";
    return o->time_limit > 0 && clock_seconds_since(begin_ns) >= o->time_limit ? "--time-limit"
                                                                               : NULL;
}

/* Sets what depends on how far a start has come: noise, which shrinks along half a cosine, and the levels of the gradient, which go
 * from the coarsest to all once a round. The last fifth of a start has no noise and all levels, so what is found is found with
 * them. Nothing but the iteration counts: a fit that is taken up again goes on with the same. */
static Status set_schedule(Run *run, Error *err)
{
    const FitOptions *o = run->options;
    FitProgress p = fit_progress(run->fit);
    double done = fmin(1, 1.25 * p.part);
    double round = done * o->rounds;
    if (o->rounds > 0)
        fit_shader_coarsen(run->shader, done < 1 ? 1 - (round - floor(round)) : 0);
    double noise = p.hops_on ? 0 : 0.5 * (1 + cos(3.141592653589793 * done));
    return o->noise > 0
               ? fit_shader_shake(run->shader, noise, p.start * 0x10001u + p.iteration, err)
               : STATUS_OK;
}

static Status loop(Run *run, Error *err)
{
    const FitOptions *o = run->options;
    uint64_t begin = clock_now_ns(), printed = begin, saved = begin;
    const uint32_t *firsts;
    uint32_t before, starts;
    (void)fit_history(run->fit, &before, &firsts, &starts);
    catch_signals();
    while (!fit_is_done(run->fit) && !(run->stopped_by = find_stop(o, begin))) {
        TRY(set_schedule(run, err));
        TRY(fit_step(run->fit, err));
        if (!o->quiet && clock_seconds_since(printed) >= 1) {
            print_progress(run, clock_seconds_since(begin), before);
            printed = clock_now_ns();
        }
        if (o->checkpoint && clock_seconds_since(saved) >= o->checkpoint_interval) {
            TRY(fit_save(run->fit, o->checkpoint, err));
            saved = clock_now_ns();
        }
    }
    if (!o->quiet)
        print_progress(run, clock_seconds_since(begin), before);
    return o->checkpoint ? fit_save(run->fit, o->checkpoint, err) : STATUS_OK;
}

/* --- results ------------------------------------------------------------------------------------- */

static Status write_values(const Run *run, const double *x, Error *err)
{
    StrBuf text = {0};
    fit_space_json(&run->space, x, &text);
    Status status = text.failed ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                                : file_write(run->options->values, strbuf_text(&text),
                                             strlen(strbuf_text(&text)), err);
    strbuf_free(&text);
    return status;
}

static Status write_texture(const Run *run, uint32_t texture, Error *err)
{
    SslcPicture pixels;
    TRY(sslc_texture_pixels(run->space.textures[texture].picture, &pixels, err));
    Status status = sslc_picture_write(file_of_texture(run, texture), &pixels, err);
    sslc_picture_free(&pixels);
    return status;
}

static Status write_report(const Run *run, Error *err)
{
    const FitOptions *o = run->options;
    const FitReport report = {
        .shader = run->file->path,
        .target = o->target,
        .space = &run->space,
        .fit = run->fit,
        .pictures = {&run->target, &run->start, fit_shader_picture(run->shader)},
        .start_loss = run->start_loss,
        .method = method_words[o->method],
        .loss = loss_words[o->loss]};
    return fit_report_write(o->report, &report, err);
}

/* Writes all files that were asked for, also when one of them cannot be written; *err is then that of the first. */
static Status write_results(const Run *run, const double *best, Error *err)
{
    const FitOptions *o = run->options;
    Error errors[3] = {{0}};
    for (uint32_t i = 0; i < run->space.texture_count; ++i) {
        Error own = {0};
        (void)!write_texture(run, i, &own);
        errors[0] = errors[0].code == STATUS_OK ? own : errors[0];
    }
    if (o->values && errors[0].code == STATUS_OK)
        (void)!write_values(run, best, &errors[0]);
    if (o->picture)
        (void)!sslc_picture_write(o->picture, fit_shader_picture(run->shader), &errors[1]);
    if (o->report)
        (void)!write_report(run, &errors[2]);
    for (size_t i = 0; i < SORT_COUNT_OF(errors); ++i)
        if (errors[i].code != STATUS_OK) {
            *err = errors[i];
            return err->code;
        }
    return STATUS_OK;
}

static Status give_results(Run *run, Error *err)
{
    const FitOptions *o = run->options;
    const double *best = fit_best(run->fit);
    ASSERT(best);
    double value;
    if (o->noise > 0)
        TRY(fit_shader_shake(run->shader, 0, 0, err));
    TRY(fit_shader_evaluate(run->shader, best, &value, NULL, err));
    for (uint32_t i = 0; i < run->space.unit->param_count; ++i) {
        StrBuf line = {0};
        if (!run->space.is_fitted[i])
            continue;
        fit_space_print(&run->space, i, best, &line);
        (void)puts(strbuf_text(&line));
        strbuf_free(&line);
    }
    const char *text;
    uint64_t undefined = fit_shader_undefined(run->shader, &text);
    if (undefined)
        (void)fprintf(stderr, "%llu evaluations had no finite loss or gradient; the first: %s\n",
                      (unsigned long long)undefined, text);
    if (!o->quiet)
        (void)fprintf(stderr, "loss %.9g, at the start %.9g, after %llu evaluations%s%s%s\n", value,
                      run->start_loss, (unsigned long long)fit_progress(run->fit).evaluations,
                      run->stopped_by ? "; stopped by " : "",
                      run->stopped_by ? run->stopped_by : "",
                      run->stopped_by && o->checkpoint ? ", --resume goes on" : "");
    return write_results(run, best, err);
}

static Status fit(Run *run, Error *err)
{
    const FitOptions *o = run->options;
    TRY(set_up(run, err));
    if (o->check_gradients) {
        bool agree = true;
        TRY(fit_check_gradients(run->shader, &run->space, o->edges, &agree, err));
        run->has_failed = !agree;
        return STATUS_OK;
    }
    if (o->explain)
        TRY(fit_explain(run->shader, &run->space, err));
    if (o->derivative)
        TRY(write_derivative(run, err));
    if (o->explain || o->derivative)
        return STATUS_OK;
    TRY(keep_start(run, err));
    if (o->resume)
        TRY(fit_load(run->fit, o->checkpoint, err));
    /* What was found is not lost with the disk that a checkpoint was to be kept on. */
    Error later = {0};
    Status status = loop(run, err);
    Status given = give_results(run, status == STATUS_OK ? err : &later);
    return status == STATUS_OK ? given : status;
}

/* --- the command ----------------------------------------------------------------------------------- */

static Status claim_textures(const FitOptions *o, FileClaims *claims, Error *err)
{
    for (uint32_t i = 0; i < o->grid.textures.count; ++i) {
        const char *equals = strchr(o->grid.textures.items[i], '=');
        const char *file = equals ? sslc_texture_file(equals + 1) : NULL;
        if (file)
            TRY(file_claim_input(claims, "--texture", file, err));
    }
    for (uint32_t i = 0; i < o->write_textures.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *file;
        TRY(sslc_split(o->write_textures.items[i], name, &file, err));
        if (!sslc_picture_is_name(file))
            return error_set_at(err, STATUS_INVALID, file, "give a name that ends in .exr or .png");
        TRY(file_claim_output(claims, "--write-texture", file, err));
        TRY(file_check_room(file, 0, err));
    }
    return STATUS_OK;
}

/* Every output is a file of its own, and can be written. */
static Status claim_files(const FitOptions *o, const char *path, FileClaims *claims, Error *err)
{
    const char *outs[] = {o->picture, o->values, o->report, o->checkpoint};
    static const char *const words[] = {"--picture", "-o", "--report", "--checkpoint"};
    TRY(claim_textures(o, claims, err));
    TRY(file_claim_input(claims, "the shader", path, err));
    TRY(file_claim_input(claims, "--target", o->target, err));
    for (uint32_t i = 0; i < SORT_COUNT_OF(outs); ++i) {
        TRY(file_claim_output(claims, words[i], outs[i], err));
        if (outs[i])
            TRY(file_check_room(outs[i], 0, err));
    }
    return STATUS_OK;
}

/* Checks options and names before any work. */
static Status check_options(const FitOptions *o, const char *path, Error *err)
{
    if (o->build.bake_switches)
        return error_set(err, STATUS_INVALID,
                         "--bake-switches would make constants of what is fitted");
    if (o->noise > 0 && (!o->edges || o->method != FIT_ADAM || o->check_gradients))
        return error_set(err, STATUS_INVALID,
                         "--noise needs --edges and the method adam, and goes without "
                         "--check-gradients");
    if (o->rounds > 0 && (o->method != FIT_ADAM || o->levels < 2))
        return error_set(err, STATUS_INVALID,
                         "--coarse-to-fine needs the method adam and at least 2 levels");
    if (o->hops > 0 && o->method != FIT_ADAM)
        return error_set(err, STATUS_INVALID, "--hops needs the method adam");
    if (o->resume && !o->checkpoint)
        return error_set(err, STATUS_INVALID, "--resume needs --checkpoint FILE");
    if (o->picture && !sslc_picture_is_name(o->picture))
        return error_set_at(err, STATUS_INVALID, o->picture,
                            "give a name that ends in .exr or .png");
    if (o->derivative && !(o->picture && path_has_extension(o->picture, ".exr")))
        return error_set(err, STATUS_INVALID,
                         "--derivative needs --picture FILE.exr: derivatives may be negative");
    if ((o->explain || o->derivative) &&
        (o->check_gradients || o->checkpoint || o->values || o->report))
        return error_set(
            err, STATUS_INVALID,
            "--explain and --derivative fit nothing: they go without --check-gradients, "
            "-o, --report and --checkpoint");
    FileClaims claims = {0};
    Status status = claim_files(o, path, &claims, err);
    file_claims_free(&claims);
    return status;
}

static int exit_code(const Run *run, Status status, const Error *err)
{
    if (status == STATUS_OK && run->stopped_by && caught_signal)
        return FIT_INTERRUPTED;
    if (status == STATUS_OK)
        return run->has_failed ? TOOL_FAILED : TOOL_DONE;
    if (err->code != STATUS_OK)
        (void)tool_fail(err, TOOL_FAILED);
    return err->code == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED;
}

static int run_file(const char *path, const FitOptions *o)
{
    SslcFile file = {.folders = &o->build.folders};
    Run run = {.options = o, .file = &file, .arena = arena_create(0, 0)};
    Error err = {0};
    Status status = run.arena ? check_options(o, path, &err)
                              : error_set(&err, STATUS_NO_MEMORY, "out of memory");
    int code = exit_code(&run, status, &err);
    if (status == STATUS_OK && sslc_open(path, o->build.cpu, &file)) {
        run.unit = sslc_compile(&file, o->build.shader);
        code = file.is_misused ? TOOL_USAGE : TOOL_FAILED;
        if (run.unit)
            code = exit_code(&run, fit(&run, &err), &err);
        if (file.is_misused)
            code = TOOL_USAGE;
    } else if (status == STATUS_OK) {
        code = TOOL_FAILED;
    }
    fit_destroy(run.fit);
    fit_shader_destroy(run.shader);
    sslc_textures_free(&run.textures);
    sslc_picture_free(&run.target);
    sslc_picture_free(&run.start);
    ssl_unit_release(run.unit);
    sslc_close(&file);
    arena_destroy(run.arena);
    return code;
}

static Status parse_size(const char *text, void *out, Error *err)
{
    FitOptions *o = out;
    o->has_size = true;
    return sslc_grid_parse_size(text, &o->grid, err);
}

static Status parse_texels(const char *text, void *out, Error *err)
{
    FitOptions *o = out;
    o->has_texels = true;
    return sslc_grid_parse_size(text, &o->texels, err);
}

static bool parse(FitOptions *o, int argc, char **argv, CliResult *args, int *out_code)
{
    /* clang-format off */
    CliOption options[SSLC_OPTIONS_MAX] = {
        {.name = "target", .kind = CLI_TEXT, .out = &o->target, .value_name = "FILE", .help = "the picture to come near to, .exr or .png; required", .group = "What is fitted"},
        {.name = "fit", .short_name = 'f', .kind = CLI_TEXT_LIST, .out = &o->fit, .value_name = "NAME[=LOW..HIGH]", .help = "fits a parameter, or with textures.NAME the texels of a texture; bounds are min and max of its metadata, which is also what chooses parameters without this option; for textures else 0 and 1"},
        {.name = "texels", .kind = CLI_CUSTOM, .out = o, .parse = parse_texels, .value_name = "WxH", .help = "size of fitted textures that do not start as pictures; by default that of the target"},
        {.name = "output", .kind = CLI_TEXT, .out = &o->output, .value_name = "NAME", .help = "output that the picture shows; by default the first float or triple"},
        {.name = "size", .kind = CLI_CUSTOM, .out = o, .parse = parse_size, .value_name = "WxH", .help = "makes the target smaller, by means of its pixels"},
        {.name = "loss", .kind = CLI_CHOICE, .out = &o->loss, .choices = loss_words, .value_name = "LOSS", .help = "mean of differences (l1) or of their squares (l2, the default)", .group = "How it is fitted"},
        {.name = "levels", .kind = CLI_U32, .out = &o->levels, .min = 1, .max = 20, .value_name = "N", .help = "sizes in which pictures are compared, each half as large as the one before; 5 by default, 1 for pixels alone"},
        {.name = "coarse-to-fine", .kind = CLI_U32, .out = &o->rounds, .max = 1000, .value_name = "N", .help = "with adam: the gradient is that of the coarsest level at first and of more and more levels, N times one after the other: shapes that are far from their place find it; 0 by default"},
        {.name = "method", .short_name = 'm', .kind = CLI_CHOICE, .out = &o->method, .choices = method_words, .value_name = "METHOD", .help = "adam (the default), lbfgs (smooth shaders), or cma (without gradients; fits ints, too)"},
        {.name = "edges", .kind = CLI_FLAG, .out = &o->edges, .help = "gradients count edges: what comparisons and roundings change from pixel to pixel"},
        {.name = "noise", .kind = CLI_FLOAT, .out = &o->noise, .min = 0, .max = 1, .value_name = "X", .help = "with --edges and adam: shakes parameters that only comparisons read from pixel to pixel, by up to X of their bounds and less and less, so that choices that come out the same everywhere are seen"},
        {.name = "iterations", .short_name = 'n', .kind = CLI_U32, .out = &o->iterations, .min = 1, .max = FIT_MAX_ITERATIONS, .value_name = "N", .help = "at most, from each start; 200 by default"},
        {.name = "starts", .kind = CLI_U32, .out = &o->starts, .min = 1, .max = FIT_MAX_STARTS, .value_name = "N", .help = "the first at the parameters' values, the others at random; 1 by default"},
        {.name = "seed", .kind = CLI_INT, .out = &o->seed, .value_name = "N", .help = "other random starts and evolutions; 1 by default"},
        {.name = "hops", .kind = CLI_U32, .out = &o->hops, .max = FIT_MAX_ITERATIONS, .value_name = "N", .help = "with adam: so many times in a start, the parameters of one thing, whose names end in one number (x3, y3, paint3), are drawn anew, and what the following iterations make of it is kept if it is better; 0 by default"},
        {.name = "step", .kind = CLI_FLOAT, .out = &o->step, .min = 0, .max = 1, .value_name = "X", .help = "first step of adam or deviation of cma, as a part of the bounds; 0.02 and 0.3 by default"},
        {.name = "time-limit", .kind = CLI_FLOAT, .out = &o->time_limit, .min = 0, .max = 1e9, .value_name = "SECONDS", .help = "ends with the best so far"},
        {.name = "texel-memory", .kind = CLI_SIZE, .out = &o->texel_bytes, .min = 1, .max = 1e15, .value_name = "BYTES", .help = "memory for gradients of textures, 1G by default; what exceeds it goes to a temporary file, and the result is the same"},
        {.name = "threads", .kind = CLI_U32, .out = &o->threads, .max = 1024, .value_name = "N", .help = "0, the default: one for each CPU; the result is the same for any"},
        {.name = "check-gradients", .kind = CLI_FLAG, .out = &o->check_gradients, .help = "compares the gradient at the start (with --edges: its mean along a line through the start) with differences of the loss, and ends; exit code 1 if they differ"},
        {.name = "explain", .kind = CLI_FLAG, .out = &o->explain, .help = "prints for each number how much it changes the picture at the start, and how much of that comes by steps, which have no derivative; and ends"},
        {.name = "derivative", .kind = CLI_TEXT, .out = &o->derivative, .value_name = "NAME", .help = "writes to --picture (.exr) the derivative of the picture at the start by a number, such as width or tint[0], and ends"},
        {.name = "values", .short_name = 'o', .kind = CLI_TEXT, .out = &o->values, .value_name = "FILE", .help = "writes the parameters found as JSON; they are also printed, as -p of sslc run takes them", .group = "What is written"},
        {.name = "write-texture", .kind = CLI_TEXT_LIST, .out = &o->write_textures, .value_name = "NAME=FILE", .help = "writes a fitted texture, .exr or .png"},
        {.name = "picture", .kind = CLI_TEXT, .out = &o->picture, .value_name = "FILE", .help = "writes what the shader gives then, .exr or .png"},
        {.name = "report", .kind = CLI_TEXT, .out = &o->report, .value_name = "FILE", .help = "writes a page of HTML with the curve of the loss and pictures"},
        {.name = "checkpoint", .kind = CLI_TEXT, .out = &o->checkpoint, .value_name = "FILE", .help = "keeps the state of the fit there"},
        {.name = "checkpoint-interval", .kind = CLI_FLOAT, .out = &o->checkpoint_interval, .min = 0, .max = 1e9, .value_name = "SECONDS", .help = "time between two checkpoints; 5 by default"},
        {.name = "resume", .kind = CLI_FLAG, .out = &o->resume, .help = "goes on from the checkpoint, with the bits of a fit that was not interrupted"},
        {.name = "quiet", .kind = CLI_FLAG, .out = &o->quiet, .help = "prints no progress"},
    };
    /* clang-format on */
    (void)sslc_grid_options(&o->grid, options);
    const char *const examples[] = {
        "sslc fit brick.ssl --target wall.png -o wall.json --report wall.html",
        "all parameters with bounds",
        "sslc fit brick.ssl --target wall.png -f width=0.01..0.2 -f tint --starts 20",
        "two parameters, from 20 starts",
        "sslc fit brick.ssl --target wall.png --check-gradients",
        "is the gradient right?",
        "sslc fit wall.ssl --target wall.png -f textures.paint --write-texture paint=new.exr",
        "the texels of a texture",
        NULL};
    const CliProgram program = {
        .name = "sslc fit",
        .usage = "[options] FILE --target PICTURE",
        .summary =
            "Finds the values of a shader's parameters with which it looks like a picture, and "
            "prints them.",
        .options = options,
        .option_count = sslc_build_options(&o->build, options),
        TOOL_ARGS(1, 1, "FILE"),
        .examples = examples};
    if (!tool_parse(&program, argc, argv, args, out_code))
        return false;
    if (o->target)
        return true;
    Error err = {0};
    (void)error_set(&err, STATUS_INVALID, "--target PICTURE is missing");
    *out_code = tool_fail(&err, TOOL_USAGE);
    return false;
}

int sslc_fit(int argc, char **argv)
{
    FitOptions o = {.grid = sslc_grid_default(),
                    .texel_bytes = (uint64_t)1 << 30,
                    .loss = LOSS_L2,
                    .levels = 5,
                    .iterations = 200,
                    .starts = 1,
                    .seed = 1,
                    .checkpoint_interval = 5};
    CliResult args;
    int code;
    if (!parse(&o, argc, argv, &args, &code))
        return code;
    return run_file(args.args[0], &o);
}
