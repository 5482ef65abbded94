/* Packages that want more stack than there is, and caches that others could have filled: a message or a fault, never
 * another's memory. The watermark says how deep a fiber's stack was (builds with assertions). */
#include "sort/shade/shade.h"
#include "tests/sort/render/render_kit.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
// clang-format off
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

static void begin(Kit *kit, const char *shader)
{
    static const uint8_t rgb[4 * 4 * 3] = {200, 100, 50};
    kit_begin(kit);
    kit_write_floor(kit, 16,
                    "{\"name\": \"m\", \"shader\": \"shaders/m.ssl\", \"textures\": {\"t\": "
                    "{\"file\": \"textures/t.png\"}}}",
                    NULL);
    kit_write_text(kit, "shaders/m.ssl", shader);
    kit_write_png(kit, "textures/t.png", 4, 4, rgb);
}

/* Arrays that fill a kernel's frame, and a recursion that takes all that the host gives and looks up a texture at each
 * depth. */
static const char deepest[] = "texture2d t;\n"
                              "float f(float x) { float y = f(x * 0.5);\n"
                              "  return y + texture2d_sample<t>(x + y, ddx(x)).r; }\n"
                              "shader m(out closure s) {\n"
                              "  float x = global_value<position>.x; int k = int(x * 1000) & 4095; "
                              "float a[4095], b[4095], c[4095];\n"
                              "  a[k] = x; b[k] = x; c[k] = x;\n"
                              "  float y = f(x);\n"
                              "  s = make_closure<Emission>(color(a[int(y) & 4095] + b[int(y) & "
                              "4095] + c[int(y) & 4095])); }\n";

static void test_the_deepest_stack_fits(void **state)
{
    (void)state;
    Kit kit;
    RenderStats stats;
    begin(&kit, deepest);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    render_stats(render, &stats);
    render_destroy(render);
    kit_end(&kit);
#if SORT_ASSERTIONS
    /* The arrays at least; and the host's part keeps half of its room. */
    assert_in_range(stats.sched.stack_peak_bytes, 3 * 4095 * sizeof(float),
                    SHADE_FIBER_BYTES - SHADE_HOST_BYTES / 2);
#endif
}

static void test_a_cache_of_others_is_refused(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    begin(&kit, "texture2d t; shader m(out closure s) { s = make_closure<Emission>(color(1)); }\n");
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 0, (const char *const[]){NULL});
    char kernels[PATH_BYTES];
    assert_int_equal(path_join(kit.cache, "kernels", kernels, NULL), STATUS_OK);
    assert_int_equal(chmod(kernels, 0777), 0);
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 2, (const char *const[]){"kernels", "this user alone", NULL});
    assert_int_equal(chmod(kernels, 0700), 0);
    assert_int_equal(chmod(kit.folder, 0777), 0); /* others could exchange the whole cache */
    kit_run(&kit, NULL, &said);
    kit_assert_says(&said, 2, (const char *const[]){"another user", NULL});
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_deepest_stack_fits),
                                       cmocka_unit_test(test_a_cache_of_others_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
