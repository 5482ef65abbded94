/* Compiles a shader and runs it on 16 points of a row: run_shader FILE.ssl [PARAMETER NUMBER...]
 *
 *   cc run_shader.c $(pkg-config --cflags --libs sort-ssl) -o run_shader && ./run_shader wave.ssl frequency 3
 *
 * The shader reads global_value<u> and global_value<v>: u goes from 0 to 1 in steps of 1/16, a "pixel" each; v is 0.5. Of every
 * output the value and its exact derivative along the row are printed. */
#include <sort_ssl.h>
#include <stdio.h>
#include <stdlib.h>

enum { U, V, GLOBAL_COUNT, SOURCE_MAX = 1 << 16, NUMBERS_MAX = 16 };

static int failed(const SortSslError *err, SortSslDiags *diags)
{
    const char *text =
        sort_ssl_diags_text(diags); /* the source lines with carets, if it is the source */
    fprintf(stderr, "%s%s%s\n", text, *text ? "" : "error: ", *text ? "" : err->text);
    return 1;
}

static void set_globals(SortSslBatch *batch)
{
    for (int i = 0; i < SORT_SSL_BLOCK; ++i) {
        sort_ssl_batch_global(batch, 0, U, SORT_SSL_VALUE, 0)[i] = (float)i / SORT_SSL_BLOCK;
        sort_ssl_batch_global(batch, 0, U, SORT_SSL_DDX, 0)[i] = 1.0f / SORT_SSL_BLOCK;
        sort_ssl_batch_global(batch, 0, V, SORT_SSL_VALUE, 0)[i] = 0.5f;
    }
}

static void print_outputs(const SortSslUnit *unit, const SortSslBatch *batch)
{
    SortSslUnitInfo info = {.size_bytes = sizeof info};
    SortSslOutput output = {.size_bytes = sizeof output};
    sort_ssl_unit_info(unit, &info, NULL);
    for (uint32_t o = 0; o < info.output_count; ++o) {
        sort_ssl_unit_output(unit, o, &output, NULL);
        for (uint32_t n = 0; n < output.number_count; ++n) {
            const float *value = sort_ssl_batch_output(batch, 0, o, SORT_SSL_VALUE, n);
            const float *ddx = sort_ssl_batch_output(batch, 0, o, SORT_SSL_DDX, n);
            for (int i = 0; value && ddx && i < SORT_SSL_BLOCK; ++i)
                printf("%s[%u] point %2d: %.9g  d/dx %.9g\n", output.name, n, i, value[i], ddx[i]);
        }
    }
}

int main(int argc, char **argv)
{
    static char text[SOURCE_MAX];
    FILE *file = argc >= 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: run_shader FILE.ssl [PARAMETER NUMBER...]\n");
        return 2;
    }
    SortSslSource source = {sizeof source, argv[1], text, fread(text, 1, sizeof text, file), NULL};
    fclose(file);

    const SortSslGlobal globals[GLOBAL_COUNT] = {{"u", SORT_SSL_FLOAT, true},
                                                 {"v", SORT_SSL_FLOAT, true}};
    const SortSslContextDesc host = {
        .size_bytes = sizeof host, .globals = globals, .global_count = GLOBAL_COUNT};
    const SortSslBuildDesc how = {.size_bytes = sizeof how, .output_derivs = true};
    SortSslContext *ctx = NULL;
    SortSslDiags *diags = NULL;
    SortSslUnit *unit = NULL;
    SortSslProgram *program = NULL;
    SortSslParams *params = NULL;
    SortSslBatch *batch = NULL;
    SortSslError err = {0};
    int code = 0;
    if (sort_ssl_diags_create(&diags, &err) || sort_ssl_context_create(&host, &ctx, &err) ||
        sort_ssl_unit_compile(ctx, &source, diags, &unit, &err) ||
        sort_ssl_program_build(unit, &how, diags, &program, &err) ||
        sort_ssl_params_create(program, &params, &err) ||
        sort_ssl_batch_create(program, SORT_SSL_BLOCK, &batch, &err))
        code = failed(&err, diags);
    double numbers[NUMBERS_MAX];
    uint32_t count = 0;
    for (int i = 3; i < argc && count < NUMBERS_MAX; ++i)
        numbers[count++] = strtod(argv[i], NULL);
    if (!code && argc >= 3 && sort_ssl_params_set(params, argv[2], numbers, count, &err))
        code = failed(&err, diags);
    if (!code) {
        const SortSslRunDesc run = {.size_bytes = sizeof run, .params = params};
        set_globals(batch);
        if (sort_ssl_batch_run(batch, &run, &err))
            code = failed(&err, diags);
        else
            print_outputs(unit, batch);
    }
    sort_ssl_batch_destroy(batch); /* each keeps what it was made of: any order will do */
    sort_ssl_params_destroy(params);
    sort_ssl_program_destroy(program);
    sort_ssl_unit_destroy(unit);
    sort_ssl_context_destroy(ctx);
    sort_ssl_diags_destroy(diags);
    return code;
}
