/* The taps of a lookup as a list, which a thread keeps so that a further lookup at the same coordinates shares them. Only data:
 * textures/filter/tex_list.c makes and reads it. */
#ifndef SORT_TEXTURES_CACHE_TAP_LIST_H
#define SORT_TEXTURES_CACHE_TAP_LIST_H

#include "textures/texcache.h"

enum { TAP_LIST_MAX = 256, TAP_LANE_MAX = 2 * TEX_MAX_PROBES };

/* Four texels of a level, blended by two fractions. */
typedef struct ListedTap {
    uint32_t level;
    uint32_t x[2], y[2];
    float fraction_x, fraction_y; /* weights of x[1] and y[1] */
} ListedTap;

/* The taps of a lane: for each probe one in the finer level and, if fraction is not 0, one in the level below it. */
typedef struct TapRun {
    uint32_t first, probe_count;
    float fraction; /* weight of the coarser level */
} TapRun;

typedef struct TapList {
    uint64_t number; /* changes whenever the list is made; 0: it has never been made */
    /* What the list was made for: a lookup of `wanted` lanes in a texture of this size. */
    uint32_t wanted, width, height, level_count;
    TexWrap wrap_s, wrap_t;
    TexFilter filter;
    TexMip mip;
    float mip_bias;
    int32_t is_wanted[TEX_MAX_LANES]; /* all bits of each lane in `wanted`, else none */
    float coord[7][TEX_MAX_LANES];    /* as in TexRequest; of wanted lanes */
    /* What was made: taps of the first lanes of those, as many as have room, which is at least one. */
    uint32_t lanes,
        bad_lanes; /* bad_lanes: those without a place or with a footprint that is not finite */
    uint32_t tap_count;
    TapRun runs[TEX_MAX_LANES]; /* of the lanes in `lanes`; no probes: the lane has no place */
    ListedTap taps[TAP_LIST_MAX];
} TapList;

#endif
