/* Points on curves, in the space of the object, where tubes are round; then to the world.
 *
 * A tube is the surface S(u, phi) = C(u) + r(u) e(phi), e a unit vector at right angles to the curve. With
 * T = C'/s, s = |C'|, and frames that do not twist, e_u = -(e . T_u) T and e_phi = b = T x e, so that
 *
 *   S_u = A T + r' e,   S_phi = r b,   normal n = A e - r' T   with A = s - r (e . T_u),
 *
 * and all that follows is differentiated by u and phi [DoCarmo1976 sec. 1-5]. A linear segment is a cone that
 * touches the spheres about its ends (curve.h). A ribbon is flat and turns about the curve with who looks; its
 * shading normal is that of a tube, and its plane is held for derivatives, which leaves out terms of the
 * order of its width over the distance. */
#include "sort/shade/hit_math.h"

#include "base/check.h"
#include "sort/scene/curve.h"

/* The cross section of a curve at a point, seen along D, in object space. */
typedef struct Section {
    CurvePoint c;
    float3 T, T_u; /* unit tangent and its derivative by u */
    float s;       /* |C'| */
    float3 B, D;   /* B: unit, at right angles to T and D; D: the ray's direction, not unit */
    float inverse_across; /* 1 / |T x D| */
} Section;

/* The ray in object space. */
typedef struct LocalRay {
    float3 P, D; /* P: the point that it hits */
    float3 dO[2], dD[2];
    float t;
} LocalRay;

/* The hit in object space, with derivatives by pixel x and y. */
typedef struct LocalHit {
    float3 P, dP[2];
    float3 N, dN[2]; /* shading normal, any length */
    float3 Ng;
    float du[2], across, dacross[2];
} LocalHit;

static Section section_at(const SceneMesh *mesh, uint32_t segment, float u, float time, float3 D)
{
    Section x = {.D = D};
    curve_eval(mesh, segment, u, time, &x.c);
    float3 along = x.c.d1;
    x.s = f3_length(along);
    if (!(x.s > 0.0f)) /* control points coincide: the curve leaves along its second derivative */
        along = x.c.d2;
    float3 unused;
    if (f3_length2(along) > 0.0f)
        x.T = f3_normalize(along);
    else
        f3_frame(f3_normalize(D), &x.T, &unused);
    if (x.s > 0.0f)
        x.T_u = f3_scale(f3_madd(x.c.d2, -f3_dot(x.T, x.c.d2), x.T), 1.0f / x.s);
    float3 across = f3_cross(x.T, D);
    float length = f3_length(across);
    if (length > 0.0f) {
        x.inverse_across = 1.0f / length;
        x.B = f3_scale(across, x.inverse_across);
    } else {
        f3_frame(x.T, &x.B, &unused);
    }
    return x;
}

/* d(T x D / |T x D|) */
static float3 across_derivative(const Section *x, float du, float3 dD)
{
    float3 d = f3_add(f3_scale(f3_cross(x->T_u, x->D), du), f3_cross(x->T, dD));
    return normalize_derivative(x->B, x->inverse_across, d);
}

static float safe_inverse(float x)
{
    return x > 0.0f ? 1.0f / x : 0.0f;
}

/* Sets the position across the fibre of the direction e from its axis, as the ray sees it. */
static void set_across(const Section *x, const LocalRay *ray, float3 e, float3 b,
                       const float dphi[2], LocalHit *h)
{
    h->across = clampf(f3_dot(e, x->B), -1.0f, 1.0f);
    for (int k = 0; k < 2; ++k)
        h->dacross[k] =
            dphi[k] * f3_dot(b, x->B) + f3_dot(e, across_derivative(x, h->du[k], ray->dD[k]));
}

static void move_to(const LocalRay *ray, LocalHit *h)
{
    float D_dot_n = f3_dot(ray->D, h->Ng);
    for (int k = 0; k < 2; ++k)
        h->dP[k] = transfer_to_plane(ray->dO[k], ray->dD[k], ray->t, ray->D, h->Ng, D_dot_n);
}

/* The part of v at right angles to T, unit. */
static float3 radial(const Section *x, float3 v)
{
    float3 e = f3_madd(v, -f3_dot(v, x->T), x->T);
    float length = f3_length(e);
    return length > 0.0f ? f3_scale(e, 1.0f / length) : f3_cross(x->T, x->B);
}

static void hit_tube(const Section *x, const LocalRay *ray, LocalHit *h)
{
    const CurvePoint *c = &x->c;
    float3 T = x->T, e = radial(x, f3_sub(ray->P, c->P)), b = f3_cross(T, e);
    float bend = f3_dot(e, x->T_u), s_u = f3_dot(T, c->d2);
    /* Below zero the tube is thicker than its bend is wide, and the surface folds. */
    float A = maxf(x->s - c->r * bend, 1e-3f * x->s), r = c->r;
    h->P = f3_madd(c->P, r, e);
    h->N = f3_madd(f3_scale(e, A), -c->r1, T);
    h->Ng = f3_length2(h->N) > 0.0f ? f3_normalize(h->N) : e;
    move_to(ray, h);

    float bend_u = (f3_dot(e, c->d3) - 2.0f * s_u * bend) * safe_inverse(x->s); /* e . T_uu */
    float A_u = s_u - c->r1 * bend - r * bend_u;
    float3 n_u = f3_madd(f3_scale(e, A_u), -(A * bend + c->r2), T);
    n_u = f3_madd(n_u, -c->r1, x->T_u);
    float3 n_phi = f3_madd(f3_scale(b, A), -r * f3_dot(b, x->T_u), e);
    float3 S_u = f3_madd(f3_scale(T, A), c->r1, e);
    float dphi[2], inverse_u = safe_inverse(f3_length2(S_u)), inverse_r = safe_inverse(r);
    for (int k = 0; k < 2; ++k) {
        h->du[k] = f3_dot(h->dP[k], S_u) * inverse_u;
        dphi[k] = f3_dot(h->dP[k], b) * inverse_r;
        h->dN[k] = f3_madd(f3_scale(n_u, h->du[k]), dphi[k], n_phi);
    }
    set_across(x, ray, e, b, dphi, h);
}

/* A linear segment: the sphere that touches at P has its centre at u. */
static void hit_cone(const Section *x, const LocalRay *ray, float u, LocalHit *h)
{
    const CurvePoint *c = &x->c;
    float3 from = f3_sub(ray->P, c->P);
    h->N = h->Ng = f3_length2(from) > 0.0f ? f3_normalize(from) : radial(x, f3_neg(ray->D));
    h->P = f3_madd(c->P, c->r, h->N);
    move_to(ray, h);
    float3 e = radial(x, h->N), b = f3_cross(x->T, e);
    float slope = c->r1 * safe_inverse(x->s), inverse_r = safe_inverse(c->r);
    float out = f3_dot(h->N, e); /* from the axis, of a unit of the radius */
    bool is_sphere = u <= 0.0f || u >= 1.0f;
    float inverse_u = is_sphere ? 0.0f : safe_inverse(x->s * (1.0f - slope * slope));
    float dphi[2];
    for (int k = 0; k < 2; ++k) {
        h->du[k] = f3_dot(h->dP[k], x->T) * inverse_u;
        dphi[k] = f3_dot(h->dP[k], b) * inverse_r * safe_inverse(out);
        h->dN[k] = is_sphere ? f3_scale(h->dP[k], inverse_r) : f3_scale(b, dphi[k] * out);
    }
    set_across(x, ray, e, b, dphi, h);
}

static void hit_ribbon(const Section *x, const LocalRay *ray, LocalHit *h)
{
    const CurvePoint *c = &x->c;
    float3 facing = f3_cross(x->T, x->B);
    float inverse_r = safe_inverse(c->r);
    float v = clampf(f3_dot(f3_sub(ray->P, c->P), x->B) * inverse_r, -1.0f, 1.0f);
    float out = sqrtf(1.0f - v * v);
    h->P = ray->P;
    h->Ng = facing;
    h->across = v;
    h->N = f3_madd(f3_scale(facing, out), v, x->B);
    move_to(ray, h);
    for (int k = 0; k < 2; ++k) {
        float du = f3_dot(h->dP[k], x->T) * safe_inverse(x->s);
        float dv = (f3_dot(h->dP[k], x->B) - v * c->r1 * du) * inverse_r;
        float3 dB = across_derivative(x, du, ray->dD[k]);
        float3 dF = f3_add(f3_cross(f3_scale(x->T_u, du), x->B), f3_cross(x->T, dB));
        float dout = out > 1e-3f ? -v * dv / out : 0.0f;
        h->du[k] = du;
        h->dacross[k] = dv;
        h->dN[k] =
            f3_add(f3_madd(f3_scale(x->B, dv), v, dB), f3_madd(f3_scale(facing, dout), out, dF));
    }
}

static LocalRay to_local(const SceneInstance *instance, float t, const Ray *ray,
                         const RayDiff *diff)
{
    const mat4 *m = &instance->world_to_object;
    float3 O = mat4_point(m, ray->origin), D = mat4_vector(m, ray->direction);
    return (LocalRay){.P = f3_madd(O, t, D),
                      .D = D,
                      .t = t,
                      .dO = {mat4_vector(m, diff->dOdx), mat4_vector(m, diff->dOdy)},
                      .dD = {mat4_vector(m, diff->dDdx), mat4_vector(m, diff->dDdy)}};
}

/* Turns a normal just to the viewer's side if it is not there, as at silhouettes. */
static float3 towards_viewer(float3 n, float3 I)
{
    float cosine = f3_dot(n, I);
    return cosine < 0.0f ? n : f3_normalize(f3_madd(n, -cosine - 1e-4f, I));
}

/* Bounds the error of the point along the normal. Embree finds round curves by iteration, to a few millionths of a
 * segment; for ribbons the point is the ray's. */
static float curve_error(const SceneInstance *instance, const Section *x, const LocalRay *ray,
                         const SurfaceHit *hit)
{
    const float operations = 64.0f;
    float reach = maxf(x->s, x->c.r) + f3_max_component(f3_abs(x->c.P));
    float3 there = f3_madd(f3_splat(reach), ray->t, f3_abs(ray->D));
    float3 size = absolute_vector(&instance->object_to_world, there);
    float3 n = f3_abs(hit->Ng);
    return operations * RAY_ROUNDING * f3_dot(n, size) +
           f3_dot(n, instance_error(instance, hit->P));
}

static void set_normals(const SceneInstance *instance, const LocalHit *h, SurfaceHit *hit)
{
    const mat4 *inverse = &instance->world_to_object;
    hit->Ng = towards_viewer(f3_normalize(mat4_normal(inverse, h->Ng)), hit->I);
    hit->Ng_front = hit->Ng;
    hit->N = mat4_normal(inverse, h->N);
    hit->dNdx = mat4_normal(inverse, h->dN[0]);
    hit->dNdy = mat4_normal(inverse, h->dN[1]);
    normalize_with_derivatives(&hit->N, &hit->dNdx, &hit->dNdy, hit->Ng);
}

/* Sets the texture coordinates of the curve's root if curves have them, else the positions along and across. */
static void set_uv(const SceneCurves *curves, const SceneMesh *mesh, SurfaceHit *hit)
{
    uint32_t curve = curve_of_segment(curves, hit->triangle), first = curves->first_segment[curve];
    ASSERT(curve < curves->curve_count && first <= hit->triangle);
    if (mesh->uv_count > 0) {
        const float *uv = mesh->uv[0] + 2 * (size_t)curve;
        hit->uv = f2(uv[0], uv[1]);
        return;
    }
    float per_segment = 1.0f / (float)(curves->first_segment[curve + 1] - first);
    hit->uv = f2(((float)(hit->triangle - first) + hit->b1) * per_segment, 0.5f + 0.5f * hit->b2);
    hit->duvdx = f2(hit->db1dx * per_segment, 0.5f * hit->db2dx);
    hit->duvdy = f2(hit->db1dy * per_segment, 0.5f * hit->db2dy);
}

void hit_curve(const SceneMesh *mesh, const SceneInstance *instance, const HitQuery *query,
               const Ray *ray, const RayDiff *diff, SurfaceHit *hit)
{
    static const RayDiff no_width = {.is_cone = false};
    float t = query->t;
    const SceneCurves *curves = mesh->curves;
    const mat4 *m = &instance->object_to_world;
    ASSERT(hit->triangle < curves->segment_count);
    LocalRay local = to_local(instance, t, ray, query->parts & HIT_FOOTPRINT ? diff : &no_width);
    Section x = section_at(mesh, hit->triangle, hit->b1, ray->time, local.D);
    LocalHit h = {0};
    if (curves->is_ribbon)
        hit_ribbon(&x, &local, &h);
    else if (curves->basis == SCENE_CURVE_LINEAR)
        hit_cone(&x, &local, hit->b1, &h);
    else
        hit_tube(&x, &local, &h);

    hit->P = mat4_point(m, h.P);
    hit->dPdx = mat4_vector(m, h.dP[0]);
    hit->dPdy = mat4_vector(m, h.dP[1]);
    hit->b2 = h.across;
    hit->db1dx = h.du[0];
    hit->db1dy = h.du[1];
    hit->db2dx = h.dacross[0];
    hit->db2dy = h.dacross[1];
    set_normals(instance, &h, hit);
    hit->error_m = curve_error(instance, &x, &local, hit);
    set_tangent(mat4_vector(m, x.s > 0.0f ? x.c.d1 : x.T),
                mat4_vector(m, f3_scale(x.c.d2, h.du[0])),
                mat4_vector(m, f3_scale(x.c.d2, h.du[1])), query->parts, hit);
    hit->tangent_sign = f3_dot(f3_cross(hit->N, hit->T), mat4_vector(m, x.B)) < 0.0f ? -1.0f : 1.0f;
    set_uv(curves, mesh, hit);
}
