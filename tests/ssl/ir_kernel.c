#include "tests/ssl/ir_kernel.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const SslGlobalRow rows[ROW_COUNT] = {
    {.name = "f", .type = SSL_FLOAT, .has_derivs = true},
    {.name = "g", .type = SSL_FLOAT, .has_derivs = true},
    {.name = "p", .type = SSL_POINT, .has_derivs = true},
    {.name = "i", .type = SSL_INT},
    {.name = "b", .type = SSL_BOOL},
};

static const SslClosureArg lambert_args[] = {{"color", SSL_COLOR}, {"normal", SSL_NORMAL}};
static const SslClosureArg coat_args[] = {{"ior", SSL_FLOAT}};
static const SslClosureRow closures[CLOSURE_COUNT] = {
    {.name = "Lambert", .args = lambert_args, .arg_count = 2},
    {.name = "Coat", .args = coat_args, .arg_count = 1},
};

static const SslParamInfo params[PARAM_COUNT] = {
    {.name = "pf", .type = SSL_FLOAT},
    {.name = "pi", .type = SSL_INT},
    {.name = "pc", .type = SSL_COLOR},
    {.name = "pb", .type = SSL_BOOL},
};

void ir_kernel_begin(IrKernel *k)
{
    k->arena = arena_create(0, 0);
    assert_non_null(k->arena);
    IrModule *m = k->module = ir_module_create(k->arena);
    m->globals = rows;
    m->global_count = ROW_COUNT;
    m->closures = closures;
    m->closure_count = CLOSURE_COUNT;
    m->info.name = "test";
    m->info.params = params;
    m->info.param_count = PARAM_COUNT;
    static const char *const textures[IR_KERNEL_TEXTURES] = {"t0", "t1"};
    m->info.textures = textures;
    m->info.texture_count = IR_KERNEL_TEXTURES;
    m->entry = ir_reserve_func(m);
    k->builder = ir_build_begin(m, m->entry, "entry", NULL, 0);
}

void ir_kernel_end_raw(IrKernel *k, const IrValue *results, uint32_t count)
{
    IrModule *m = k->module;
    SslOutputInfo *infos = ARENA_ARRAY(k->arena, SslOutputInfo, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; ++i)
        infos[i] =
            (SslOutputInfo){.name = m->outputs.data[i].name, .type = m->outputs.data[i].type};
    m->info.outputs = infos;
    m->info.output_count = m->outputs.count;
    ir_build_end(k->builder, results, count);
    Error err = {0};
    if (ir_verify(m, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

void ir_kernel_end(IrKernel *k, const IrValue *results, uint32_t count)
{
    static const SslType types[] = {
        [IR_BOOL] = SSL_BOOL, [IR_INT] = SSL_INT, [IR_FLOAT] = SSL_FLOAT};
    for (uint32_t i = 0; i < count; ++i) {
        IrOutput output = {.name = arena_printf(k->arena, "o%u", i),
                           .type = types[ir_kind(ir_build_type(k->builder, results[i]))],
                           .result_first = i,
                           .result_count = 1};
        array_push(k->arena, &k->module->outputs, output);
    }
    ir_kernel_end_raw(k, results, count);
}

void ir_kernel_free(IrKernel *k)
{
    arena_destroy(k->arena);
}

/* --- the batch -------------------------------------------------------------------------------- */

/* A smooth function of all coordinates, so that a wrong or exchanged one shows. */
static void test_lookup(SslHost *host, const SslTexCall *call)
{
    IrBatch *b = (IrBatch *)(void *)host;
    ++b->lookups;
    uint32_t n = call->lane_count;
    CHECK((n == 1 || n == 4 || n == 8 || n == 16) && call->lane_first + n <= SSL_BLOCK);
    CHECK(call->block < IR_KERNEL_BLOCKS && call->lane_mask && call->lane_mask >> n == 0);
    CHECK((call->lane_mask & ~((uint32_t)b->live[call->block] >> call->lane_first)) == 0);
    uint32_t count = call->flags & SSL_TEX_WANT_DERIVS ? 12 : 4;
    for (uint32_t i = 0; i < count * n; ++i) {
        uint32_t lane = i % n;
        if (!(call->lane_mask >> lane & 1))
            continue;
        float x = (float)(call->texture + 10 * call->site) + (float)(i / n) * 0.125f;
        for (uint32_t j = 0; j < 7; ++j)
            x = x * 0.75f + call->coord[j * n + lane] * (float)(j + 1);
        call->result[i] = x;
    }
}

float *ir_batch_global(IrBatch *b, uint32_t row, uint32_t shadow, uint32_t component,
                       uint32_t point)
{
    char *block = (char *)b->globals + (point / SSL_BLOCK) * b->layout.globals.stride_bytes;
    uint32_t line = shadow * ssl_type_scalars(rows[row].type) + component;
    return (float *)(void *)block + b->layout.globals.offset_floats[row] + line * SSL_BLOCK +
           point % SSL_BLOCK;
}

/* Ordinary numbers, with a special one now and then. */
static float random_float(uint64_t *state)
{
    static const float special[] = {0.0f,     -0.0f,  1.0f, -1.0f,         0.5f,      1e30f, -1e30f,
                                    INFINITY, 1e-30f, 3e9f, 2147483648.0f, -INFINITY, NAN,   3.0f};
    uint64_t bits = hash_mix64((*state)++);
    if (bits % 8 == 0)
        return special[(bits >> 8) % SORT_COUNT_OF(special)];
    return ((float)(bits >> 40) / (float)(1 << 24) - 0.5f) * 8.0f;
}

void ir_batch_init(IrBatch *b, const IrKernel *k, uint64_t seed)
{
    *b = (IrBatch){.live = {0xffff, 0x0000, 0xa5c3}, .textures = {70, 71}};
    kernel_layout_compute(k->module, NULL, k->arena, &b->layout);
    b->globals = mem_alloc_aligned(IR_KERNEL_BLOCKS * b->layout.globals.stride_bytes, 64);
    b->result_bytes = IR_KERNEL_BLOCKS * b->layout.result_stride_bytes;
    b->result = mem_alloc_aligned(b->result_bytes, 64);
    assert_true(b->globals && b->result && b->layout.params_bytes <= sizeof b->params);
    uint64_t state = seed << 20;
    float *words = b->globals;
    for (uint32_t i = 0; i < IR_KERNEL_BLOCKS * b->layout.globals.stride_bytes / 4; ++i)
        words[i] = random_float(&state);
    for (uint32_t point = 0; point < IR_KERNEL_BLOCKS * SSL_BLOCK; ++point) {
        int32_t i = (int32_t)(hash_mix64(state++) % 21) - 10;
        int32_t flag = hash_mix64(state++) % 2 ? (int32_t)point + 1 : 0;
        memcpy(ir_batch_global(b, ROW_I, 0, 0, point), &i, 4);
        memcpy(ir_batch_global(b, ROW_B, 0, 0, point), &flag, 4);
    }
    float numbers[] = {0.625f, 0, 0.25f, 0.5f, 0.75f};
    memcpy(b->params, numbers, sizeof numbers);
    b->params[1] = 7;
    b->params[5] = 1;
    b->services = (SslServices){.size_bytes = sizeof(SslServices), .tex_lookup = test_lookup};
    b->batch = (SslBatch){.globals = b->globals,
                          .live = b->live,
                          .result = b->result,
                          .params = b->params,
                          .textures = b->textures,
                          .services = &b->services,
                          .host = (SslHost *)(void *)b,
                          .block_count = IR_KERNEL_BLOCKS,
                          .loop_budget = 1000,
                          .stack_bytes = 1 << 16};
    ir_batch_clear(b);
}

void ir_batch_free(IrBatch *b)
{
    mem_free(b->globals);
    mem_free(b->result);
}

void ir_batch_clear(IrBatch *b)
{
    memset(b->result, 0xa5, b->result_bytes);
}

uint32_t ir_batch_output(const IrBatch *b, uint32_t output, uint32_t component, uint32_t point)
{
    const char *block = (const char *)b->result + point / SSL_BLOCK * b->layout.result_stride_bytes;
    uint32_t word;
    memcpy(&word,
           block + b->layout.output_offset[output] + component * KERNEL_LANE_ROW_BYTES +
               4 * (point % SSL_BLOCK),
           4);
    return word;
}

float ir_batch_output_float(const IrBatch *b, uint32_t output, uint32_t component, uint32_t point)
{
    uint32_t word = ir_batch_output(b, output, component, point);
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

uint32_t ir_batch_fault(const IrBatch *b, uint32_t point)
{
    const char *block = (const char *)b->result + point / SSL_BLOCK * b->layout.result_stride_bytes;
    uint32_t word;
    memcpy(&word, block + b->layout.fault_offset + 4 * (point % SSL_BLOCK), 4);
    return word;
}

/* --- running ---------------------------------------------------------------------------------- */

void ir_kernel_run(Jit *jit, const IrKernel *k, IrBatch *b, JitOptions options)
{
    Error err = {0};
    SslBuildTimes times = {0};
    JitKernel *kernel;
    if (jit_acquire(jit, k->module, &b->layout, options, &kernel, &times, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    ir_batch_clear(b);
    jit_kernel_entry(kernel)(&b->batch);
    jit_release(jit, kernel);
}

static uint32_t canonical(uint32_t word)
{
    return (word & 0x7f800000u) == 0x7f800000u && (word & 0x7fffffu) ? 0x7fc00000u : word;
}

static void compare(const IrKernel *k, const IrBatch *b, const uint32_t *expected, const char *name)
{
    const uint32_t *found = b->result;
    for (size_t i = 0; i < b->result_bytes / 4; ++i) {
        if (canonical(found[i]) == canonical(expected[i]))
            continue;
        StrBuf text = {0};
        ir_print_module(k->module, &text);
        size_t in_block = i * 4 % b->layout.result_stride_bytes;
        print_error("%s\n%s: block %zu, byte %zu of the result: expected %08x, found %08x\n",
                    strbuf_text(&text), name, i * 4 / b->layout.result_stride_bytes, in_block,
                    expected[i], found[i]);
        strbuf_free(&text);
        fail();
    }
}

/* The first two are tried with every seed, of the others one a seed. */
static const struct Way {
    const char *name;
    JitOptions options;
} ways[] = {
    {"one lane, O0", {.llvm_level = 1, .lanes = 1}},
    {"16 lanes", {.lanes = 16}},
    {"one lane", {.lanes = 1}},
    {"4 lanes", {.lanes = 4}},
    {"8 lanes, O2", {.llvm_level = 3, .lanes = 8}},
    {"16 lanes, O0", {.llvm_level = 1, .lanes = 16}},
};
enum { WAYS = sizeof ways / sizeof *ways };

void ir_kernel_check(Jit *jit, const IrKernel *k, uint64_t seed)
{
    IrBatch b;
    ir_batch_init(&b, k, seed);
    ir_oracle_run(k->module, &b.layout, &b.batch);
    uint32_t *expected = mem_alloc(b.result_bytes, 1);
    assert_non_null(expected);
    memcpy(expected, b.result, b.result_bytes);
    for (uint32_t i = 0; i < WAYS; ++i) {
        if (i >= 2 && i - 2 != seed % 4)
            continue;
        ir_kernel_run(jit, k, &b, ways[i].options);
        compare(k, &b, expected, ways[i].name);
    }
    mem_free(expected);
    ir_batch_free(&b);
}

void ir_kernel_check_seeds(Jit *jit, const IrKernel *k, uint64_t seed_count)
{
    KernelLayout layout;
    JitKernel *held[WAYS]; /* so that it is compiled once, not for every seed */
    kernel_layout_compute(k->module, NULL, k->arena, &layout);
    for (uint32_t i = 0; i < WAYS; ++i) {
        Error err = {0};
        SslBuildTimes times = {0};
        if (jit_acquire(jit, k->module, &layout, ways[i].options, &held[i], &times, &err) !=
            STATUS_OK)
            fail_msg("%s", err.text);
    }
    for (uint64_t seed = 1; seed <= seed_count; ++seed)
        ir_kernel_check(jit, k, seed);
    for (uint32_t i = 0; i < WAYS; ++i)
        jit_release(jit, held[i]);
}
