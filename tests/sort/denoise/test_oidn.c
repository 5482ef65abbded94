/* Open Image Denoise in its child: what it is given, what comes back, and every way in which it can go wrong. */
#include "sort/denoise/oidn_client.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/process.h"
#include "plugins/denoise_protocol.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIDTH = 7, HEIGHT = 5, PIXELS = WIDTH * HEIGHT };

static const char *const folders[] = {SORT_TEST_PLUGINS};

typedef struct Picture {
    float rgba[PIXELS][4], albedo[PIXELS][3], normal[PIXELS][3];
} Picture;

static Picture make_picture(void)
{
    Picture p;
    for (int i = 0; i < PIXELS; ++i) {
        for (int c = 0; c < 3; ++c) {
            p.rgba[i][c] = 0.25f * (float)(i + c);
            p.albedo[i][c] = i % 2 ? 1.0f : 0.5f;
            p.normal[i][c] = 0.0f;
        }
        p.rgba[i][3] = 0.125f * (float)i;
    }
    return p;
}

static OidnInput input_of(const Picture *p, const char *library)
{
    return (OidnInput){.size_bytes = sizeof(OidnInput),
                       .width = WIDTH,
                       .height = HEIGHT,
                       .albedo = p->albedo[0],
                       .normal = p->normal[0],
                       .oidn_path = library,
                       .plugin_folders = folders,
                       .plugin_folder_count = 1};
}

/* The name of a fake library. */
static const char *fake(const char *fault)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/libfake_oidn_%s.so", SORT_TEST_FAKES, fault);
    return path;
}

static void test_oidn_gets_picture_and_guides(void **state)
{
    (void)state;
    Error err = {0};
    Picture p = make_picture(), q = p;
    OidnInput input = input_of(&p, fake("good"));
    assert_int_equal(oidn_denoise(&input, q.rgba[0], &err), STATUS_OK);
    for (int i = 0; i < PIXELS; ++i) {
        for (int c = 0; c < 3; ++c)
            assert_true(q.rgba[i][c] == p.rgba[i][c] * (i % 2 ? 1.0f : 0.5f));
        assert_true(q.rgba[i][3] == p.rgba[i][3]);
    }
    input.albedo = input.normal = NULL;
    q = p;
    assert_int_equal(oidn_denoise(&input, q.rgba[0], &err), STATUS_OK);
    assert_memory_equal(&q, &p, sizeof p);
}

/* Values beyond half floats, of dim and of bright pictures, and guides that are no numbers. */
static void test_oidn_gets_numbers_that_it_can_take(void **state)
{
    (void)state;
    Error err = {0};
    static const float scales[] = {1e-20f, 1.0f, 1e10f, 1e30f};
    for (size_t k = 0; k < 4; ++k) {
        Picture p = make_picture(), q;
        for (int i = 0; i < PIXELS; ++i)
            for (int c = 0; c < 3; ++c)
                p.rgba[i][c] *= scales[k];
        p.albedo[3][1] = NAN, p.albedo[4][1] = 1e30f, p.normal[5][2] = -INFINITY;
        p.rgba[8][1] = NAN, p.rgba[9][0] = INFINITY;
        q = p;
        OidnInput input = input_of(&p, fake("good"));
        assert_int_equal(oidn_denoise(&input, q.rgba[0], &err), STATUS_OK);
        assert_memory_equal(q.rgba[8], p.rgba[8], sizeof p.rgba[8]);
        assert_memory_equal(q.rgba[9], p.rgba[9], sizeof p.rgba[9]);
        assert_true(q.rgba[7][2] == p.rgba[7][2]);
        assert_true(q.rgba[6][2] == 0.5f * p.rgba[6][2]);
    }
}

static void assert_fails(const char *library, Status expected, const char *part)
{
    Error err = {0};
    Picture p = make_picture(), q = p;
    OidnInput input = input_of(&p, library);
    if (expected == STATUS_LIMIT)
        input.timeout_ms = 1500;
    Status status = oidn_denoise(&input, q.rgba[0], &err);
    if (status != expected || !strstr(err.text, part))
        fail_msg("%s: status %d, %s", library, (int)status, err.text);
    assert_memory_equal(&q, &p, sizeof p); /* the noisy picture is kept */
}

static void test_oidn_failures_are_told(void **state)
{
    (void)state;
    assert_fails(fake("crash"), STATUS_INTERNAL, "signal 6");
    assert_fails(fake("exit"), STATUS_INTERNAL, "exit code 0");
    assert_fails(fake("hang"), STATUS_LIMIT, "did not answer");
    assert_fails(fake("error"), STATUS_UNSUPPORTED, "the weights are gone");
    assert_fails(fake("nan"), STATUS_UNSUPPORTED, "not finite");
    assert_fails(fake("no_device"), STATUS_UNSUPPORTED, "does not run on this CPU");
    assert_fails("/nonexistent/libOpenImageDenoise.so", STATUS_UNSUPPORTED,
                 "libOpenImageDenoise.so");
    assert_fails(
        SORT_TEST_PLUGINS "/sort_plugin_decoder_oiio.so", STATUS_UNSUPPORTED,
        "sort_plugin_decoder_oiio.so: has no function oidnNewDevice: is it Open Image Denoise?");
}

/* Sends bytes to the child and waits for its end, which must come. */
static void assert_survives(const void *data, size_t size_bytes)
{
    Error err = {0};
    Process *process;
    ProcessResult result;
    const char *const argv[] = {SORT_TEST_PLUGINS "/sort_denoiser_oidn", NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .converses = true,
                        /* the address sanitizer reserves more than any limit */
                        .memory_limit_bytes = SORT_ASAN ? 0 : (uint64_t)4 << 30};
    assert_int_equal(process_spawn(&desc, &process, &err), STATUS_OK);
    (void)!process_send(process, data, size_bytes, &err);
    assert_int_equal(process_wait(process, 10000, &result, &err), STATUS_OK);
    char how[96];
    if (!result.has_exited || result.exit_code != 1 || result.has_timed_out)
        fail_msg("%zu bytes: %s", size_bytes, process_result_describe(&result, how));
    process_result_free(&result);
}

/* Requests of random bytes, cut requests, and sound ones with one field wrong: refused, without a crash. */
static void test_oidn_child_survives_any_request(void **state)
{
    (void)state;
    DenoiseRequest sound = {.magic = DENOISE_MAGIC, .width = 2, .height = 2};
    (void)snprintf(sound.oidn_path, sizeof sound.oidn_path, "/nonexistent");
    for (uint32_t k = 0; k < 24; ++k) {
        DenoiseRequest r = sound;
        uint8_t *bytes = (uint8_t *)&r;
        for (size_t i = 0; k < 8 && i < sizeof r; ++i)
            bytes[i] = (uint8_t)hash_mix64(k * 65537u + i);
        size_t size = sizeof r;
        if (k >= 8 && k < 12)
            size = sizeof r * (k - 8) / 4;
        static const uint32_t bad[] = {0, 65536, UINT32_MAX, 65535};
        if (k >= 12 && k < 16)
            r.width = bad[k - 12], r.height = 65535;
        if (k >= 16 && k < 20)
            r.has_albedo = 2 + k;
        if (k >= 20)
            memset(r.oidn_path, 'x', sizeof r.oidn_path);
        assert_survives(&r, size);
    }
}

/* The library itself, where scripts/bench-denoise has put it: half the noise of a ramp is gone, and more. */
static void test_oidn_of_the_wheel(void **state)
{
    (void)state;
    enum { SIDE = 96 };
    static float rgba[SIDE * SIDE][4];
    const char *library = getenv("SORT_TEST_OIDN");
    if (!library || access(library, R_OK) != 0)
        skip();
    Error err = {0};
    double before = 0.0, after = 0.0;
    for (int i = 0; i < SIDE * SIDE; ++i) {
        uint64_t h = hash_mix64((uint64_t)i + 1);
        float noise = 0.4f * ((float)(h >> 40) * 0x1p-24f - 0.5f);
        for (int c = 0; c < 3; ++c)
            rgba[i][c] = 0.5f + 0.002f * (float)(i % SIDE) + noise;
        rgba[i][3] = 1.0f;
        before += (double)noise * (double)noise;
    }
    OidnInput input = {.size_bytes = sizeof input,
                       .width = SIDE,
                       .height = SIDE,
                       .oidn_path = library,
                       .plugin_folders = folders,
                       .plugin_folder_count = 1};
    assert_int_equal(oidn_denoise(&input, rgba[0], &err), STATUS_OK);
    for (int i = 0; i < SIDE * SIDE; ++i) {
        double d = (double)rgba[i][0] - (0.5 + 0.002 * (double)(i % SIDE));
        after += d * d;
    }
    assert_true(after < 0.1 * before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oidn_gets_picture_and_guides),
        cmocka_unit_test(test_oidn_gets_numbers_that_it_can_take),
        cmocka_unit_test(test_oidn_failures_are_told),
        cmocka_unit_test(test_oidn_child_survives_any_request),
        cmocka_unit_test(test_oidn_of_the_wheel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
