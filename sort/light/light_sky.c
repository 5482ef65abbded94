/* Where light sampling looks for the environment: by its table, and through portals, before which a point is. Both are one density,
 * of which each has a share: draws count with the sum, whichever they come from, and so do rays that escape. */
#include "sort/light/light_state.h"

#include "sort/sampling/warp.h"
#include <string.h>

/* Returns the share of portals at a point to which an even sky brings so much through them. */
static inline float share_of_portals(const Lights *lights, float irradiance)
{
    return irradiance > 0.0f ? lights->portal_share : 0.0f;
}

void lights_weigh_sky(const Lights *lights, const PortalPoints *at, const PortalGroups *groups,
                      const WideRow directions[3], const PortalDraws *drawn, uint16_t lanes,
                      EnvironmentPlace places[SSL_BLOCK])
{
    WideRow pdf;
    portals_density(lights->portals, at, groups, directions, drawn, lanes, pdf);
    WIDE_EACH(k, lanes)
    {
        float share = share_of_portals(lights, groups->irradiance[k]);
        places[k].pdf = share * pdf[k] + (1.0f - share) * places[k].pdf;
    }
}

/* Splits `lanes`: returns those that look through portals. Numbers u go on to what is chosen. */
static uint16_t split(const Lights *lights, const WideRow irradiance, uint16_t lanes, WideRow u)
{
    uint16_t through = 0;
    WIDE_EACH(k, lanes)
    {
        float share = share_of_portals(lights, irradiance[k]);
        bool is_through = u[k] < share;
        float left = is_through ? u[k] / share : (u[k] - share) / (1.0f - share);
        u[k] = minf(left, 0x1.fffffep-1f);
        through = (uint16_t)(through | (uint32_t)is_through << k);
    }
    return through;
}

/* Finds the places of directions through portals as if the table had drawn them. */
static void find_places(const Lights *lights, const PortalPoints *at, const PortalDraws *draws,
                        uint16_t lanes, EnvironmentPlace places[SSL_BLOCK])
{
    EnvironmentRays rays;
    memcpy(rays.direction, draws->wi, sizeof rays.direction);
    memcpy(rays.normal, at->normal, sizeof rays.normal);
    memcpy(rays.sides, at->sides, sizeof rays.sides);
    environment_find(&lights->scene->environment, lights->environment, &rays, lanes, places);
}

void lights_draw_sky(const Lights *lights, const PortalPoints *at, WideRow u[2], uint16_t lanes,
                     LightRows *out)
{
    const SceneEnvironment *e = &lights->scene->environment;
    PortalDraws draws;
    PortalGroups groups;
    if (!lights->portals) {
        environment_draw(e, lights->environment, at->normal, at->sides, u, lanes, out->wi,
                         out->place);
        return;
    }
    portals_look(lights->portals, at, lanes, &groups);
    uint16_t through = split(lights, groups.irradiance, lanes, u[0]);
    uint16_t by_table = (uint16_t)(lanes & ~through);
    if (by_table)
        environment_draw(e, lights->environment, at->normal, at->sides, u, by_table, out->wi,
                         out->place);
    portals_draw(lights->portals, at, &groups, u, through, &draws);
    if (through)
        find_places(lights, at, &draws, through, out->place);
    WIDE_EACH(k, through) wide_set3(out->wi, k, wide_get3(draws.wi, k));
    lights_weigh_sky(lights, at, &groups, out->wi, &draws, lanes, out->place);
    WIDE_EACH(k, lanes) out->is_through_portal[k] = through >> k & 1;
    WIDE_EACH(k, through)
    if (draws.portal[k] == PORTAL_NONE)
        out->place[k].pdf = 0.0f;
}

bool lights_have_portals(const Lights *lights)
{
    return lights->portals != NULL;
}
