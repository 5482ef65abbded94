/* Scattering functions. The writer says each of them twice: B is a bsdf, and B_plain a shader without one that gives all that
 * the programs of B do. That shader, compiled without optimisation for one lane, is held against the interpreter; the programs
 * must give its bits, for as many lanes as the seed says, in blocks of which any lanes are live and other points are around. */
#include "base/check.h"
#include "base/thread.h"
#include "sort/bsdf/bsdf_program.h"
#include "tests/ssl/random/choices.h"
#include "tests/ssl/random/random_case.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCKS = 2,
    ROWS_MAX = 2048,
    PORTS_MAX = 300,
    LOOP_BUDGET = 1 << 16,
    UNTOUCHED = 0x5eed5eed
};

typedef float Row[SSL_BLOCK];

/* The inputs that every bsdf has, in the order of the plain shader's parameters, and how many numbers each is. */
enum { IN_WO, IN_NG, IN_OUTSIDE, IN_OPTIONS, IN_BLUR, IN_WI, IN_UNBENT, IN_U, IN_ARGS };
static const uint8_t input_scalars[IN_ARGS] = {3, 3, 1, 1, 1, 3, 3, 3};
enum { FIXED_ROWS = 18, ARG_ROWS = 32 };

typedef struct BsdfInput {
    _Alignas(64) Row rows[FIXED_ROWS + ARG_ROWS];
} BsdfInput;

/* What the plain shader gives in a block. */
typedef struct Expected {
    _Alignas(64) Row rows[ROWS_MAX];
    uint32_t faults[SSL_BLOCK];
} Expected;

typedef struct BsdfCase {
    Check *c;
    const SslBsdfInfo *info;
    const FuncDecl *shader; /* the plain one */
    const SslUnitInfo *unit;
    uint32_t row_of[PORTS_MAX]; /* of the plain shader's outputs */
    BsdfInput input[BLOCKS];
    Expected expected[BLOCKS];
    bool may_fault[BLOCKS * SSL_BLOCK]; /* of the source, somewhere */
} BsdfCase;

/* --- inputs ----------------------------------------------------------------------------------- */

static float random_unit(uint64_t *state)
{
    return (float)(random_u64(state) >> 40) * 0x1p-24f;
}

static uint32_t input_row(uint32_t input)
{
    uint32_t row = 0;
    for (uint32_t i = 0; i < input; ++i)
        row += input_scalars[i];
    return row;
}

static void random_direction(uint64_t *state, BsdfInput *in, uint32_t input, uint32_t lane)
{
    Row *rows = &in->rows[input_row(input)];
    float z = 2.0f * random_unit(state) - 1.0f, turn = 6.2831853f * random_unit(state);
    float across = sqrtf(fmaxf(1.0f - z * z, 0.0f));
    rows[0][lane] = across * cosf(turn);
    rows[1][lane] = across * sinf(turn);
    rows[2][lane] = z;
}

static void set_word(Row row, uint32_t lane, int32_t word)
{
    memcpy(&row[lane], &word, sizeof word);
}

static void choose_point(uint64_t *state, BsdfInput *in, uint32_t lane, uint32_t arg_rows)
{
    Row *wo = &in->rows[input_row(IN_WO)], *ng = &in->rows[input_row(IN_NG)];
    Row *unbent = &in->rows[input_row(IN_UNBENT)];
    float side = 0;
    random_direction(state, in, IN_WO, lane);
    random_direction(state, in, IN_NG, lane);
    random_direction(state, in, IN_WI, lane);
    random_direction(state, in, IN_UNBENT, lane);
    for (uint32_t k = 0; k < 3; ++k)
        side += wo[k][lane] * ng[k][lane];
    bool is_bumped = random_u64(state) & 1;
    for (uint32_t k = 0; k < 3; ++k) {
        ng[k][lane] = side < 0.0f ? -ng[k][lane] : ng[k][lane];
        unbent[k][lane] = is_bumped ? unbent[k][lane] : 0.0f;
        in->rows[input_row(IN_U) + k][lane] = random_unit(state);
    }
    set_word(in->rows[input_row(IN_OUTSIDE)], lane, random_u64(state) & 1);
    set_word(in->rows[input_row(IN_OPTIONS)], lane, random_u64(state) & 7);
    in->rows[input_row(IN_BLUR)][lane] = random_u64(state) & 3 ? 0.0f : random_unit(state);
    for (uint32_t r = 0; r < arg_rows; ++r)
        in->rows[FIXED_ROWS + r][lane] = random_input(state);
}

/* --- the plain shader ------------------------------------------------------------------------- */

static void interpret_point(BsdfCase *b, uint32_t point)
{
    Check *c = b->c;
    const Cell **params = ARENA_ARRAY(c->arena, const Cell *, b->unit->param_count);
    const BsdfInput *in = &b->input[point / SSL_BLOCK];
    uint32_t lane = point % SSL_BLOCK, row = 0;
    for (uint32_t i = 0; i < b->unit->param_count; ++i) {
        uint32_t scalars = ssl_type_scalars(b->unit->params[i].type);
        Cell *cells = ARENA_ARRAY(c->arena, Cell, scalars);
        for (uint32_t k = 0; k < scalars; ++k, ++row) {
            int32_t word;
            memcpy(&word, &in->rows[row][lane], sizeof word);
            if (i == IN_OUTSIDE)
                cells[k].b = word != 0;
            else if (i == IN_OPTIONS)
                cells[k].i = word;
            else
                cells[k].f = dual_of((double)in->rows[row][lane]);
        }
        params[i] = cells;
    }
    SourcePoint p = {.params = params, .constants = &c->constants};
    source_eval(b->shader, &p, RANDOM_STEPS_MAX, c->arena);
    const Expected *e = &b->expected[point / SSL_BLOCK];
    ++c->tally->bsdf_points;
    c->tally->bsdf_points_skipped += p.decisions.is_doubtful;
    b->may_fault[point] = p.has_fault || p.decisions.is_doubtful;
    for (uint32_t o = 0; o < b->unit->output_count && !p.decisions.is_doubtful; ++o) {
        const SslOutputInfo *output = &b->unit->outputs[o];
        uint32_t scalars = ssl_value_scalars(output->type, output->shape);
        for (uint32_t k = 0; k < scalars; ++k) {
            double found = (double)e->rows[b->row_of[o] + k][lane];
            bool is_compared =
                random_compare_number(c, "plain", point, output->name, found, p.outputs[o][k].f.v);
            c->tally->values += is_compared;
            c->tally->values_skipped += !is_compared;
        }
    }
    if (e->faults[lane] && !p.has_fault && !p.decisions.is_doubtful) {
        c->is_bad = true;
        strbuf_printf(c->report, "%s, point %u: a fault that the source does not have\n",
                      b->unit->name, point);
    }
}

/* The lists of rows of the plain shader. */
enum { PLAIN_IN, PLAIN_OUT, PLAIN_FAULT, PLAIN_LISTS };

/* Says where the plain shader has its parameters and outputs: one after the other. */
static void place_plain(BsdfCase *b, SslRowPlace in[PORTS_MAX], SslRowPlace out[PORTS_MAX])
{
    uint32_t row = 0;
    for (uint32_t i = 0; i < b->unit->param_count; ++i) {
        in[i] = (SslRowPlace){PLAIN_IN, (uint16_t)row};
        row += ssl_type_scalars(b->unit->params[i].type);
    }
    row = 0;
    for (uint32_t i = 0; i < b->unit->output_count; ++i) {
        b->row_of[i] = row;
        out[i] = (SslRowPlace){PLAIN_OUT, (uint16_t)row};
        row += ssl_value_scalars(b->unit->outputs[i].type, b->unit->outputs[i].shape);
    }
    CHECK(row <= ROWS_MAX);
    out[b->unit->output_count] = (SslRowPlace){PLAIN_FAULT, 0};
}

static void run_plain(BsdfCase *b, SslProgram *program)
{
    uint16_t live = 0xffff;
    for (uint32_t k = 0; k < BLOCKS; ++k) {
        void *lists[PLAIN_LISTS] = {b->input[k].rows[0], b->expected[k].rows[0],
                                    b->expected[k].faults};
        const SslBatch batch = {.live = &live,
                                .params = lists,
                                .block_count = 1,
                                .loop_budget = LOOP_BUDGET,
                                .stack_bytes = 1 << 18};
        ssl_program_kernel(program)(&batch);
    }
}

static void choose_points(BsdfCase *b)
{
    uint64_t state = b->c->seed ^ 0xb5df;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < b->unit->param_count; ++i)
        rows += ssl_type_scalars(b->unit->params[i].type);
    CHECK(b->unit->param_count >= IN_ARGS && b->unit->param_count < PORTS_MAX &&
          b->unit->output_count + 1 < PORTS_MAX && rows <= FIXED_ROWS + ARG_ROWS);
    for (uint32_t point = 0; point < BLOCKS * SSL_BLOCK; ++point)
        choose_point(&state, &b->input[point / SSL_BLOCK], point % SSL_BLOCK, rows - FIXED_ROWS);
}

/* Runs the plain shader, and compares what it gives with the interpreter. */
static RandomVerdict check_plain(BsdfCase *b, const SslUnit *unit, DiagList *diags)
{
    Check *c = b->c;
    Error err = {0};
    SslProgram *program;
    SslRowPlace in[PORTS_MAX], out[PORTS_MAX];
    const SslRows rows = {in, out};
    const SslBuildDesc how = {.size_bytes = sizeof how,
                              .llvm_level = 1,
                              .lanes = 1,
                              .without_derivatives = true,
                              .rows = &rows};
    choose_points(b);
    place_plain(b, in, out);
    Status status = ssl_program_build(c->ctx, unit, &how, diags, &program, &err);
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, c->report);
    run_plain(b, program);
    for (uint32_t point = 0; point < BLOCKS * SSL_BLOCK; ++point)
        interpret_point(b, point);
    ssl_program_release(program);
    return RANDOM_GOOD;
}

/* --- the bsdf --------------------------------------------------------------------------------- */

/* A run of a block: lane i holds point (i + turn) % 16 of it. */
typedef struct Stage {
    BsdfView view;
    _Alignas(64) Row args[ARG_ROWS], wi[3], state[ROWS_MAX];
    Row share[BSDF_SHARE_SELECT + SSL_MAX_BSDF_LOBES];
    BsdfValue none, value;
    BsdfDraw draw;
    BsdfDrawn drawn;
    uint32_t faults[SSL_BLOCK];
    uint32_t turn;
    uint16_t live;
    const char *way;
} Stage;

static void fill_untouched(void *rows, size_t bytes)
{
    uint32_t *words = rows;
    for (size_t i = 0; i < bytes / sizeof *words; ++i)
        words[i] = UNTOUCHED;
}

static const Row *expected_rows(const BsdfCase *b, uint32_t block, const char *name, int lobe,
                                uint32_t *out_scalars)
{
    char full[64];
    (void)snprintf(full, sizeof full, lobe < 0 ? "out_%s" : "out_%s_%d", name, lobe);
    for (uint32_t o = 0; o < b->unit->output_count; ++o)
        if (strcmp(b->unit->outputs[o].name, full) == 0) {
            *out_scalars = ssl_value_scalars(b->unit->outputs[o].type, b->unit->outputs[o].shape);
            return &b->expected[block].rows[b->row_of[o]];
        }
    *out_scalars = 0;
    return NULL;
}

/* A value of eval is added to a sum that is 0, which makes 0 of -0. */
static bool is_same(float a, float b, bool is_sum)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)) || (is_sum && a == b);
}

static void compare_rows(BsdfCase *b, const Stage *s, uint32_t block, const char *name, int lobe,
                         const Row *found)
{
    Check *c = b->c;
    uint32_t scalars;
    const Row *expected = expected_rows(b, block, name, lobe, &scalars);
    bool is_sum = found == s->value.f_cos || found == &s->value.pdf;
    if (!expected)
        return;
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane) {
        uint32_t from = (lane + s->turn) % SSL_BLOCK;
        bool is_live = s->live >> lane & 1;
        if (is_live && b->expected[block].faults[from])
            continue; /* how far a run comes before it is stopped depends on what else it does */
        for (uint32_t k = 0; k < scalars; ++k) {
            uint32_t word;
            memcpy(&word, &found[k][lane], sizeof word);
            bool is_right =
                is_live ? is_same(found[k][lane], expected[k][from], is_sum) : word == UNTOUCHED;
            c->tally->bsdf_numbers += is_right && is_live;
            if (is_right)
                continue;
            c->is_bad = true;
            strbuf_printf(c->report, "%s: %s of lobe %d, [%u], %s, lane %u: ", b->info->name, name,
                          lobe, k, s->way, lane);
            if (is_live)
                strbuf_printf(c->report, "%.9g where the plain shader has %.9g\n",
                              (double)found[k][lane], (double)expected[k][from]);
            else
                strbuf_append_c(c->report, "was written to, and is not live\n");
            return;
        }
    }
}

static void compare_faults(BsdfCase *b, const Stage *s, uint32_t block, const char *name)
{
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane) {
        uint32_t from = (lane + s->turn) % SSL_BLOCK;
        bool is_live = s->live >> lane & 1;
        /* The plain shader may leave out what only passes from one program to another. */
        bool is_expected =
            b->expected[block].faults[from] != 0 || b->may_fault[block * SSL_BLOCK + from];
        if (is_live ? s->faults[lane] == 0 || is_expected : s->faults[lane] == UNTOUCHED)
            continue;
        b->c->is_bad = true;
        strbuf_printf(b->c->report, "%s.%s, %s, lane %u: a fault that the source does not have\n",
                      b->info->name, name, s->way, lane);
    }
}

static void run_program(BsdfCase *b, Stage *s, uint32_t block, const BsdfDef *def,
                        BsdfProgram program)
{
    const BsdfRows rows = {{[BSDF_LIST_VIEW] = &s->view,
                            [BSDF_LIST_ARGS] = s->args,
                            [BSDF_LIST_SHARE] = s->share,
                            [BSDF_LIST_STATE] = s->state,
                            [BSDF_LIST_WI] = s->wi,
                            [BSDF_LIST_SUM] = &s->none,
                            [BSDF_LIST_VALUE] = &s->value,
                            [BSDF_LIST_DRAW] = &s->draw,
                            [BSDF_LIST_DRAWN] = &s->drawn,
                            [BSDF_LIST_FAULT] = s->faults}};
    fill_untouched(s->faults, sizeof s->faults);
    bsdf_program_run(def, program, &rows, s->live);
    compare_faults(b, s, block, bsdf_program_name(program));
}

/* Runs eval with the other lobes black, and draws by this one. */
static void run_lobe(BsdfCase *b, Stage *s, uint32_t block, const BsdfDef *def, uint32_t k)
{
    for (uint32_t lobe = 0; lobe < def->lobe_count; ++lobe)
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            s->share[BSDF_SHARE_SELECT + lobe][i] = lobe == k ? 1.0f : 0.0f;
    if (!(def->lobes[k].flags & SSL_LOBE_DELTA)) {
        fill_untouched(&s->value, sizeof s->value);
        run_program(b, s, block, def, BSDF_EVAL);
        compare_rows(b, s, block, "f_cos", (int)k, s->value.f_cos);
        compare_rows(b, s, block, "pdf", (int)k, &s->value.pdf);
    }
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        s->draw.chosen[i] = (int32_t)k;
    fill_untouched(&s->drawn, sizeof s->drawn);
    run_program(b, s, block, def, BSDF_SAMPLE);
    compare_rows(b, s, block, "wi", (int)k, s->drawn.wi);
    compare_rows(b, s, block, "eta", (int)k, &s->drawn.eta);
    compare_rows(b, s, block, "weight", (int)k, s->drawn.weight);
    compare_rows(b, s, block, "probability", (int)k, &s->drawn.pdf);
}

static void turn_rows(const Stage *s, const BsdfInput *in, uint32_t input, uint32_t count,
                      void *out)
{
    Row *rows = out;
    for (uint32_t r = 0; r < count; ++r)
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            rows[r][i] = in->rows[input_row(input) + r][(i + s->turn) % SSL_BLOCK];
}

static void set_stage(Stage *s, const BsdfInput *in)
{
    turn_rows(s, in, IN_WO, 3, s->view.wo);
    turn_rows(s, in, IN_NG, 3, s->view.Ng);
    turn_rows(s, in, IN_OUTSIDE, 1, s->view.outside);
    turn_rows(s, in, IN_OPTIONS, 1, s->view.options);
    turn_rows(s, in, IN_BLUR, 1, &s->view.blur);
    turn_rows(s, in, IN_WI, 3, s->wi);
    turn_rows(s, in, IN_UNBENT, 3, s->view.unbent);
    turn_rows(s, in, IN_U, 3, s->draw.u);
    turn_rows(s, in, IN_ARGS, ARG_ROWS, s->args);
    for (uint32_t r = 0; r < BSDF_SHARE_SELECT; ++r)
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            s->share[r][i] = 1.0f;
}

static void run_block(BsdfCase *b, Stage *s, uint32_t block, const BsdfDef *def)
{
    set_stage(s, &b->input[block]);
    fill_untouched(s->state, def->state_rows * sizeof *s->state);
    run_program(b, s, block, def, BSDF_PREPARE);
    compare_rows(b, s, block, "frame", -1, &s->state[def->frame]);
    if (def->base_factor != BSDF_NO_ROW)
        compare_rows(b, s, block, "base_factor", -1, &s->state[def->base_factor]);
    for (uint32_t k = 0; k < def->lobe_count; ++k) {
        const BsdfLobeDef *lobe = &def->lobes[k];
        compare_rows(b, s, block, "albedo", (int)k, &s->state[lobe->albedo]);
        if (lobe->reflected != BSDF_NO_ROW)
            compare_rows(b, s, block, "reflected", (int)k, &s->state[lobe->reflected]);
        if (lobe->medium != BSDF_NO_ROW)
            compare_rows(b, s, block, "medium", (int)k, &s->state[lobe->medium]);
        run_lobe(b, s, block, def, k);
    }
}

static void run_bsdf(BsdfCase *b, const BsdfDef *def, uint32_t lanes)
{
    Stage *s = arena_alloc(b->c->arena, sizeof *s, 64);
    uint64_t state = b->c->seed ^ 0x1a9e5;
    char way[64];
    CHECK(def->state_rows <= ROWS_MAX);
    s->way = way;
    for (uint32_t block = 0; block < BLOCKS; ++block)
        for (uint32_t k = 0; k < 3; ++k) {
            s->live = k == 0 ? 0xffff : (uint16_t)random_u64(&state);
            s->turn = k == 2 ? (uint32_t)random_u64(&state) % SSL_BLOCK : 0;
            (void)snprintf(way, sizeof way, "%u lanes of %04x turned by %u", lanes, s->live,
                           s->turn);
            run_block(b, s, block, def);
        }
}

static RandomVerdict check_programs(BsdfCase *b, const SslSource *source, DiagList *diags)
{
    static const uint32_t lanes[] = {1, 8, 16};
    Check *c = b->c;
    Error err = {0};
    BsdfBuild *build;
    uint32_t width = lanes[(c->seed * 0x9e3779b97f4a7c15u >> 50) % SORT_COUNT_OF(lanes)];
    Status status = bsdf_build(c->ctx, source, b->info, width, diags, &build, &err);
    if (status == STATUS_LIMIT)
        return RANDOM_REFUSED;
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, c->report);
    run_bsdf(b, bsdf_build_def(build), width);
    bsdf_build_destroy(build);
    return RANDOM_GOOD;
}

/* --- a source --------------------------------------------------------------------------------- */

static RandomVerdict check_bsdf(Check *c, const SslSource *source, const SslBsdfInfo *info,
                                DiagList *diags)
{
    BsdfCase *b = arena_alloc(c->arena, sizeof *b, 64);
    SslSource plain = *source;
    Error err = {0};
    SslUnit *unit;
    *b = (BsdfCase){.c = c, .info = info};
    plain.shader = arena_printf(c->arena, "%s_plain", info->name);
    b->shader = sema_find_shader(c->module, plain.shader, 0, c->arena, diags);
    Status status = b->shader ? ssl_unit_compile(c->ctx, &plain, diags, &unit) : STATUS_SOURCE;
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, c->report);
    b->unit = ssl_unit_info(unit);
    RandomVerdict verdict = check_plain(b, unit, diags);
    if (verdict == RANDOM_GOOD)
        verdict = check_programs(b, source, diags);
    ssl_unit_release(unit);
    ++c->tally->bsdfs;
    return verdict;
}

RandomVerdict random_check_bsdfs(Check *c, const SslSource *source, DiagList *diags)
{
    SslBsdfInfo infos[8];
    uint32_t count = 0;
    RandomVerdict verdict = RANDOM_GOOD;
    if (c->ctx == c->host->ctx)
        return RANDOM_GOOD;
    thread_flush_denormals();
    CHECK(ssl_source_bsdfs(NULL, source, diags, infos, SORT_COUNT_OF(infos), &count) == STATUS_OK);
    for (uint32_t i = 0; i < count && verdict == RANDOM_GOOD; ++i)
        verdict = check_bsdf(c, source, &infos[i], diags);
    return verdict == RANDOM_GOOD && c->is_bad ? RANDOM_BAD : verdict;
}
