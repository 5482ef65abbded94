#include "tools/render_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status parse_probe(const char *text, void *out, Error *err)
{
    struct ProbePixel *p = out;
    char after;
    if (sscanf(text, "%u,%u%c", &p->x, &p->y, &after) != 2 || text[0] == '-')
        return error_set(err, STATUS_INVALID, "'%s' is no pixel such as 320,240", text);
    p->is_wanted = true;
    return STATUS_OK;
}

Status parse_size(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    char after;
    if (sscanf(text, "%ux%u%c", &o->width_px, &o->height_px, &after) != 2 || o->width_px == 0 ||
        o->height_px == 0 || o->width_px > FILM_MAX_SIDE_PX || o->height_px > FILM_MAX_SIDE_PX)
        return error_set(err, STATUS_INVALID, "'%s' is not a size like 1920x1080", text);
    return STATUS_OK;
}

Status parse_samples(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    char after;
    if (sscanf(text, "%u:%u%c", &o->sample_begin, &o->sample_end, &after) != 2 ||
        o->sample_end <= o->sample_begin)
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a range like 0:64 (first, one past the last)", text);
    return STATUS_OK;
}

/* Up to SHADE_BIAS_DEPTHS numbers with commas between them; the last stands for all deeper. */
Status parse_depth_bias(const char *text, void *out, Error *err)
{
    float *bias = out;
    const char *at = text;
    for (uint32_t i = 0; *text && i < SHADE_BIAS_DEPTHS; ++i) {
        char *end = NULL;
        bias[i] = *at ? strtof(at, &end) : bias[i - 1];
        if (end && (end == at || !(bias[i] >= -32.0f && bias[i] <= 32.0f) || (*end && *end != ',')))
            break;
        if (end)
            at = *end ? end + 1 : end;
        if (i + 1 == SHADE_BIAS_DEPTHS && !*at)
            return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID,
                     "'%s' is not a list of at most %d biases from -32 to 32, like 0,0.5,1", text,
                     SHADE_BIAS_DEPTHS);
}

Status parse_crop(const char *text, void *out, Error *err)
{
    RenderCrop *c = out;
    char after;
    if (sscanf(text, "%u,%u,%u,%u%c", &c->x, &c->y, &c->width, &c->height, &after) != 4 ||
        c->width == 0 || c->height == 0)
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a crop like 100,50,640,480 (left, top, width, height)", text);
    return STATUS_OK;
}

static Status refuse_aov(Str name, Error *err)
{
    StrBuf known = {0};
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (!((uint32_t)(FILM_LIGHT_GROUPS_BITS | FILM_SHADER_AOVS_BITS) >> i & 1))
            strbuf_printf(&known, "%s, ", film_aov_info((FilmAov)i)->name);
    strbuf_printf(&known, "light_groups, shader_aovs, ");
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        strbuf_printf(&known, "%s%s", i ? ", " : "", film_id_info((FilmId)i)->name);
    Status status = error_set(err, STATUS_INVALID, "there is no AOV '%.*s'; there are %s",
                              STR_ARG(name), strbuf_text(&known));
    strbuf_free(&known);
    return status;
}

static Status add_aov(Str name, RenderOptions *r, Error *err)
{
    uint32_t aovs = 0, ids = 0;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        aovs |= (uint32_t)str_equal_c(name, film_aov_info((FilmAov)i)->name) << i;
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        ids |= (uint32_t)str_equal_c(name, film_id_info((FilmId)i)->name) << i;
    if (str_equal_c(name, "light_groups"))
        aovs |= (uint32_t)FILM_LIGHT_GROUPS_BITS;
    if (str_equal_c(name, "shader_aovs"))
        aovs |= (uint32_t)FILM_SHADER_AOVS_BITS;
    r->aovs |= aovs;
    r->ids |= ids;
    return aovs | ids ? STATUS_OK : refuse_aov(name, err);
}

/* Names with commas between them. */
Status add_aovs(const char *list, RenderOptions *r, Error *err)
{
    for (;;) {
        Str name = {list, strcspn(list, ",")};
        TRY(add_aov(name, r, err));
        if (list[name.size_bytes] == '\0')
            return STATUS_OK;
        list += name.size_bytes + 1;
    }
}

Status find_integrator(const char *name, WaveView *out_view, Error *err)
{
    StrBuf known = {0};
    for (int i = 0; i < WAVE_VIEW_COUNT; ++i) {
        *out_view = (WaveView)i;
        if (strcmp(name, wave_view_info((WaveView)i)->name) == 0) {
            strbuf_free(&known);
            return STATUS_OK;
        }
        strbuf_printf(&known, "%s%s", i ? ", " : "", wave_view_info((WaveView)i)->name);
    }
    Status status = error_set(err, STATUS_INVALID, "there is no integrator '%s'; there are %s",
                              name, strbuf_text(&known));
    strbuf_free(&known);
    return status;
}
