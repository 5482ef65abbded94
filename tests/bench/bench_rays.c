/* Rays a second: the intersect stage (sort/accel) against raw Embree, on the same scene and rays, in
 * one run. Prints a table; the target is a ratio of at least 0.8 (docs/decisions/0006).
 *
 *   primary   a pinhole's rays, square by square of 4 x 4 pixels
 *   diffuse   from the surface, cosine-distributed, in the order of the pixels they came from
 *   shuffled  the same in no order
 *   shadow    from the surface to a point above; occlusion only
 *
 * "raw 1" and "raw 8" are rtcIntersect1 (rtcOccluded1) and rtcIntersect8 (rtcOccluded8) on ready-made
 * arrays of Embree's own structures. "coherent" is raw 8 with the COHERENT flag. "bundle" is accel_intersect_bundle, which
 * camera rays go through. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sort/accel/accel.h"
#include "tests/bench/bench_options.h"
#include "tests/sort/scene/scene_fixture.h"
#include <embree3/rtcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024 };

/* Set by main, once. There are side * side rays. */
static uint32_t side = 512, ray_count = 512 * 512, repeat_count = 5, cell_count = 700,
                instance_count = 2500;

typedef struct Bench {
    const Scene *scene;
    RTCScene raw;
    Accel *accel;
    RayBatch rays;
    HitBatch hits;
    ShadowBatch shadow;
    struct RTCRayHit *singles;
    struct RTCRayHit8 *packets;
} Bench;

static void require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "bench_rays: %s\n", what);
        exit(1);
    }
}

/* Builds an Embree scene of the geometry that accel gets, and with its settings. */
static RTCScene build_raw(RTCDevice device, const Scene *scene)
{
    RTCScene top = rtcNewScene(device);
    rtcSetSceneFlags(top, RTC_SCENE_FLAG_ROBUST);
    RTCScene *inner = MEM_ARRAY(RTCScene, scene->mesh_count);
    require(inner, "no memory");
    bool is_shared = scene->instance_count > scene->mesh_count;
    for (uint32_t i = 0; i < scene->mesh_count; ++i) {
        const SceneMesh *mesh = &scene->meshes[i];
        RTCGeometry g = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
        rtcSetSharedGeometryBuffer(g, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, mesh->indices, 0,
                                   12, mesh->triangle_count);
        rtcSetSharedGeometryBuffer(g, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, mesh->positions,
                                   0, 12, mesh->vertex_count);
        rtcCommitGeometry(g);
        if (is_shared) {
            inner[i] = rtcNewScene(device);
            rtcSetSceneFlags(inner[i], RTC_SCENE_FLAG_ROBUST);
            rtcAttachGeometry(inner[i], g);
            rtcCommitScene(inner[i]);
        } else {
            rtcAttachGeometry(top, g);
        }
        rtcReleaseGeometry(g);
    }
    for (uint32_t i = 0; is_shared && i < scene->instance_count; ++i) {
        RTCGeometry g = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_INSTANCE);
        rtcSetGeometryInstancedScene(g, inner[scene->instances[i].mesh]);
        rtcSetGeometryTransform(g, 0, RTC_FORMAT_FLOAT3X4_ROW_MAJOR,
                                scene->instances[i].object_to_world.m);
        rtcCommitGeometry(g);
        rtcAttachGeometry(top, g);
        rtcReleaseGeometry(g);
    }
    for (uint32_t i = 0; is_shared && i < scene->mesh_count; ++i)
        rtcReleaseScene(inner[i]);
    mem_free((void *)inner);
    rtcCommitScene(top);
    return top;
}

/* --- rays ----------------------------------------------------------------------------------- */

static void primary_rays(Bench *b)
{
    float3 eye = f3(0.3f, -2.5f, 1.5f);
    mat4 m = mat4_look_at(eye, f3(0, 0, 0), f3(0, 0, 1));
    for (uint32_t i = 0; i < ray_count; ++i) {
        uint32_t square = i / RAY_BUNDLE, lane = i % RAY_BUNDLE;
        uint32_t column = square % (side / 4) * 4 + lane % 4,
                 row = square / (side / 4) * 4 + lane / 4;
        float x = ((float)column + 0.5f) / (float)side - 0.5f;
        float y = 0.5f - (float)row / (float)side;
        Ray ray = {.origin = eye, .t_max = INFINITY};
        ray.direction = f3_normalize(mat4_vector(&m, f3(0.9f * x, 0.9f * y, -1)));
        ray_batch_set(&b->rays, i, &ray);
    }
}

/* From the hits of the primary rays; rays that missed stay as they are. */
static void bounce_rays(Bench *b, bool to_light, uint64_t *state)
{
    primary_rays(b);
    accel_intersect(b->accel, &b->rays, ray_count, &b->hits);
    for (uint32_t i = 0; i < ray_count; ++i) {
        if (b->hits.shape[i] == HIT_NONE)
            continue;
        Ray ray = ray_batch_get(&b->rays, i);
        float3 c[3], s, t;
        scene_triangle(b->scene, b->hits.shape[i], b->hits.triangle[i], c);
        float3 n = f3_normalize(f3_cross(f3_sub(c[1], c[0]), f3_sub(c[2], c[0])));
        if (f3_dot(n, ray.direction) > 0.0f)
            n = f3_neg(n);
        ray.origin = f3_madd(f3_madd(ray.origin, b->hits.t[i], ray.direction), 1e-4f, n);
        if (to_light) {
            float3 light = f3(1.5f, 1.0f, 1.0f + 0.3f * fixture_random(state));
            float3 way = f3_sub(light, ray.origin);
            ray.t_max = f3_length(way);
            ray.direction = f3_scale(way, 1.0f / ray.t_max);
        } else {
            float r2 = fixture_random(state), turn = 6.2831853f * fixture_random(state);
            f3_frame(n, &s, &t);
            ray.direction =
                f3_madd(f3_madd(f3_scale(s, sqrtf(r2) * cosf(turn)), sqrtf(r2) * sinf(turn), t),
                        sqrtf(1.0f - r2), n);
        }
        ray_batch_set(&b->rays, i, &ray);
    }
}

static void shuffle_rays(Bench *b, uint64_t *state)
{
    for (uint32_t i = ray_count - 1; i > 0; --i) {
        uint32_t k = (uint32_t)(fixture_random(state) * (float)(i + 1));
        Ray a = ray_batch_get(&b->rays, i), c = ray_batch_get(&b->rays, k);
        ray_batch_set(&b->rays, i, &c);
        ray_batch_set(&b->rays, k, &a);
    }
}

/* Embree's own structures, made outside the measured time. */
static void prepare_raw(Bench *b)
{
    for (uint32_t i = 0; i < ray_count; ++i) {
        Ray r = ray_batch_get(&b->rays, i);
        b->singles[i] = (struct RTCRayHit){
            .ray = {.org_x = r.origin.x,
                    .org_y = r.origin.y,
                    .org_z = r.origin.z,
                    .dir_x = r.direction.x,
                    .dir_y = r.direction.y,
                    .dir_z = r.direction.z,
                    .tnear = r.t_min,
                    .tfar = r.t_max,
                    .mask = 0xffffffffu},
            .hit = {.geomID = RTC_INVALID_GEOMETRY_ID, .instID = {RTC_INVALID_GEOMETRY_ID}}};
        struct RTCRayHit8 *p = &b->packets[i / 8];
        uint32_t k = i % 8;
        p->ray.org_x[k] = r.origin.x, p->ray.org_y[k] = r.origin.y, p->ray.org_z[k] = r.origin.z;
        p->ray.dir_x[k] = r.direction.x, p->ray.dir_y[k] = r.direction.y;
        p->ray.dir_z[k] = r.direction.z;
        p->ray.tnear[k] = r.t_min, p->ray.tfar[k] = r.t_max, p->ray.time[k] = 0.0f;
        p->ray.mask[k] = 0xffffffffu, p->ray.flags[k] = 0, p->ray.id[k] = 0;
        p->hit.geomID[k] = p->hit.instID[0][k] = RTC_INVALID_GEOMETRY_ID;
    }
}

/* --- measuring ------------------------------------------------------------------------------ */

typedef enum Method { RAW_1, RAW_8, RAW_8_COHERENT, ACCEL, BUNDLE, METHOD_COUNT } Method;

typedef struct Chunk {
    Bench *bench;
    Method method;
    bool is_shadow;
} Chunk;

static void trace_bundles(Bench *b, uint32_t first)
{
    for (uint32_t i = first; i < first + BATCH; i += RAY_BUNDLE) {
        RayBundle rays = {.is_apart = false};
        uint32_t to[RAY_BUNDLE];
        for (uint32_t k = 0; k < RAY_BUNDLE; ++k) {
            for (int c = 0; c < 3; ++c) {
                rays.origin[c][k] = b->rays.origin[c][i + k];
                rays.direction[c][k] = b->rays.direction[c][i + k];
            }
            rays.t_min[k] = b->rays.t_min[i + k], rays.t_max[k] = b->rays.t_max[i + k];
            rays.time[k] = b->rays.time[i + k];
            to[k] = i + k;
        }
        accel_intersect_bundle(b->accel, &rays, 0xffff, 0xffff, SCENE_RAYS_CAMERA, &b->hits, to);
    }
}

static void trace_chunk(void *data, uint32_t index)
{
    const Chunk *c = data;
    Bench *b = c->bench;
    uint32_t first = index * BATCH;
    accel_thread_begin();
    if (c->method == BUNDLE) {
        trace_bundles(b, first);
        return;
    }
    if (c->method == ACCEL) {
        RayBatch rays = c->is_shadow ? b->shadow.rays : b->rays;
        HitBatch hits = c->is_shadow ? b->shadow.hits : b->hits;
        rays.capacity = hits.capacity = BATCH;
        for (int k = 0; k < 3; ++k)
            rays.origin[k] += first, rays.direction[k] += first;
        rays.t_min += first, rays.t_max += first, rays.time += first;
        hits.shape += first, hits.triangle += first, hits.t += first;
        hits.b1 += first, hits.b2 += first;
        if (c->is_shadow) {
            ShadowBatch shadow = {BATCH,
                                  rays,
                                  hits,
                                  b->shadow.state + first,
                                  b->shadow.is_alone + first,
                                  b->shadow.open_sets + first};
            accel_occluded(b->accel, &shadow, BATCH);
        } else {
            accel_intersect(b->accel, &rays, BATCH, &hits);
        }
        return;
    }
    static const int valid[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    struct RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    if (c->method == RAW_8_COHERENT)
        context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
    if (c->method == RAW_1) {
        for (uint32_t i = first; i < first + BATCH; ++i) {
            if (c->is_shadow)
                rtcOccluded1(b->raw, &context, &b->singles[i].ray);
            else
                rtcIntersect1(b->raw, &context, &b->singles[i]);
        }
        return;
    }
    for (uint32_t i = first / 8; i < (first + BATCH) / 8; ++i) {
        if (c->is_shadow)
            rtcOccluded8(valid, b->raw, &context, &b->packets[i].ray);
        else
            rtcIntersect8(valid, b->raw, &context, &b->packets[i]);
    }
}

/* Million rays a second, the best of several runs. */
static double measure(Bench *b, Method method, bool is_shadow, uint32_t thread_count)
{
    double best = 0.0;
    for (uint32_t i = 0; i < repeat_count; ++i) {
        prepare_raw(b);
        for (uint32_t k = 0; is_shadow && k < ray_count; ++k) {
            Ray ray = ray_batch_get(&b->rays, k);
            ray_batch_set(&b->shadow.rays, k, &ray);
            b->shadow.state[k] = SHADOW_QUEUED;
        }
        Chunk chunk = {b, method, is_shadow};
        uint64_t start = clock_now_ns();
        parallel_for(thread_count, ray_count / BATCH, trace_chunk, &chunk);
        double rate = (double)ray_count * 1e3 / (double)(clock_now_ns() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static void report(Bench *b, const char *scene, const char *rays, bool is_bundled, bool is_shadow)
{
    for (uint32_t threads = 1; threads <= thread_cpu_count(); threads *= 2) {
        double rate[METHOD_COUNT] = {0};
        for (int m = 0; m < METHOD_COUNT; ++m)
            if (m != BUNDLE || is_bundled)
                rate[m] = measure(b, (Method)m, is_shadow, threads);
        printf("%-10s %-9s %7u %8.2f %8.2f %9.2f %8.2f %10.2f %10.2f", scene, rays, threads,
               rate[RAW_1], rate[RAW_8], rate[RAW_8_COHERENT], rate[ACCEL],
               rate[ACCEL] / rate[RAW_1], rate[ACCEL] / rate[RAW_8]);
        if (is_bundled)
            printf(" %8.2f %12.2f", rate[BUNDLE], rate[BUNDLE] / rate[ACCEL]);
        printf("\n");
    }
}

static void run_scene(Bench *b, RTCDevice device, const char *name, const Scene *scene)
{
    AccelDesc desc = {.size_bytes = sizeof desc, .scene = scene};
    b->scene = scene;
    Error err = {0};
    require(accel_create(&desc, &b->accel, &err) == STATUS_OK, err.text);
    b->raw = build_raw(device, scene);
    uint64_t state = 1;
    primary_rays(b);
    report(b, name, "primary", true, false);
    bounce_rays(b, false, &state);
    report(b, name, "diffuse", false, false);
    shuffle_rays(b, &state);
    report(b, name, "shuffled", false, false);
    bounce_rays(b, true, &state);
    report(b, name, "shadow", false, true);
    rtcReleaseScene(b->raw);
    accel_destroy(b->accel);
}

int main(int argc, char **argv)
{
    if (bench_is_quick(argc, argv)) {
        side = 64;
        ray_count = side * side;
        repeat_count = 1;
        cell_count = 50;
        instance_count = 50;
    }
    Bench b = {0};
    Error err = {0};
    Arena *arena = arena_create(0, 0);
    b.singles = mem_alloc_aligned(ray_count * sizeof *b.singles, 64);
    b.packets = mem_alloc_aligned(ray_count / 8 * sizeof *b.packets, 64);
    require(arena && b.singles && b.packets, "no memory");
    require(ray_batch_create(arena, ray_count, &b.rays, &err) == STATUS_OK &&
                hit_batch_create(arena, ray_count, &b.hits, &err) == STATUS_OK &&
                shadow_batch_create(arena, ray_count, &b.shadow, &err) == STATUS_OK,
            err.text);
    RTCDevice device = rtcNewDevice("");
    require(device, "Embree cannot start");

    printf("Mrays/s, %u triangles, robust, best of %u\n", 2 * cell_count * cell_count,
           repeat_count);
    printf("%-10s %-9s %7s %8s %8s %9s %8s %10s %10s %8s %12s\n", "scene", "rays", "threads",
           "raw 1", "raw 8", "coherent", "accel", "accel/1", "accel/8", "bundle", "bundle/accel");
    SceneFixture *flat = fixture_create();
    fixture_instance(flat, fixture_grid(flat, cell_count, 0.15f), fixture_material(flat, "grey"),
                     mat4_identity());
    run_scene(&b, device, "flat", &flat->scene);
    fixture_destroy(flat);

    SceneFixture *many = fixture_create();
    uint32_t grid = fixture_grid(many, 60, 0.15f), material = fixture_material(many, "grey");
    for (uint32_t i = 0; i < instance_count; ++i) {
        float3 p = f3((float)(i % 50) * 0.04f - 1.0f, (float)i / 50.0f * 0.04f - 1.0f, 0);
        fixture_instance(many, grid, material,
                         mat4_mul(mat4_translate(p), mat4_scale(f3_splat(0.025f))));
    }
    run_scene(&b, device, "instances", &many->scene);
    fixture_destroy(many);

    rtcReleaseDevice(device);
    mem_free(b.singles);
    mem_free(b.packets);
    arena_destroy(arena);
    return 0;
}
