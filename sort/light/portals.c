#include "sort/light/portals.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_shape.h"
#include "sort/light/rectangle_light.h"

struct Portals {
    LightShape *shapes; /* [count] owned */
    uint32_t count;
};

Status portals_create(const ScenePortal *portals, uint32_t count, Portals **out_portals, Error *err)
{
    Portals *made = MEM_NEW(Portals);
    LightShape *shapes = MEM_ARRAY(LightShape, count);
    CHECK(count > 0);
    *out_portals = made;
    if (!made || !shapes) {
        mem_free(made);
        mem_free(shapes);
        *out_portals = NULL;
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u portals", count);
    }
    *made = (Portals){shapes, count};
    for (uint32_t i = 0; i < count; ++i) {
        const SceneLight same = {.kind = SCENE_LIGHT_RECTANGLE,
                                 .light_to_world = portals[i].portal_to_world,
                                 .size_x_m = portals[i].size_x_m,
                                 .size_y_m = portals[i].size_y_m};
        light_shape_init(&same, &shapes[i]);
    }
    return STATUS_OK;
}

void portals_destroy(Portals *portals)
{
    if (!portals)
        return;
    mem_free(portals->shapes);
    mem_free(portals);
}

/* --- what each brings ----------------------------------------------------------------------------- */

static LightQuery query_at(const PortalPoints *at, uint32_t k)
{
    return (LightQuery){wide_get3(at->position, k), wide_get3(at->normal, k), at->sides[k]};
}

/* Points of some lanes as rectangles have them, close together. */
typedef struct Gathered {
    RectangleLights rows;
    uint32_t lane[SSL_BLOCK], count;
} Gathered;

static void gather(const PortalPoints *at, uint16_t lanes, Gathered *out)
{
    out->count = 0;
    WIDE_EACH(k, lanes)
    {
        uint32_t n = out->count++;
        wide_set3(out->rows.position, n, wide_get3(at->position, k));
        wide_set3(out->rows.normal, n, wide_get3(at->normal, k));
        out->rows.sides[n] = at->sides[k];
        out->lane[n] = k;
    }
}

/* Sets what an even sky brings to the points through one portal. */
static void weigh(const LightShape *shape, Gathered *points, WideRow out_irradiance)
{
    for (uint32_t n = 0; n < points->count; ++n)
        points->rows.shape[n] = shape;
    rectangle_lights_irradiance(&points->rows, points->count);
    for (uint32_t n = 0; n < points->count; ++n)
        out_irradiance[points->lane[n]] = points->rows.irradiance[n];
}

void portals_irradiance(const Portals *portals, const PortalPoints *at, uint16_t lanes,
                        WideRow out_irradiance)
{
    Gathered points;
    WideRow one;
    WIDE_EACH(k, lanes) out_irradiance[k] = 0.0f;
    if (lanes == 0)
        return;
    gather(at, lanes, &points);
    for (uint32_t i = 0; i < portals->count; ++i) {
        weigh(&portals->shapes[i], &points, one);
        WIDE_EACH(k, lanes) out_irradiance[k] += one[k];
    }
}

/* Sets the chances of a portal at points whose irradiances by all are given. */
static void find_chances(const Portals *portals, uint32_t i, Gathered *points,
                         const WideRow irradiance, WideRow out_chance)
{
    weigh(&portals->shapes[i], points, out_chance);
    for (uint32_t n = 0; n < points->count; ++n)
        out_chance[points->lane[n]] /= irradiance[points->lane[n]];
}

/* --- drawing -------------------------------------------------------------------------------------- */

/* Chooses a portal for each of `lanes`; out_u: what the choice leaves of u. The last one that is possible takes what rounding
 * leaves. */
static void choose(const Portals *portals, const PortalPoints *at, const WideRow irradiance,
                   const WideRow u, uint16_t lanes, uint32_t *out_portal, WideRow out_u)
{
    Gathered points;
    WideRow begin = {0}, chance;
    uint16_t open = lanes;
    if (portals->count == 1) {
        WIDE_EACH(k, lanes) out_portal[k] = 0, out_u[k] = u[k];
        return;
    }
    gather(at, lanes, &points);
    for (uint32_t i = 0; i < portals->count && open; ++i) {
        find_chances(portals, i, &points, irradiance, chance);
        WIDE_EACH(k, open)
        {
            if (!(chance[k] > 0.0f))
                continue;
            out_portal[k] = i;
            out_u[k] = clampf((u[k] - begin[k]) / chance[k], 0.0f, 0x1.fffffep-1f);
            begin[k] += chance[k];
            if (u[k] < begin[k])
                open = (uint16_t)(open & ~(1u << k));
        }
    }
}

void portals_draw(const Portals *portals, const PortalPoints *at, const WideRow irradiance,
                  const WideRow u[2], uint16_t lanes, PortalDraws *out_draws)
{
    Gathered points;
    WideRow left;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out_draws->portal[k] = PORTAL_NONE;
    if (lanes == 0)
        return;
    choose(portals, at, irradiance, u[0], lanes, out_draws->portal, left);
    gather(at, lanes, &points);
    for (uint32_t n = 0; n < points.count; ++n) {
        uint32_t k = points.lane[n];
        ASSERT(out_draws->portal[k] < portals->count);
        points.rows.shape[n] = &portals->shapes[out_draws->portal[k]];
        points.rows.u[0][n] = left[k], points.rows.u[1][n] = u[1][k];
    }
    rectangle_lights_sample(&points.rows, points.count);
    for (uint32_t n = 0; n < points.count; ++n) {
        uint32_t k = points.lane[n];
        wide_set3(out_draws->wi, k, wide_get3(points.rows.wi, n));
        out_draws->pdf[k] = points.rows.pdf[n];
    }
}

/* --- densities ------------------------------------------------------------------------------------ */

/* Returns the density with which a portal, once it is chosen, gives a direction; 0: it is not passed. */
static float density_of(const LightShape *shape, const LightQuery *from, float3 direction)
{
    float distance_m;
    float3 ng;
    return light_shape_intersect(shape, from->position, direction, 0.0f, INFINITY, &distance_m, &ng)
               ? light_shape_pdf(shape, from, direction, distance_m)
               : 0.0f;
}

void portals_density(const Portals *portals, const PortalPoints *at, const WideRow irradiance,
                     const WideRow directions[3], const PortalDraws *drawn, uint16_t lanes,
                     WideRow out_pdf)
{
    WIDE_EACH(k, lanes) out_pdf[k] = 0.0f;
    for (uint32_t i = 0; i < portals->count; ++i) {
        WideRow pdf, chance;
        Gathered points;
        uint16_t passed = 0;
        WIDE_EACH(k, lanes)
        {
            const LightQuery from = query_at(at, k);
            if (!(irradiance[k] > 0.0f))
                continue;
            pdf[k] = drawn && drawn->portal[k] == i
                         ? drawn->pdf[k]
                         : density_of(&portals->shapes[i], &from, wide_get3(directions, k));
            passed = (uint16_t)(passed | (uint32_t)(pdf[k] > 0.0f) << k);
        }
        if (passed == 0)
            continue;
        if (portals->count == 1) {
            WIDE_EACH(k, passed) out_pdf[k] = pdf[k];
            return;
        }
        gather(at, passed, &points);
        find_chances(portals, i, &points, irradiance, chance);
        WIDE_EACH(k, passed) out_pdf[k] += chance[k] * pdf[k];
    }
}
