/* texcache view: a level, or one tile of it, as PNG. Colours are encoded for display; data (raw) is
 * shown as it is stored, 0 black and 1 white. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file_claims.h"
#include "base/image/png_write.h"
#include "base/image/view_transform.h"
#include "textures/texcache.h"
#include "tools/texcache/texcache_commands.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct TileChoice {
    bool is_given;
    uint32_t x, y;
} TileChoice;

typedef struct ViewOptions {
    const char *output;
    uint32_t level;
    TileChoice tile;
    double exposure_stops;
} ViewOptions;

static Status parse_tile(const char *text, void *out, Error *err)
{
    uint32_t at[2];
    if (!cli_parse_numbers(text, ",", at, 2))
        return error_set(err, STATUS_INVALID, "'%s' is not of the form X,Y", text);
    *(TileChoice *)out = (TileChoice){.is_given = true, .x = at[0], .y = at[1]};
    return STATUS_OK;
}

static uint8_t to_byte(float value)
{
    return (uint8_t)(value > 0.0f ? (value < 1.0f ? value * 255.0f + 0.5f : 255.0f) : 0.0f);
}

/* A row of linear rgba as it goes into the PNG: rgb or rgba. */
static void encode_row(const ViewOptions *o, const TexInfo *info, bool has_alpha, float *rgba,
                       uint32_t width, uint8_t *out)
{
    const ViewTransform view = {VIEW_STANDARD, (float)o->exposure_stops};
    float gain = exp2f(view.exposure_stops);
    uint32_t stride = has_alpha ? 4 : 3;
    for (uint32_t x = 0; x < width; ++x) {
        float *pixel = rgba + (size_t)x * 4;
        uint8_t *to = out + (size_t)x * stride;
        if (has_alpha && info->is_premultiplied && pixel[3] > 0.0f) {
            for (uint32_t i = 0; i < 3; ++i)
                pixel[i] /= pixel[3];
        }
        if (info->color_space == SORT_COLOR_RAW) {
            for (uint32_t i = 0; i < 3; ++i)
                to[i] = to_byte(pixel[i] * gain);
        } else {
            view_transform_rgb(&view, pixel, 4, 1, to);
        }
        if (has_alpha)
            to[3] = to_byte(pixel[3]);
    }
}

static Status choose_region(const ViewOptions *o, const char *path, const TexInfo *info,
                            TexRegion *out_region, Error *err)
{
    if (o->level >= info->level_count) {
        return error_set_at(err, STATUS_INVALID, path,
                            "has no level %" PRIu32 "; the last is %" PRIu32, o->level,
                            info->level_count - 1);
    }
    const TexLevelInfo *l = &info->levels[o->level];
    *out_region = (TexRegion){o->level, 0, 0, l->width, l->height};
    if (!o->tile.is_given)
        return STATUS_OK;
    uint32_t tiles_x = l->tiles_x ? l->tiles_x : 1, tiles_y = l->tiles_y ? l->tiles_y : 1;
    if (o->tile.x >= tiles_x || o->tile.y >= tiles_y) {
        return error_set_at(err, STATUS_INVALID, path,
                            "level %" PRIu32 " has %" PRIu32 " x %" PRIu32
                            " tiles; there is no (%" PRIu32 ", %" PRIu32 ")",
                            o->level, tiles_x, tiles_y, o->tile.x, o->tile.y);
    }
    uint32_t x = o->tile.x * info->tile_width, y = o->tile.y * info->tile_height;
    uint32_t right = l->width - x, below = l->height - y;
    *out_region = (TexRegion){o->level, x, y, right < info->tile_width ? right : info->tile_width,
                              below < info->tile_height ? below : info->tile_height};
    ASSERT(x < l->width && y < l->height);
    return STATUS_OK;
}

/* A picture of a region in the making. */
typedef struct Picture {
    const ViewOptions *options;
    const char *path;
    TexInfo info;
    TexRegion region;
    bool has_alpha;
    float *rgba;     /* a row of tiles */
    uint8_t *pixels; /* all of it, encoded */
    uint64_t damaged_tiles;
} Picture;

/* Rows of tiles one after the other, so that only the picture itself is in memory. */
static Status read_and_encode(Picture *p, Error *err)
{
    const TexRegion *region = &p->region;
    uint32_t rows = p->info.tile_height;
    ASSERT(rows > 0 && region->width > 0 && region->height > 0);
    size_t row_bytes = (size_t)region->width * (p->has_alpha ? 4 : 3);
    for (uint32_t y = 0; y < region->height; y += rows) {
        uint32_t rest = region->height - y;
        TexRegion band = {region->level, region->x, region->y + y, region->width,
                          rest < rows ? rest : rows};
        uint64_t damaged;
        TRY(texcache_file_read(p->path, &band, p->rgba, &damaged, err));
        p->damaged_tiles += damaged;
        for (uint32_t i = 0; i < band.height; ++i)
            encode_row(p->options, &p->info, p->has_alpha, p->rgba + (size_t)i * region->width * 4,
                       region->width, p->pixels + (y + i) * row_bytes);
    }
    return STATUS_OK;
}

static Status view(const ViewOptions *o, const char *path, uint64_t *out_damaged, Error *err)
{
    Picture p = {.options = o, .path = path};
    *out_damaged = 0;
    /* Damage to the index is no reason not to look at the rest. */
    TRY(texcache_file_header(path, &p.info, err));
    TRY(choose_region(o, path, &p.info, &p.region, err));
    p.has_alpha = p.info.channel_count == 2 || p.info.channel_count == 4;
    uint32_t channels = p.has_alpha ? 4 : 3;
    p.rgba = mem_alloc((size_t)p.region.width * p.info.tile_height, 4 * sizeof(float));
    p.pixels = mem_alloc((size_t)p.region.width * p.region.height, channels);
    Status status = p.rgba && p.pixels ? read_and_encode(&p, err)
                                       : error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    if (status == STATUS_OK)
        status = png_write(o->output, p.region.width, p.region.height, channels, p.pixels, err);
    *out_damaged = p.damaged_tiles;
    mem_free(p.rgba);
    mem_free(p.pixels);
    return status;
}

static bool parse_view(ViewOptions *o, int argc, char **argv, CliResult *args, int *out_code)
{
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &o->output, .value_name = "FILE", .help = "the PNG to write"},
        {.name = "level", .short_name = 'l', .kind = CLI_U32, .out = &o->level, .max = TEX_MAX_LEVELS - 1, .value_name = "N", .help = "the mip level; 0 is the finest"},
        {.name = "tile", .short_name = 't', .kind = CLI_CUSTOM, .out = &o->tile, .parse = parse_tile, .value_name = "X,Y", .help = "only this tile of the level, counted from the upper left"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &o->exposure_stops, .min = -60, .max = 60, .value_name = "STOPS", .help = "exposure in powers of two"},
    };
    /* clang-format on */
    static const char *const examples[] = {
        "texcache view wood.stex -o wood.png --level 2", "a quarter of the size",
        "texcache view wood.stex -o tile.png --tile 3,5", "one tile of the finest level", NULL};
    const CliProgram program = {.name = "texcache view",
                                .usage = "[options] FILE -o OUT.png",
                                .summary = "Writes a level of a paged texture, or one tile of it, "
                                           "as PNG. Damaged tiles are magenta.",
                                TOOL_OPTIONS(options),
                                TOOL_ARGS(1, 1, "FILE"),
                                .examples = examples};
    return tool_parse(&program, argc, argv, args, out_code);
}

int texcache_run_view(int argc, char **argv)
{
    ViewOptions o = {0};
    CliResult parsed;
    int code;
    if (!parse_view(&o, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    if (!o.output) {
        error_set(&err, STATUS_INVALID, "-o is missing: where does the picture go?");
        return tool_fail(&err, TOOL_USAGE);
    }
    const char *const input = parsed.args[0];
    if (file_check_apart("-o", o.output, &input, 1, &err) != STATUS_OK)
        return tool_fail(&err, TOOL_USAGE);
    uint64_t damaged;
    Status status = view(&o, parsed.args[0], &damaged, &err);
    if (status != STATUS_OK)
        return tool_fail(&err, status == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED);
    if (damaged > 0) {
        error_set_at(&err, STATUS_FORMAT, parsed.args[0],
                     "%" PRIu64 " damaged tile%s shown in magenta", damaged,
                     damaged == 1 ? "" : "s");
        return tool_fail(&err, TOOL_FAILED);
    }
    return TOOL_DONE;
}
