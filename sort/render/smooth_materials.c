#include "sort/render/smooth_materials.h"

#include "base/check.h"
#include "sort/render/light_setup.h"

/* A smooth material has at least this part of its samples in lobes without a blur. */
#define SHARP_PART_MIN 0.25f

static bool turns_sharply(uint32_t flags)
{
    return (flags & (uint32_t)(SSL_LOBE_DELTA | SSL_LOBE_TRANSPARENT | SSL_LOBE_PORTAL)) ==
           SSL_LOBE_DELTA;
}

/* Returns whether some closure of the material may have a lobe without a blur that turns light. */
static bool may_be_smooth(const MaterialSet *materials, uint32_t material)
{
    const SslProgramInfo *info =
        material_set_get(materials, material)->programs[SSL_KERNEL_SHADE].info;
    const BsdfDef *const *closures = material_set_closures(materials);
    for (uint32_t s = 0; info && s < info->lobe_count; ++s) {
        const BsdfDef *def = closures[info->lobes[s].closure];
        for (uint32_t l = 0; def && l < def->lobe_count; ++l)
            if (turns_sharply(def->lobes[l].flags))
                return true;
    }
    return false;
}

/* Returns the part of the surfaces' samples, of one material, that such lobes draw. */
static float sharp_part(ShadeContext *shade, uint32_t material, SurfaceBlock *surfaces,
                        uint32_t count)
{
    static const float sharp[SSL_BLOCK];
    float part = 0.0f;
    for (uint32_t first = 0; first < count; first += SSL_BLOCK) {
        SurfaceBlock *b = &surfaces[first / SSL_BLOCK];
        b->count = count - first < SSL_BLOCK ? count - first : SSL_BLOCK;
        b->material = material;
    }
    if (count == 0 || !shade_run(shade, material, SSL_KERNEL_SHADE, surfaces, count))
        return 0.0f;
    for (uint32_t first = 0; first < count; first += SSL_BLOCK) {
        const BsdfBlock *block = shade_block(shade, first, sharp);
        for (uint32_t l = 0; l < block->lobe_count; ++l)
            if (turns_sharply(block->lobes[l].def->flags))
                WIDE_EACH(k, block->lobes[l].live)
        part += first + k < count ? block->lobes[l].select[k] / block->select_sum[k] : 0.0f;
    }
    return part / (float)count;
}

/* What kernels are run with. */
typedef struct Probe {
    Waiter *waiter;
    TexThread *thread;
    Arena *arena;
    ShadeContext *shade;
    SurfaceBlock *surfaces; /* [LIGHT_SETUP_POINTS / SSL_BLOCK] */
} Probe;

static void probe_release(Probe *p)
{
    arena_destroy(p->arena);
    texcache_thread_destroy(p->thread);
    if (p->waiter)
        waiter_destroy_for_thread(p->waiter);
}

static Status probe_create(const ShadeContextDesc *desc, TexCache *cache, Probe *p, Error *err)
{
    ShadeContextDesc own = *desc;
    TRY(waiter_create_for_thread(&p->waiter, err));
    TRY(texcache_thread_create(cache, &p->thread, err));
    p->arena = arena_create(0, 0);
    if (p->arena)
        p->surfaces =
            arena_alloc(p->arena, LIGHT_SETUP_POINTS / SSL_BLOCK * sizeof *p->surfaces, 64);
    if (!p->surfaces)
        return error_set(err, STATUS_NO_MEMORY, "out of memory looking for smooth materials");
    own.tex_thread = p->thread;
    own.waiter = p->waiter;
    return shade_context_create(&own, p->arena, &p->shade, err);
}

Status smooth_materials_find(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                             TextureStore *store, bool *out_are_smooth, Error *err)
{
    enum { POINTS = 64 };
    Probe p = {.waiter = NULL};
    const ShadeContextDesc desc = {.size_bytes = sizeof desc,
                                   .scene = scene,
                                   .materials = materials,
                                   .footprint_scale = 1.0f,
                                   .store = store};
    Status status = STATUS_OK;
    for (uint32_t m = 0; status == STATUS_OK && m < scene->material_count; ++m) {
        if (!may_be_smooth(materials, m))
            continue;
        if (!p.shade)
            status = probe_create(&desc, cache, &p, err);
        if (status != STATUS_OK)
            break;
        uint32_t count = light_setup_points(scene, m, true, p.surfaces);
        ASSERT(count <= LIGHT_SETUP_POINTS);
        count = count < POINTS ? count : POINTS;
        out_are_smooth[m] = sharp_part(p.shade, m, p.surfaces, count) > SHARP_PART_MIN;
    }
    probe_release(&p);
    return status;
}
