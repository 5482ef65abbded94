/* The taps of a lookup as a list, which a thread keeps so that a further lookup at the same coordinates shares them. Only data:
 * textures/filter/tex_list.c makes and reads it. */
#ifndef SORT_TEXTURES_CACHE_TAP_LIST_H
#define SORT_TEXTURES_CACHE_TAP_LIST_H

#include "textures/format/texel.h"

enum { TAP_LIST_MAX = 256, TAP_LANE_MAX = 2 * TEX_MAX_PROBES, TAP_COORDINATES = 7 };

/* Four texels of a level: two columns, two rows. */
typedef struct ListedTap {
    uint16_t level, lane;
    uint32_t texels[4];
} ListedTap;

/* A tile that some taps lie in. Neighbours share it, but it may be listed again after others of its level. */
typedef struct ListedTile {
    uint32_t number; /* in the texture */
    uint32_t tap;    /* the first one */
} ListedTile;

/* The tiles of the taps in textures of one layout, which follows from their size, the shape of their tiles, and the number of
 * tiles that hold their small levels. Textures differ in it only if their texels differ much in bytes. */
typedef struct TapPlaces {
    uint32_t tile_log2_x, tile_log2_y; /* of level 0 */
    uint32_t tail_count;               /* 0: no places have been computed */
    uint32_t tile_count;
    ListedTile tiles[1 + TAP_LIST_MAX]; /* [TAP_IN_SEVERAL_TILES]: none */
} TapPlaces;
enum { TAP_IN_SEVERAL_TILES = 0 };

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
    i32x4 is_wanted[TEX_MAX_LANES / 4]; /* all bits of each lane in `wanted`, else none */
    i32x4 coord[TAP_COORDINATES][TEX_MAX_LANES / 4]; /* the bits of those of the request */
    /* What was made: taps of the first lanes of those, as many as have room, which is at least one. */
    uint32_t lanes,
        bad_lanes; /* bad_lanes: those without a place or with a footprint that is not finite */
    uint32_t tap_count;
    uint32_t level_taps[TEX_MAX_LEVELS]; /* how many are in each level */
    uint32_t first_level, end_level;     /* others have none */
    TapRun runs[TEX_MAX_LANES]; /* of the lanes in `lanes`; no probes: the lane has no place */
    ListedTap taps[TAP_LIST_MAX];
    TapPlaces places;
    TexelTap blends[TAP_LIST_MAX]; /* but for the fractions, set with the places */
    /* The memory of the tiles in a lookup's texture; NULL: not resident. Here because stacks of fibers are small. */
    const uint8_t *tiles[1 + TAP_LIST_MAX];
} TapList;

#endif
