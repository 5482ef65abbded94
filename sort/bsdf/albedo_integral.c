#include "sort/bsdf/albedo_integral.h"

#include "base/check.h"
#include <math.h>

#define TWO_PI 6.28318530717958647693

typedef struct Vec {
    double x, y, z;
} Vec;

static double dot(Vec a, Vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static double stretch(Vec w, double alpha)
{
    return sqrt(alpha * alpha * (w.x * w.x + w.y * w.y) + w.z * w.z);
}

/* Returns a unit direction of this cosine with z. */
static Vec direction(double cos_o)
{
    ASSERT(cos_o > 0.0 && cos_o <= 1.0);
    return (Vec){sqrt(1.0 - cos_o * cos_o), 0.0, cos_o};
}

/* A visible normal [Dupuy2023]. */
static Vec visible_normal(Vec wo, double alpha, double u, double v)
{
    double s = stretch(wo, alpha), oz = wo.z / s;
    double z = (1.0 - v) * (1.0 + oz) - oz, r = sqrt(fmax(0.0, 1.0 - z * z));
    Vec h = {alpha * (r * cos(TWO_PI * u) + alpha * wo.x / s), alpha * r * sin(TWO_PI * u), z + oz};
    double inv = 1.0 / sqrt(dot(h, h));
    return (Vec){h.x * inv, h.y * inv, h.z * inv};
}

/* G2 / G1(o) with correlated heights; cosines positive. */
static double shadowing(Vec wo, Vec wi, double alpha)
{
    double lambda_o = 0.5 * (stretch(wo, alpha) / wo.z - 1.0);
    double lambda_i = 0.5 * (stretch(wi, alpha) / fabs(wi.z) - 1.0);
    return (1.0 + lambda_o) / (1.0 + lambda_o + lambda_i);
}

/* A midpoint rule that crowds where the light that goes below the surface, and its shadowing just above, makes
 * the integrand steep: v = 1 - q^4. By symmetry only half of the azimuths. */
typedef struct Point {
    double u, v, weight;
} Point;

static Point quadrature_point(uint32_t i, uint32_t j, uint32_t steps)
{
    double q = (j + 0.5) / steps;
    return (Point){0.5 * (i + 0.5) / steps, 1.0 - q * q * q * q,
                   4.0 * q * q * q / ((double)steps * steps)};
}

void albedo_integral_ggx(double alpha, double cos_o, uint32_t steps, double *out_e1, double *out_b)
{
    Vec wo = direction(cos_o);
    double e1 = 0.0, b = 0.0;
    for (uint32_t i = 0; i < steps; ++i)
        for (uint32_t j = 0; j < steps; ++j) {
            Point p = quadrature_point(i, j, steps);
            Vec h = visible_normal(wo, alpha, p.u, p.v);
            double c = dot(wo, h);
            Vec wi = {2.0 * c * h.x - wo.x, 2.0 * c * h.y - wo.y, 2.0 * c * h.z - wo.z};
            if (wi.z <= 0.0)
                continue;
            double w = p.weight * shadowing(wo, wi, alpha);
            e1 += w;
            b += w * pow(1.0 - c, 5.0);
        }
    *out_e1 = e1;
    *out_b = b;
}

static double reflectance(double eta, double c)
{
    double cos_t = sqrt(1.0 - (1.0 - c * c) / (eta * eta));
    double fp = (eta * c - cos_t) / (eta * c + cos_t), fs = (c - eta * cos_t) / (c + eta * cos_t);
    return 0.5 * (fp * fp + fs * fs);
}

double albedo_mirror_rise(double eta, double cos_o)
{
    double normal = reflectance(eta, 1.0);
    return (reflectance(eta, cos_o) - normal) / (1.0 - normal);
}

double albedo_integral_rise(double alpha, double eta, double cos_o, uint32_t steps)
{
    Vec wo = direction(cos_o);
    double normal = reflectance(eta, 1.0), sum = 0.0;
    ASSERT(eta > 1.0); /* there is no total reflection */
    for (uint32_t i = 0; i < steps; ++i)
        for (uint32_t j = 0; j < steps; ++j) {
            Point p = quadrature_point(i, j, steps);
            Vec h = visible_normal(wo, alpha, p.u, p.v);
            double c = dot(wo, h);
            Vec wi = {2.0 * c * h.x - wo.x, 2.0 * c * h.y - wo.y, 2.0 * c * h.z - wo.z};
            if (wi.z > 0.0)
                sum +=
                    p.weight * shadowing(wo, wi, alpha) * (reflectance(eta, fmin(c, 1.0)) - normal);
        }
    return sum / (1.0 - normal);
}

double albedo_integral_dielectric(double alpha, double eta, double cos_o, uint32_t steps)
{
    Vec wo = direction(cos_o);
    double e = 0.0;
    for (uint32_t i = 0; i < steps; ++i)
        for (uint32_t j = 0; j < steps; ++j) {
            Point p = quadrature_point(i, j, steps);
            Vec h = visible_normal(wo, alpha, p.u, p.v);
            double c = dot(wo, h), sin2_t = (1.0 - c * c) / (eta * eta), f = 1.0, cos_t = 0.0;
            if (sin2_t < 1.0) {
                cos_t = sqrt(1.0 - sin2_t);
                double fp = (eta * c - cos_t) / (eta * c + cos_t);
                double fs = (c - eta * cos_t) / (c + eta * cos_t);
                f = 0.5 * (fp * fp + fs * fs);
            }
            Vec wr = {2.0 * c * h.x - wo.x, 2.0 * c * h.y - wo.y, 2.0 * c * h.z - wo.z};
            double k = c / eta - cos_t;
            Vec wt = {k * h.x - wo.x / eta, k * h.y - wo.y / eta, k * h.z - wo.z / eta};
            if (wr.z > 0.0)
                e += p.weight * f * shadowing(wo, wr, alpha);
            if (f < 1.0 && wt.z < 0.0)
                e += p.weight * (1.0 - f) * shadowing(wo, wt, alpha);
        }
    return e;
}

static double sheen_fit(const double k[5], double x)
{
    return k[0] / (1.0 + k[1] * pow(x, k[2])) + k[3] * x + k[4];
}

/* Smith's Lambda of the cloth lobe, by the paper's fit [Estevez2017 sec. 3]. */
static double sheen_lambda(double alpha, double cos_w)
{
    static const double narrow[5] = {25.3245, 3.32435, 0.16801, -1.27393, -4.85967};
    static const double wide[5] = {21.5473, 3.82987, 0.19823, -1.97760, -4.32054};
    double k[5], t = (1.0 - alpha) * (1.0 - alpha);
    for (int i = 0; i < 5; ++i)
        k[i] = (1.0 - t) * wide[i] + t * narrow[i];
    return exp(cos_w < 0.5 ? sheen_fit(k, cos_w)
                           : 2.0 * sheen_fit(k, 0.5) - sheen_fit(k, fmax(1.0 - cos_w, 0.0)));
}

double albedo_integral_sheen(double alpha, double cos_o, uint32_t steps)
{
    Vec wo = direction(cos_o);
    double lambda_o = sheen_lambda(alpha, cos_o), e = 0.0;
    for (uint32_t i = 0; i < steps; ++i) {
        double c = (i + 0.5) / steps, s = sqrt(1.0 - c * c);
        double shadowing = 1.0 + lambda_o + sheen_lambda(alpha, c);
        for (uint32_t j = 0; j < steps; ++j) {
            double turn = 0.5 * TWO_PI * (j + 0.5) / steps;
            Vec h = {wo.x + s * cos(turn), s * sin(turn), wo.z + c};
            double sin2 = 1.0 - h.z * h.z / dot(h, h);
            e += (2.0 + 1.0 / alpha) * pow(fmax(sin2, 0.0), 0.5 / alpha) / shadowing;
        }
    }
    return e / (4.0 * cos_o * (double)steps * steps);
}
