/* The extent of a scene, lamps included. */
#ifndef SORT_LIGHT_SCENE_BOUNDS_H
#define SORT_LIGHT_SCENE_BOUNDS_H

#include "sort/scene/scene.h"

/* The sphere around the middle of the box, in world space, that holds all instances at all times of the shutter and the
 * shapes of all lamps. A scene without any of them has centre 0 and radius 0. */
void scene_bounding_sphere(const Scene *scene, float3 *out_centre, float *out_radius_m);
/* The box, in world space, that holds an instance at all times of the shutter. */
void scene_instance_box(const Scene *scene, uint32_t instance, float3 *out_lower,
                        float3 *out_upper);
/* The radius of a sphere around a point in world space that holds it at all these times. */
float scene_instance_radius(const Scene *scene, uint32_t instance, float3 centre);

#endif
