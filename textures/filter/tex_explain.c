/* Describes a lookup without doing it: footprint, level, probes, texels and their weights. */
#include "textures/filter/tex_place.h"
#include "textures/filter/tex_taps.h"
#include <math.h>

static void add_texels(void *data, const TexTap *tap)
{
    TexExplain *out = data;
    for (uint32_t k = 0; k < 4; ++k) {
        TexExplainTexel texel = {tap->level, tap->x[k], tap->y[k], tap->weights[k]};
        uint32_t i = 0;
        while (i < out->texel_count && (out->texels[i].level != texel.level ||
                                        out->texels[i].x != texel.x || out->texels[i].y != texel.y))
            ++i;
        if (i == out->texel_count && i < TEX_EXPLAIN_TEXELS_MAX)
            out->texels[out->texel_count++] = texel;
        else if (i < out->texel_count)
            out->texels[i].weight += texel.weight;
    }
}

/* Computes the half axes of the ellipse with the second moments of the two steps and the blur, in texels of
 * level 0. They are half of the full widths of footprint.h. */
static void fill_ellipse(const FootprintInput *in, TexExplain *out)
{
    double w = out->width, h = out->height;
    double xs = (double)in->ds_dx * w, xt = (double)in->dt_dx * h;
    double ys = (double)in->ds_dy * w, yt = (double)in->dt_dy * h;
    double bs = (double)in->blur * w, bt = (double)in->blur * h;
    double ss = xs * xs + ys * ys + bs * bs, tt = xt * xt + yt * yt + bt * bt;
    double st = xs * xt + ys * yt;
    double gap = 0.5 * (ss - tt), root = sqrt(gap * gap + st * st), mean = 0.5 * (ss + tt);
    double angle = 0.5 * atan2(st, gap);
    double major = 0.5 * sqrt(fmax(0.0, mean + root)), minor = 0.5 * sqrt(fmax(0.0, mean - root));
    out->major[0] = (float)(cos(angle) * major / w);
    out->major[1] = (float)(sin(angle) * major / h);
    out->minor[0] = (float)(-sin(angle) * minor / w);
    out->minor[1] = (float)(cos(angle) * minor / h);
}

bool texcache_taps(const TexCache *c, const TexRequest *r,
                   void (*visit)(void *data, const TexTap *tap), void *data)
{
    Texture *texture = texture_of(c, r->texture);
    if (!texture || texture->udim)
        return false;
    taps_visit(texture, r, 0, visit, data);
    return true;
}

void texcache_explain(const TexCache *c, const TexRequest *r, uint32_t lane, TexExplain *out)
{
    *out = (TexExplain){0};
    uint32_t n = r->lane_count;
    float coord[7], random;
    for (uint32_t k = 0; k < 7; ++k)
        coord[k] = r->coord[k * n + lane];
    out->s = coord[0];
    out->t = coord[1];
    TexOptions options = r->options ? *r->options : (TexOptions){0};
    Texture *texture = texture_of(c, r->texture);
    if (texture && texture->udim) {
        texture = texture_of(c, udim_place(texture->udim, coord[0], coord[1], &out->s, &out->t));
        options.wrap_s = options.wrap_t = TEX_WRAP_CLAMP;
        coord[0] = out->s;
        coord[1] = out->t;
    }
    if (!texture)
        return;
    out->name = texture->name;
    out->path = texture->path;
    out->width = texture->levels[0].width;
    out->height = texture->levels[0].height;
    TexRequest one = *r;
    one.options = &options;
    one.lane_count = one.lane_mask = 1;
    one.coord = coord;
    if (r->random) {
        random = r->random[lane];
        one.random = &random;
    }
    LookupOptions resolved;
    resolve_options(texture, &one, &resolved);
    out->filter = resolved.filter;
    FootprintInput in = {.ds_dx = coord[2],
                         .dt_dx = coord[3],
                         .ds_dy = coord[4],
                         .dt_dy = coord[5],
                         .blur = coord[6]};
    Footprint f;
    footprint_of(&in, out->width, out->height, texture->level_count, &resolved, &f);
    taps_visit(texture, &one, 0, add_texels, out);
    out->has_place = fabsf(out->s) <= COORDINATE_MAX && fabsf(out->t) <= COORDINATE_MAX;
    out->is_bad = f.is_bad;
    out->level = f.level;
    out->probe_count = f.probe_count;
    out->probe_step[0] = f.axis_s;
    out->probe_step[1] = -f.axis_v;
    if (!f.is_bad)
        fill_ellipse(&in, out);
}
