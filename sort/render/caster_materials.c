#include "sort/render/caster_materials.h"

#include "base/check.h"
#include "sort/render/light_setup.h"

/* What throws caustics has at least this part of its samples in lobes without a blur, or with little, and they reflect and let through
 * at least this part of the light: a polished floor, of whose few samples of a dark colour many are mirrored, is lit by caustics. */
#define PART_MIN  0.25f
#define LIGHT_MIN 0.1f
/* Directions that are drawn with at least this density, per steradian, have little blur: a quarter of those that GGX of an alpha of
 * 0.15 draws. */
#define PEAK_PDF 2.0f

enum { POINTS = 64, DRAWS = 4 /* directions from each of them */ };

/* The parts of a material's samples without a blur, and with little, and of the light that both bring. */
typedef struct Sharpness {
    float sharp, peaked, light;
} Sharpness;

static bool turns_sharply(uint32_t flags)
{
    return (flags & (uint32_t)(SSL_LOBE_DELTA | SSL_LOBE_TRANSPARENT | SSL_LOBE_PORTAL)) ==
           SSL_LOBE_DELTA;
}

static bool turns(uint32_t flags)
{
    const uint32_t others = SSL_LOBE_TRANSPARENT | SSL_LOBE_PORTAL | SSL_LOBE_SUBSURFACE;
    return !(flags & others) && flags & (SSL_LOBE_DELTA | SSL_LOBE_GLOSSY);
}

/* Returns whether some closure of the material may have a lobe with little blur. */
static bool may_cast(const MaterialSet *materials, uint32_t material)
{
    const SslProgramInfo *info =
        material_set_get(materials, material)->programs[SSL_KERNEL_SHADE].info;
    const BsdfDef *const *closures = material_set_closures(materials);
    for (uint32_t s = 0; info && s < info->lobe_count; ++s) {
        const BsdfDef *def = closures[info->lobes[s].closure];
        for (uint32_t l = 0; def && l < def->lobe_count; ++l)
            if (turns(def->lobes[l].flags))
                return true;
    }
    return false;
}

/* Draws directions from the points of a block. */
static Sharpness look_at(const BsdfBlock *block, uint16_t live)
{
    Sharpness found = {0.0f, 0.0f, 0.0f};
    for (uint32_t n = 0; n < DRAWS; ++n) {
        BsdfDrawn drawn;
        alignas(64) BsdfRow u[3];
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            /* A lattice in three dimensions [Roberts2018]. */
            float i = (float)(n * SSL_BLOCK + k) + 0.5f;
            u[0][k] = i * 0.8191725f - floorf(i * 0.8191725f);
            u[1][k] = i * 0.6710436f - floorf(i * 0.6710436f);
            u[2][k] = i * 0.5497005f - floorf(i * 0.5497005f);
        }
        uint16_t lanes = bsdf_block_sample(block, u, live & bsdf_block_scattering(block), &drawn);
        WIDE_EACH(k, lanes)
        {
            bool is_sharp = turns_sharply(drawn.flags[k]);
            bool is_peaked = !is_sharp && turns(drawn.flags[k]) && drawn.pdf[k] >= PEAK_PDF;
            found.sharp += is_sharp ? 1.0f : 0.0f;
            found.peaked += is_peaked ? 1.0f : 0.0f;
            if (is_sharp || is_peaked)
                found.light += spectrum_average(bsdf_drawn_at(&drawn, k).weight);
        }
    }
    return found;
}

/* Returns what the samples of surfaces of one material tell. */
static Sharpness sharpness_of(ShadeContext *shade, uint32_t material, SurfaceBlock *surfaces,
                              uint32_t count)
{
    static const float no_blur[SSL_BLOCK];
    Sharpness sum = {0.0f, 0.0f, 0.0f};
    for (uint32_t first = 0; first < count; first += SSL_BLOCK) {
        SurfaceBlock *b = &surfaces[first / SSL_BLOCK];
        b->count = count - first < SSL_BLOCK ? count - first : SSL_BLOCK;
        b->material = material;
    }
    if (count == 0 || !shade_run(shade, material, SSL_KERNEL_SHADE, surfaces, count))
        return sum;
    for (uint32_t first = 0; first < count; first += SSL_BLOCK) {
        uint32_t lanes = count - first < SSL_BLOCK ? count - first : SSL_BLOCK;
        Sharpness part =
            look_at(shade_block(shade, first, no_blur), (uint16_t)((1u << lanes) - 1u));
        sum.sharp += part.sharp, sum.peaked += part.peaked, sum.light += part.light;
    }
    float draws = (float)(count * DRAWS);
    return (Sharpness){sum.sharp / draws, sum.peaked / draws, sum.light / draws};
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
        return error_set(err, STATUS_NO_MEMORY, "out of memory looking for what throws caustics");
    own.tex_thread = p->thread;
    own.waiter = p->waiter;
    return shade_context_create(&own, p->arena, &p->shade, err);
}

Status caster_materials_find(const Scene *scene, const MaterialSet *materials, TexCache *cache,
                             TextureStore *store, bool *out_cast, bool *out_are_glossy, Error *err)
{
    Probe p = {.waiter = NULL};
    const ShadeContextDesc desc = {.size_bytes = sizeof desc,
                                   .scene = scene,
                                   .materials = materials,
                                   .footprint_scale = 1.0f,
                                   .store = store};
    Status status = STATUS_OK;
    for (uint32_t m = 0; status == STATUS_OK && m < scene->material_count; ++m) {
        if (!may_cast(materials, m))
            continue;
        if (!p.shade)
            status = probe_create(&desc, cache, &p, err);
        if (status != STATUS_OK)
            break;
        uint32_t count = light_setup_points(scene, m, true, p.surfaces);
        ASSERT(count <= LIGHT_SETUP_POINTS);
        Sharpness found = sharpness_of(p.shade, m, p.surfaces, count < POINTS ? count : POINTS);
        out_cast[m] = found.sharp + found.peaked > PART_MIN && found.light > LIGHT_MIN;
        out_are_glossy[m] = out_cast[m] && found.peaked > PART_MIN;
    }
    probe_release(&p);
    return status;
}
