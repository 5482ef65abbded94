/* Prints albedo_tables.inc:
 *
 *   ninja -C build/release albedo_generate && build/release/bin/albedo_generate > sort/bsdf/albedo_tables.inc
 */
#include "sort/bsdf/albedo.h"
#include "sort/bsdf/albedo_integral.h"

#include <math.h>
#include <stdio.h>

#define STEPS     256u
#define ALPHA_MIN 1e-4
#define COS_MIN   1e-4

/* The inverse of t(cos); see albedo.h. At both ends the limit is approached, not taken. */
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

/* 2 int (.) cos dcos of the functions that albedo_ggx makes of the nodes. */
static void average(const double *e1_node, const double *excess_node, double alpha, double *out_e1,
                    double *out_b)
{
    const uint32_t steps = 1u << 16;
    *out_e1 = *out_b = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps;
        double t = sqrt(c * (1.0 + alpha) / (c + alpha)) * (double)(ALBEDO_GGX_COS - 1);
        uint32_t k = (uint32_t)fmin(t, (double)(ALBEDO_GGX_COS - 2));
        double e1 = e1_node[k] + (t - k) * (e1_node[k + 1] - e1_node[k]);
        double excess = excess_node[k] + (t - k) * (excess_node[k + 1] - excess_node[k]);
        *out_e1 += e1 * 2.0 * c / steps;
        *out_b += e1 * (pow(1.0 - c, 5.0) + excess) * 2.0 * c / steps;
    }
}

static void print_ggx(void)
{
    double averages[ALBEDO_GGX_ALPHA][2];
    printf("static const GgxNode table_ggx[ALBEDO_GGX_ALPHA][ALBEDO_GGX_COS] = {\n");
    for (uint32_t a = 0; a < ALBEDO_GGX_ALPHA; ++a) {
        double alpha = alpha_of(a, ALBEDO_GGX_ALPHA), e1[ALBEDO_GGX_COS], excess[ALBEDO_GGX_COS];
        printf("    {");
        for (uint32_t m = 0; m < ALBEDO_GGX_COS; ++m) {
            double c = cos_of(m / (double)(ALBEDO_GGX_COS - 1), alpha), b;
            albedo_integral_ggx(alpha, c, STEPS, &e1[m], &b);
            excess[m] = b / e1[m] - pow(1.0 - c, 5.0);
            printf("%s{%.6ff, %.6ff}",
                   m == 0       ? ""
                   : m % 4 == 0 ? ",\n     "
                                : ", ",
                   e1[m], excess[m]);
        }
        printf("},\n");
        average(e1, excess, alpha, &averages[a][0], &averages[a][1]);
    }
    printf("};\n\nstatic const AlbedoTerms table_ggx_average[ALBEDO_GGX_ALPHA] = {\n");
    for (uint32_t a = 0; a < ALBEDO_GGX_ALPHA; ++a)
        printf("    {%.6ff, %.6ff},\n", averages[a][0], averages[a][1]);
    printf("};\n");
}

static void print_dielectric(void)
{
    printf(
        "\nstatic const float table_dielectric[2][ALBEDO_DIELECTRIC_IOR][ALBEDO_DIELECTRIC_ALPHA]"
        "[ALBEDO_DIELECTRIC_COS] = {\n");
    for (uint32_t side = 0; side < 2; ++side) {
        printf("    {\n");
        for (uint32_t n = 0; n < ALBEDO_DIELECTRIC_IOR; ++n) {
            double y = fmax(n, 1e-2) / (double)(ALBEDO_DIELECTRIC_IOR - 1), x = 0.6 * y * y;
            double ior = (1.0 + x) / (1.0 - x);
            printf("        {\n");
            for (uint32_t a = 0; a < ALBEDO_DIELECTRIC_ALPHA; ++a) {
                double alpha = alpha_of(a, ALBEDO_DIELECTRIC_ALPHA);
                printf("            {");
                for (uint32_t m = 0; m < ALBEDO_DIELECTRIC_COS; ++m) {
                    double q = fmax(m, 0.01) / (double)(ALBEDO_DIELECTRIC_COS - 1), c = q * q;
                    double e =
                        albedo_integral_dielectric(alpha, side ? 1.0 / ior : ior, c, STEPS / 2);
                    printf("%s%.4ff", m == 0 ? "" : m % 12 == 0 ? ",\n             " : ", ", e);
                }
                printf("},\n");
            }
            printf("        },\n");
        }
        printf("    },\n");
    }
    printf("};\n");
}

/* As with table_ggx, what is over the value of a mirror is smooth where that is steep. */
static void print_rise(void)
{
    printf("\nstatic const float table_rise[ALBEDO_RISE_IOR][ALBEDO_RISE_ALPHA][ALBEDO_RISE_COS] = "
           "{\n");
    for (uint32_t n = 0; n < ALBEDO_RISE_IOR; ++n) {
        double y = fmax(n, 1e-2) / (double)(ALBEDO_RISE_IOR - 1), x = 0.6 * y * y;
        double ior = (1.0 + x) / (1.0 - x);
        printf("    {\n");
        for (uint32_t a = 0; a < ALBEDO_RISE_ALPHA; ++a) {
            double alpha = alpha_of(a, ALBEDO_RISE_ALPHA);
            printf("        {");
            for (uint32_t m = 0; m < ALBEDO_RISE_COS; ++m) {
                double c = cos_of(m / (double)(ALBEDO_RISE_COS - 1), alpha), e1, unused;
                albedo_integral_ggx(alpha, c, STEPS / 2, &e1, &unused);
                double rise = albedo_integral_rise(alpha, ior, c, STEPS / 2) / e1;
                printf("%s%.4ff",
                       m == 0        ? ""
                       : m % 12 == 0 ? ",\n         "
                                     : ", ",
                       rise - albedo_mirror_rise(ior, c));
            }
            printf("},\n");
        }
        printf("    },\n");
    }
    printf("};\n");
}

static void print_sheen(void)
{
    printf("\nstatic const float table_sheen[ALBEDO_SHEEN_ALPHA][ALBEDO_SHEEN_COS] = {\n");
    for (uint32_t a = 0; a < ALBEDO_SHEEN_ALPHA; ++a) {
        double r = 0.15 + 0.85 * a / (ALBEDO_SHEEN_ALPHA - 1.0);
        printf("    {");
        for (uint32_t m = 0; m < ALBEDO_SHEEN_COS; ++m) {
            double q = fmax(m, 0.05) / (double)(ALBEDO_SHEEN_COS - 1);
            double e = albedo_integral_sheen(r * r, fmin(q * q, 1.0), STEPS);
            printf("%s%.4ff", m == 0 ? "" : m % 12 == 0 ? ",\n     " : ", ", e);
        }
        printf("},\n");
    }
    printf("};\n");
}

int main(void)
{
    printf("/* Made by sort/bsdf/albedo_generate.c; see albedo.h. Midpoint rule, %u^2 points. */\n"
           "/* clang-format off */\n",
           STEPS);
    print_ggx();
    print_dielectric();
    print_rise();
    print_sheen();
    printf("/* clang-format on */\n");
    return 0;
}
