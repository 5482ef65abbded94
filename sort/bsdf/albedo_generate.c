/* Makes the tables of albedo that closures read (ssl/stdlib/bsdf/albedo_tables.ssl); what they are good for: albedo.ssl.
 *
 *   ninja -C build/release albedo_generate
 *   build/release/bin/albedo_generate > ssl/stdlib/bsdf/albedo_tables.ssl       prints them, in some minutes
 *   build/release/bin/albedo_generate --check ssl/stdlib/bsdf/albedo_tables.ssl   computes some cells again
 */
#include "base/alloc.h"
#include "base/file.h"
#include "sort/bsdf/albedo_integral.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS     256u
#define ALPHA_MIN 1e-4
#define COS_MIN   1e-4

/* The sizes of the tables, last index first; albedo.ssl, tinted.ssl and cloth.ssl say over which numbers they run. */
enum {
    GGX_COS = 48,
    GGX_ALPHA = 32,
    DIELECTRIC_COS = 20,
    DIELECTRIC_ALPHA = 32,
    DIELECTRIC_IOR = 12,
    RISE_COS = 24,
    RISE_ALPHA = 16,
    RISE_IOR = 10,
    SHEEN_COS = 32,
    SHEEN_ALPHA = 24
};

/* --- cells ------------------------------------------------------------------------------------ */

/* The inverse of t(cos); see albedo.ssl. At both ends the limit is approached, not taken. */
static double cos_of(double t, double alpha)
{
    double c = alpha * t * t / (1.0 + alpha - t * t);
    return fmin(fmax(c, COS_MIN * alpha), 1.0);
}

static double alpha_of(uint32_t index, uint32_t count)
{
    double r = (double)index / (count - 1.0);
    return fmax(r * r, ALPHA_MIN);
}

static double ior_of(uint32_t index, uint32_t count)
{
    double y = fmax(index, 1e-2) / (double)(count - 1), x = 0.6 * y * y;
    return (1.0 + x) / (1.0 - x);
}

/* e1, and b / e1 - (1 - cos)^5: for smooth lobes b follows that power of the cosine, which no table in t could do. */
static void ggx_node(uint32_t a, uint32_t m, double *out_e1, double *out_excess)
{
    double alpha = alpha_of(a, GGX_ALPHA), c = cos_of(m / (double)(GGX_COS - 1), alpha), b;
    albedo_integral_ggx(alpha, c, STEPS, out_e1, &b);
    *out_excess = b / *out_e1 - pow(1.0 - c, 5.0);
}

static double ggx_e1(uint32_t index)
{
    double e1, excess;
    ggx_node(index / GGX_COS, index % GGX_COS, &e1, &excess);
    return e1;
}

static double ggx_excess(uint32_t index)
{
    double e1, excess;
    ggx_node(index / GGX_COS, index % GGX_COS, &e1, &excess);
    return excess;
}

/* 2 int (.) cos dcos of the functions that ggx_albedo makes of the nodes. */
static void ggx_average(uint32_t a, double *out_e1, double *out_b)
{
    const uint32_t steps = 1u << 16;
    double alpha = alpha_of(a, GGX_ALPHA), e1[GGX_COS], excess[GGX_COS];
    for (uint32_t m = 0; m < GGX_COS; ++m)
        ggx_node(a, m, &e1[m], &excess[m]);
    *out_e1 = *out_b = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps;
        double t = sqrt(c * (1.0 + alpha) / (c + alpha)) * (double)(GGX_COS - 1);
        uint32_t k = (uint32_t)fmin(t, (double)(GGX_COS - 2));
        double e = e1[k] + (t - k) * (e1[k + 1] - e1[k]);
        double x = excess[k] + (t - k) * (excess[k + 1] - excess[k]);
        *out_e1 += e * 2.0 * c / steps;
        *out_b += e * (pow(1.0 - c, 5.0) + x) * 2.0 * c / steps;
    }
}

static double ggx_average_e1(uint32_t a)
{
    double e1, b;
    ggx_average(a, &e1, &b);
    return e1;
}

static double ggx_average_b(uint32_t a)
{
    double e1, b;
    ggx_average(a, &e1, &b);
    return b;
}

/* First from outside, then from inside. */
static double dielectric(uint32_t index)
{
    uint32_t m = index % DIELECTRIC_COS, a = index / DIELECTRIC_COS % DIELECTRIC_ALPHA;
    uint32_t n = index / (DIELECTRIC_COS * DIELECTRIC_ALPHA);
    double ior = ior_of(n % DIELECTRIC_IOR, DIELECTRIC_IOR);
    double q = fmax(m, 0.01) / (double)(DIELECTRIC_COS - 1);
    return albedo_integral_dielectric(alpha_of(a, DIELECTRIC_ALPHA),
                                      n < DIELECTRIC_IOR ? ior : 1.0 / ior, q * q, STEPS / 2);
}

/* As with the excess of GGX, what is over the value of a mirror is smooth where that is steep. */
static double rise(uint32_t index)
{
    uint32_t m = index % RISE_COS, a = index / RISE_COS % RISE_ALPHA;
    double ior = ior_of(index / (RISE_COS * RISE_ALPHA), RISE_IOR), e1, unused;
    double alpha = alpha_of(a, RISE_ALPHA), c = cos_of(m / (double)(RISE_COS - 1), alpha);
    albedo_integral_ggx(alpha, c, STEPS / 2, &e1, &unused);
    return albedo_integral_rise(alpha, ior, c, STEPS / 2) / e1 - albedo_mirror_rise(ior, c);
}

static double sheen(uint32_t index)
{
    uint32_t alpha = index / SHEEN_COS;
    double r = 0.15 + 0.85 * alpha / (SHEEN_ALPHA - 1.0);
    double q = fmax(index % SHEEN_COS, 0.05) / (double)(SHEEN_COS - 1);
    return albedo_integral_sheen(r * r, fmin(q * q, 1.0), STEPS);
}

static const struct {
    const char *name;
    uint32_t count;
    int digits;
    double (*cell)(uint32_t index);
    uint32_t check_step; /* every so many cells are checked: those of averages take long */
} tables[] = {
    {"_TABLE_GGX_E1", GGX_ALPHA *GGX_COS, 6, ggx_e1, 97},
    {"_TABLE_GGX_EXCESS", GGX_ALPHA *GGX_COS, 6, ggx_excess, 89},
    {"_TABLE_GGX_AVERAGE_E1", GGX_ALPHA, 6, ggx_average_e1, 19},
    {"_TABLE_GGX_AVERAGE_B", GGX_ALPHA, 6, ggx_average_b, 23},
    {"_TABLE_DIELECTRIC", 2 * DIELECTRIC_IOR *DIELECTRIC_ALPHA *DIELECTRIC_COS, 4, dielectric, 101},
    {"_TABLE_RISE", RISE_IOR *RISE_ALPHA *RISE_COS, 4, rise, 53},
    {"_TABLE_SHEEN", SHEEN_ALPHA *SHEEN_COS, 4, sheen, 13},
};

/* --- printing and checking -------------------------------------------------------------------- */

static void print_tables(void)
{
    printf("// Made by sort/bsdf/albedo_generate.c; see albedo.ssl. Midpoint rule, %u^2 points.\n",
           STEPS);
    for (size_t t = 0; t < SORT_COUNT_OF(tables); ++t) {
        printf("const float %s[%u] = {", tables[t].name, tables[t].count);
        for (uint32_t i = 0; i < tables[t].count; ++i)
            printf("%s%.*f",
                   i == 0        ? "\n    "
                   : i % 12 == 0 ? ",\n    "
                                 : ", ",
                   tables[t].digits, tables[t].cell(i));
        printf("};\n");
    }
}

/* Compares a cell to a number of the text. A last digit may round the other way on another machine. */
static bool is_cell(size_t table, uint32_t index, double found)
{
    double expected = tables[table].cell(index);
    if (fabs(found - expected) <= 0.51 * pow(10.0, -tables[table].digits))
        return true;
    fprintf(stderr, "%s[%u] is %.*f and should be %.*f\n", tables[table].name, index,
            tables[table].digits, found, tables[table].digits, expected);
    return false;
}

static bool check_table(size_t table, const char *text)
{
    char head[64];
    snprintf(head, sizeof head, "const float %s[%u] = {", tables[table].name, tables[table].count);
    const char *at = strstr(text, head);
    if (!at) {
        fprintf(stderr, "there is no '%s'\n", head);
        return false;
    }
    at += strlen(head);
    bool is_good = true;
    for (uint32_t i = 0; i < tables[table].count; ++i) {
        char *end;
        double found = strtod(at, &end);
        at = end + 1; /* behind a comma, or the last bracket */
        if (i % tables[table].check_step == 0)
            is_good = is_cell(table, i, found) && is_good;
    }
    return is_good;
}

int main(int argc, char **argv)
{
    enum { TEXT_MAX = 1 << 24 };
    Error err = {0};
    char *text;
    size_t size_bytes;
    if (argc == 1) {
        print_tables();
        return 0;
    }
    if (argc != 3 || strcmp(argv[1], "--check") != 0) {
        fprintf(stderr, "usage: albedo_generate [--check FILE]\n");
        return 2;
    }
    if (file_read(argv[2], TEXT_MAX, &text, &size_bytes, &err) != STATUS_OK) {
        fprintf(stderr, "albedo_generate: %s\n", err.text);
        return 1;
    }
    bool is_good = true;
    for (size_t t = 0; t < SORT_COUNT_OF(tables); ++t)
        is_good = check_table(t, text) && is_good;
    mem_free(text);
    return is_good ? 0 : 1;
}
