/* Segments of curves: their shape and the numbers at their control points.
 *
 *   linear        p0 p1            n points: n - 1 segments
 *   bezier        p0 p1 p2 p3      3 k + 1 points: k segments, which share their end points
 *   b_spline      p0 p1 p2 p3      n points: n - 3 segments, uniform cubic; passes none of its points
 *   catmull_rom   p0 p1 p2 p3      n points: n - 3 segments; passes all but the first and the last
 *
 * A round segment is the surface swept by a circle of radius r(u) at right angles to the curve; a linear one, as
 * Embree has it, the cone that touches the spheres about both ends, and those spheres. Radii follow the same
 * basis as the points. Pure functions, any thread. */
#ifndef SORT_SCENE_CURVE_H
#define SORT_SCENE_CURVE_H

#include "sort/scene/scene.h"

/* Points, and their derivatives by u in [0, 1] of the segment. */
typedef struct CurvePoint {
    float3 P, d1, d2, d3;
    float r, r1, r2;
} CurvePoint;

/* Segments that curves of these many points have together, when each has a number that curve_allows_points accepts. */
uint64_t curve_segment_count(SceneCurveBasis basis, uint64_t point_count, uint64_t curve_count);
/* Whether one curve can have so many points. */
bool curve_allows_points(SceneCurveBasis basis, uint32_t point_count);
/* "at least 4", for messages. */
const char *curve_points_rule(SceneCurveBasis basis);

/* Returns the point at u in [0, 1] of a segment at `time` of the shutter, with its derivatives, in object space. */
void curve_eval(const SceneMesh *mesh, uint32_t segment, float u, float time, CurvePoint *out);

/* Returns the weights of the control points at u, and their derivatives by u: value = sum of weights[k] times the
 * number of point segments[segment] + k. Returns how many there are, 2 or 4. */
uint32_t curve_weights(SceneCurveBasis basis, float u, float out_weights[4], float out_du[4]);

/* Returns the curve that the segment belongs to. */
uint32_t curve_of_segment(const SceneCurves *curves, uint32_t segment);

/* Returns a box around the mesh at all keys, in object space; tight but for the bend of curves. */
void curve_bounds(const SceneMesh *mesh, float3 *out_lower, float3 *out_upper);
/* Returns such a box around one segment. */
void curve_segment_bounds(const SceneMesh *mesh, uint32_t segment, float3 *out_lower,
                          float3 *out_upper);

#endif
