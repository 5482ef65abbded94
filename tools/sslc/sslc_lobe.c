/* A picture of a scattering function, seen from four directions: over one another the light that goes out to the side of the
 * viewer and to the other side, as discs of equal area whose middle is the normal, and the values in the plane of incidence,
 * as a polar plot. Deltas are squares and lines. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/image/exr_write.h"
#include "base/image/png_write.h"
#include "base/image/view_transform.h"
#include "base/path.h"
#include "tools/sslc/sslc_bsdf.h"
#include <string.h>

#define PI 3.14159265358979323846

enum { CELL = 240, BORDER = 8, VIEWS = 4, ANGLES = 1440, DELTA_DRAWS = 256 };

typedef struct Canvas {
    float *pixels; /* [height][width][3] */
    uint32_t width, height;
} Canvas;

/* The closure from one direction; all lanes are equal. */
typedef struct Scene {
    alignas(64) BsdfRow args[PROOF_ARGS_MAX * 3];
    BsdfRow weight[3];
    BsdfBlock *block;
    float3 wo;
    bool has_other_side;
} Scene;

/* --- values --------------------------------------------------------------------------------------- */

static void look(Scene *scene, const ProofSubject *s, const float *args, uint32_t view)
{
    static const float degrees[VIEWS] = {0.0f, 30.0f, 60.0f, 80.0f};
    float angle = degrees[view] * (float)PI / 180.0f;
    BsdfView *v = &scene->block->view;
    scene->wo = f3(sinf(angle), 0, cosf(angle));
    memset(v, 0, sizeof *v);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        v->wo[0][i] = scene->wo.x, v->wo[2][i] = scene->wo.z;
        v->Ng[2][i] = 1.0f;
        v->outside[i] = 1;
        for (uint32_t c = 0; c < 3; ++c)
            scene->weight[c][i] = 1.0f;
        for (uint32_t r = 0; r < s->def->arg_rows; ++r)
            scene->args[r][i] = args[r];
    }
    bsdf_block_begin(scene->block);
    (void)bsdf_block_add(scene->block, s->def, scene->args[0], scene->weight[0], 0xffff);
}

/* pi f cos for `count` directions, at most a block: 1 is a white diffuse surface's value along its normal. */
static void values_of(const Scene *scene, const float3 *directions, uint32_t count, float3 *out)
{
    alignas(64) BsdfRow wi[3] = {{0}}, f_cos[3], pdf;
    ASSERT(count <= SSL_BLOCK);
    for (uint32_t i = 0; i < count; ++i)
        wi[0][i] = directions[i].x, wi[1][i] = directions[i].y, wi[2][i] = directions[i].z;
    bsdf_block_eval(scene->block, wi, (uint16_t)((1u << count) - 1), f_cos, pdf);
    for (uint32_t i = 0; i < count; ++i)
        out[i] = f3_scale(f3(f_cos[0][i], f_cos[1][i], f_cos[2][i]), (float)PI);
}

/* --- drawing -------------------------------------------------------------------------------------- */

static void put_pixel(const Canvas *c, int x, int y, float3 color)
{
    if (x < 0 || y < 0 || x >= (int)c->width || y >= (int)c->height)
        return;
    float *p = c->pixels + ((size_t)y * c->width + (size_t)x) * 3;
    p[0] = color.x, p[1] = color.y, p[2] = color.z;
}

/* The direction at a point of the disc, in [-1, 1] both ways. */
static float3 direction_at(float x, float y, bool is_below)
{
    float r2 = x * x + y * y, z = 1.0f - r2, scale = sqrtf(fmaxf(2.0f - r2, 0.0f));
    return f3(x * scale, y * scale, is_below ? -z : z);
}

static void draw_disc(const Canvas *c, const Scene *scene, int left, int top, bool is_below)
{
    const float radius = 0.5f * CELL;
    for (int y = 0; y < CELL; ++y)
        for (int x0 = 0; x0 < CELL; x0 += SSL_BLOCK) {
            float3 directions[SSL_BLOCK], values[SSL_BLOCK];
            for (int i = 0; i < SSL_BLOCK; ++i)
                directions[i] = direction_at(((float)(x0 + i) + 0.5f) / radius - 1.0f,
                                             1.0f - ((float)y + 0.5f) / radius, is_below);
            values_of(scene, directions, SSL_BLOCK, values);
            for (int i = 0; i < SSL_BLOCK; ++i)
                if (is_below ? directions[i].z < 0.0f : directions[i].z > 0.0f)
                    put_pixel(c, left + x0 + i, top + y, values[i]);
        }
}

/* Values from 0 without end, as lengths and brightness below 1. */
static float squeezed(float x)
{
    return x > 0.0f ? x / (1.0f + x) : 0.0f;
}

static void draw_line(const Canvas *c, int x0, int y0, float dx, float dy, float length,
                      float3 color)
{
    uint32_t steps = (uint32_t)ceilf(2.0f * length);
    for (uint32_t i = 0; i < steps; ++i) {
        float at = 0.5f * (float)i;
        put_pixel(c, x0 + (int)(dx * at), y0 - (int)(dy * at), color);
    }
}

static void draw_polar(const Canvas *c, const Scene *scene, int left, int top)
{
    static float3 values[ANGLES];
    const int middle_x = left + CELL / 2, middle_y = top + CELL / 2;
    for (uint32_t k = 0; k < ANGLES; k += SSL_BLOCK) {
        float3 directions[SSL_BLOCK];
        for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
            float angle = 2.0f * (float)PI * ((float)(k + i) + 0.5f) / ANGLES;
            directions[i] = f3(cosf(angle), 0, sinf(angle));
        }
        values_of(scene, directions, SSL_BLOCK, values + k);
    }
    for (int y = 0; y < CELL; ++y)
        for (int x = 0; x < CELL; ++x) {
            float dx = ((float)x + 0.5f) - 0.5f * CELL, dy = 0.5f * CELL - ((float)y + 0.5f);
            float turn = atan2f(dy, dx) / (2.0f * (float)PI);
            uint32_t k = (uint32_t)((turn < 0.0f ? turn + 1.0f : turn) * ANGLES) % ANGLES;
            float most = fmaxf(fmaxf(values[k].x, values[k].y), values[k].z);
            bool is_in_lobe = sqrtf(dx * dx + dy * dy) < squeezed(most) * 0.5f * CELL;
            float3 color = is_in_lobe ? f3_scale(values[k], 1.0f / most) : f3(0.03f, 0.03f, 0.03f);
            put_pixel(c, left + x, top + y, color);
        }
    draw_line(c, left, middle_y, 1, 0, CELL, f3(0.2f, 0.2f, 0.2f));
    draw_line(c, middle_x, middle_y, scene->wo.x, scene->wo.z, 0.5f * CELL, f3(0.1f, 0.4f, 1.0f));
}

static void draw_delta(const Canvas *c, float3 wi, float3 weight, int left, int top, uint32_t rows)
{
    float scale = sqrtf(1.0f / (1.0f + fabsf(wi.z)));
    int disc = wi.z < 0.0f && rows == 3 ? top + CELL + BORDER : top;
    int x = left + (int)(0.5f * CELL * (1.0f + wi.x * scale));
    int y = disc + (int)(0.5f * CELL * (1.0f - wi.y * scale));
    for (int k = 0; k < 25; ++k)
        put_pixel(c, x + k % 5 - 2, y + k / 5 - 2, weight);
    int polar = top + (int)(rows - 1) * (CELL + BORDER);
    if (fabsf(wi.y) < 0.02f)
        draw_line(c, left + CELL / 2, polar + CELL / 2, wi.x, wi.z, 0.5f * CELL, weight);
}

static void draw_deltas(const Canvas *c, const Scene *scene, int left, int top, uint32_t rows)
{
    static BsdfDrawn drawn;
    alignas(64) BsdfRow u[3];
    for (uint32_t k = 0; k < DELTA_DRAWS; ++k) {
        for (uint32_t i = 0; i < 3 * SSL_BLOCK; ++i)
            u[i / SSL_BLOCK][i % SSL_BLOCK] =
                (float)(hash_mix64(k * 3 * SSL_BLOCK + i) >> 40) * 0x1p-24f;
        uint16_t lanes = bsdf_block_sample(scene->block, u, 0xffff, &drawn);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            if ((lanes >> i & 1) && (drawn.flags[i] & SSL_LOBE_DELTA))
                draw_delta(c, f3(drawn.wi[0][i], drawn.wi[1][i], drawn.wi[2][i]),
                           f3(drawn.weight[0][i], drawn.weight[1][i], drawn.weight[2][i]), left,
                           top, rows);
    }
}

/* --- files ---------------------------------------------------------------------------------------- */

static Status write_png(const Canvas *c, const char *path, Error *err)
{
    const ViewTransform view = {.curve = VIEW_STANDARD};
    size_t count = (size_t)c->width * c->height;
    uint8_t *pixels = mem_alloc(count, 3);
    if (!pixels)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count * 3; ++i)
        c->pixels[i] = squeezed(c->pixels[i]);
    view_transform_rgb(&view, c->pixels, 3, count, pixels);
    Status status = png_write(path, c->width, c->height, 3, pixels, err);
    mem_free(pixels);
    return status;
}

static Status write_exr(const Canvas *c, const char *path, Error *err)
{
    static const char *const names[3] = {"R", "G", "B"};
    ExrChannel channels[3];
    for (uint32_t i = 0; i < 3; ++i)
        channels[i] = (ExrChannel){
            .name = names[i], .type = EXR_PIXEL_FLOAT, .data = c->pixels + i, .stride = 3};
    const ExrWriteDesc desc = {.size_bytes = sizeof desc,
                               .width = c->width,
                               .height = c->height,
                               .channels = channels,
                               .channel_count = 3};
    return exr_write(path, &desc, err);
}

static void draw_all(const Canvas *c, Scene *scene, const ProofSubject *subject, const float *args)
{
    uint32_t rows = scene->has_other_side ? 3 : 2;
    for (uint32_t view = 0; view < VIEWS; ++view) {
        int left = BORDER + (int)view * (CELL + BORDER), top = BORDER;
        look(scene, subject, args, view);
        draw_disc(c, scene, left, top, false);
        if (scene->has_other_side)
            draw_disc(c, scene, left, top + CELL + BORDER, true);
        draw_polar(c, scene, left, top + (int)(rows - 1) * (CELL + BORDER));
        draw_deltas(c, scene, left, top, rows);
    }
}

Status sslc_draw_lobes(const ProofSubject *subject, const float *args, const char *path, Error *err)
{
    const BsdfDef *def = subject->def;
    Arena *arena = arena_create(0, 0);
    Scene *scene = arena ? arena_alloc(arena, sizeof *scene, 64) : NULL;
    if (!scene) {
        arena_destroy(arena);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    memset(scene, 0, sizeof *scene);
    for (uint32_t k = 0; k < def->lobe_count; ++k)
        if (def->lobes[k].flags & SSL_LOBE_TRANSMISSION)
            scene->has_other_side = true;
    scene->block = bsdf_block_create(arena, 1, def->lobe_count, def->state_rows);
    Canvas c = {.width = VIEWS * (CELL + BORDER) + BORDER,
                .height = (scene->has_other_side ? 3 : 2) * (CELL + BORDER) + BORDER};
    c.pixels = mem_alloc((size_t)c.width * c.height, 3 * sizeof *c.pixels);
    Status status =
        c.pixels && scene->block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        draw_all(&c, scene, subject, args);
        status =
            path_has_extension(path, ".png") ? write_png(&c, path, err) : write_exr(&c, path, err);
    }
    mem_free(c.pixels);
    arena_destroy(arena);
    return status;
}
