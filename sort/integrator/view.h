/* Views: pictures of what the renderer knows about surfaces, for whoever looks for a mistake. */
#ifndef SORT_INTEGRATOR_VIEW_H
#define SORT_INTEGRATOR_VIEW_H

#include "sort/shade/texture_probe.h"

typedef enum WaveView {
    WAVE_VIEW_NONE = 0, /* light */
#define WAVE_VIEW(id, name, doc) WAVE_VIEW_##id,
#include "sort/integrator/views.inc"
#undef WAVE_VIEW
    WAVE_VIEW_COUNT
} WaveView;

typedef struct WaveViewInfo {
    const char *name, *doc;
} WaveViewInfo;
/* NONE is called "path". */
const WaveViewInfo *wave_view_info(WaveView view);

/* The finest level that each point of a kernel's run was read at, for WAVE_VIEW_MIP and FILM_AOV_MIP. One a fiber:
 * `probe` goes to its ShadeContext. */
typedef struct LevelWatch {
    const TexCache *cache; /* borrowed */
    TextureProbe probe;
    float *levels; /* [SHADE_CHUNK], in the arena; FILM_UNKNOWN: not read */
    bool is_on;
} LevelWatch;

/* In `arena`; NULL without memory. */
LevelWatch *level_watch_create(const TexCache *cache, Arena *arena);
/* Before a run whose levels are wanted, and after the last. Asking for levels takes time: no other run is watched. */
void level_watch_begin(LevelWatch *watch);
void level_watch_end(LevelWatch *watch);

#endif
