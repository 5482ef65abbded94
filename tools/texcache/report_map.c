/* Which tiles of a texture were read, and how often: its levels side by side, a square a tile. */
#include "base/check.h"
#include "tools/texcache/texture_report.h"

#include <inttypes.h>

enum { HEAT_COUNT = 7, MAP_SIDE = 256, MAP_GAP = 8 };

/* Never asked for, asked for but never read (it was found to be of one colour before, or failed), read once,
 * twice, up to 4, up to 8, more often. */
static uint32_t heat_of(const ReportMap *map, uint32_t tile)
{
    ASSERT(tile < map->texture->tile_count);
    uint32_t loads = map->loads[tile];
    if (loads == 0)
        return map->requests[tile] > 0 ? 1 : 0;
    return loads == 1 ? 2 : loads == 2 ? 3 : loads <= 4 ? 4 : loads <= 8 ? 5 : 6;
}

/* All tiles of one heat as one path, runs of a row together. */
static void draw_heat(const ReportMap *map, const TexTraceLevel *level, uint32_t heat, StrBuf *out)
{
    ASSERT(heat < HEAT_COUNT);
    bool has_any = false;
    for (uint32_t y = 0; y < level->tiles_y; ++y) {
        for (uint32_t x = 0; x < level->tiles_x;) {
            uint32_t begin = x;
            while (x < level->tiles_x &&
                   heat_of(map, level->first_tile + y * level->tiles_x + x) == heat)
                ++x;
            if (x > begin) {
                if (!has_any)
                    strbuf_printf(out, "<path class=\"h%" PRIu32 "\" d=\"", heat);
                has_any = true;
                strbuf_printf(out, "M%" PRIu32 " %" PRIu32 "h%" PRIu32 "v1H%" PRIu32 "z", begin, y,
                              x - begin, begin);
            } else {
                ++x;
            }
        }
    }
    if (has_any)
        strbuf_append_c(out, "\"/>");
}

static void draw_level(const ReportMap *map, uint32_t number, double left, double scale,
                       StrBuf *out)
{
    ASSERT(number < map->texture->level_count);
    const TexTraceLevel *level = &map->texture->levels[number];
    uint64_t tiles = (uint64_t)level->tiles_x * level->tiles_y, read = 0, loads = 0;
    ASSERT(level->first_tile + tiles <= map->texture->tile_count);
    for (uint64_t i = 0; i < tiles; ++i) {
        read += map->loads[level->first_tile + i] > 0;
        loads += map->loads[level->first_tile + i];
    }
    strbuf_printf(out, "<g transform=\"translate(%.2f 0) scale(%.4f)\">", left, scale);
    strbuf_printf(out,
                  "<title>level %" PRIu32 ": %" PRIu64 " of %" PRIu64 " tiles read, %" PRIu64
                  " reads</title>",
                  number, read, tiles, loads);
    for (uint32_t heat = 0; heat < HEAT_COUNT; ++heat)
        draw_heat(map, level, heat, out);
    strbuf_append_c(out, "</g>\n");
}

void report_map(const ReportMap *map, StrBuf *out)
{
    const TexTraceTexture *t = map->texture;
    const TexTraceLevel *finest = &t->levels[0];
    if (finest->tiles_x == 0)
        return;
    uint32_t longest = finest->tiles_x > finest->tiles_y ? finest->tiles_x : finest->tiles_y;
    double scale = (double)MAP_SIDE / longest, left = 0.0;
    double width = 0.0, height = finest->tiles_y * scale;
    for (uint32_t i = 0; i < t->level_count && t->levels[i].tiles_x > 0; ++i)
        width += t->levels[i].tiles_x * scale + MAP_GAP;
    strbuf_append_c(out, "<figure class=\"map\"><figcaption>");
    html_text(out, map->name);
    strbuf_printf(out,
                  ": %" PRIu32 " &#215; %" PRIu32 ", %" PRIu64 " reads</figcaption>"
                  "<svg viewBox=\"0 0 %.1f %.1f\" style=\"max-width:%.0fpx\" role=\"img\" "
                  "aria-label=\"Tiles that were read, by level\">\n",
                  finest->width, finest->height, map->load_count, width, height, width);
    for (uint32_t i = 0; i < t->level_count && t->levels[i].tiles_x > 0; ++i) {
        draw_level(map, i, left, scale, out);
        left += t->levels[i].tiles_x * scale + MAP_GAP;
    }
    strbuf_append_c(out, "</svg></figure>\n");
}
