#include "sort/integrator/bake.h"

#include "base/check.h"
#include "sort/shade/hit_math.h"
#include <string.h>

/* --- places in the pixel ------------------------------------------------------------------------ */

static bool is_inside(float b1, float b2)
{
    return b1 >= 0.0f && b2 >= 0.0f && b1 + b2 <= 1.0f;
}

/* Moves *b1 and *b2 by d1 and d2, if that is on the triangle. */
static bool move(float d1, float d2, float *b1, float *b2)
{
    if (!is_inside(*b1 + d1, *b2 + d2))
        return false;
    *b1 += d1, *b2 += d2;
    return true;
}

/* Sets the barycentrics at a film position `offset` away from the middle of the pixel. A place beyond the edge of the triangle is
 * reflected at the middle, and if it is still outside brought nearer: what lies there in the picture may be anything. */
static void place(const BakePoint *p, const float offset[2], float *out_b1, float *out_b2)
{
    float d1 = p->db1dx * offset[0] + p->db1dy * offset[1];
    float d2 = p->db2dx * offset[0] + p->db2dy * offset[1];
    /* The middle may lie on an edge, and beside it by rounding. */
    *out_b1 = clampf(p->b1, 0.0f, 1.0f);
    *out_b2 = clampf(p->b2, 0.0f, 1.0f - *out_b1);
    for (int tries = 0; tries < 8; ++tries, d1 *= 0.5f, d2 *= 0.5f)
        if (move(d1, d2, out_b1, out_b2) || move(-d1, -d2, out_b1, out_b2))
            return;
}

/* --- looks -------------------------------------------------------------------------------------- */

/* How far a camera's rays stand at least above the surface, as a cosine: what faces away from it would be black where it is glossy.
 * Cycles has this limit too. */
#define LEAST_COSINE 0.2f

/* Turns the unit direction d towards n until its cosine is `least`. */
static float3 raise(float3 d, float3 n, float least)
{
    float cosine = f3_dot(d, n);
    return cosine >= least ? d : f3_normalize(f3_madd(d, least - cosine, n));
}

/* Returns the unit direction from a surface to the camera, made one to the front: from behind it turns to the normal. */
static float3 towards_camera(const CameraView *view, float3 P, float3 N, float3 Ng)
{
    const float least_before_ng = 1e-5f;
    float3 to = view->kind == SCENE_CAMERA_ORTHOGRAPHIC ? view->axis_z
                                                        : f3_normalize(f3_sub(view->position, P));
    float cosine = f3_dot(to, N);
    float3 d = raise(to, N, LEAST_COSINE);
    if (cosine < 0.0f)
        d = f3_normalize(f3_lerp(d, N, minf(-cosine, 1.0f)));
    return raise(d, Ng, least_before_ng);
}

/* A point of the surface and its derivatives by the film position. */
typedef struct BakePlace {
    float3 P, dPdx, dPdy;
    float3 N, Ng, dNdx, dNdy; /* on the front */
} BakePlace;

/* Sets the ray of a lane that meets the place from `up`, a metre above it; dUdx, dUdy: derivatives of up. */
static void look_down(const BakePlace *at, float3 up, float3 dUdx, float3 dUdy, uint32_t k,
                      CameraRows *rows)
{
    wide_set3(rows->origin, k, f3_add(at->P, up));
    wide_set3(rows->direction, k, f3_neg(up));
    rows->diff[k] = (RayDiff){.dOdx = f3_add(at->dPdx, dUdx),
                              .dOdy = f3_add(at->dPdy, dUdy),
                              .dDdx = f3_neg(dUdx),
                              .dDdy = f3_neg(dUdy)};
}

static void look_at_environment(const BakePlace *at, uint32_t k, CameraRows *rows)
{
    float3 d = at->P, dx = at->dPdx, dy = at->dPdy;
    normalize_with_derivatives(&d, &dx, &dy, at->N);
    wide_set3(rows->origin, k, f3(0, 0, 0));
    wide_set3(rows->direction, k, d);
    rows->diff[k] = (RayDiff){.dDdx = dx, .dDdy = dy};
}

static void look(const WaveShared *s, const BakePlace *at, uint32_t k, CameraRows *rows)
{
    float3 still = f3(0, 0, 0);
    switch (s->bake->look) {
    case BAKE_FROM_ABOVE:
        look_down(at, at->N, at->dNdx, at->dNdy, k, rows);
        break;
    case BAKE_FROM_CAMERA: /* the camera is far away: its direction hardly changes within a pixel */
        look_down(at, towards_camera(&s->camera, at->P, at->N, at->Ng), still, still, k, rows);
        break;
    case BAKE_AT_ENVIRONMENT:
        look_at_environment(at, k, rows);
        break;
    }
}

/* --- rays --------------------------------------------------------------------------------------- */

/* The points of the lanes that show something, packed. */
typedef struct BakeLanes {
    uint32_t lane[SSL_BLOCK];
    const BakePoint *point[SSL_BLOCK];
    RayDiff diff[SSL_BLOCK];
    HitRays rays;
    SurfaceBlock surfaces;
} BakeLanes;

/* Takes the pixels that show something, and finds their places in the pixel. */
static void take_points(const WaveShared *s, const uint32_t x[SSL_BLOCK],
                        const uint32_t y[SSL_BLOCK], uint16_t live, const CameraRows *rows,
                        BakeLanes *b)
{
    const BakeTable *table = s->bake;
    SurfaceBlock *surfaces = &b->surfaces;
    surfaces->count = 0;
    WIDE_EACH(k, live)
    {
        ASSERT(x[k] < table->width && y[k] < table->height);
        const BakePoint *point = &table->points[(size_t)y[k] * table->width + x[k]];
        float offset[2] = {rows->film_px[0][k] - ((float)x[k] + 0.5f),
                           rows->film_px[1][k] - ((float)y[k] + 0.5f)};
        if (point->triangle < 0)
            continue;
        uint32_t i = surfaces->count++;
        b->lane[i] = k;
        b->point[i] = point;
        surfaces->instance[i] = (int32_t)table->instance;
        surfaces->triangle[i] = point->triangle;
        surfaces->length_m[i] = 1.0f;
        place(point, offset, &surfaces->b1[i], &surfaces->b2[i]);
        b->rays.time[i] = rows->time[k];
        b->rays.diff[i] = &b->diff[i];
        wide_set3(b->rays.origin, i, f3(0, 0, 0));
        wide_set3(surfaces->I, i, f3(0, 0, 1));
    }
}

/* Returns how the point moves from pixel to pixel. */
static RayDiff footprint(const WaveShared *s, const BakeLanes *b, uint32_t i)
{
    float3 corner[3];
    const BakePoint *p = b->point[i];
    scene_triangle_at(s->scene, s->bake->instance, (uint32_t)p->triangle, b->rays.time[i], corner);
    float3 edge1 = f3_sub(corner[1], corner[0]), edge2 = f3_sub(corner[2], corner[0]);
    return (RayDiff){
        .dOdx = f3_add(f3_scale(edge1, p->db1dx), f3_scale(edge2, p->db2dx)),
        .dOdy = f3_add(f3_scale(edge1, p->db1dy), f3_scale(edge2, p->db2dy)),
    };
}

static float3 from_front(const SurfaceBlock *b, const WideRow rows[3], uint32_t i)
{
    float3 v = wide_get3(rows, i);
    return b->is_backfacing[i] ? f3_neg(v) : v;
}

/* Finds the normals, and then what they change by from pixel to pixel: rays that come along them are at right angles to neither
 * surface nor footprint. */
static void find_surfaces(const WaveShared *s, BakeLanes *b)
{
    SurfaceBlock *surfaces = &b->surfaces;
    hit_surfaces(s->scene, &b->rays, HIT_NORMAL, surfaces);
    for (uint32_t i = 0; i < surfaces->count; ++i) {
        wide_set3(surfaces->I, i, f3_neg(from_front(surfaces, surfaces->Ng, i)));
        b->diff[i] = footprint(s, b, i);
    }
    hit_surfaces(s->scene, &b->rays, HIT_NORMAL | HIT_FOOTPRINT, surfaces);
}

uint16_t bake_rays(const WaveShared *s, const uint32_t x[SSL_BLOCK], const uint32_t y[SSL_BLOCK],
                   uint16_t live, CameraRows *rows, BakeHits *out_hits)
{
    BakeLanes b;
    uint16_t seen = 0;
    take_points(s, x, y, live, rows, &b);
    if (b.surfaces.count == 0)
        return 0;
    find_surfaces(s, &b);
    for (uint32_t i = 0; i < b.surfaces.count; ++i) {
        uint32_t k = b.lane[i];
        BakePlace at = {.P = wide_get3(b.surfaces.P, i),
                        .dPdx = b.diff[i].dOdx,
                        .dPdy = b.diff[i].dOdy,
                        .N = wide_get3(b.surfaces.N, i),
                        .Ng = wide_get3(b.surfaces.Ng, i),
                        .dNdx = wide_get3(b.surfaces.dNdx, i),
                        .dNdy = wide_get3(b.surfaces.dNdy, i)};
        if (!f3_is_unit(at.Ng) || !f3_is_unit(at.N))
            continue;
        seen = (uint16_t)(seen | 1u << k);
        look(s, &at, k, rows);
        rows->t_min[k] = 0.0f;
        rows->t_max[k] = INFINITY;
        out_hits->triangle[k] = (uint32_t)b.point[i]->triangle;
        out_hits->b1[k] = b.surfaces.b1[i];
        out_hits->b2[k] = b.surfaces.b2[i];
    }
    return seen;
}

void bake_set_hit(const WaveShared *s, const BakeHits *hits, uint32_t lane, HitBatch *out,
                  uint32_t to)
{
    bool is_surface = s->bake->look != BAKE_AT_ENVIRONMENT;
    out->shape[to] = is_surface ? s->bake->instance : HIT_NONE;
    out->triangle[to] = hits->triangle[lane];
    out->t[to] = 1.0f;
    out->b1[to] = hits->b1[lane];
    out->b2[to] = hits->b2[lane];
}
