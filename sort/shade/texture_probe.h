/* A probe is called for each lane of a texture lookup after the lookup, for inspecting and for views. */
#ifndef SORT_SHADE_TEXTURE_PROBE_H
#define SORT_SHADE_TEXTURE_PROBE_H

#include "sort/shade/material.h"

typedef struct TextureProbeLookup {
    const MaterialProgram *program; /* NULL: the environment */
    uint32_t site;                  /* call site in the program */
    uint32_t point;                 /* index in the kernel's run */
    const TexRequest *request;
    uint32_t lane;
    const float *result; /* channel k of the lane is at [k * lane_count + lane] */
} TextureProbeLookup;

typedef struct TextureProbe {
    void (*lookup)(void *data, const TextureProbeLookup *lookup);
    void *data;
} TextureProbe;

static inline void texture_probe_tell(const TextureProbe *probe, TextureProbeLookup lookup)
{
    uint32_t first = lookup.point;
    for (lookup.lane = 0; lookup.lane < lookup.request->lane_count; ++lookup.lane) {
        lookup.point = first + lookup.lane;
        if (lookup.request->lane_mask >> lookup.lane & 1u)
            probe->lookup(probe->data, &lookup);
    }
}

#endif
