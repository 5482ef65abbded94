#include "tools/render_list.h"

#include "sort/bsdf/closure_table.h"
#include "sort/film/film.h"
#include "sort/integrator/view.h"
#include <string.h>

static void print_aovs(FILE *out)
{
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i) {
        const FilmAovInfo *info = film_aov_info((FilmAov)i);
        fprintf(out, "%-15s %-4s %s\n", info->name, info->suffixes, info->doc);
    }
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        fprintf(out, "%-15s      Cryptomatte layers %s00 to 02, 6 ranks\n",
                film_id_info((FilmId)i)->name, film_id_info((FilmId)i)->layer);
}

static void print_closures(FILE *out)
{
    static const char *const rows[][3] = {
#define ARG(type, name)                               #type " " #name ", "
#define LAYER_OVER(name)                              "closure " #name ", "
#define CLOSURE(id, name, flags, args, doc, citation) {#name, args, doc},
#include "sort/bsdf/closures.inc"
#undef CLOSURE
#undef LAYER_OVER
#undef ARG
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        size_t length = strlen(rows[i][1]); /* without the last comma */
        fprintf(out, "%s(%.*s)\n    %s\n", rows[i][0], (int)(length < 2 ? 0 : length - 2),
                rows[i][1], rows[i][2]);
    }
}

static void print_integrators(FILE *out)
{
    for (int i = 0; i < WAVE_VIEW_COUNT; ++i) {
        const WaveViewInfo *info = wave_view_info((WaveView)i);
        fprintf(out, "%-11s %s\n", info->name, info->doc);
    }
}

static void print_globals(FILE *out)
{
    static const char *const rows[][3] = {
#define SORT_GLOBAL(name, type, has_derivatives, space, doc) {#name, space, doc},
#include "sort/shade/globals.inc"
#undef SORT_GLOBAL
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i)
        fprintf(out, "%-15s %-7s %s\n", rows[i][0], rows[i][1], rows[i][2]);
}

Status print_list(const char *what, FILE *out, Error *err)
{
    if (strcmp(what, "aovs") == 0)
        print_aovs(out);
    else if (strcmp(what, "closures") == 0)
        print_closures(out);
    else if (strcmp(what, "globals") == 0)
        print_globals(out);
    else if (strcmp(what, "integrators") == 0)
        print_integrators(out);
    else
        return error_set(err, STATUS_INVALID,
                         "'%s' cannot be listed; aovs, closures, globals and integrators can",
                         what);
    return STATUS_OK;
}
