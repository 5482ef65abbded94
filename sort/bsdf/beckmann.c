/* Visible normals of the Beckmann distribution. In the stretched space, where alpha is 1, a slope across the
 * view is Gaussian; the slope x along it has, as a function of b = erf(x), the cumulative distribution
 *
 *   C(b) proportional to  1 + b + K exp(-x^2),  K = tan(theta) / sqrt(pi),  b in [-1, erf(cot(theta))],
 *
 * which is inverted by Newton's method, kept inside an interval. */
#include "sort/bsdf/beckmann.h"

/* Inverse of the error function on (-1, 1) [Giles2012, single precision]. */
static float inverse_erf(float b)
{
    b = clampf(b, -0.9999999f, 0.9999999f);
    float w = -logf((1.0f - b) * (1.0f + b)), p;
    if (w < 5.0f) {
        w -= 2.5f;
        p = 2.81022636e-08f;
        p = 3.43273939e-07f + p * w;
        p = -3.5233877e-06f + p * w;
        p = -4.39150654e-06f + p * w;
        p = 0.00021858087f + p * w;
        p = -0.00125372503f + p * w;
        p = -0.00417768164f + p * w;
        p = 0.246640727f + p * w;
        p = 1.50140941f + p * w;
    } else {
        w = sqrtf(w) - 3.0f;
        p = -0.000200214257f;
        p = 0.000100950558f + p * w;
        p = 0.00134934322f + p * w;
        p = -0.00367342844f + p * w;
        p = 0.00573950773f + p * w;
        p = -0.0076224613f + p * w;
        p = 0.00943887047f + p * w;
        p = 1.00167406f + p * w;
        p = 2.83297682f + p * w;
    }
    return p * b;
}

static float sample_slope(float cos_o, float sin_o, float u)
{
    enum { STEPS_MAX = 16 };
    float tangent = sin_o / cos_o, k = tangent * BECKMANN_INV_SQRT_PI;
    float low = -1.0f, high = erff(cos_o / sin_o);
    float whole = 1.0f + high + k * expf(-(cos_o / sin_o) * (cos_o / sin_o));
    float target = maxf(u, 1e-6f) * whole, b = low + u * (high - low), x = 0.0f;
    for (int i = 0; i < STEPS_MAX; ++i) {
        if (!(b > low && b < high))
            b = 0.5f * (low + high);
        x = inverse_erf(b);
        float error = 1.0f + b + k * expf(-x * x) - target;
        if (fabsf(error) < 1e-6f * whole)
            break;
        if (error > 0.0f)
            high = b;
        else
            low = b;
        b -= error / (1.0f - x * tangent);
    }
    return x;
}

float3 beckmann_sample_visible(float3 wo, float alpha_x, float alpha_y, float2 u)
{
    float3 o = f3_normalize(f3(alpha_x * wo.x, alpha_y * wo.y, wo.z));
    float sin_o = sqrtf(o.x * o.x + o.y * o.y);
    float slope_x, slope_y, c = 1.0f, s = 0.0f;
    if (sin_o < 1e-4f) {
        float r = sqrtf(-logf(maxf(1.0f - u.x, 1e-7f)));
        float2 p = warp_circle(u.y);
        slope_x = r * p.x;
        slope_y = r * p.y;
    } else {
        c = o.x / sin_o;
        s = o.y / sin_o;
        slope_x = sample_slope(maxf(o.z, 1e-6f), sin_o, u.x);
        slope_y = inverse_erf(2.0f * u.y - 1.0f);
    }
    float x = c * slope_x - s * slope_y, y = s * slope_x + c * slope_y;
    return f3_normalize(f3(-alpha_x * x, -alpha_y * y, 1.0f));
}
