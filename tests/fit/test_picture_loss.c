/* The loss of pictures: closed forms, and its derivative against central differences, at all sizes, even and odd. */
#include "fit/picture_loss.h"
#include <math.h>
#include <string.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { NUMBERS_MAX = 3 * 9 * 7 };

static PictureLoss *create(LossKind kind, uint32_t width, uint32_t height, uint32_t channels,
                           uint32_t levels, const float *target)
{
    const PictureLossDesc desc = {.size_bytes = sizeof desc,
                                  .kind = kind,
                                  .width = width,
                                  .height = height,
                                  .channels = channels,
                                  .levels = levels,
                                  .target = target};
    PictureLoss *loss;
    Error err = {0};
    if (picture_loss_create(&desc, &loss, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return loss;
}

static float noise(uint32_t i)
{
    return (float)(sin(12.9898 * i + 1) * 0.5 + 0.5);
}

/* A picture that is brighter by 0.5 everywhere is so at each level. */
static void test_constant(void **state)
{
    SORT_UNUSED(state);
    float target[NUMBERS_MAX], picture[NUMBERS_MAX], adjoint[NUMBERS_MAX];
    for (uint32_t i = 0; i < NUMBERS_MAX; ++i) {
        target[i] = 0.25f;
        picture[i] = 0.75f;
    }
    for (uint32_t levels = 1; levels < 7; ++levels) {
        PictureLoss *l1 = create(LOSS_L1, 9, 7, 3, levels, target);
        PictureLoss *l2 = create(LOSS_L2, 9, 7, 3, levels, target);
        assert_int_equal(picture_loss_levels(l1), levels < 5 ? levels : 5); /* 9 5 3 2 1 */
        assert_true(fabs(picture_loss_value(l1, picture, adjoint) - 0.5) < 1e-12);
        double sum = 0;
        for (uint32_t i = 0; i < NUMBERS_MAX; ++i)
            sum += (double)adjoint[i];
        assert_true(fabs(sum - 1) < 1e-5); /* the derivative by brightness */
        assert_true(fabs(picture_loss_value(l2, picture, NULL) - 0.25) < 1e-12);
        assert_true(picture_loss_value(l1, target, adjoint) == 0);
        for (uint32_t i = 0; i < NUMBERS_MAX; ++i)
            assert_true(adjoint[i] == 0);
        picture_loss_destroy(l1);
        picture_loss_destroy(l2);
    }
}

/* Derivatives of the coarsest level alone are the same at all pixels, and the loss is that of all levels. */
static void test_finest(void **state)
{
    SORT_UNUSED(state);
    float target[16] = {0}, picture[16] = {0}, adjoint[16];
    picture[6] = 1;
    PictureLoss *loss = create(LOSS_L2, 4, 4, 1, 3, target);
    const double value = picture_loss_value(loss, picture, adjoint);
    const float peak = adjoint[6];
    picture_loss_set_finest(loss, 2);
    assert_true(picture_loss_value(loss, picture, adjoint) == value);
    for (uint32_t i = 0; i < 16; ++i)
        assert_true(fabs((double)adjoint[i] - 2.0 / (16 * 16 * 3)) < 1e-9);
    picture_loss_set_finest(loss, 1);
    (void)picture_loss_value(loss, picture, adjoint);
    for (uint32_t i = 0; i < 16; ++i) { /* pixels 2, 3, 6 and 7 have one mean */
        double own = (i & 2) && i < 8 ? 2.0 / (16 * 4 * 3) : 0;
        assert_true(fabs((double)adjoint[i] - own - 2.0 / (16 * 16 * 3)) < 1e-8);
    }
    picture_loss_set_finest(loss, 0);
    assert_true(picture_loss_value(loss, picture, adjoint) == value && adjoint[6] == peak);
    picture_loss_destroy(loss);
}

/* One pixel of 4 x 4 that is off by 1: 1/16 at level 0, |1/4| / 4 and |1/16| at the others, their squares for L2. */
static void test_one_pixel(void **state)
{
    SORT_UNUSED(state);
    float target[16] = {0}, picture[16] = {0};
    picture[6] = 1;
    PictureLoss *l1 = create(LOSS_L1, 4, 4, 1, 3, target),
                *l2 = create(LOSS_L2, 4, 4, 1, 3, target);
    assert_true(fabs(picture_loss_value(l1, picture, NULL) - 1.0 / 16) < 1e-15);
    assert_true(fabs(picture_loss_value(l2, picture, NULL) -
                     (1.0 / 16 + 1.0 / 64 + 1.0 / 256) / 3) < 1e-15);
    picture_loss_destroy(l1);
    picture_loss_destroy(l2);
}

static void test_derivative(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t sizes[][3] = {{9, 7, 3}, {8, 4, 1}, {1, 5, 3}, {1, 1, 1}};
    float target[NUMBERS_MAX], picture[NUMBERS_MAX], adjoint[NUMBERS_MAX];
    for (uint32_t i = 0; i < NUMBERS_MAX; ++i) {
        target[i] = noise(i);
        picture[i] = noise(i + 1000);
    }
    for (uint32_t s = 0; s < SORT_COUNT_OF(sizes); ++s)
        for (LossKind kind = LOSS_L1; kind <= LOSS_L2; ++kind) {
            PictureLoss *loss = create(kind, sizes[s][0], sizes[s][1], sizes[s][2], 4, target);
            (void)picture_loss_value(loss, picture, adjoint);
            for (uint32_t i = 0; i < sizes[s][0] * sizes[s][1] * sizes[s][2]; ++i) {
                const float h = 0x1p-10f;
                float moved[NUMBERS_MAX];
                memcpy(moved, picture, sizeof moved);
                moved[i] = picture[i] + h;
                double step = (double)moved[i], above = picture_loss_value(loss, moved, NULL);
                moved[i] = picture[i] - h;
                step -= (double)moved[i];
                double below = picture_loss_value(loss, moved, NULL);
                assert_true(fabs((above - below) / step - (double)adjoint[i]) < 1e-6);
            }
            picture_loss_destroy(loss);
        }
}

static void test_refusals(void **state)
{
    SORT_UNUSED(state);
    float target[8] = {0, 0, 0, 0, 0, NAN, 0, 0};
    PictureLossDesc desc = {.size_bytes = sizeof desc,
                            .width = 4,
                            .height = 2,
                            .channels = 1,
                            .levels = 2,
                            .target = target};
    PictureLoss *loss;
    Error err = {0};
    assert_int_equal(picture_loss_create(&desc, &loss, &err), STATUS_INVALID);
    assert_string_equal(err.text, "the target is not finite at pixel 1,1");
    desc.levels = 0;
    assert_int_equal(picture_loss_create(&desc, &loss, &err), STATUS_INVALID);
    target[5] = 1;
    desc.levels = 1;
    assert_int_equal(picture_loss_create(&desc, &loss, &err), STATUS_OK);
    const float picture[8] = {INFINITY};
    assert_false(isfinite(picture_loss_value(loss, picture, NULL)));
    picture_loss_destroy(loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),  cmocka_unit_test(test_finest),
        cmocka_unit_test(test_one_pixel), cmocka_unit_test(test_derivative),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
