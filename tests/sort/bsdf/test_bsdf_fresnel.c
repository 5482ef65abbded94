/* Fresnel as closures have it (ssl/stdlib/bsdf): values known in closed form. */
#include "tests/sort/bsdf/ssl_probe.h"

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static SslProbe *dielectric_probe, *metal_probe, *schlick_probe, *tinted_probe, *film_probe,
    *film_metal_probe, *film_tinted_probe;

/* Returns the reflectance; *out_cos_t: the cosine of the refracted direction. */
static float refract(float cos_i, float eta, float *out_cos_t)
{
    float3 value = ssl_probe_at(dielectric_probe, (float[]){cos_i, eta});
    *out_cos_t = value.y;
    return value.x;
}

static float dielectric(float cos_i, float eta)
{
    float cos_t;
    return refract(cos_i, eta, &cos_t);
}

static double hemispherical(float eta)
{
    const uint32_t steps = 20000;
    double sum = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps;
        sum += 2.0 * c * (double)dielectric((float)c, eta) / steps;
    }
    return sum;
}

static void test_fresnel_dielectric_closed_forms(void **state)
{
    (void)state;
    static const float iors[] = {1.33f, 1.5f, 2.0f};
    static const double f0[] = {0.020059, 0.040000, 0.111111};
    static const double average[] = {0.06593, 0.09178, 0.16060};
    static const double average_inside[] = {0.47195, 0.59635, 0.79015};
    for (uint32_t i = 0; i < 3; ++i) {
        assert_true(fabs((double)dielectric(1.0f, iors[i]) - f0[i]) < 1e-6);
        assert_true(fabs((double)dielectric(1.0f, 1.0f / iors[i]) - f0[i]) < 1e-6);
        assert_true(fabs(hemispherical(iors[i]) - average[i]) < 2e-5);
        assert_true(fabs(hemispherical(1.0f / iors[i]) - average_inside[i]) < 2e-5);
        assert_true(dielectric(0.0f, iors[i]) == 1.0f);
    }
}

/* A lossless sheet with all the reflections inside it: 2F / (1 + F), here averaged over a diffuse sky. */
static void test_fresnel_sheet_under_a_diffuse_sky(void **state)
{
    (void)state;
    const uint32_t steps = 20000;
    double sum = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps, f = (double)dielectric((float)c, 1.5f);
        sum += 2.0 * c * 2.0 * f / (1.0 + f) / steps;
    }
    assert_true(fabs(sum - 0.155444) < 2e-5);
}

static void test_fresnel_dielectric_brewster_and_total_reflection(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i) {
        float n = 1.1f + 0.1f * (float)i;
        /* At Brewster's angle, tan = n, one polarisation is not reflected, of the other
         * ((n^2 - 1)/(n^2 + 1))^2. */
        float n2 = n * n, other = (n2 - 1.0f) / (n2 + 1.0f);
        float cos_b = 1.0f / sqrtf(1.0f + n2);
        assert_true(fabsf(dielectric(cos_b, n) - 0.5f * other * other) < 1e-6f);
        /* Beyond sin = 1/n from inside all is. */
        float cos_critical = sqrtf(1.0f - 1.0f / n2), cos_t = 2.0f;
        assert_true(refract(cos_critical * 0.999f, 1.0f / n, &cos_t) == 1.0f);
        assert_true(cos_t == 0.0f);
        assert_true(dielectric(cos_critical * 1.001f, 1.0f / n) < 1.0f);
    }
}

/* Reflectance is equal from both sides along one ray, whose cosines follow from Snell's law. */
static void test_fresnel_dielectric_is_symmetric(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; ++i)
        for (uint32_t j = 1; j <= 50; ++j) {
            float n = 1.05f + 0.1f * (float)i, c = 0.02f * (float)j;
            float cos_t, cos_back;
            float there = refract(c, n, &cos_t);
            float back = refract(cos_t, 1.0f / n, &cos_back);
            assert_true(fabsf(there - back) < 1e-4f / c);
            assert_true(fabsf(cos_back - c) < 2e-5f / c);
            float sin_i = sqrtf(1.0f - c * c), sin_t = sqrtf(1.0f - cos_t * cos_t);
            assert_true(fabsf(sin_i - n * sin_t) < 5e-4f);
        }
}

static void test_fresnel_metal(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 13; ++i)
        for (uint32_t j = 0; j < 16; ++j) {
            float eta = 0.15f + 0.3f * (float)i, k = 0.5f * (float)j;
            float f0 =
                ((eta - 1.0f) * (eta - 1.0f) + k * k) / ((eta + 1.0f) * (eta + 1.0f) + k * k);
            /* The reflectance at a cosine, and its mean. */
            float3 normal = ssl_probe_at(metal_probe, (float[]){1.0f, eta, k});
            assert_true(fabsf(normal.x - f0) < 2e-6f);
            assert_true(fabsf(ssl_probe_at(metal_probe, (float[]){0.0f, eta, k}).x - 1.0f) < 1e-6f);
            double sum = 0.0;
            for (uint32_t m = 0; m < 1000; ++m) {
                double c = (m + 0.5) / 1000.0;
                float f = ssl_probe_at(metal_probe, (float[]){(float)c, eta, k}).x;
                assert_true(f >= 0.0f && f <= 1.0f + 1e-6f);
                sum += 2.0 * c * (double)f / 1000.0;
                /* Without absorption it is a dielectric. */
                assert_true(k != 0.0f || fabsf(f - dielectric((float)c, eta)) < 1e-4f);
            }
            if (k >= 0.5f)
                assert_true(fabs((double)normal.y - sum) < 1e-3);
        }
}

static void test_fresnel_schlick(void **state)
{
    (void)state;
    static const float ends[][2] = {{0.04f, 1.0f}, {0.5f, 0.8f}, {1.0f, 1.0f}};
    for (size_t e = 0; e < SORT_COUNT_OF(ends); ++e) {
        double sum = 0.0, average = 0.0;
        for (uint32_t i = 0; i < 10000; ++i) {
            double c = (i + 0.5) / 10000.0;
            float3 value = ssl_probe_at(schlick_probe, (float[]){(float)c, ends[e][0], ends[e][1]});
            double expected =
                (double)ends[e][0] + (double)(ends[e][1] - ends[e][0]) * pow(1.0 - c, 5.0);
            assert_true(fabs((double)value.x - expected) < 1e-6);
            sum += 2.0 * c * expected / 10000.0;
            average = (double)value.y;
        }
        assert_true(fabs(average - sum) < 1e-5);
    }
}

/* From its colour at the normal to white, as a dielectric goes from its own reflectance to 1. */
static void test_fresnel_tinted(void **state)
{
    (void)state;
    for (float eta = 1.05f; eta < 4.0f; eta += 0.35f)
        for (float f0 = 0.0f; f0 < 1.01f; f0 += 0.25f) {
            double sum = 0.0, average = 0.0, own = pow(((double)eta - 1) / ((double)eta + 1), 2.0);
            for (uint32_t i = 0; i < 1000; ++i) {
                double c = (i + 0.5) / 1000.0;
                double rise = ((double)dielectric((float)c, eta) - own) / (1.0 - own);
                double expected = (double)f0 + (1.0 - (double)f0) * fmax(rise, 0.0);
                float3 value = ssl_probe_at(tinted_probe, (float[]){(float)c, eta, f0});
                assert_true(fabs((double)value.x - expected) < 1e-5);
                sum += 2.0 * c * expected / 1000.0;
                average = (double)value.y;
            }
            assert_true(fabs(average - sum) < 5e-3);
        }
}

static float3 film(float cos_i, float eta, float index, float nanometres)
{
    return ssl_probe_at(film_probe, (float[]){cos_i, eta, index, nanometres});
}

static void assert_grey(float3 c, double expected, double error)
{
    assert_true(fabs((double)c.x - expected) < error);
    assert_true(fabs((double)c.y - expected) < error);
    assert_true(fabs((double)c.z - expected) < error);
}

/* Nothing interferes where the film has no thickness, or the index of what lies on one side of it. */
static void test_fresnel_of_a_film_that_is_none(void **state)
{
    (void)state;
    for (float c = 0.05f; c < 1.0f; c += 0.1f) {
        double bare = (double)dielectric(c, 1.5f), inside = (double)dielectric(c, 1 / 1.5f);
        assert_grey(film(c, 1.5f, 1.9f, 0.0f), bare, 1e-4);
        assert_grey(film(c, 1 / 1.5f, 1.2f, 0.0f), inside, 1e-4);
        assert_grey(film(c, 1.5f, 1.5f, 300.0f), bare, 1e-4);
        assert_grey(film(c, 1.5f, 1.0f, 700.0f), bare, 1e-4);
    }
    assert_grey(film(0.5f, 1 / 1.5f, 1.0f, 400.0f), 1.0, 1e-6); /* total reflection */
}

/* By the observer's sums of Gaussians [Wyman2013] instead of sixteen wavelengths. */
static void rgb_of_wavelength(double nm, double rgb[3])
{
    static const double lobes[7][5] = {
        {0, 0.362, 442.0, 0.0624, 0.0374},  {0, 1.056, 599.8, 0.0264, 0.0323},
        {0, -0.065, 501.1, 0.0490, 0.0382}, {1, 0.821, 568.8, 0.0213, 0.0247},
        {1, 0.286, 530.9, 0.0613, 0.0322},  {2, 1.217, 437.0, 0.0845, 0.0278},
        {2, 0.681, 459.0, 0.0385, 0.0725},
    };
    static const double to_rgb[3][3] = {{3.2404542, -1.5371385, -0.4985314},
                                        {-0.9692660, 1.8760108, 0.0415560},
                                        {0.0556434, -0.2040259, 1.0572252}};
    double xyz[3] = {0.0, 0.0, 0.0};
    for (size_t i = 0; i < SORT_COUNT_OF(lobes); ++i) {
        double x = (nm - lobes[i][2]) * (nm < lobes[i][2] ? lobes[i][3] : lobes[i][4]);
        xyz[(size_t)lobes[i][0]] += lobes[i][1] * exp(-0.5 * x * x);
    }
    for (uint32_t c = 0; c < 3; ++c)
        rgb[c] = to_rgb[c][0] * xyz[0] + to_rgb[c][1] * xyz[1] + to_rgb[c][2] * xyz[2];
}

/* The reflectance of a film at normal incidence, by light that interferes at each of 400 wavelengths. */
static void film_by_wavelengths(double eta, double index, double nanometres, double rgb[3])
{
    double white[3] = {0.0, 0.0, 0.0}, sum[3] = {0.0, 0.0, 0.0};
    double a = (1 - index) / (1 + index), b = (index - eta) / (index + eta);
    for (double nm = 380.5; nm < 780.0; nm += 1.0) {
        double weight[3],
            wave = 2 * a * b * cos(2 * 3.14159265358979 * 2 * index * nanometres / nm);
        rgb_of_wavelength(nm, weight);
        for (uint32_t c = 0; c < 3; ++c) {
            white[c] += weight[c];
            sum[c] += weight[c] * (a * a + b * b + wave) / (1 + a * a * b * b + wave);
        }
    }
    for (uint32_t c = 0; c < 3; ++c)
        rgb[c] = fmin(fmax(sum[c] / white[c], 0.0), 1.0);
}

static void test_fresnel_of_a_film(void **state)
{
    (void)state;
    double least = 1.0, most = 0.0;
    for (double nanometres = 50; nanometres < 1000; nanometres += 35)
        for (double index = 1.2; index < 2.3; index += 0.25) {
            double expected[3];
            film_by_wavelengths(1.5, index, nanometres, expected);
            float3 found = film(1.0f, 1.5f, (float)index, (float)nanometres);
            assert_true(fabs((double)found.x - expected[0]) < 0.006);
            assert_true(fabs((double)found.y - expected[1]) < 0.006);
            assert_true(fabs((double)found.z - expected[2]) < 0.006);
            least = fmin(least, expected[1]), most = fmax(most, expected[1]);
        }
    assert_true(least < 0.01 && most > 0.2); /* there was something to find */
}

/* --- films on metals --------------------------------------------------------------------------- */

static float3 metal_film(double cos_i, const float eta[3], const float k[3], float index,
                         float nanometres)
{
    return ssl_probe_at(film_metal_probe, (float[]){(float)cos_i, eta[0], eta[1], eta[2], k[0],
                                                    k[1], k[2], index, nanometres});
}

static const float golden[3] = {0.2f, 0.92f, 1.1f}, golden_k[3] = {3.9f, 2.45f, 2.14f};

/* It is as if there were no film where it has no thickness, or the index of the air before it. */
static void test_fresnel_of_a_film_on_metal_that_is_none(void **state)
{
    (void)state;
    for (double c = 0.02; c < 1.0; c += 0.07) {
        float3 none = metal_film(c, golden, golden_k, 1.9f, 0.0f);
        float3 air = metal_film(c, golden, golden_k, 1.0f, 350.0f);
        for (uint32_t i = 0; i < 3; ++i) {
            float bare = ssl_probe_at(metal_probe, (float[]){(float)c, golden[i], golden_k[i]}).x;
            assert_true(fabsf((&none.x)[i] - bare) < 2e-4f);
            assert_true(fabsf((&air.x)[i] - bare) < 2e-4f);
        }
    }
}

/* A metal that absorbs nothing is a dielectric, with the same film. */
static void test_fresnel_of_a_film_on_metal_that_is_glass(void **state)
{
    (void)state;
    const float clear[3] = {1.7f, 1.7f, 1.7f}, none[3] = {0.0f, 0.0f, 0.0f};
    for (double c = 0.05; c < 1.0; c += 0.1)
        for (float nanometres = 80.0f; nanometres < 900.0f; nanometres += 130.0f) {
            float3 metal = metal_film(c, clear, none, 1.33f, nanometres);
            float3 glass = film((float)c, 1.7f, 1.33f, nanometres);
            assert_true(f3_length(f3_sub(metal, glass)) < 1e-4f);
        }
}

/* The reflectance for light of one wavelength and polarisation, by the characteristic matrix of the film [BornWolf1999 sec.
 * 1.6.2]: fields at its upper face from those at the metal, without any sum over paths. */
static double film_by_matrix(double cos_i, double complex metal, double film, double phase,
                             bool is_across)
{
    double sin2 = 1.0 - cos_i * cos_i, cos_f = sqrt(1.0 - sin2 / (film * film));
    double complex cos_t = csqrt(1.0 - sin2 / (metal * metal));
    double air = is_across ? cos_i : 1.0 / cos_i, layer = is_across ? film * cos_f : film / cos_f;
    double complex below = is_across ? metal * cos_t : metal / cos_t;
    const double complex turned = csqrt(-1.0);
    /* exp(-i w t): fields turn by +i, and the metal's index has a positive imaginary part. */
    double complex electric = cos(phase) - turned * below / layer * sin(phase);
    double complex magnetic = below * cos(phase) - turned * layer * sin(phase);
    double amplitude = cabs((air * electric - magnetic) / (air * electric + magnetic));
    return amplitude * amplitude;
}

/* Sums over 400 wavelengths. */
static void film_on_metal(double cos_i, const float eta[3], const float k[3], double film,
                          double nanometres, double rgb[3])
{
    const double pi = 3.14159265358979;
    double white[3] = {0.0, 0.0, 0.0}, sum[3] = {0.0, 0.0, 0.0};
    double way = film * nanometres * sqrt(1.0 - (1.0 - cos_i * cos_i) / (film * film));
    for (double nm = 380.5; nm < 780.0; nm += 1.0) {
        double weight[3], phase = 2.0 * pi * way / nm;
        rgb_of_wavelength(nm, weight);
        for (uint32_t c = 0; c < 3; ++c) {
            double complex metal = (double)eta[c] + csqrt(-1.0) * (double)k[c];
            white[c] += weight[c];
            sum[c] += weight[c] * 0.5 *
                      (film_by_matrix(cos_i, metal, film, phase, true) +
                       film_by_matrix(cos_i, metal, film, phase, false));
        }
    }
    for (uint32_t c = 0; c < 3; ++c)
        rgb[c] = fmin(fmax(sum[c] / white[c], 0.0), 1.0);
}

/* Sixteen wavelengths are fewer than it takes where light goes to and fro in the film often, as it does at grazing. */
static void test_fresnel_of_a_film_on_metal(void **state)
{
    (void)state;
    static const float chrome[3] = {2.757f, 2.513f, 2.231f}, chrome_k[3] = {3.867f, 3.404f, 3.009f};
    double least = 1.0, most = 0.0;
    for (double c = 0.15; c < 1.01; c += 0.17)
        for (double nanometres = 40; nanometres < 800; nanometres += 95)
            for (double index = 1.3; index < 2.5; index += 0.5)
                for (uint32_t kind = 0; kind < 2; ++kind) {
                    const float *eta = kind ? chrome : golden, *k = kind ? chrome_k : golden_k;
                    double expected[3];
                    film_on_metal(c, eta, k, index, nanometres, expected);
                    float3 found = metal_film(c, eta, k, (float)index, (float)nanometres);
                    for (uint32_t i = 0; i < 3; ++i)
                        assert_true(fabs((double)(&found.x)[i] - expected[i]) <
                                    (c < 0.4 ? 0.04 : 0.015));
                    least = fmin(least, expected[2]), most = fmax(most, expected[2]);
                }
    assert_true(least < 0.2 && most > 0.6); /* there was something to find */
}

/* A metal by two colours has none where its film has the index of air. Toward the normal it is the metal of an index that is
 * computed here anew, from reflectances at 0 and 82 degrees [Gulbrandsen2014]. */
static void test_fresnel_of_a_film_on_tinted_metal(void **state)
{
    (void)state;
    for (float r = 0.1f; r < 1.0f; r += 0.2f)
        for (float edge = 0.1f; edge < 1.0f; edge += 0.2f) {
            double f0 = (double)r, part = pow(6.0 / 7.0, 5.0);
            double at_82 = (double)edge * (f0 + (1.0 - f0) * part);
            for (float c = 0.05f; c <= 1.0f; c += 0.1f) {
                double dip = (double)c * pow(1.0 - (double)c, 6.0) / (part * 6.0 / 49.0);
                double bare = f0 + (1.0 - f0) * pow(1.0 - (double)c, 5.0) -
                              dip * (1.0 - (double)edge) * (f0 + (1.0 - f0) * part);
                const float air[] = {c, r, edge, 1.0f, 400.0f};
                assert_grey(ssl_probe_at(film_tinted_probe, air), fmin(fmax(bare, 0.0), 1.0), 2e-4);
            }
            double n = (1.0 - at_82) * (1.0 + sqrt(f0)) / (1.0 - sqrt(f0)) +
                       at_82 * (1.0 - f0) / (1.0 + f0);
            double k = sqrt((f0 * (n + 1.0) * (n + 1.0) - (n - 1.0) * (n - 1.0)) / (1.0 - f0));
            const float eta[3] = {(float)n, (float)n, (float)n},
                        ks[3] = {(float)k, (float)k, (float)k};
            const float head_on[] = {1.0f, r, edge, 1.5f, 300.0f};
            float3 metal = metal_film(1.0, eta, ks, 1.5f, 300.0f);
            float3 tinted = ssl_probe_at(film_tinted_probe, head_on);
            assert_true(f3_length(f3_sub(metal, tinted)) < 1e-3f);
        }
}

static int create_probes(void **state)
{
    (void)state;
    dielectric_probe =
        ssl_probe_create("float c, float eta",
                         "color(bsdf_fresnel(c, eta).reflectance, bsdf_fresnel(c, eta).cos_t, 0)");
    metal_probe = ssl_probe_create("float c, float eta, float k",
                                   "color(bsdf_fresnel_metal(c, eta, k), "
                                   "bsdf_fresnel_metal_average(color(eta), color(k)).r, 0)");
    schlick_probe = ssl_probe_create("float c, float f0, float f90",
                                     "color(bsdf_schlick(color(f0), color(f90), c).r, "
                                     "bsdf_schlick_average(color(f0), color(f90)).r, 0)");
    tinted_probe = ssl_probe_create("float c, float eta, float f0",
                                    "color(bsdf_tinted_fresnel(bsdf_tinted(color(f0), eta), c).r, "
                                    "bsdf_tinted_average(bsdf_tinted(color(f0), eta)).r, 0)");
    film_probe = ssl_probe_create("float c, float eta, float index, float nanometres",
                                  "bsdf_film_fresnel(c, eta, index, nanometres)");
    film_metal_probe =
        ssl_probe_create("float c, color eta, color k, float index, float nanometres",
                         "bsdf_film_fresnel_metal(c, eta, k, index, nanometres)");
    film_tinted_probe = ssl_probe_create(
        "float c, float r, float edge, float index, float nanometres",
        "bsdf_film_fresnel_tinted(c, bsdf_film_tinted(color(r), color(edge), index), index, "
        "nanometres)");
    return 0;
}

static int destroy_probes(void **state)
{
    (void)state;
    ssl_probe_destroy(dielectric_probe);
    ssl_probe_destroy(metal_probe);
    ssl_probe_destroy(schlick_probe);
    ssl_probe_destroy(tinted_probe);
    ssl_probe_destroy(film_probe);
    ssl_probe_destroy(film_metal_probe);
    ssl_probe_destroy(film_tinted_probe);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresnel_dielectric_closed_forms),
        cmocka_unit_test(test_fresnel_sheet_under_a_diffuse_sky),
        cmocka_unit_test(test_fresnel_dielectric_brewster_and_total_reflection),
        cmocka_unit_test(test_fresnel_dielectric_is_symmetric),
        cmocka_unit_test(test_fresnel_metal),
        cmocka_unit_test(test_fresnel_of_a_film_that_is_none),
        cmocka_unit_test(test_fresnel_of_a_film),
        cmocka_unit_test(test_fresnel_of_a_film_on_metal_that_is_none),
        cmocka_unit_test(test_fresnel_of_a_film_on_metal_that_is_glass),
        cmocka_unit_test(test_fresnel_of_a_film_on_metal),
        cmocka_unit_test(test_fresnel_of_a_film_on_tinted_metal),
        cmocka_unit_test(test_fresnel_schlick),
        cmocka_unit_test(test_fresnel_tinted),
    };
    return cmocka_run_group_tests_name("sort.bsdf_fresnel", tests, create_probes, destroy_probes);
}
