#include "tests/sort/bsdf/one_point.h"

#include "base/check.h"
#include "sort/bsdf/closure_programs.h"
#include <string.h>

enum {
    ALL_FLAGS = 127,
    ALL_LANES = 0xffff,
    STATE_ROWS = 4096,
    LOBES = ONE_POINT_TERMS * SSL_MAX_BSDF_LOBES
};

/* The block that was made last, and of what. Tests run in one thread. */
static struct {
    Arena *arena; /* of the block, until the program ends */
    BsdfBlock *block;
    uint64_t serial, last_serial;
    uint32_t lane;
    alignas(64) BsdfRow args[ONE_POINT_TERMS + 1][CLOSURE_MAX_SCALARS];
    alignas(64) BsdfRow weight[3];
} made;

void one_init(OnePoint *p, float3 wo, float3 Ng, uint32_t flags)
{
    memset(p, 0, sizeof *p);
    p->wo = wo;
    p->Ng = Ng;
    p->init_flags = flags;
    p->serial = ++made.last_serial;
}

void one_blur(OnePoint *p, float least_alpha)
{
    p->least_alpha = least_alpha;
    p->serial = ++made.last_serial;
}

void one_shadow_bumps(OnePoint *p, float3 N)
{
    p->unbent = N;
    p->serial = ++made.last_serial;
}

void one_add_closure(OnePoint *p, const char *closure, Spectrum weight, const float *args,
                     uint32_t stride)
{
    uint32_t at = closure_find(closure);
    CHECK(p->term_count < ONE_POINT_TERMS && at < closure_count);
    struct OnePointTerm *term = &p->terms[p->term_count++];
    term->closure = at;
    term->weight = weight;
    for (uint32_t i = 0; i < closure_scalars(&closure_rows[at]); ++i)
        term->args[i] = args[(size_t)i * stride];
    p->serial = ++made.last_serial;
}

static void set_row(BsdfRow rows[3], uint32_t lane, float x, float y, float z)
{
    rows[0][lane] = x, rows[1][lane] = y, rows[2][lane] = z;
}

static void begin(const OnePoint *p)
{
    if (!made.arena) {
        made.arena = arena_create(0, 0);
        CHECK(made.arena);
        made.block = bsdf_block_create(made.arena, ONE_POINT_TERMS + 1, LOBES, STATE_ROWS);
    }
    CHECK(made.block);
    BsdfView *v = &made.block->view;
    made.lane = (uint32_t)(p->serial % SSL_BLOCK);
    bool is_inside = f3_dot(p->wo, p->Ng) < 0.0f;
    float3 Ng = is_inside ? f3_neg(p->Ng) : p->Ng;
    float3 n = f3_dot(p->unbent, Ng) < 0.0f ? f3_neg(p->unbent) : p->unbent;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        set_row(v->wo, i, p->wo.x, p->wo.y, p->wo.z);
        set_row(v->Ng, i, Ng.x, Ng.y, Ng.z);
        set_row(v->unbent, i, n.x, n.y, n.z);
        v->blur[i] = p->least_alpha;
        v->outside[i] = !is_inside;
        v->options[i] = (int32_t)p->init_flags;
    }
    bsdf_block_begin(made.block);
}

static const BsdfTerm *add(const struct OnePointTerm *term, uint32_t slot)
{
    const BsdfDef *def = closure_programs_here()->defs[term->closure];
    BsdfRow *args = made.args[slot];
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        for (uint32_t r = 0; r < closure_scalars(&closure_rows[term->closure]); ++r)
            args[r][i] = term->args[r];
        set_row(made.weight, i, term->weight.c[0], term->weight.c[1], term->weight.c[2]);
    }
    if (def)
        return bsdf_block_add(made.block, def, args[0], made.weight[0], ALL_LANES);
    bsdf_block_add_sum(made.block, (ClosureSum)term->closure, args[0], made.weight[0], ALL_LANES);
    return NULL;
}

BsdfPoint one_point(const OnePoint *p)
{
    if (made.serial != p->serial) {
        begin(p);
        for (uint32_t t = 0; t < p->term_count; ++t)
            (void)add(&p->terms[t], t);
        made.serial = p->serial;
    }
    return (BsdfPoint){made.block, made.lane};
}

bool one_is_layer(const char *closure)
{
    const BsdfDef *def = closure_programs_here()->defs[closure_find(closure)];
    return def && def->base_factor != BSDF_NO_ROW;
}

Spectrum one_layer_factor(const OnePoint *p, const char *closure, const float *args,
                          uint32_t stride)
{
    if (!one_is_layer(closure))
        return spectrum_splat(1.0f);
    OnePoint alone = *p;
    alone.term_count = 0;
    one_add_closure(&alone, closure, spectrum_splat(1.0f), args, stride);
    begin(&alone);
    const BsdfTerm *term = add(&alone.terms[0], 0);
    const float *factor = bsdf_term_base_factor(term) + made.lane;
    made.serial = 0;
    if (!(term->live >> made.lane & 1))
        return spectrum_splat(0.0f);
    return (Spectrum){{factor[0], factor[SSL_BLOCK], factor[2 * SSL_BLOCK]}};
}

Spectrum one_eval(const OnePoint *p, float3 wi, float *out_pdf)
{
    alignas(64) BsdfRow rows[3] = {{0}}, f_cos[3], pdf;
    BsdfPoint at = one_point(p);
    set_row(rows, at.lane, wi.x, wi.y, wi.z);
    bsdf_block_eval(at.block, rows, (uint16_t)(1u << at.lane), f_cos, pdf);
    if (out_pdf)
        *out_pdf = pdf[at.lane];
    return bsdf_point_row(at, f_cos);
}

float one_pdf(const OnePoint *p, float3 wi)
{
    float pdf;
    (void)one_eval(p, wi, &pdf);
    return pdf;
}

static BsdfSample drawn_in(const BsdfDrawn *d, uint32_t lane)
{
    BsdfSample sample = bsdf_drawn_at(d, lane);
    sample.flags &= ALL_FLAGS;
    return sample;
}

uint16_t one_samples(const OnePoint *p, const Sampler *sampler, SampleKey pixel, uint32_t first,
                     BsdfSample out_samples[SSL_BLOCK])
{
    alignas(64) BsdfRow rows[3] = {{0}};
    BsdfDrawn d;
    BsdfPoint at = one_point(p);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        pixel.index = first + k;
        float2 u = sampler_2d(sampler, pixel, 1);
        set_row(rows, k, u.x, u.y, sampler_1d(sampler, pixel, 0));
    }
    uint16_t drawn = bsdf_block_sample(at.block, rows, 0xffff, &d);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        if (drawn >> k & 1)
            out_samples[k] = drawn_in(&d, k);
    return drawn;
}

bool one_sample(const OnePoint *p, float u_side, float2 u, BsdfSample *out_sample)
{
    alignas(64) BsdfRow rows[3] = {{0}};
    BsdfDrawn d;
    BsdfPoint at = one_point(p);
    set_row(rows, at.lane, u.x, u.y, u_side);
    if (bsdf_block_sample(at.block, rows, (uint16_t)(1u << at.lane), &d) == 0)
        return false;
    *out_sample = drawn_in(&d, at.lane);
    return true;
}

uint32_t one_lobe_count(const OnePoint *p)
{
    BsdfPoint at = one_point(p);
    return at.block->counts[at.lane];
}

uint32_t one_lobe_flags(const OnePoint *p, uint32_t lobe)
{
    BsdfPoint at = one_point(p);
    for (uint32_t l = 0; l < at.block->lobe_count; ++l)
        if (at.block->lobes[l].live >> at.lane & 1 && lobe-- == 0)
            return at.block->lobes[l].def->flags & ALL_FLAGS;
    UNREACHABLE();
}

uint32_t one_flags(const OnePoint *p)
{
    BsdfPoint at = one_point(p);
    return at.block->flags[at.lane] & ALL_FLAGS;
}

uint32_t one_faults(const OnePoint *p)
{
    BsdfPoint at = one_point(p);
    return at.block->faults[at.lane];
}
