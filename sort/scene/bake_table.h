/* The points of a surface that the pixels of a picture show, for baking: pixel by pixel a triangle of one instance, the place on
 * it, and how that place moves from pixel to pixel. The table stands where a camera stands in other renders.
 *
 *   file, or the texture coordinates of a mesh --bake_table_read, bake_table_draw--> BakeTable --sort/integrator/bake.c--> rays */
#ifndef SORT_SCENE_BAKE_TABLE_H
#define SORT_SCENE_BAKE_TABLE_H

#include "base/error.h"
#include "sort/scene/scene.h"

/* From where a point is looked at. */
typedef enum BakeLook {
    BAKE_FROM_ABOVE,    /* along its shading normal, on the front of the surface */
    BAKE_FROM_CAMERA,   /* from the camera, at grazing angles and from behind turned to the front */
    BAKE_AT_ENVIRONMENT /* not at all: the pixel shows the environment in the direction from the world's origin to the point */
} BakeLook;

/* What a pixel shows. b1, b2: barycentrics of the second and third corner at its middle; the others are their derivatives by the
 * film position: x one pixel to the right, y one pixel down. */
typedef struct BakePoint {
    int32_t triangle; /* of the instance's mesh; -1: nothing, the pixel stays empty */
    float b1, b2;
    float db1dx, db2dx, db1dy, db2dy;
} BakePoint;

typedef struct BakeTable {
    uint32_t width, height;
    uint32_t instance;
    BakeLook look;
    BakePoint *points; /* [width * height], row by row from the top; owned */
} BakeTable;

/* Reads a table for `instance` from a file: the 8 bytes "SORTBAKE", width and height as 32-bit numbers, and the points as above, all
 * little-endian. A side is at most max_side_px. *out_table is the caller's (bake_table_free), also on errors. STATUS_INVALID: the
 * instance has no triangles; STATUS_FORMAT: the file is no table, or one of another mesh. */
Status bake_table_read(const char *path, const Scene *scene, uint32_t instance,
                       uint32_t max_side_px, BakeTable *out_table, Error *err) SORT_MUST_CHECK;
/* Makes the table of a picture over texture coordinates of `instance`: the pixels show the triangles that cover their middle in
 * [0, 1]^2 of this uv set, v upwards, moved by `tile` (u, v); the first one where several do. STATUS_INVALID: the mesh has no
 * triangles, no such set, or nothing there. */
Status bake_table_draw(const Scene *scene, uint32_t instance, uint32_t uv_set,
                       const uint32_t tile[2], uint32_t width, uint32_t height,
                       BakeTable *out_table, Error *err) SORT_MUST_CHECK;
void bake_table_free(BakeTable *table);

#endif
