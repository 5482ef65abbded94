/* The closures have the values that an independent implementation of them in C had at random points, with random arguments, some
 * of them out of range: drawn directions, values, densities, albedos, and what layers leave to their bases.
 *
 * `sort_bsdf_values --print NAME` prints the rows of a closure as it is now, for a change that is meant. */
#include "tests/sort/bsdf/one_point.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct ClosureValue {
    const char *closure;
    uint32_t options; /* BSDF_IMPORTANCE ... */
    float blur, unbent[3], wo[3], Ng[3], args[20];
    float u[3]; /* that the direction is drawn by: the third chooses a side */
    float drawn[3], weight[3], chance; /* the direction, f cos / pdf, pdf; 0: none is found */
    float wi[3], f_cos[3], pdf;
    float albedo[3], base_factor[3];
} ClosureValue;

static const ClosureValue values[] = {
#include "tests/sort/bsdf/closure_values.inc"
};

static float3 vec(const float v[3])
{
    return f3(v[0], v[1], v[2]);
}

static void store(float3 v, float out[3])
{
    out[0] = v.x, out[1] = v.y, out[2] = v.z;
}

/* Computes what follows from the inputs of a row. */
static ClosureValue compute(const ClosureValue *row)
{
    ClosureValue now = *row;
    OnePoint p;
    BsdfSample s = {0};
    one_init(&p, vec(row->wo), vec(row->Ng), row->options);
    one_blur(&p, row->blur);
    one_shadow_bumps(&p, vec(row->unbent));
    Spectrum factor = one_layer_factor(&p, row->closure, row->args, 1);
    one_add_closure(&p, row->closure, spectrum_splat(1.0f), row->args, 1);
    if (!one_sample(&p, row->u[2], f2(row->u[0], row->u[1]), &s))
        s = (BsdfSample){0};
    store(s.wi, now.drawn);
    now.chance = s.pdf;
    Spectrum f = one_eval(&p, vec(row->wi), &now.pdf), albedo = bsdf_point_albedo(one_point(&p));
    for (uint32_t c = 0; c < 3; ++c) {
        now.weight[c] = s.weight.c[c];
        now.f_cos[c] = f.c[c];
        now.albedo[c] = albedo.c[c];
        now.base_factor[c] = factor.c[c];
    }
    return now;
}

/* Compares to a relative error; what is below `floor` counts as that. */
static uint32_t differences(size_t row, const char *what, const float *now, const float *then,
                            uint32_t count, float relative, float floor)
{
    for (uint32_t i = 0; i < count; ++i) {
        float scale = fmaxf(fmaxf(fabsf(now[i]), fabsf(then[i])), floor);
        if (fabsf(now[i] - then[i]) <= relative * scale)
            continue;
        print_message("row %zu, %s: %s[%u] is %g and was %g\n", row, values[row].closure, what, i,
                      (double)now[i], (double)then[i]);
        return 1;
    }
    return 0;
}

static void test_closures_have_the_values_of_their_implementation_in_c(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (size_t r = 0; r < SORT_COUNT_OF(values); ++r) {
        const ClosureValue *then = &values[r], now = compute(then);
        count += differences(r, "drawn direction", now.drawn, then->drawn, 3, 1e-3f, 1.0f);
        count += differences(r, "weight", now.weight, then->weight, 3, 5e-3f, 1e-3f);
        count += differences(r, "density of it", &now.chance, &then->chance, 1, 1e-2f, 1e-3f);
        count += differences(r, "f cos", now.f_cos, then->f_cos, 3, 5e-3f, 1e-3f);
        count += differences(r, "density", &now.pdf, &then->pdf, 1, 5e-3f, 1e-3f);
        count += differences(r, "albedo", now.albedo, then->albedo, 3, 1e-3f, 1e-2f);
        count += differences(r, "base", now.base_factor, then->base_factor, 3, 1e-3f, 1e-2f);
    }
    assert_int_equal(count, 0);
}

static void print_number(float x, const char *end)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)x);
    printf("%s%s%s", text, strpbrk(text, ".e") ? "f" : "", end);
}

static void print_numbers(const float *v, uint32_t count)
{
    printf("{");
    for (uint32_t i = 0; i < count; ++i)
        print_number(v[i], i + 1 < count ? ", " : "}, ");
}

static void print_row(const ClosureValue *v)
{
    printf("{\"%s\", %u, ", v->closure, v->options);
    print_number(v->blur, ", ");
    print_numbers(v->unbent, 3);
    print_numbers(v->wo, 3);
    print_numbers(v->Ng, 3);
    print_numbers(v->args, closure_scalars(&closure_rows[closure_find(v->closure)]));
    printf("\n ");
    print_numbers(v->u, 3);
    print_numbers(v->drawn, 3);
    print_numbers(v->weight, 3);
    print_number(v->chance, ", ");
    print_numbers(v->wi, 3);
    print_numbers(v->f_cos, 3);
    print_number(v->pdf, ", ");
    print_numbers(v->albedo, 3);
    print_numbers(v->base_factor, 3);
    printf("},\n");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        for (size_t r = 0; r < SORT_COUNT_OF(values); ++r)
            if (strcmp(values[r].closure, argv[2]) == 0) {
                ClosureValue now = compute(&values[r]);
                print_row(&now);
            }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closures_have_the_values_of_their_implementation_in_c)};
    return cmocka_run_group_tests_name("sort.bsdf_values", tests, NULL, NULL);
}
