/* Inputs, the same for the interpreter and for the compiled program. */
#include "base/check.h"
#include "tests/ssl/random/choices.h"
#include "tests/ssl/random/random_case.h"
#include <string.h>

float random_input(uint64_t *state)
{
    static const float corners[] = {0.0f, 0.5f, 1.0f, -1.0f, 2.0f, 0.25f, -0.5f, 3.0f};
    uint64_t r = random_u64(state);
    if (r % 5 == 0)
        return corners[(r >> 8) % SORT_COUNT_OF(corners)];
    return (float)((double)(r >> 11) * 0x1p-53 * 4 - 2);
}

static SslValue random_value(SslType type, uint64_t *state)
{
    static const int32_t ints[] = {0, 1, 2, 3, -1, 7, 100, -5};
    SslValue v = {.type = type};
    if (type == SSL_BOOL)
        v.b = random_u64(state) & 1;
    else if (type == SSL_INT)
        v.i = ints[random_u64(state) % SORT_COUNT_OF(ints)];
    for (uint32_t i = 0; type >= SSL_FLOAT && i < ssl_type_scalars(type); ++i)
        v.f[i] = random_input(state);
    return v;
}

void random_choose_inputs(Check *c)
{
    uint64_t state = c->seed ^ 0x5357u;
    for (uint32_t row = 0; row < random_tables.global_count; ++row)
        for (uint32_t point = 0; point < POINTS; ++point) {
            const SslGlobalRow *global = &random_tables.globals[row];
            Input *in = &c->global[row][point];
            in->value[0] = random_value(global->type, &state);
            for (uint32_t k = 1; k < 3 && global->has_derivs; ++k) {
                in->value[k] = random_value(global->type, &state);
                for (uint32_t i = 0; i < 4; ++i)
                    in->value[k].f[i] *= 0.125f;
            }
        }
    for (uint32_t i = 0; i < c->shader->params.count; ++i) {
        const VarDecl *param = c->shader->params.items[i];
        if (param->direction == DIRECTION_IN)
            c->param[c->param_count++] = random_value(param->type->basic, &state);
    }
}

/* --- the interpreter ---------------------------------------------------------------------------- */

/* A coordinate that is not finite makes every channel NaN, because the chain rule multiplies it by 0. */
static void spread_unknown(Dual s, Dual t, Dual rgba[4])
{
    bool knows_values = bounded_is_known(s.v) && bounded_is_known(t.v);
    for (uint32_t i = 0; i < 4; ++i)
        for (uint32_t k = 0; k < DUAL_DIRECTIONS; ++k)
            if (!knows_values || !bounded_is_known(s.d[k]) || !bounded_is_known(t.d[k]))
                rgba[i].d[k] = bounded_unknown(0);
}

/* The test textures: "wave" in slot 0, "ramp" in slot 1 (tools/ssl_kit/grid_host.h). */
static void sample(const void *data, uint32_t texture, Dual s, Dual t, Dual out_rgba[4])
{
    SORT_UNUSED(data);
    const Dual turn = dual_of((double)6.28318530717958647692f);
    Decisions ignored = {0};
    if (texture == 0) {
        CHECK(dual_function("sin", dual_mul(turn, s), &ignored, &out_rgba[0]));
        CHECK(dual_function("cos", dual_mul(turn, t), &ignored, &out_rgba[1]));
        out_rgba[2] = dual_mul(s, t);
        out_rgba[3] = s;
    } else {
        out_rgba[0] = s;
        out_rgba[1] = t;
        out_rgba[2] = dual_add(s, t);
        out_rgba[3] = dual_of(1);
    }
    spread_unknown(s, t, out_rgba);
}

/* shift: the point is moved so many pixels in `direction`. */
static Cell *cells_of(Check *c, const SslValue *value, uint32_t direction, double shift)
{
    uint32_t scalars = ssl_type_scalars(value->type);
    Cell *cells = ARENA_ARRAY(c->arena, Cell, scalars);
    bool has_derivs = value[1].type == value->type && value->type >= SSL_FLOAT;
    for (uint32_t i = 0; i < scalars; ++i) {
        if (value->type == SSL_BOOL) {
            cells[i].b = value->b;
        } else if (value->type == SSL_INT) {
            cells[i].i = value->i;
        } else {
            cells[i].f = dual_of((double)value->f[i]);
            for (uint32_t k = 0; k < DUAL_DIRECTIONS && has_derivs; ++k)
                cells[i].f.d[k] = exactly((double)value[1 + k].f[i]);
            cells[i].f.v.v += shift * cells[i].f.d[direction].v;
        }
    }
    return cells;
}

void random_interpret(Check *c, uint32_t point, uint32_t direction, double shift, SourcePoint *p)
{
    const Cell **globals = ARENA_ARRAY(c->arena, const Cell *, random_tables.global_count);
    const Cell **params = ARENA_ARRAY(c->arena, const Cell *, c->param_count);
    for (uint32_t row = 0; row < random_tables.global_count; ++row)
        globals[row] = cells_of(c, c->global[row][point].value, direction, shift);
    for (uint32_t i = 0; i < c->param_count; ++i) {
        const SslValue value[2] = {c->param[i]};
        params[i] = cells_of(c, value, 0, 0);
    }
    p->globals = globals;
    p->params = params;
    p->texture.sample = sample;
    p->constants = &c->constants;
    source_eval(c->shader, p, RANDOM_STEPS_MAX, c->arena);
}

void random_set_inputs(Check *c, SslProgram *program, GridHost *grid)
{
    for (uint32_t row = 0; row < random_tables.global_count; ++row)
        for (uint32_t point = 0; point < POINTS; ++point)
            for (uint32_t k = 0; k < (random_tables.globals[row].has_derivs ? 3u : 1u); ++k) {
                const SslValue *v = &c->global[row][point].value[k];
                int32_t word = v->type == SSL_BOOL ? v->b : v->i;
                for (uint32_t i = 0; i < ssl_type_scalars(v->type); ++i)
                    memcpy(grid_host_global(grid, row, k, i, point),
                           v->type >= SSL_FLOAT ? (const void *)&v->f[i] : &word, 4);
            }
    for (uint32_t i = 0; i < c->param_count; ++i)
        CHECK(ssl_params_set(program, grid_host_params(grid), i, &c->param[i], NULL) == STATUS_OK);
    const char *const textures[] = {"wave", "ramp"};
    for (uint32_t i = 0; i < 2; ++i) {
        GridTexture texture;
        CHECK(grid_texture_parse(textures[i], &texture, NULL) == STATUS_OK);
        grid_host_set_texture(grid, i, &texture);
    }
    grid_host_watch(grid, 0);
}
