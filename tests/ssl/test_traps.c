/* Traps of SSL's ancestor that are not in the language but in its compiler and linker; the others are files
 * tests/ssl/{run,reject}/trap_*.ssl. */
#include "base/thread.h"
#include "ssl/ssl.h"
#include <stdio.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static const char source[] =
    "texture2d t;\n"
    "float twice(float x) { return 2 * x; }\n"
    "shader s(out float o) { o = twice(texture2d_sample<t>(0.25, 0.5).r); }\n";

static SslContext *make_context(void)
{
    SslContextDesc desc = {.size_bytes = sizeof desc};
    SslContext *ctx;
    Error err = {0};
    assert_int_equal(ssl_context_create(&desc, &ctx, &err), STATUS_OK);
    return ctx;
}

static SslProgram *build(SslContext *ctx, const char *text)
{
    DiagList *diags = diag_list_create();
    Error err = {0};
    SslUnit *unit;
    SslProgram *program;
    SslSource src = {.name = "trap.ssl", .text = str_from(text)};
    assert_int_equal(ssl_unit_compile(ctx, &src, diags, &unit), STATUS_OK);
    assert_int_equal(ssl_program_build(ctx, unit, NULL, diags, &program, &err), STATUS_OK);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return program;
}

/* The host's id is the value that the texture gives. */
static void look_up(SslHost *host, const SslTexCall *call)
{
    SORT_UNUSED(host);
    for (uint32_t i = 0; i < 4 * call->lane_count; ++i)
        call->result[i] = (float)call->texture;
}

static float run_with_texture(const SslProgram *program, uint32_t texture)
{
    static _Alignas(64) char result[4096];
    const SslProgramInfo *info = ssl_program_info(program);
    assert_true(info->result_stride_bytes <= sizeof result);
    const SslServices services = {.size_bytes = sizeof services, .tex_lookup = look_up};
    const uint16_t live = 1;
    const SslBatch batch = {.live = &live,
                            .result = result,
                            .textures = &texture,
                            .services = &services,
                            .block_count = 1,
                            .loop_budget = 1};
    ssl_program_kernel(program)(&batch);
    float out;
    memcpy(&out, result + info->outputs[0].offset, sizeof out);
    return out;
}

/* The ancestor baked the addresses of textures into the code, so every material had code of its own. */
static void test_trap_texture_addresses_are_data(void **state)
{
    SORT_UNUSED(state);
    SslContext *ctx = make_context();
    SslProgram *first = build(ctx, source), *second = build(ctx, source);
    assert_ptr_equal(ssl_program_kernel(first), ssl_program_kernel(second));
    assert_true(run_with_texture(first, 3) == 6.0f);
    assert_true(run_with_texture(second, 7) == 14.0f);
    ssl_program_release(first);
    ssl_program_release(second);
    ssl_context_destroy(ctx);
}

/* The ancestor ran its passes on a copy, and linked the module that they had not seen, for the first instance
 * of every shader: what a context compiles first is as good as what it compiles later. */
static void test_trap_the_first_instance_is_optimised(void **state)
{
    SORT_UNUSED(state);
    StrBuf first = {0}, later = {0}, raw = {0};
    StrBuf *const outs[] = {&first, &later};
    const SslSource src = {.name = "trap.ssl", .text = str_from(source)};
    const SslBuildDesc how = {.size_bytes = sizeof how};
    Error err = {0};
    SslContext *ctx = make_context();
    for (int i = 0; i < 2; ++i) {
        DiagList *diags = diag_list_create();
        assert_int_equal(ssl_dump(ctx, &src, &how, SSL_DUMP_ASM, diags, outs[i], &err), STATUS_OK);
        diag_list_destroy(diags);
        ssl_program_release(build(ctx, source));
    }
    DiagList *diags = diag_list_create();
    const SslBuildDesc slow = {.size_bytes = sizeof slow, .llvm_level = 1};
    assert_int_equal(ssl_dump(ctx, &src, &slow, SSL_DUMP_ASM, diags, &raw, &err), STATUS_OK);
    diag_list_destroy(diags);
    assert_string_equal(strbuf_text(&first), strbuf_text(&later));
    assert_true(strlen(strbuf_text(&first)) < strlen(strbuf_text(&raw)));
    strbuf_free(&first);
    strbuf_free(&later);
    strbuf_free(&raw);
    ssl_context_destroy(ctx);
}

enum { PROGRAMS = 12 };

typedef struct Builds {
    SslContext *ctx;
    SslProgram *program[PROGRAMS];
} Builds;

static void build_one(void *data, uint32_t index)
{
    Builds *b = data;
    char text[256];
    snprintf(text, sizeof text,
             "texture2d t;\nshader s(out float o)\n"
             "{ o = %u * texture2d_sample<t>(0, 0).r + %u.5; }\n",
             index + 2, index);
    b->program[index] = build(b->ctx, text);
}

/* The ancestor linked under a global lock, since all shaders shared their symbols: here programs that are
 * compiled and linked at the same time are each what it was meant to be. */
static void test_trap_linking_needs_no_global_lock(void **state)
{
    SORT_UNUSED(state);
    Builds b = {.ctx = make_context()};
    parallel_for(4, PROGRAMS, build_one, &b);
    for (uint32_t i = 0; i < PROGRAMS; ++i) {
        assert_true(run_with_texture(b.program[i], 5) == 5.0f * (float)(i + 2) + (float)i + 0.5f);
        ssl_program_release(b.program[i]);
    }
    ssl_context_destroy(b.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trap_texture_addresses_are_data),
        cmocka_unit_test(test_trap_the_first_instance_is_optimised),
        cmocka_unit_test(test_trap_linking_needs_no_global_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
