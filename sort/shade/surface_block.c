#include "sort/shade/surface_block.h"

#include <string.h>

static float2 get2(const WideRow rows[2], uint32_t k)
{
    return f2(rows[0][k], rows[1][k]);
}

static void set2(WideRow rows[2], uint32_t k, float2 v)
{
    rows[0][k] = v.x, rows[1][k] = v.y;
}

void surfaces_leave_along(const SurfaceBlock *b, const WideRow wi[3], RayRows *out_rows)
{
    memcpy(out_rows->P, b->P, sizeof out_rows->P);
    memcpy(out_rows->n, b->Ng, sizeof out_rows->n);
    memcpy(out_rows->error_m, b->error_m, sizeof out_rows->error_m);
    memcpy(out_rows->wi, wi, sizeof out_rows->wi);
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

void surface_set(SurfaceBlock *block, uint32_t lane, const SurfaceHit *hit)
{
    ASSERT(lane < SSL_BLOCK);
    wide_set3(block->P, lane, hit->P);
    block->error_m[lane] = hit->error_m;
    wide_set3(block->Ng_front, lane, hit->Ng_front);
    wide_set3(block->Ng, lane, hit->Ng);
    wide_set3(block->N, lane, hit->N);
    wide_set3(block->T, lane, hit->T);
    wide_set3(block->I, lane, hit->I);
    set2(block->uv, lane, hit->uv);
    block->tangent_sign[lane] = hit->tangent_sign;
    wide_set3(block->dPdx, lane, hit->dPdx);
    wide_set3(block->dPdy, lane, hit->dPdy);
    wide_set3(block->dNdx, lane, hit->dNdx);
    wide_set3(block->dNdy, lane, hit->dNdy);
    wide_set3(block->dTdx, lane, hit->dTdx);
    wide_set3(block->dTdy, lane, hit->dTdy);
    wide_set3(block->dIdx, lane, hit->dIdx);
    wide_set3(block->dIdy, lane, hit->dIdy);
    set2(block->duvdx, lane, hit->duvdx);
    set2(block->duvdy, lane, hit->duvdy);
    block->time[lane] = 0.0f;
    block->b1[lane] = hit->b1, block->b2[lane] = hit->b2;
    block->db1dx[lane] = hit->db1dx, block->db1dy[lane] = hit->db1dy;
    block->db2dx[lane] = hit->db2dx, block->db2dy[lane] = hit->db2dy;
    block->is_backfacing[lane] = hit->is_backfacing;
    block->instance[lane] = (int32_t)hit->instance;
    block->triangle[lane] = (int32_t)hit->triangle;
    block->depth[lane] = (int32_t)hit->depth;
    block->length_m[lane] = hit->length_m;
    block->draw[lane] = hit->draw;
    block->history[lane] = hit->history;
}
