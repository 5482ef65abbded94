#include "tools/sort_render/render_list.h"

#include "base/check.h"
#include "base/path.h"
#include "plugins/plugin_host.h"
#include "sort/accel/accel_cpu.h"
#include "sort/bsdf/closure_table.h"
#include "sort/film/film.h"
#include "sort/integrator/view.h"
#include "sort/package/scene_load.h"
#include "sort/render/scene_closures.h"
#include "sort/shade/unit_library.h"
#include "ssl/ssl.h"
#include <string.h>

static void print_aovs(FILE *out)
{
    for (uint32_t i = 0; i < FILM_AOV_COUNT; ++i) {
        const FilmAovInfo *info = film_aov_info((FilmAov)i);
        if (film_aovs_have(FILM_LIGHT_GROUPS | FILM_SHADER_AOVS, (FilmAov)i))
            continue;
        fprintf(out, "%-21s %-4s %s\n", info->name, info->suffixes, info->doc);
    }
    fprintf(out,
            "%-21s %-4s Combined_NAME for each light group of the scene, light_rest for all else; "
            "they add up "
            "to the picture\n",
            "light_groups", "RGB");
    fprintf(out,
            "%-21s %-4s AOV_NAME for each shader AOV of the scene: values that its shaders give by "
            "closure Aov\n",
            "shader_aovs", "RGB");
    fprintf(
        out,
        "%-21s %-4s all of what the picture is made of: of diffuse, glossy and transmission, color "
        "(direct + indirect); emission, environment\n",
        "light_passes", "RGB");
    for (uint32_t i = 0; i < FILM_ID_COUNT; ++i)
        fprintf(out, "%-21s      Cryptomatte layers %s00 to 02, 6 ranks\n",
                film_id_info((FilmId)i)->name, film_id_info((FilmId)i)->layer);
}

static void print_closure(const SslClosureRow *row, const char *source, FILE *out)
{
    fprintf(out, "%s(", row->name);
    for (uint32_t a = 0; a < row->arg_count; ++a)
        fprintf(out, "%s%s %s", a > 0 ? ", " : "", ssl_type_name(row->args[a].type),
                row->args[a].name);
    fprintf(out, ")\n    %s", row->doc);
    if (source) {
        char printable[PATH_BYTES];
        fprintf(out, "%s(%s)", row->doc[0] ? " " : "",
                str_printable(str_from(source), printable, sizeof printable));
    }
    fputc('\n', out);
}

static Status print_scene_closures(const Scene *scene, FILE *out, Error *err)
{
    ClosureList *list;
    SslContextDesc desc = {.size_bytes = sizeof desc};
    TRY(scene_closures(scene, &list, err));
    closure_list_describe(list, &desc);
    for (uint32_t i = 0; i < desc.closure_count; ++i)
        print_closure(&desc.closures[i],
                      i < closure_count ? NULL : closure_list_source(list, i - closure_count), out);
    closure_list_destroy(list);
    return STATUS_OK;
}

static Status print_closures(const char *path, FILE *out, Error *err)
{
    /* Textures play no part here. */
    const SceneLoadOptions load = {.size_bytes = sizeof load, .missing = SCENE_MISSING_MAGENTA};
    Scene *scene;
    for (uint32_t i = 0; i < closure_count && !path; ++i)
        print_closure(&closure_rows[i], NULL, out);
    if (!path)
        return STATUS_OK;
    TRY(scene_load(path, &load, &scene, err));
    Status status = print_scene_closures(scene, out, err);
    scene_destroy(scene);
    return status;
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
        fprintf(out, "%-21s %-7s %s\n", rows[i][0], rows[i][1], rows[i][2]);
}

static void print_units(FILE *out)
{
    for (const EmbeddedText *unit = unit_library_all(); unit->name; ++unit)
        fprintf(out, "unit:%.*s\n", STR_ARG(path_stem(unit->name)));
}

static void print_suffixes(const char *const *suffixes, FILE *out)
{
    for (; *suffixes; ++suffixes)
        fprintf(out, " %s", *suffixes);
}

static void print_plugin(const PluginInfo *info, FILE *out)
{
    if (info->failure) {
        fprintf(out, "%s cannot be used: %s\n", info->path, info->failure);
        return;
    }
    fprintf(out, "%-21s %s %s:", info->importer ? "scenes" : "textures", info->name, info->version);
    print_suffixes(info->importer ? info->importer->suffixes : info->decoder->suffixes, out);
    fputc('\n', out);
}

/* Plugins are loaded for it, which a process that renders never does. */
static Status print_formats(const CliTextList *plugin_folders, FILE *out, Error *err)
{
    PluginHostDesc desc = {.size_bytes = sizeof desc,
                           .folders = plugin_folders->items,
                           .folder_count = plugin_folders->count};
    PluginHost *host;
    const PluginInfo *infos;
    fputs("packages        a folder with scene.json, or a zip of it\n"
          "pictures        exr png, both written\n"
          "textures        stex\n",
          out);
    TRY(plugin_host_create(&desc, &host, err));
    uint32_t count = plugin_host_list(host, &infos);
    for (uint32_t i = 0; i < count; ++i)
        print_plugin(&infos[i], out);
    plugin_host_destroy(host);
    return STATUS_OK;
}

static Status print_cpus(FILE *out, Error *err)
{
    char native[SSL_CPU_CLASS_BYTES];
    TRY(ssl_native_cpu_class(native, err));
    for (const char *const *name = ssl_baseline_cpus(); *name; ++name) {
        char here[ACCEL_CPU_CLASS_BYTES];
        accel_cpu_class(*name, here);
        fprintf(out, "%-15s on this machine: %s\n", *name, here);
    }
    fprintf(out, "native          this machine: %s\n", native);
    return STATUS_OK;
}

const char *const render_list_names[] = {
    [RENDER_LIST_AOVS] = "aovs",       [RENDER_LIST_CLOSURES] = "closures",
    [RENDER_LIST_CPUS] = "cpus",       [RENDER_LIST_FORMATS] = "formats",
    [RENDER_LIST_GLOBALS] = "globals", [RENDER_LIST_INTEGRATORS] = "integrators",
    [RENDER_LIST_UNITS] = "units",     [RENDER_LIST_COUNT] = NULL};

_Static_assert(SORT_COUNT_OF(render_list_names) == RENDER_LIST_COUNT + 1, "each list has a name");

Status render_list_print(RenderList what, const CliTextList *plugin_folders, const char *scene,
                         FILE *out, Error *err)
{
    ASSERT(what < RENDER_LIST_COUNT);
    switch (what) {
    case RENDER_LIST_AOVS:
        print_aovs(out);
        break;
    case RENDER_LIST_CLOSURES:
        return print_closures(scene, out, err);
    case RENDER_LIST_CPUS:
        return print_cpus(out, err);
    case RENDER_LIST_FORMATS:
        return print_formats(plugin_folders, out, err);
    case RENDER_LIST_GLOBALS:
        print_globals(out);
        break;
    case RENDER_LIST_INTEGRATORS:
        print_integrators(out);
        break;
    case RENDER_LIST_UNITS:
        print_units(out);
        break;
    case RENDER_LIST_COUNT:
        break;
    }
    return STATUS_OK;
}
