/* Where things are at the frames before and after the one that is rendered, for the layer `vector`. What a package says of these
 * frames counts; without, the ends of a motion over the shutter; else things stay where they are. Pure functions, any thread. */
#ifndef SORT_SCENE_NEIGHBOURS_H
#define SORT_SCENE_NEIGHBOURS_H

#include "sort/scene/camera.h"

/* A point of the surface of an instance, at barycentric coordinates b1 and b2 of a triangle; of curves, the point P in world
 * space at `time`. */
typedef struct ScenePlace {
    uint32_t instance, triangle;
    float b1, b2;
    float3 P;
    float time; /* in [0, 1] of the shutter */
} ScenePlace;

/* Returns the place in world space in this frame. Where nothing moves, scene_place_at returns the same bits. Of curves only the
 * motion of the instance is known. */
float3 scene_place_here(const Scene *scene, const ScenePlace *place);
float3 scene_place_at(const Scene *scene, const ScenePlace *place, SceneNeighbour which);

/* Returns how the camera sees a picture of this size at a neighbour. view: how it does in this frame. */
CameraView scene_camera_at(const SceneCamera *camera, const CameraView *view, uint32_t width_px,
                           uint32_t height_px, SceneNeighbour which);

#endif
