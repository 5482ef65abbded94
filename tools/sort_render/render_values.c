#include "tools/sort_render/render_values.h"

#include "base/check.h"
#include "base/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status parse_probe(const char *text, void *out, Error *err)
{
    struct ProbePixel *p = out;
    uint32_t v[2];
    if (!cli_parse_numbers(text, ",", v, 2))
        return error_set(err, STATUS_INVALID, "'%s' is no pixel such as 320,240", text);
    *p = (ProbePixel){.is_wanted = true, .x = v[0], .y = v[1]};
    return STATUS_OK;
}

Status parse_setting(const char *text, void *out, Error *err)
{
    const SettingWord *word = out;
    ASSERT((uint32_t)word->id < SETTING_COUNT && word->change);
    int64_t whole;
    double value;
    if (scene_setting_rows[word->id].kind == SETTING_FLOAT) {
        TRY(cli_parse_double(text, &value, err));
    } else {
        TRY(cli_parse_int(text, &whole, err));
        value = (double)whole;
    }
    return scene_settings_change(word->change, word->id, value, err);
}

Status parse_size(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    uint32_t v[2];
    if (!cli_parse_numbers(text, "x", v, 2))
        return error_set(err, STATUS_INVALID, "'%s' is not a size like 1920x1080", text);
    if (v[0] == 0 || v[1] == 0 || v[0] > FILM_MAX_SIDE_PX || v[1] > FILM_MAX_SIDE_PX)
        return error_set(err, STATUS_INVALID, "'%s': sides go from 1 to %d", text,
                         FILM_MAX_SIDE_PX);
    o->width_px = v[0];
    o->height_px = v[1];
    return STATUS_OK;
}

Status parse_samples(const char *text, void *out, Error *err)
{
    RenderOptions *o = out;
    uint32_t v[2];
    if (!cli_parse_numbers(text, ":", v, 2) || v[1] <= v[0])
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a range like 0:64 (first, one past the last)", text);
    o->sample_begin = v[0];
    o->sample_end = v[1];
    return STATUS_OK;
}

Status parse_frames(const char *text, void *out, Error *err)
{
    FrameRange *frames = out;
    static const char *const between[] = {"..", ":"};
    char range[64];
    uint32_t v[2], step = 1;
    const char *second = strstr(text, ".."), *colon = strrchr(text, ':');
    bool has_step = colon && (second || strchr(text, ':') != colon);
    int length = snprintf(range, sizeof range, "%.*s", has_step ? (int)(colon - text) : 63, text);
    bool is_range =
        length < (int)sizeof range &&
        (!has_step || (cli_parse_numbers(colon + 1, "", &step, 1) && step > 0)) &&
        (cli_parse_numbers(range, between[0], v, 2) || cli_parse_numbers(range, between[1], v, 2));
    if (!is_range && cli_parse_numbers(text, "", v, 1)) {
        v[1] = v[0];
        is_range = true;
    }
    if (!is_range || v[1] < v[0])
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a frame, a range like 1..24, or one with a step like 1..24:4",
                         text);
    *frames = (FrameRange){.is_wanted = true, .first = v[0], .last = v[1], .step = step};
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
    uint32_t v[4];
    if (!cli_parse_numbers(text, ",", v, 4) || v[2] == 0 || v[3] == 0)
        return error_set(err, STATUS_INVALID,
                         "'%s' is not a crop like 100,50,640,480 (left, top, width, height)", text);
    *c = (RenderCrop){v[0], v[1], v[2], v[3]};
    return STATUS_OK;
}

/* "there is no WHAT 'NAME'; did you mean ...?", or else all that there are. */
static Status refuse_name(const char *what, Str name, const char *const *known, size_t count,
                          Error *err)
{
    char given[64];
    StrBuf all = {0};
    snprintf(given, sizeof given, "%.*s", STR_ARG(name));
    if (given[0] == '\0')
        return error_set(err, STATUS_INVALID, "the name of an %s is missing", what);
    const char *nearest = suggest_nearest(given, known, count);
    if (nearest)
        return error_set(err, STATUS_INVALID, "there is no %s '%s'; did you mean '%s'?", what,
                         given, nearest);
    for (size_t i = 0; i < count; ++i)
        strbuf_printf(&all, "%s%s", i ? ", " : "", known[i]);
    Status status = error_set(err, STATUS_INVALID, "there is no %s '%s'; there are %s", what, given,
                              strbuf_text(&all));
    strbuf_free(&all);
    return status;
}

static Status refuse_aov(Str name, Error *err)
{
    const char *known[FILM_AOV_COUNT + 3 + FILM_ID_COUNT];
    size_t count = 0;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        if (!film_aovs_have(FILM_LIGHT_GROUPS | FILM_SHADER_AOVS, (FilmAov)i))
            known[count++] = film_aov_info((FilmAov)i)->name;
    known[count++] = "light_groups";
    known[count++] = "shader_aovs";
    known[count++] = "light_passes";
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        known[count++] = film_id_info((FilmId)i)->name;
    ASSERT(count <= SORT_COUNT_OF(known));
    return refuse_name("AOV", name, known, count, err);
}

static Status add_aov(Str name, RenderOptions *r, Error *err)
{
    FilmAovSet aovs = 0;
    uint32_t ids = 0;
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i)
        aovs |= (FilmAovSet)str_equal_c(name, film_aov_info((FilmAov)i)->name) << i;
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        ids |= (uint32_t)str_equal_c(name, film_id_info((FilmId)i)->name) << i;
    if (str_equal_c(name, "light_groups"))
        aovs |= FILM_LIGHT_GROUPS;
    if (str_equal_c(name, "shader_aovs"))
        aovs |= FILM_SHADER_AOVS;
    if (str_equal_c(name, "light_passes"))
        aovs |= FILM_LIGHT_PASSES | FILM_AOV_BIT(FILM_AOV_EMISSION) |
                FILM_AOV_BIT(FILM_AOV_ENVIRONMENT);
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
    const char *known[WAVE_VIEW_COUNT];
    for (int i = 0; i < WAVE_VIEW_COUNT; ++i) {
        *out_view = (WaveView)i;
        known[i] = wave_view_info((WaveView)i)->name;
        if (strcmp(name, known[i]) == 0)
            return STATUS_OK;
    }
    return refuse_name("integrator", str_from(name), known, WAVE_VIEW_COUNT, err);
}
