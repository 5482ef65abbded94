/* Looks up a texture at one point: look_up_texture FILE.stex S T [WIDTH]
 *
 *   cc look_up_texture.c $(pkg-config --cflags --libs sort-texcache) -o look_up_texture
 *   texcache make wood.png -o wood.stex && ./look_up_texture wood.stex 0.25 0.75 0.1
 *
 * WIDTH is the side of the square footprint in units of s and t (default 0: a point). Prints the colour, the derivatives of what
 * is interpolated, and what the cache did. */
#include <sort_texcache.h>
#include <stdio.h>
#include <stdlib.h>

enum { S, T, DS_DX, DT_DX, DS_DY, DT_DY, BLUR };

static void write_log(void *user, SortTexcacheLogLevel level, const char *text)
{
    (void)level;
    fprintf(user, "%s\n", text);
}

static int failed(const SortTexcacheError *err)
{
    fprintf(stderr, "error: %s\n", err->text);
    return 1;
}

static void print_row(const char *name, const float *rgba)
{
    printf("%s %.9g %.9g %.9g %.9g\n", name, rgba[0], rgba[1], rgba[2], rgba[3]);
}

static int look_up(SortTexcache *cache, SortTexcacheReader *reader, SortTexcacheTexture texture,
                   char **argv, float width)
{
    SortTexcacheError err = {0};
    SortTexcacheStats stats = {.size_bytes = sizeof stats};
    float coord[SORT_TEXCACHE_COORD_ROWS] = {0}, result[SORT_TEXCACHE_RESULT_ROWS];
    coord[S] = strtof(argv[2], NULL);
    coord[T] = strtof(argv[3], NULL);
    coord[DS_DX] = width; /* one pixel to the right goes `width` along s ... */
    coord[DT_DY] = width; /* ... and one pixel down `width` along t */
    const SortTexcacheRequest request = {.size_bytes = sizeof request,
                                         .texture = texture,
                                         .lane_count = 1,
                                         .lane_mask = 1,
                                         .with_derivs = true,
                                         .coord = coord};
    uint32_t missing = 0;
    if (sort_texcache_lookup(reader, &request, result, &missing, &err) ||
        sort_texcache_stats(cache, &stats, &err))
        return failed(&err);
    print_row("rgba", result);
    print_row("d/ds", result + 4);
    print_row("d/dt", result + 8);
    printf("missing %u\n", missing);
    printf("tiles read %llu, bytes read %llu, memory %llu of %llu\n",
           (unsigned long long)stats.loads, (unsigned long long)stats.bytes_read,
           (unsigned long long)stats.bytes_now, (unsigned long long)stats.budget_bytes);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: look_up_texture FILE.stex S T [WIDTH]\n");
        return 2;
    }
    const SortTexcacheDesc desc = {.size_bytes = sizeof desc,
                                   .budget_bytes = 64 << 20,
                                   .log = write_log,
                                   .log_user = stderr,
                                   .log_level = SORT_TEXCACHE_LOG_WARNING};
    SortTexcache *cache = NULL;
    SortTexcacheReader *reader = NULL;
    SortTexcacheTexture texture = {0};
    SortTexcacheInfo info = {.size_bytes = sizeof info};
    SortTexcacheError err = {0};
    int code = 0;
    if (sort_texcache_create(&desc, &cache, &err) ||
        sort_texcache_open(cache, argv[1], &texture, &err) ||
        sort_texcache_info(cache, texture, &info, &err) ||
        sort_texcache_reader_create(cache, &reader, &err))
        code = failed(&err);
    if (!code) {
        printf("%u x %u, %u channels, %u levels\n", info.width, info.height, info.channel_count,
               info.level_count);
        code = look_up(cache, reader, texture, argv, argc > 4 ? strtof(argv[4], NULL) : 0.0f);
    }
    sort_texcache_reader_destroy(reader);
    sort_texcache_destroy(cache); /* closes its textures */
    return code;
}
