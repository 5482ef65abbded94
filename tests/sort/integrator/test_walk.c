/* Flights of random walks inside bodies (walk.ssl): the phase function, and that neither the channels nor the ways by which
 * flights are drawn change what light does. */
#include "base/hash.h"
#include "base/thread.h"
#include "sort/integrator/walk_rows.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Below this z, of which there are some hundred. */
#define Z_MOST 4.5

static double draw(uint64_t *seed)
{
    return (double)(hash_mix64((*seed)++) >> 40) * 0x1p-24;
}

static void set(WideRow row, double value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = (float)value;
}

static void set3(WideRow rows[3], const double v[3])
{
    for (uint32_t c = 0; c < 3; ++c)
        set(rows[c], v[c]);
}

static void randomize(WideRow row, uint64_t *seed)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = (float)draw(seed);
}

/* --- the phase function ------------------------------------------------------------------------- */

/* [Henyey1941]: of all scatters, those whose cosine is below c are
 * ((1 - g^2) / sqrt(1 + g^2 - 2 g c) - (1 - g)) / (2 g). */
static double phase_below(double g, double c)
{
    return g > 0.0 ? ((1 - g * g) / sqrt(1 + g * g - 2 * g * c) - (1 - g)) / (2 * g)
                   : 0.5 * (1 + c);
}

static double phase_pdf(double g, double c)
{
    return (1 - g * g) / (4.0 * acos(-1.0) * pow(1 + g * g - 2 * g * c, 1.5));
}

static void test_walk_scatters_by_the_phase_function(void **state)
{
    (void)state;
    enum { BLOCKS = 1 << 13, POINTS = BLOCKS * SSL_BLOCK };
    const double gs[] = {0.0, 0.01, 0.3, 0.7, 0.9}, edge = 0.4;
    const double grey[3] = {0.5, 0.5, 0.5}, outwards[3] = {0, 0, 1}, wo[3] = {0.48, -0.6, 0.64};
    static WalkRows rows;
    for (uint32_t j = 0; j < SORT_COUNT_OF(gs); ++j) {
        double sum = 0.0;
        uint32_t below = 0;
        set3(rows.albedo, grey), set3(rows.sigma_t, grey), set3(rows.beta, grey);
        set3(rows.reach, (double[3]){2, 2, 2});
        set3(rows.outwards, outwards), set3(rows.wo, wo);
        set(rows.g, gs[j]), set(rows.t, 1), set(rows.cosine, 0.64), set(rows.phase, 0.1);
        set(rows.channel_u, 0.999); /* beyond the share that is drawn towards the surface */
        set(rows.distance_u, 0.5);
        for (uint32_t i = 0; i < BLOCKS; ++i) {
            for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
                rows.u[k] = (float)fmod(0.618034 * (i * SSL_BLOCK + k), 1.0);
                rows.v[k] = (float)((i * SSL_BLOCK + k + 0.5) / POINTS);
            }
            walk_scatter_run(&rows, 0xffff);
            for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
                double c = 0.0;
                for (uint32_t d = 0; d < 3; ++d)
                    c += wo[d] * (double)rows.wi[d][k];
                sum += c;
                below += c < edge;
                assert_true(fabs((double)rows.next_phase[k] / phase_pdf(gs[j], c) - 1) < 1e-3);
                assert_true(fabs((double)(rows.next_cosine[k] - rows.wi[2][k])) < 1e-6);
            }
        }
        assert_true(fabs(sum / POINTS - gs[j]) < 2e-5);
        assert_true(fabs((double)below / POINTS - phase_below(gs[j], edge)) < 2e-5);
    }
}

/* --- what light does ------------------------------------------------------------------------------- */

typedef struct Mean {
    double sum, squares;
    uint32_t count;
} Mean;

static void add(Mean *m, double x)
{
    m->sum += x, m->squares += x * x, ++m->count;
}

static void expect(const Mean *m, double expected, const char *what, uint32_t medium, uint32_t c)
{
    double n = m->count, mean = m->sum / n, error = sqrt(fmax(m->squares / n - mean * mean, 0) / n);
    if (!(fabs(mean - expected) <= Z_MOST * error + 1e-5 * expected))
        fail_msg("medium %u, channel %u, %s: %g +- %g, not %g", medium, c, what, mean, error,
                 expected);
}

typedef struct Medium {
    double albedo[3], sigma_t[3], g;
} Medium;

static const Medium media[] = {
    {{0.9, 0.7, 0.4}, {1, 3, 9}, 0},
    {{0.999, 0.99, 0.9}, {2, 2, 2}, 0.8},
    {{1, 1, 1}, {0.3, 3, 0.1}, 0.3},
    {{0.5, 0, 0.02}, {100, 1, 10}, 0},
};

/* The lanes' flights end at a surface that is WALL_M away in all directions, or scatter before. */
#define WALL_M    0.25
#define SCATTER_M 0.1

/* Adds what scatters, by the albedo, and what arrives of flights that were sent with the throughput beta. */
static void end_flights(WalkRows *rows, const double albedo[3], Mean scattered[3], Mean arrived[3])
{
    WideRow all;
    uint16_t leaving = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        leaving |= (uint16_t)((uint32_t)(rows->t[k] >= (float)WALL_M) << k);
        all[k] = fminf(rows->t[k], (float)WALL_M);
    }
    memcpy(rows->t, all, sizeof all);
    set3(rows->weighed, (double[3]){0, 0, 0});
    walk_leave_run(rows, leaving);
    for (uint32_t c = 0; c < 3; ++c)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            add(&arrived[c], leaving >> k & 1 ? (double)rows->weighed[c][k] : 0.0);
    walk_scatter_run(rows, (uint16_t)~leaving);
    for (uint32_t c = 0; c < 3; ++c)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            add(&scattered[c], leaving >> k & 1 || albedo[c] == 0.0
                                   ? 0.0
                                   : (double)rows->weighed[c][k] / albedo[c]);
}

static void check(const Mean scattered[3], const Mean arrived[3], const double beta[3],
                  const Medium *m, uint32_t number)
{
    for (uint32_t c = 0; c < 3; ++c) {
        double passed = exp(-m->sigma_t[c] * WALL_M);
        expect(&arrived[c], beta[c] * passed, "arrives", number, c);
        if (m->albedo[c] > 0.0)
            expect(&scattered[c], beta[c] * (1 - passed), "scatters", number, c);
    }
}

/* The throughput after a first flight of t metres, whose channel was drawn by what each would bring. */
static void throughput_after(const Medium *m, const double beta[3], double t, double out[3])
{
    double density = 0.0, sum = 0.0;
    for (uint32_t c = 0; c < 3; ++c) {
        out[c] = beta[c] * m->albedo[c];
        sum += out[c];
        density += out[c] * m->sigma_t[c] * exp(-m->sigma_t[c] * t);
    }
    for (uint32_t c = 0; c < 3; ++c)
        out[c] *= m->sigma_t[c] * exp(-m->sigma_t[c] * t) * sum / density;
}

/* The isotropic medium in which light diffuses alike: it absorbs as much, and scatters (1 - g) times as much [Wyman1989]. */
static Medium similar_to(const Medium *m)
{
    Medium o = {.g = 0.0};
    for (uint32_t c = 0; c < 3; ++c) {
        double absorption = m->sigma_t[c] * (1 - m->albedo[c]);
        double scattering = m->sigma_t[c] * m->albedo[c] * (1 - m->g);
        o.sigma_t[c] = absorption + scattering;
        o.albedo[c] = scattering / o.sigma_t[c];
    }
    return o;
}

static void begin_flight(WalkRows *rows, const Medium *m, const double beta[3], uint64_t *seed)
{
    set3(rows->albedo, m->albedo), set3(rows->sigma_t, m->sigma_t), set(rows->g, m->g);
    set3(rows->outwards, (double[3]){0.36, 0.48, 0.8}), set3(rows->wo, (double[3]){0, -0.6, -0.8});
    set3(rows->beta, beta);
    set(rows->phase, 0), set(rows->cosine, 0);
    randomize(rows->channel_u, seed), randomize(rows->distance_u, seed);
    walk_begin_run(rows, 0xffff);
    memcpy(rows->t, rows->t_max, sizeof rows->t);
}

/* Scatters all flights after t metres, and makes the next ones those that are under way. */
static void scatter(WalkRows *rows, double t, bool diffuses, uint64_t *seed)
{
    set(rows->t, t);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        rows->diffuses[k] = diffuses;
    randomize(rows->channel_u, seed), randomize(rows->distance_u, seed);
    randomize(rows->u, seed), randomize(rows->v, seed);
    walk_scatter_run(rows, 0xffff);
    memcpy(rows->albedo, rows->next_albedo, sizeof rows->albedo);
    memcpy(rows->sigma_t, rows->next_sigma_t, sizeof rows->sigma_t);
    memcpy(rows->g, rows->next_g, sizeof rows->g);
    memcpy(rows->cosine, rows->next_cosine, sizeof rows->cosine);
    memcpy(rows->phase, rows->next_phase, sizeof rows->phase);
    memcpy(rows->t, rows->t_max, sizeof rows->t);
    memcpy(rows->beta, rows->weighed, sizeof rows->beta);
}

/* A flight in some direction gets t metres far with the probability exp(-sigma t), in each channel; the rest scatters. So do the
 * first one, whose direction the walk does not choose, and one after a scatter, from which on the medium may be isotropic. */
static void check_flights(uint32_t number, bool diffuses)
{
    enum { BLOCKS = 1 << 13 };
    const double beta[3] = {0.2, 0.6, 0.4};
    const Medium *m = &media[number], next = diffuses ? similar_to(m) : *m;
    static WalkRows rows;
    uint64_t seed = 1;
    Mean first_scattered[3] = {0}, first_arrived[3] = {0}, scattered[3] = {0}, arrived[3] = {0};
    for (uint32_t i = 0; i < BLOCKS; ++i) {
        begin_flight(&rows, m, beta, &seed);
        end_flights(&rows, m->albedo, first_scattered, first_arrived);
        begin_flight(&rows, m, beta, &seed);
        scatter(&rows, SCATTER_M, diffuses, &seed);
        end_flights(&rows, next.albedo, scattered, arrived);
    }
    double left[3];
    check(first_scattered, first_arrived, beta, m, number);
    throughput_after(m, beta, SCATTER_M, left);
    check(scattered, arrived, left, &next, number);
}

static void test_walk_attenuates_as_light_is(void **state)
{
    (void)state;
    for (uint32_t m = 0; m < SORT_COUNT_OF(media); ++m) {
        check_flights(m, false);
        check_flights(m, true);
    }
}

int main(void)
{
    thread_flush_denormals();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_scatters_by_the_phase_function),
        cmocka_unit_test(test_walk_attenuates_as_light_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
