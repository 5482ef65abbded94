#include "tools/sort_render/render_check.h"

#include "base/check.h"
#include "base/cli.h"
#include "base/str.h"
#include "sort/light/scene_bounds.h"

/* A name of the scene as it may stand on a terminal. Good until the next call. */
static const char *shown(const char *name)
{
    static char text[2048];
    return str_printable(str_from(name), text, sizeof text);
}

static void print_cameras(const Scene *s, FILE *out)
{
    static const char *const kinds[] = {"perspective", "orthographic", "equirectangular", "fisheye",
                                        "equiangular"};
    for (uint32_t i = 0; i < s->camera_count; ++i)
        fprintf(out, "  %-24s %s%s\n", shown(s->cameras[i].name), kinds[s->cameras[i].kind],
                i == s->settings.camera ? ", renders" : "");
}

static uint64_t triangle_count(const Scene *s, bool of_instances)
{
    uint64_t count = 0;
    if (!of_instances)
        for (uint32_t i = 0; i < s->mesh_count; ++i)
            count += s->meshes[i].triangle_count;
    else
        for (uint32_t i = 0; i < s->instance_count; ++i)
            count += s->meshes[s->instances[i].mesh].triangle_count;
    return count;
}

static void print_curves(const Scene *s, FILE *out)
{
    unsigned long long curves = 0, segments = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->mesh_count; ++i) {
        if (!s->meshes[i].curves)
            continue;
        ++count;
        curves += s->meshes[i].curves->curve_count;
        segments += s->meshes[i].curves->segment_count;
    }
    if (count > 0)
        fprintf(out, "curves       %u, %llu curves, %llu segments\n", count, curves, segments);
}

static uint32_t mesh_count(const Scene *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->mesh_count; ++i)
        count += s->meshes[i].curves == NULL;
    return count;
}

static void print_lights(const Scene *s, FILE *out)
{
    static const char *const kinds[] = {"point", "spot", "distant", "rectangle", "disk", "sphere"};
    static const char *const skies[] = {"none", "one colour", "image", "material"};
    uint32_t counts[SORT_COUNT_OF(kinds)] = {0};
    ASSERT((uint32_t)s->environment.kind < SORT_COUNT_OF(skies));
    for (uint32_t i = 0; i < s->light_count; ++i)
        ++counts[s->lights[i].kind];
    fprintf(out, "lights       %u", s->light_count);
    for (uint32_t k = 0; k < SORT_COUNT_OF(kinds); ++k)
        if (counts[k])
            fprintf(out, ", %u %s", counts[k], kinds[k]);
    fprintf(out, "\nenvironment  %s", skies[s->environment.kind]);
    if (s->portal_count > 0)
        fprintf(out, ", %u portal%s", s->portal_count, s->portal_count == 1 ? "" : "s");
    fprintf(out, "\n");
}

static void print_materials(const Scene *s, FILE *out)
{
    for (uint32_t i = 0; i < s->material_count; ++i) {
        const SceneMaterial *m = &s->materials[i];
        fprintf(out, "  %-24s ", shown(m->name));
        if (m->node.group)
            fprintf(out, "group %s", shown(m->node.group->name));
        else
            fprintf(out, "%s", shown(s->shaders[m->node.shader_id].name));
        fprintf(out, ", %u parameters, %u textures\n", m->node.value_count, m->node.texture_count);
    }
}

void print_scene(const Scene *s, FILE *out)
{
    char size[32];
    float3 centre;
    float radius_m;
    scene_bounding_sphere(s, &centre, &radius_m);
    fprintf(out, "scene        %s\n", s->name[0] ? shown(s->name) : "(without a name)");
    fprintf(out, "picture      %u x %u, %u samples, depth %u\n", s->settings.width_px,
            s->settings.height_px, s->settings.samples, s->settings.max_depth);
    fprintf(out, "cameras      %u\n", s->camera_count);
    print_cameras(s, out);
    fprintf(out, "meshes       %u, %llu triangles, %s\n", mesh_count(s),
            (unsigned long long)triangle_count(s, false), cli_format_size(s->array_bytes, size));
    print_curves(s, out);
    fprintf(out, "instances    %u, %llu triangles\n", s->instance_count,
            (unsigned long long)triangle_count(s, true));
    fprintf(out, "extent       around (%.4g, %.4g, %.4g), radius %.4g m\n", (double)centre.x,
            (double)centre.y, (double)centre.z, (double)radius_m);
    print_lights(s, out);
    fprintf(out, "textures     %u\n", s->texture_count);
    for (uint32_t i = 0; i < s->texture_count; ++i)
        fprintf(out, "  %s\n", shown(s->textures[i].name));
    fprintf(out, "materials    %u\n", s->material_count);
    print_materials(s, out);
    for (uint32_t i = 0; i < s->credit_count; ++i)
        fprintf(out, "%-12s %s\n", i ? "" : "credits", shown(s->credits[i]));
}
