/* Views: pictures of data that the renderer has about surfaces, for finding mistakes in scenes. */
#ifndef SORT_INTEGRATOR_VIEW_H
#define SORT_INTEGRATOR_VIEW_H

#include "sort/shade/texture_probe.h"

typedef enum WaveView {
    WAVE_VIEW_NONE = 0, /* the picture */
#define WAVE_VIEW(id, name, doc) WAVE_VIEW_##id,
#include "sort/integrator/views.inc"
#undef WAVE_VIEW
    WAVE_VIEW_COUNT
} WaveView;

typedef struct WaveViewInfo {
    const char *name, *doc;
} WaveViewInfo;
/* Returns the name and the description of a view, static; NULL if there is none. WAVE_VIEW_NONE is called "path". */
const WaveViewInfo *wave_view_info(WaveView view);

/* Records the finest mip level that textures were read at for each point of a kernel's run, for WAVE_VIEW_MIP and
 * FILM_AOV_MIP. Each fiber has its own, whose `probe` goes to the fiber's ShadeContext. */
typedef struct LevelWatch {
    const TexCache *cache; /* borrowed */
    TextureProbe probe;
    /* [SHADE_CHUNK], in the arena; FILM_UNKNOWN: no texture was read. */
    float *levels;
    bool is_on;
} LevelWatch;

/* Creates a watch in `arena`, which frees it. Returns NULL when memory is short. */
LevelWatch *level_watch_create(const TexCache *cache, Arena *arena);
/* Begins and ends recording: call them before and after each run whose levels are recorded. Other runs are not watched,
 * because it takes time. */
void level_watch_begin(LevelWatch *watch);
void level_watch_end(LevelWatch *watch);

#endif
