#include "tests/textures/tex_fixture.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/srgb.h"
#include "tests/textures/test_prelude.h"
#include "textures/cache/texcache_state.h"
#include "textures/format/stex_read.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- pictures ----------------------------------------------------------------------------- */

Picture picture_create(uint32_t width, uint32_t height, uint32_t channel_count, SortTexelType type,
                       SortColorSpace color_space)
{
    Picture p = {.info = {.size_bytes = sizeof(SortLevelInfo),
                          .width = width,
                          .height = height,
                          .channel_count = channel_count,
                          .type = type,
                          .level_count = 1,
                          .subimage_count = 1,
                          .color_space = color_space,
                          .alpha_channel = channel_count == 2   ? 1
                                           : channel_count == 4 ? 3
                                                                : -1,
                          .format_name = "picture"},
                 .texel_bytes = (size_t)channel_count * stex_component_bytes(type)};
    p.texels = mem_alloc((size_t)width * height, p.texel_bytes);
    assert_non_null(p.texels);
    return p;
}

void picture_free(Picture *p)
{
    mem_free(p->texels);
    p->texels = NULL;
}

void *picture_at(const Picture *p, uint32_t x, uint32_t y)
{
    return p->texels + ((size_t)y * p->info.width + x) * p->texel_bytes;
}

void picture_set(Picture *p, uint32_t x, uint32_t y, uint32_t channel, float value)
{
    void *texel = picture_at(p, x, y);
    switch (p->info.type) {
    case SORT_TEXEL_U8:
        ((uint8_t *)texel)[channel] = (uint8_t)(value * 255.0f + 0.5f);
        break;
    case SORT_TEXEL_U16:
        ((uint16_t *)texel)[channel] = (uint16_t)(value * 65535.0f + 0.5f);
        break;
    case SORT_TEXEL_HALF:
        ((half *)texel)[channel] = half_from_float(value);
        break;
    case SORT_TEXEL_FLOAT:
        ((float *)texel)[channel] = value;
        break;
    }
}

void picture_fill_noise(Picture *p, uint32_t seed)
{
    for (uint32_t y = 0; y < p->info.height; ++y) {
        for (uint32_t x = 0; x < p->info.width; ++x) {
            for (uint32_t c = 0; c < p->info.channel_count; ++c) {
                uint64_t h = hash_mix64(((uint64_t)seed << 48) ^ ((uint64_t)c << 40) ^
                                        ((uint64_t)y << 20) ^ x);
                picture_set(p, x, y, c, (float)(h >> 40) * 0x1p-24f);
            }
        }
    }
}

/* The path of a picture says where it is in memory. */
static SortResult picture_open(const SortHostApi *api, const char *path, SortImage **out_image,
                               SortFailure *why)
{
    SORT_UNUSED(api);
    void *picture = NULL;
    if (sscanf(path, "picture at %p", &picture) != 1) {
        snprintf(why->text, sizeof why->text, "no picture");
        return SORT_ERROR_OPEN;
    }
    *out_image = picture;
    return SORT_OK;
}

static SortResult picture_level(SortImage *image, uint32_t subimage, uint32_t level,
                                SortLevelInfo *out_info, SortFailure *why)
{
    if (subimage != 0 || level != 0) {
        snprintf(why->text, sizeof why->text, "no such level");
        return SORT_ERROR_FORMAT;
    }
    *out_info = ((const Picture *)image)->info;
    return SORT_OK;
}

static SortResult picture_read(SortImage *image, const SortRegion *region, void *out_texels,
                               size_t out_bytes, SortFailure *why)
{
    const Picture *p = (const Picture *)image;
    size_t row_bytes = region->width * p->texel_bytes;
    if (out_bytes != row_bytes * region->height) {
        snprintf(why->text, sizeof why->text, "wrong buffer size");
        return SORT_ERROR_FORMAT;
    }
    for (uint32_t y = 0; y < region->height; ++y)
        memcpy((uint8_t *)out_texels + y * row_bytes, picture_at(p, region->x, region->y + y),
               row_bytes);
    return SORT_OK;
}

static void picture_close(SortImage *image)
{
    SORT_UNUSED(image);
}

static const char *const picture_suffixes[] = {NULL};
static const SortImageDecoder picture_decoder = {
    .size_bytes = sizeof picture_decoder,
    .name = "picture",
    .suffixes = picture_suffixes,
    .open = picture_open,
    .level = picture_level,
    .read = picture_read,
    .close = picture_close,
};

static Status convert(const Picture *p, const char *path, const TexConvertDesc *how,
                      TexConvertReport *out_report, Error *err)
{
    Picture view = *p;
    SortHostApi host = how && how->host ? *how->host : (SortHostApi){0};
    host.size_bytes = sizeof host;
    host.abi = SORT_PLUGIN_ABI;
    char where[64];
    snprintf(where, sizeof where, "picture at %p", (void *)&view);
    TexConvertDesc desc = how ? *how : (TexConvertDesc){0};
    desc.size_bytes = sizeof desc;
    desc.decoder = &picture_decoder;
    desc.host = &host;
    desc.source_path = where;
    desc.output_path = path;
    return texcache_convert(&desc, out_report, err);
}

Status picture_try_convert(const Picture *p, const char *path, const TexConvertDesc *how,
                           Error *err)
{
    return convert(p, path, how, NULL, err);
}

TexConvertReport picture_convert(const Picture *p, const char *path, const TexConvertDesc *how)
{
    TexConvertReport report;
    Error err = {0};
    if (convert(p, path, how, &report, &err) != STATUS_OK)
        fail_msg("conversion failed: %s", err.text);
    return report;
}

/* --- files -------------------------------------------------------------------------------- */

static char folder[PATH_BYTES];

void fixture_begin(void)
{
    Error err = {0};
    if (file_make_temp_directory("sort-tex-", folder, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

void fixture_end(void)
{
    Error err = {0};
    if (file_remove_tree(folder, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

const char *fixture_path(const char *name)
{
    static char paths[8][PATH_BYTES];
    static uint32_t turn;
    char *path = paths[turn++ % 8];
    Error err = {0};
    if (path_join(folder, name, path, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return path;
}

FileImage file_image_load(const char *path)
{
    FileImage image = {0};
    Error err = {0};
    int fd;
    StexHeader h;
    uint64_t file_bytes;
    TexelTables *tables = MEM_NEW(TexelTables);
    texel_tables_fill(tables);
    if (stex_open(path, &fd, &err) != STATUS_OK ||
        stex_read_header(fd, path, &h, &file_bytes, &err))
        fail_msg("%s: %s", err.path, err.text);
    uint8_t *tail = mem_alloc(1, h.tail_bytes), *tile_texels = mem_alloc(1, STEX_TILE_BYTES_MAX);
    StexInflater *z = stex_inflater_create();
    assert_int_equal(stex_read_tail(fd, path, &h, tail, &err), STATUS_OK);
    TexelFormat format = {(SortTexelType)h.texel_type, h.channel_count,
                          h.color_space == SORT_COLOR_SRGB && h.texel_type == SORT_TEXEL_U8};
    uint32_t texel_bytes = stex_texel_bytes(&h);
    uint32_t width = 1u << stex_tile_width_log2(&h), height = 1u << stex_tile_height_log2(&h);
    image.level_count = h.level_count;
    for (uint32_t l = 0; l < h.level_count; ++l) {
        const StexLevel *level = &h.levels[l];
        LevelImage *to = &image.levels[l];
        *to = (LevelImage){level->width, level->height,
                           mem_alloc((size_t)level->width * level->height, 4 * sizeof(float))};
        bool is_packed = l >= h.first_tail_level;
        uint32_t tiles_x = is_packed ? 1 : level->tiles_x, tiles_y = is_packed ? 1 : level->tiles_y;
        for (uint32_t i = 0; i < tiles_x * tiles_y; ++i) {
            uint32_t x0 = i % tiles_x * width, y0 = i / tiles_x * height;
            uint32_t stride = width, rows = height;
            const uint8_t *texels = tile_texels;
            if (is_packed) {
                texels = tail + level->tail_offset;
                stride = level->width;
                rows = level->height;
            } else {
                StexTile record;
                TileFailure failure;
                assert_true(stex_read_record(fd, &h, level->first_tile + i, &record, &failure));
                if (record.flags & STEX_TILE_CONSTANT) {
                    for (uint32_t k = 0; k < width * height; ++k)
                        memcpy(tile_texels + k * texel_bytes, record.constant, texel_bytes);
                } else {
                    assert_true(stex_read_payload(fd, &h, &record, z, tile_texels, &failure));
                }
            }
            for (uint32_t y = 0; y < rows && y0 + y < level->height; ++y) {
                for (uint32_t x = 0; x < stride && x0 + x < level->width; ++x) {
                    float values[4];
                    texel_decode_row(tables, format, texels + (y * stride + x) * texel_bytes, 1,
                                     values);
                    texel_expand(values, h.channel_count,
                                 to->rgba + ((size_t)(y0 + y) * level->width + x0 + x) * 4);
                }
            }
        }
    }
    stex_inflater_destroy(z);
    mem_free(tail);
    mem_free(tile_texels);
    mem_free(tables);
    stex_close(fd);
    return image;
}

void file_image_free(FileImage *image)
{
    for (uint32_t i = 0; i < image->level_count; ++i)
        mem_free(image->levels[i].rgba);
}

/* --- the oracle --------------------------------------------------------------------------- */

/* Which texel stands at index i, any integer; -1: none (black). */
static int64_t oracle_wrap(int64_t i, int64_t n, TexWrap wrap)
{
    int64_t period;
    switch (wrap) {
    case TEX_WRAP_CLAMP:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    case TEX_WRAP_BLACK:
        return i < 0 || i >= n ? -1 : i;
    case TEX_WRAP_MIRROR:
        period = 2 * n;
        i = ((i % period) + period) % period;
        return i < n ? i : period - 1 - i;
    case TEX_WRAP_FILE:
    case TEX_WRAP_PERIODIC:
        return ((i % n) + n) % n;
    }
    return -1;
}

static double oracle_texel(const LevelImage *level, int64_t column, int64_t row_from_below,
                           uint32_t c, const TexOptions *o)
{
    int64_t x = oracle_wrap(column, level->width, o->wrap_s);
    int64_t y = oracle_wrap(row_from_below, level->height, o->wrap_t);
    if (x < 0 || y < 0)
        return 0.0;
    int64_t row = (int64_t)level->height - 1 - y;
    return (double)level->rgba[((size_t)row * level->width + (size_t)x) * 4 + c];
}

static void oracle_level(const LevelImage *level, double s, double t, const TexOptions *o,
                         double out[12])
{
    double px = s * level->width, py = t * level->height;
    if (o->filter == TEX_FILTER_CLOSEST) {
        for (uint32_t c = 0; c < 12; ++c) {
            out[c] =
                c < 4 ? oracle_texel(level, (int64_t)floor(px), (int64_t)floor(py), c, o) : 0.0;
        }
        return;
    }
    int64_t i = (int64_t)floor(px - 0.5), j = (int64_t)floor(py - 0.5);
    double fx = px - 0.5 - (double)i, fy = py - 0.5 - (double)j;
    for (uint32_t c = 0; c < 4; ++c) {
        double a = oracle_texel(level, i, j, c, o), b = oracle_texel(level, i + 1, j, c, o);
        double d = oracle_texel(level, i, j + 1, c, o), e = oracle_texel(level, i + 1, j + 1, c, o);
        out[c] = (1 - fx) * (1 - fy) * a + fx * (1 - fy) * b + (1 - fx) * fy * d + fx * fy * e;
        out[4 + c] = ((1 - fy) * (b - a) + fy * (e - d)) * level->width;
        out[8 + c] = ((1 - fx) * (d - a) + fx * (e - b)) * level->height;
    }
}

void oracle_lookup(const FileImage *image, const float coord[7], const TexOptions *options,
                   float out[12])
{
    const LevelImage *finest = &image->levels[0];
    double a = (double)coord[2] * finest->width, b = (double)coord[3] * finest->height;
    double c = (double)coord[4] * finest->width, d = (double)coord[5] * finest->height;
    double blur_s = (double)coord[6] * finest->width, blur_t = (double)coord[6] * finest->height;
    double m00 = a * a + c * c + blur_s * blur_s, m11 = b * b + d * d + blur_t * blur_t;
    double m01 = a * b + c * d;
    double major = sqrt((m00 + m11) / 2 + sqrt((m00 - m11) * (m00 - m11) / 4 + m01 * m01));
    double level = major > 0 ? log2(major) + (double)options->mip_bias : 0.0;
    if (options->mip == TEX_MIP_OFF)
        level = 0.0;
    double last = image->level_count - 1;
    level = level < 0 ? 0 : level > last ? last : level;
    if (options->filter != TEX_FILTER_TRILINEAR)
        level = floor(level + 0.5);
    uint32_t fine = (uint32_t)level;
    double result[12], coarse[12];
    oracle_level(&image->levels[fine], (double)coord[0], (double)coord[1], options, result);
    if (level > fine) {
        oracle_level(&image->levels[fine + 1], (double)coord[0], (double)coord[1], options, coarse);
        for (uint32_t i = 0; i < 12; ++i)
            result[i] += (level - fine) * (coarse[i] - result[i]);
    }
    for (uint32_t i = 0; i < 12; ++i)
        out[i] = (float)result[i];
}

/* --- the rig ------------------------------------------------------------------------------ */

static void remember_line(void *data, LogLevel level, const char *text)
{
    static Mutex lock = MUTEX_INIT;
    LogLines *lines = data;
    SORT_UNUSED(level);
    mutex_lock(&lock);
    snprintf(lines->last, sizeof lines->last, "%s", text);
    if (lines->count++ == 0)
        snprintf(lines->first, sizeof lines->first, "%s", text);
    mutex_unlock(&lock);
}

void rig_begin(Rig *rig, const TexCacheDesc *desc)
{
    *rig = (Rig){0};
    rig->log = (Log){LOG_LEVEL_DEBUG, remember_line, &rig->lines};
    TexCacheDesc d = desc ? *desc : (TexCacheDesc){0};
    d.size_bytes = sizeof d;
    d.log = &rig->log;
    Error err = {0};
    if (texcache_create(&d, &rig->cache, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    if (texcache_thread_create(rig->cache, &rig->thread, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(waiter_create_for_thread(&rig->waiter, &err), STATUS_OK);
    texcache_caller_init(&rig->caller, rig->thread, rig->waiter);
}

void rig_end(Rig *rig)
{
    texcache_thread_destroy(rig->thread);
    waiter_destroy_for_thread(rig->waiter);
    texcache_destroy(rig->cache);
}

TexId rig_open(Rig *rig, const char *path)
{
    TexId id;
    Error err = {0};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    if (texcache_open(rig->cache, &what, &id, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return id;
}

bool rig_lookup(Rig *rig, TexId id, const TexOptions *options, float s, float t, float out[4])
{
    float coord[7] = {s, t};
    TexRequest r = {
        .texture = id, .options = options, .lane_count = 1, .lane_mask = 1, .coord = coord};
    return texcache_lookup(&rig->caller, &r, out) != 0;
}

TexStats rig_stats(Rig *rig)
{
    TexStats stats;
    texcache_stats(rig->cache, &stats);
    return stats;
}

void stats_check_identities(const TexStats *s)
{
    assert_int_equal(s->tile_hits + s->tile_misses, s->tile_requests);
    assert_int_equal(s->reads_awaited + s->coalesced + s->failed_fast, s->tile_misses);
    assert_int_equal(s->loads + s->constants + s->failed_tiles, s->reads_awaited + s->reads_ahead);
    assert_int_equal(s->loads - s->evictions, s->resident_tiles);
    uint64_t probes = 0;
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            probes += s->mip_probes[d][l];
    }
    assert_int_equal(probes, s->probes);
    uint64_t reads = 0, waits = 0;
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i) {
        reads += s->read_latency[i];
        waits += s->wait_latency[i];
    }
    assert_int_equal(reads, s->loads + s->constants + s->failed_tiles);
    assert_int_equal(waits, s->waits);
    assert_true(s->bytes_unique <= s->bytes_loaded);
    assert_true(s->bytes_now <= s->bytes_peak && s->bytes_peak <= s->budget_bytes);
}

void stats_check_same_mip_probes(const TexStats *a, const TexStats *b, const TexStats *c)
{
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            assert_int_equal(b->mip_probes[d][l] - a->mip_probes[d][l],
                             c->mip_probes[d][l] - b->mip_probes[d][l]);
    }
}

void rig_check_identities(Rig *rig)
{
    TexStats stats = rig_stats(rig);
    for (uint32_t i = 0; i < 10000 && stats.loads + stats.constants + stats.failed_tiles <
                                          stats.reads_awaited + stats.reads_ahead;
         ++i) {
        clock_sleep_ns(1000000);
        stats = rig_stats(rig);
    }
    stats_check_identities(&stats);
}

uint64_t budget_for_chunks(uint32_t io_thread_count, uint32_t chunk_count, uint64_t table_bytes)
{
    TexCacheDesc d = {
        .size_bytes = sizeof d, .budget_bytes = 1, .io_thread_count = io_thread_count};
    TexCache *cache;
    Error err = {0};
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_LIMIT);
    const char *least = strstr(err.text, "at least ");
    assert_non_null(least);
    unsigned long long bytes = 0;
    assert_int_equal(sscanf(least, "at least %llu", &bytes), 1);
    /* The first chunk is in it. The chunk table grows with the whole budget. */
    uint64_t rest = (uint64_t)(chunk_count - 1) * SLAB_CHUNK_BYTES + table_bytes;
    uint64_t chunk_max = chunk_count + table_bytes / SLAB_CHUNK_BYTES + 1;
    return bytes + rest + chunk_max * SLAB_CHUNK_TABLE_BYTES;
}

uint64_t table_bytes_of(const char *path)
{
    Error err = {0};
    StexHeader h;
    int fd;
    uint64_t file_bytes;
    assert_int_equal(stex_open(path, &fd, &err), STATUS_OK);
    assert_int_equal(stex_read_header(fd, path, &h, &file_bytes, &err), STATUS_OK);
    stex_close(fd);
    return sizeof(TextureBlock) + sizeof(LookupBlock) +
           texture_table_bytes(&h, strlen(path) + 1, strlen(path) + 1);
}

/* --- random ------------------------------------------------------------------------------- */

uint32_t random_u32(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash_mix64(*state) >> 32);
}

float random_unit(uint64_t *state)
{
    return (float)(random_u32(state) >> 8) * 0x1p-24f;
}

uint64_t resident_bytes(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu %llu", &size, &resident), 2);
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
