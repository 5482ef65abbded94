#include "sort/shade/surface_block.h"

static float2 get2(const WideRow rows[2], uint32_t k)
{
    return f2(rows[0][k], rows[1][k]);
}

static void set2(WideRow rows[2], uint32_t k, float2 v)
{
    rows[0][k] = v.x, rows[1][k] = v.y;
}

SurfaceHit surface_get(SurfaceLane surface)
{
    const SurfaceBlock *b = surface.block;
    uint32_t k = surface.lane;
    ASSERT(k < SSL_BLOCK);
    return (SurfaceHit){.P = wide_get3(b->P, k),
                        .error_m = b->error_m[k],
                        .Ng_front = wide_get3(b->Ng_front, k),
                        .Ng = wide_get3(b->Ng, k),
                        .N = wide_get3(b->N, k),
                        .T = wide_get3(b->T, k),
                        .I = wide_get3(b->I, k),
                        .uv = get2(b->uv, k),
                        .tangent_sign = b->tangent_sign[k],
                        .dPdx = wide_get3(b->dPdx, k),
                        .dPdy = wide_get3(b->dPdy, k),
                        .dNdx = wide_get3(b->dNdx, k),
                        .dNdy = wide_get3(b->dNdy, k),
                        .dTdx = wide_get3(b->dTdx, k),
                        .dTdy = wide_get3(b->dTdy, k),
                        .dIdx = wide_get3(b->dIdx, k),
                        .dIdy = wide_get3(b->dIdy, k),
                        .duvdx = get2(b->duvdx, k),
                        .duvdy = get2(b->duvdy, k),
                        .b1 = b->b1[k],
                        .b2 = b->b2[k],
                        .db1dx = b->db1dx[k],
                        .db1dy = b->db1dy[k],
                        .db2dx = b->db2dx[k],
                        .db2dy = b->db2dy[k],
                        .is_backfacing = b->is_backfacing[k] != 0,
                        .instance = (uint32_t)b->instance[k],
                        .triangle = (uint32_t)b->triangle[k],
                        .material = b->material,
                        .depth = (uint32_t)b->depth[k],
                        .length_m = b->length_m[k],
                        .draw = b->draw[k],
                        .history = b->history[k]};
}

void surface_set(SurfaceBlock *b, uint32_t k, const SurfaceHit *hit)
{
    ASSERT(k < SSL_BLOCK);
    wide_set3(b->P, k, hit->P);
    b->error_m[k] = hit->error_m;
    wide_set3(b->Ng_front, k, hit->Ng_front);
    wide_set3(b->Ng, k, hit->Ng);
    wide_set3(b->N, k, hit->N);
    wide_set3(b->T, k, hit->T);
    wide_set3(b->I, k, hit->I);
    set2(b->uv, k, hit->uv);
    b->tangent_sign[k] = hit->tangent_sign;
    wide_set3(b->dPdx, k, hit->dPdx);
    wide_set3(b->dPdy, k, hit->dPdy);
    wide_set3(b->dNdx, k, hit->dNdx);
    wide_set3(b->dNdy, k, hit->dNdy);
    wide_set3(b->dTdx, k, hit->dTdx);
    wide_set3(b->dTdy, k, hit->dTdy);
    wide_set3(b->dIdx, k, hit->dIdx);
    wide_set3(b->dIdy, k, hit->dIdy);
    set2(b->duvdx, k, hit->duvdx);
    set2(b->duvdy, k, hit->duvdy);
    b->b1[k] = hit->b1, b->b2[k] = hit->b2;
    b->db1dx[k] = hit->db1dx, b->db1dy[k] = hit->db1dy;
    b->db2dx[k] = hit->db2dx, b->db2dy[k] = hit->db2dy;
    b->is_backfacing[k] = hit->is_backfacing;
    b->instance[k] = (int32_t)hit->instance;
    b->triangle[k] = (int32_t)hit->triangle;
    b->depth[k] = (int32_t)hit->depth;
    b->length_m[k] = hit->length_m;
    b->draw[k] = hit->draw;
    b->history[k] = hit->history;
}
