/* A line that looks for the normals of an object around a point: see question_bevel.c. */
#ifndef SORT_SHADE_BEVEL_LINE_H
#define SORT_SHADE_BEVEL_LINE_H

#include "base/vec.h"

typedef struct BevelLine {
    float3 axes[3]; /* the first is that of the line */
    float picks[3]; /* probabilities of lines along them */
    float r;        /* distance of the line from the point, as a share of the radius */
    float3 sum;     /* of the normals that it has met */
} BevelLine;

#endif
