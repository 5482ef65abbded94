#include "sort/render/light_setup.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/sampling/warp.h"
#include "sort/scene/curve.h"

enum {
    EMISSION_POINTS = LIGHT_SETUP_POINTS, /* looked at per material, */
    EMISSION_SEARCH_POINTS = 1 << 17,     /* and of one that is dark at all of these; */
    EMISSION_ALL_POINTS = 1 << 20,        /* of all such materials together; */
    LOOKS_MAX = 16,                       /* rays to each triangle whose emission varies, */
    LOOKS_MIN = 4,                        /* or none, */
    LOOKS_ALL = 1 << 18                   /* and of all such triangles together */
};

typedef struct Lookup {
    TexCaller caller;
    TexId texture;
} Lookup;

static Status environment_row(void *data, uint32_t width, float v_low, float v_high,
                              float3 *out_radiance, Error *err)
{
    enum { LANES = 16 };
    Lookup *lookup = data;
    SORT_UNUSED(err);
    static const TexOptions options = {
        .wrap_s = TEX_WRAP_PERIODIC, .wrap_t = TEX_WRAP_CLAMP, .filter = TEX_FILTER_TRILINEAR};
    uint32_t n;
    for (uint32_t x = 0; x < width; x += n) {
        float coord[7 * LANES] = {0}, rgba[4 * LANES];
        n = width - x < LANES ? width - x : LANES;
        ASSERT(v_low >= 0.0f && v_low < v_high && v_high <= 1.0f);
        for (uint32_t k = 0; k < n; ++k) {
            coord[k] = ((float)(x + k) + 0.5f) / (float)width;
            coord[n + k] = 0.5f * (v_low + v_high);
            coord[2 * n + k] = 1.0f / (float)width;
            coord[5 * n + k] = v_high - v_low;
        }
        TexRequest request = {.texture = lookup->texture,
                              .options = &options,
                              .lane_count = n,
                              .lane_mask = (1u << n) - 1u,
                              .coord = coord};
        texcache_lookup(&lookup->caller, &request, rgba);
        for (uint32_t k = 0; k < n; ++k)
            out_radiance[x + k] = f3(rgba[k], rgba[n + k], rgba[2 * n + k]);
    }
    return STATUS_OK;
}

static Status constant_row(void *data, uint32_t width, float v_low, float v_high,
                           float3 *out_radiance, Error *err)
{
    SORT_UNUSED(data);
    SORT_UNUSED(v_low);
    SORT_UNUSED(v_high);
    SORT_UNUSED(err);
    for (uint32_t x = 0; x < width; ++x)
        out_radiance[x] = f3_splat(1.0f);
    return STATUS_OK;
}

/* Evaluates the emission of the environment's material in the middle of each cell of a row, as light sampling sees it. */
static Status material_row(void *data, uint32_t width, float v_low, float v_high,
                           float3 *out_radiance, Error *err)
{
    enum { GROUP = 64 };
    ShadeContext *shade = data;
    SORT_UNUSED(err);
    EnvironmentFootprint cells[GROUP];
    static const uint32_t depths[GROUP];
    static const PathHistory histories[GROUP];
    Spectrum radiance[GROUP];
    uint32_t n;
    for (uint32_t x = 0; x < width; x += n) {
        n = width - x < GROUP ? width - x : GROUP;
        for (uint32_t k = 0; k < n; ++k)
            cells[k] = (EnvironmentFootprint){
                .uv = f2(((float)(x + k) + 0.5f) / (float)width, 0.5f * (v_low + v_high)),
                .duvdx = {1.0f / (float)width, 0.0f},
                .duvdy = {0.0f, v_high - v_low}};
        shade_environment(shade, cells, depths, histories, n, radiance);
        for (uint32_t k = 0; k < n; ++k)
            out_radiance[x + k] = spectrum_to_rgb(radiance[k]);
    }
    return STATUS_OK;
}

/* Evaluates the emission of `count` points of one material. Returns whether there is any to read. */
static bool run_emission(ShadeContext *shade, uint32_t material, SurfaceBlock *surfaces,
                         uint32_t count)
{
    ASSERT(count <= EMISSION_POINTS);
    for (uint32_t b = 0; b * SSL_BLOCK < count; ++b) {
        uint32_t left = count - b * SSL_BLOCK;
        surfaces[b].count = left < SSL_BLOCK ? left : SSL_BLOCK;
        surfaces[b].material = material;
    }
    return count > 0 && shade_run(shade, material, SSL_KERNEL_EMISSION, surfaces, count);
}

/* Mean luminance of `count` points of one material, seen head-on from the front. */
static float mean_emission(ShadeContext *shade, uint32_t material, SurfaceBlock *surfaces,
                           uint32_t count)
{
    float sum = 0.0f;
    if (!run_emission(shade, material, surfaces, count))
        return 0.0f;
    for (uint32_t i = 0; i < count; ++i) {
        float y = spectrum_luminance(shade_emission(shade, i));
        sum += isfinite(y) ? fabsf(y) : 0.0f;
    }
    return sum / (float)count;
}

static const RayDiff pinpoint = {.is_cone = false};

static void put(SurfaceBlock *surfaces, uint32_t i, const SurfaceHit *hit)
{
    ASSERT(i < EMISSION_POINTS);
    surface_set(&surfaces[i / SSL_BLOCK], i % SSL_BLOCK, hit);
}

/* A point of a segment of a curve, seen at right angles to it. */
static SurfaceHit beside_curve(const Scene *scene, uint32_t instance, uint32_t segment, float u,
                               float turn)
{
    SurfaceHit hit;
    SceneInstance at = scene->instances[instance];
    if (at.key_count > 0)
        at = scene_instance_at(&scene->instances[instance], 0.5f);
    CurvePoint c;
    curve_eval(&scene->meshes[at.mesh], segment, u, 0.5f, &c);
    float3 s = {1, 0, 0}, t = {0, 1, 0};
    if (f3_length2(c.d1) > 0.0f)
        f3_frame(f3_normalize(c.d1), &s, &t);
    float2 around = warp_circle(turn);
    float3 e = f3_madd(f3_scale(s, around.x), around.y, t);
    float3 D = mat4_vector(&at.object_to_world, f3_neg(e));
    float metres = f3_length(D); /* of one unit of the object's space */
    Ray ray = {.origin = mat4_point(&at.object_to_world, f3_madd(c.P, c.r + 1.0f, e)),
               .direction = f3_scale(D, 1.0f / metres),
               .t_max = INFINITY,
               .time = 0.5f};
    HitQuery query = {
        .instance = instance, .triangle = segment, .b1 = u, .t = metres, .parts = HIT_ALL};
    hit_surface(scene, &query, &ray, &pinpoint, &hit);
    return hit;
}

/* A point of a triangle, seen from 1 m by a ray of a width in metres. away: a unit vector from the point; z is the normal of the front
 * or of the back. */
static SurfaceHit toward(const Scene *scene, uint32_t instance, uint32_t triangle, float2 b,
                         float3 away, float width_m, bool from_front)
{
    SurfaceHit hit;
    float3 corner[3], s, t;
    scene_triangle(scene, instance, triangle, corner);
    float3 e1 = f3_sub(corner[1], corner[0]), e2 = f3_sub(corner[2], corner[0]);
    float3 n = f3_normalize(f3_cross(e1, e2));
    n = from_front ? n : f3_neg(n);
    f3_frame(n, &s, &t);
    float3 at = f3_madd(f3_madd(corner[0], b.x, e1), b.y, e2);
    float3 back = f3_normalize(warp_to_frame(away, s, t, n));
    Ray ray = {
        .origin = f3_add(at, back), .direction = f3_neg(back), .t_max = INFINITY, .time = 0.5f};
    RayDiff diff = {.dOdx = f3_scale(s, width_m), .dOdy = f3_scale(t, width_m)};
    HitQuery query = {.instance = instance,
                      .triangle = triangle,
                      .b1 = b.x,
                      .b2 = b.y,
                      .t = 1.0f,
                      .parts = HIT_ALL};
    hit_surface(scene, &query, &ray, &diff, &hit);
    return hit;
}

static SurfaceHit head_on(const Scene *scene, uint32_t instance, uint32_t triangle, float2 b,
                          bool from_front)
{
    return toward(scene, instance, triangle, b, f3(0.0f, 0.0f, 1.0f), 0.0f, from_front);
}

static bool has_material(const SceneInstance *instance, uint32_t material)
{
    for (uint32_t k = 0; k < instance->material_count; ++k)
        if (instance->materials[k] == material)
            return true;
    return false;
}

static bool wears(const Scene *scene, uint32_t instance, uint32_t triangle, uint32_t material)
{
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    return scene->instances[instance].materials[scene_material_slot(mesh, triangle)] == material;
}

/* The triangles of an instance that wear a material, rising. Instances that follow one another and share mesh and
 * materials, as copies do, have the same: a million copies of a million triangles are looked through once. */
typedef struct Worn {
    uint32_t *triangles; /* owned; room for those of the largest mesh */
    uint32_t count;
    const SceneInstance *instance; /* NULL: none yet */
} Worn;

static bool worn_create(const Scene *scene, Worn *worn)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < scene->mesh_count; ++i) {
        uint32_t count = scene_primitive_count(&scene->meshes[i]);
        most = count > most ? count : most;
    }
    *worn = (Worn){.triangles = MEM_ARRAY(uint32_t, (size_t)most + 1)};
    return worn->triangles != NULL;
}

static void worn_find(const Scene *scene, uint32_t instance, uint32_t material, Worn *worn)
{
    const SceneInstance *it = &scene->instances[instance], *last = worn->instance;
    ASSERT(it && instance < scene->instance_count);
    if (last && last->mesh == it->mesh && last->materials == it->materials)
        return;
    worn->instance = it;
    worn->count = 0;
    uint32_t end = has_material(it, material) ? scene_primitive_count(&scene->meshes[it->mesh]) : 0;
    for (uint32_t t = 0; t < end; ++t)
        if (wears(scene, instance, t, material))
            worn->triangles[worn->count++] = t;
}

uint32_t light_setup_points(const Scene *scene, uint32_t material, bool from_front,
                            SurfaceBlock *surfaces)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < scene->instance_count && count < EMISSION_POINTS; ++i) {
        const SceneMesh *mesh = &scene->meshes[scene->instances[i].mesh];
        uint32_t end = scene_primitive_count(mesh), step = end / EMISSION_POINTS + 1;
        for (uint32_t t = 0; t < end && count < EMISSION_POINTS; t += step) {
            if (!wears(scene, i, t, material))
                continue;
            SurfaceHit hit = mesh->curves
                                 ? beside_curve(scene, i, t, 0.5f, 0.25f)
                                 : head_on(scene, i, t, f2(1.0f / 3.0f, 1.0f / 3.0f), from_front);
            put(surfaces, count++, &hit);
        }
    }
    return count;
}

/* Searches for a bright place of a material that seemed dark, such as a sign in a texture of a city, or emission at the
 * back. It evaluates up to `points` points on the triangles that have the material, more on each the fewer there are.
 * Returns the mean luminance over all points up to the first group that emits. */
static float search_emission(const Scene *scene, ShadeContext *shade, uint32_t material,
                             uint64_t points, Worn *worn, SurfaceBlock *surfaces)
{
    uint64_t triangles = 0, looked = 0;
    ASSERT(points > 0);
    worn->instance = NULL;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        worn_find(scene, i, material, worn);
        triangles += worn->count;
    }
    if (triangles == 0)
        return 0.0f;
    uint64_t each = points / triangles;
    each = each < 2 ? 2 : each > 1024 ? 1024 : each;
    uint64_t step = triangles * each / points + 1, skip = 0; /* of the next instance's */
    uint32_t count = 0;
    worn->instance = NULL;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        worn_find(scene, i, material, worn);
        for (; skip < worn->count; skip += step) {
            uint32_t t = worn->triangles[skip];
            for (uint64_t k = 0; k < each; ++k, ++looked) {
                /* An additive sequence with the plane's constant of least discrepancy. */
                double x = (double)(looked + 1);
                float2 u = f2((float)(x * 0.7548776662466927 - floor(x * 0.7548776662466927)),
                              (float)(x * 0.5698402909980532 - floor(x * 0.5698402909980532)));
                float2 b = warp_triangle(u);
                bool is_curve = scene->meshes[scene->instances[i].mesh].curves;
                SurfaceHit hit = is_curve ? beside_curve(scene, i, t, u.x, u.y)
                                          : head_on(scene, i, t, b, k % 2 == 0);
                put(surfaces, count++, &hit);
                if (count < EMISSION_POINTS)
                    continue;
                float mean = mean_emission(shade, material, surfaces, count);
                if (mean > 0.0f)
                    return mean * (float)count / (float)(looked + 1);
                count = 0;
            }
        }
        skip -= worn->count;
    }
    float mean = mean_emission(shade, material, surfaces, count);
    return mean * (float)count / (float)(looked > 0 ? looked : 1);
}

uint8_t light_setup_known_sides(const ShadeGlow *glow)
{
    if (!glow->is_constant)
        return LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK;
    return (uint8_t)((spectrum_is_black(glow->front) ? 0 : LIGHT_EMITS_FRONT) |
                     (spectrum_is_black(glow->back) ? 0 : LIGHT_EMITS_BACK));
}

/* Returns the sides of a material from which one of some points shines; both where the points are too few to tell, or none does. */
static uint8_t bright_sides(const Scene *scene, ShadeContext *shade, uint32_t material,
                            SurfaceBlock *surfaces)
{
    enum { POINTS_MIN = 64 };
    uint32_t front = light_setup_points(scene, material, true, surfaces), sides = 0;
    if (front >= POINTS_MIN) {
        sides |= mean_emission(shade, material, surfaces, front) > 0.0f ? LIGHT_EMITS_FRONT : 0;
        uint32_t back = light_setup_points(scene, material, false, surfaces);
        sides |= mean_emission(shade, material, surfaces, back) > 0.0f ? LIGHT_EMITS_BACK : 0;
    }
    return (uint8_t)(sides ? sides : LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK);
}

static Status estimate_emission(const Scene *scene, const MaterialSet *materials,
                                ShadeContext *shade, const ShadeGlow *glows, SurfaceBlock *surfaces,
                                float *out_emission, uint8_t *out_sides, Error *err)
{
    uint64_t dark = 0;
    Worn worn = {0};
    if (!worn_create(scene, &worn))
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    for (uint32_t m = 0; m < scene->material_count; ++m)
        if (material_set_get(materials, m)->programs[SSL_KERNEL_EMISSION].kernel) {
            out_emission[m] =
                mean_emission(shade, m, surfaces, light_setup_points(scene, m, true, surfaces));
            dark += out_emission[m] == 0.0f;
        }
    uint64_t points = EMISSION_ALL_POINTS / (dark > 0 ? dark : 1);
    points = points < EMISSION_SEARCH_POINTS ? points : EMISSION_SEARCH_POINTS;
    for (uint32_t m = 0; m < scene->material_count; ++m)
        if (material_set_get(materials, m)->programs[SSL_KERNEL_EMISSION].kernel &&
            out_emission[m] == 0.0f)
            out_emission[m] = search_emission(scene, shade, m, points, &worn, surfaces);
    for (uint32_t m = 0; m < scene->material_count; ++m)
        if (out_emission[m] > 0.0f)
            out_sides[m] = glows[m].is_constant ? light_setup_known_sides(&glows[m])
                                                : bright_sides(scene, shade, m, surfaces);
    mem_free(worn.triangles);
    return STATUS_OK;
}

/* --- triangles by themselves ---------------------------------------------------------------------------- */

/* This part of what a material emits is expected of a triangle that seemed darker. */
static const float LEAST_OF_MATERIAL = 0.1f;

typedef struct Look {
    const Scene *scene;
    ShadeContext *shade;
    const ShadeGlow *glows; /* by material */
    const uint8_t *sides;   /* by material: LIGHT_EMITS_x */
    SurfaceBlock *surfaces; /* EMISSION_POINTS points */
    uint32_t each;          /* rays to a triangle; 0: none */
} Look;

/* Sets how many rays there are for each triangle whose emission varies. */
static Status share_rays(const Scene *scene, const ShadeGlow *glows, const float *emission,
                         uint32_t *out_each, Error *err)
{
    uint64_t triangles = 1;
    Worn worn;
    if (!worn_create(scene, &worn))
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        worn.instance = NULL;
        for (uint32_t i = 0; i < scene->instance_count; ++i) {
            if (!(emission[m] > 0.0f) || glows[m].is_constant)
                break;
            worn_find(scene, i, m, &worn);
            triangles += worn.count;
        }
    }
    mem_free(worn.triangles);
    uint64_t each = LOOKS_ALL / triangles;
    *out_each = each < LOOKS_MIN ? 0 : each < LOOKS_MAX ? (uint32_t)each : LOOKS_MAX;
    return STATUS_OK;
}

/* Number `index` of points in [0, 1)^4 that fill it evenly, by powers of the root of x^5 = x + 1 [Roberts2018]. */
static void even_point(uint32_t index, float out[4])
{
    static const double steps[4] = {0.8566748838545029, 0.733891856627126, 0.6287067210378087,
                                    0.5385972572236101};
    for (uint32_t d = 0; d < 4; ++d) {
        double x = (double)(index + 1) * steps[d];
        out[d] = minf((float)(x - floor(x)), 1.0f - 0x1p-24f);
    }
}

/* Number `index` of the rays to triangles, of which each gets so many: directions are as frequent as light leaves along them. */
static SurfaceHit look_at(const Scene *scene, uint32_t instance, uint32_t triangle, uint32_t index,
                          uint32_t each, bool from_front)
{
    float u[4];
    float3 corner[3];
    even_point(index, u);
    scene_triangle(scene, instance, triangle, corner);
    float3 across = f3_cross(f3_sub(corner[1], corner[0]), f3_sub(corner[2], corner[0]));
    return toward(scene, instance, triangle, warp_triangle(f2(u[0], u[1])),
                  warp_hemisphere_cosine(f2(u[2], u[3])),
                  sqrtf(0.5f * f3_length(across) / (float)each), from_front);
}

/* Sets the root of the mean square of what `each` rays found of each of `count` triangles. */
static void sum_looks(const Look *look, uint32_t material, uint32_t count, uint32_t each,
                      float *out)
{
    uint32_t points = count * each;
    if (!run_emission(look->shade, material, look->surfaces, points))
        return;
    for (uint32_t k = 0; k < count; ++k) {
        float sum = 0.0f;
        for (uint32_t i = k * each; i < (k + 1) * each; ++i) {
            float y = spectrum_luminance(shade_emission(look->shade, i));
            sum += isfinite(y) ? y * y : 0.0f;
        }
        out[k] = maxf(sqrtf(sum / (float)each), LEAST_OF_MATERIAL * out[k]);
    }
}

/* Gives all triangles of a lamp the root of their mean square: to whom it shines, those around see it as well as those ahead. */
static void even_out(uint32_t count, float *out)
{
    double sum = 0.0;
    for (uint32_t k = 0; k < count; ++k)
        sum += (double)out[k] * (double)out[k];
    for (uint32_t k = 0; k < count; ++k)
        out[k] = (float)sqrt(sum / count);
}

/* LightsDesc.look: textures are bright in places, and lamps with nodes may shine one way. */
static void look_at_triangles(void *data, uint32_t instance, uint32_t material,
                              const uint32_t *triangles, uint32_t count, float *out)
{
    const Look *look = data;
    const SceneMesh *mesh = &look->scene->meshes[look->scene->instances[instance].mesh];
    if (look->glows[material].is_constant || mesh->curves || look->each == 0)
        return;
    uint32_t rays = look->each, group = EMISSION_POINTS / rays;
    for (uint32_t first = 0, n; first < count; first += n) {
        n = count - first < group ? count - first : group;
        for (uint32_t i = 0; i < n * rays; ++i) {
            uint8_t sides = look->sides[material];
            bool from_front = sides & LIGHT_EMITS_FRONT && (!(sides & LIGHT_EMITS_BACK) || i % 2);
            SurfaceHit hit = look_at(look->scene, instance, triangles[first + i / rays],
                                     first * rays + i, rays, from_front);
            put(look->surfaces, i, &hit);
        }
        sum_looks(look, material, n, rays, out + first);
    }
    if (look->scene->instances[instance].is_lamp)
        even_out(count, out);
}

/* Evaluates the emission of the materials that lights have, once for each light. */
static Status light_factors(const Scene *scene, ShadeContext *shade, Spectrum *out_factors,
                            Error *err)
{
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const SceneLight *light = &scene->lights[i];
        out_factors[i] =
            light->material ? shade_light_material(shade, light) : spectrum_splat(1.0f);
        if (!spectrum_is_finite(out_factors[i]))
            return error_set(err, STATUS_INVALID,
                             "light '%s': its material emits what is no number", light->name);
    }
    return STATUS_OK;
}

typedef struct SetupMemory {
    Waiter *waiter;
    TexThread *thread;
    Arena *arena;
    float *emission;
    uint8_t *sides;
    Spectrum *factors;
    bool samples_alone;
} SetupMemory;

static void memory_release(SetupMemory *m)
{
    mem_free(m->emission);
    mem_free(m->sides);
    mem_free(m->factors);
    arena_destroy(m->arena);
    texcache_thread_destroy(m->thread);
    if (m->waiter)
        waiter_destroy_for_thread(m->waiter);
}

/* Cells of the tables of environments without an image. */
enum { MATERIAL_WIDTH = 1024, MATERIAL_HEIGHT = 512, COLOR_WIDTH = 64, COLOR_HEIGHT = 32 };

static Status make_environment_table(const Scene *scene, TexCache *cache, TextureStore *store,
                                     const SetupMemory *memory, ShadeContext *shade,
                                     LightSetup *out, Error *err)
{
    const SceneEnvironment *e = &scene->environment;
    Lookup lookup;
    const SceneLightVisibility *v = &e->visibility;
    EnvironmentTableDesc desc = {.is_alone = memory->samples_alone || v->is_shadowless ||
                                             v->is_sampled_only || v->open_sets != 0};
    switch (e->kind) {
    case SCENE_ENVIRONMENT_NONE:
        return STATUS_OK;
    case SCENE_ENVIRONMENT_COLOR:
        desc.width = COLOR_WIDTH, desc.height = COLOR_HEIGHT;
        desc.row = constant_row;
        break;
    case SCENE_ENVIRONMENT_IMAGE: {
        TexInfo info;
        lookup.texture = texture_store_await(store, e->texture, memory->waiter);
        texcache_caller_init(&lookup.caller, memory->thread, memory->waiter);
        if (texcache_info(cache, lookup.texture, &info, NULL) != STATUS_OK)
            info.width = info.height =
                1; /* the render was cancelled, or shows the missing colour */
        desc.width = environment_table_side(info.width, ENVIRONMENT_TABLE_MAX_WIDTH);
        desc.height = environment_table_side(info.height, ENVIRONMENT_TABLE_MAX_HEIGHT);
        desc.row = environment_row;
        desc.keeps_radiance = true;
        desc.data = &lookup;
        break;
    }
    case SCENE_ENVIRONMENT_MATERIAL:
        desc.width = MATERIAL_WIDTH, desc.height = MATERIAL_HEIGHT;
        desc.row = material_row;
        desc.data = shade;
        break;
    }
    return environment_table_create(&desc, &out->table, err);
}

static Status build(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                    TextureStore *store, SetupMemory *memory, LightSetup *out, Error *err)
{
    TRY(waiter_create_for_thread(&memory->waiter, err));
    TRY(texcache_thread_create(cache, &memory->thread, err));
    memory->arena = arena_create(0, 0);
    memory->emission = MEM_ARRAY(float, scene->material_count + 1);
    memory->sides = MEM_ARRAY(uint8_t, scene->material_count + 1);
    memory->factors = MEM_ARRAY(Spectrum, scene->light_count + 1);
    out->glows = MEM_ARRAY(ShadeGlow, scene->material_count + 1);
    if (!memory->arena || !memory->emission || !memory->sides || !memory->factors || !out->glows)
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    ShadeContext *shade;
    ShadeContextDesc desc = {.size_bytes = sizeof desc,
                             .scene = scene,
                             .materials = materials,
                             .tex_thread = memory->thread,
                             .waiter = memory->waiter,
                             .footprint_scale = 1.0f,
                             .store = store};
    TRY(shade_context_create(&desc, memory->arena, &shade, err));
    for (uint32_t m = 0; m < scene->material_count; ++m)
        out->glows[m] = shade_glow(shade, m);
    Look look = {.scene = scene,
                 .shade = shade,
                 .glows = out->glows,
                 .sides = memory->sides,
                 .surfaces = arena_alloc(memory->arena,
                                         EMISSION_POINTS / SSL_BLOCK * sizeof(SurfaceBlock), 64)};
    if (!look.surfaces)
        return error_set(err, STATUS_NO_MEMORY, "out of memory preparing lights");
    TRY(estimate_emission(scene, materials, shade, out->glows, look.surfaces, memory->emission,
                          memory->sides, err));
    TRY(share_rays(scene, out->glows, memory->emission, &look.each, err));
    TRY(light_factors(scene, shade, memory->factors, err));
    TRY(make_environment_table(scene, cache, store, memory, shade, out, err));
    LightsDesc lights = {.size_bytes = sizeof lights,
                         .scene = scene,
                         .material_emission = memory->emission,
                         .material_sides = memory->sides,
                         .look = look_at_triangles,
                         .look_data = &look,
                         .light_factors = memory->factors,
                         .environment_table = out->table};
    return lights_create(&lights, &out->lights, err);
}

Status light_setup_create(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                          TextureStore *store, bool samples_alone, LightSetup *out_setup,
                          Error *err)
{
    SetupMemory memory = {.samples_alone = samples_alone};
    *out_setup = (LightSetup){0};
    Status status = build(scene, materials, cache, store, &memory, out_setup, err);
    memory_release(&memory);
    if (status != STATUS_OK)
        light_setup_destroy(out_setup);
    return status;
}

void light_setup_destroy(LightSetup *setup)
{
    lights_destroy(setup->lights);
    environment_table_destroy(setup->table);
    mem_free(setup->glows);
    *setup = (LightSetup){0};
}
