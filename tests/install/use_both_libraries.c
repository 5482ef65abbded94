/* A host as users write it, of the two installed libraries and OpenSSL's header together: a shader's texture calls are answered
 * by the cache. It has functions of its own whose names those libraries use inside, which must not be called. use_both_libraries FILE.stex, a picture of 256 x 256 texels whose red is column / 255, in linear light. */
#include <sort_ssl.h>
#include <sort_texcache.h>
#if defined(__has_include)
#    if __has_include(<openssl/ssl.h>)
#        include <openssl/ssl.h>
#    endif
#endif
#include <math.h>
#include <stdio.h>

#include <stdlib.h>

#define OWN_FUNCTION(name)                                                                         \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }
OWN_FUNCTION(mem_alloc)
OWN_FUNCTION(error_set)
OWN_FUNCTION(arena_create)
OWN_FUNCTION(ssl_context_create)
OWN_FUNCTION(ssl_unit_compile)
OWN_FUNCTION(texcache_open)
OWN_FUNCTION(texcache_lookup)
OWN_FUNCTION(log_message)

typedef struct Host {
    SortTexcacheReader *reader;
    SortTexcacheTexture texture;
} Host;

/* Coordinates and results lie in memory alike in both libraries. */
static void look_up(void *user, const SortSslTextureCall *call)
{
    const Host *host = user;
    const SortTexcacheRequest request = {.size_bytes = sizeof request,
                                         .texture = host->texture,
                                         .lane_count = call->lane_count,
                                         .lane_mask = call->lane_mask,
                                         .with_derivs = call->with_derivs,
                                         .coord = call->coord};
    sort_texcache_lookup(host->reader, &request, call->result, NULL, NULL);
}

static int check(SortSslBatch *batch, Host *host)
{
    SortSslError err;
    const SortSslRunDesc run = {.size_bytes = sizeof run, .texture_lookup = look_up, .user = host};
    for (int i = 0; i < SORT_SSL_BLOCK; ++i) {
        sort_ssl_batch_global(batch, 0, 0, SORT_SSL_VALUE, 0)[i] =
            ((float)(i * 10 + 20) + 0.5f) / 256;
        sort_ssl_batch_global(batch, 0, 0, SORT_SSL_DDX, 0)[i] = 0.5f / 256;
    }
    if (sort_ssl_batch_run(batch, &run, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < SORT_SSL_BLOCK; ++i) {
        float red = sort_ssl_batch_output(batch, 0, 0, SORT_SSL_VALUE, 0)[i];
        float ddx = sort_ssl_batch_output(batch, 0, 0, SORT_SSL_DDX, 0)[i];
        if (fabsf(red * 255 - (float)(i * 10 + 20)) > 1e-2f || fabsf(ddx * 255 - 0.5f) > 1e-3f) {
            fprintf(stderr, "point %d: %g, d/dx %g\n", i, (double)red * 255, (double)ddx * 255);
            return 1;
        }
    }
    printf("the shader has read the texture\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char text[] = "texture2d map; shader s(out float r) { r = "
                        "texture2d_sample<map>(global_value<u>, 0.5).x; }";
    const SortSslSource source = {
        .size_bytes = sizeof source, .text = text, .text_bytes = sizeof text - 1};
    const SortSslGlobal globals[] = {{"u", SORT_SSL_FLOAT, true}};
    const SortSslContextDesc tables = {
        .size_bytes = sizeof tables, .globals = globals, .global_count = 1};
    const SortSslBuildDesc how = {.size_bytes = sizeof how, .output_derivs = true};
    SortSslContext *ctx = NULL;
    SortSslUnit *unit = NULL;
    SortSslProgram *program = NULL;
    SortSslBatch *batch = NULL;
    SortTexcache *cache = NULL;
    Host host = {0};
    SortSslError err = {0};
    SortTexcacheError tex_err = {0};
    int code = 1;
    if (argc != 2)
        return 2;
    if (sort_ssl_context_create(&tables, &ctx, &err) ||
        sort_ssl_unit_compile(ctx, &source, NULL, &unit, &err) ||
        sort_ssl_program_build(unit, &how, NULL, &program, &err) ||
        sort_ssl_batch_create(program, 16, &batch, &err))
        fprintf(stderr, "%s\n", err.text);
    else if (sort_texcache_create(NULL, &cache, &tex_err) ||
             sort_texcache_open(cache, argv[1], &host.texture, &tex_err) ||
             sort_texcache_reader_create(cache, &host.reader, &tex_err))
        fprintf(stderr, "%s\n", tex_err.text);
    else
        code = check(batch, &host);
    sort_texcache_reader_destroy(host.reader);
    sort_texcache_destroy(cache);
    sort_ssl_context_destroy(ctx);
    sort_ssl_unit_destroy(unit);
    sort_ssl_program_destroy(program);
    sort_ssl_batch_destroy(batch);
    return code;
}
