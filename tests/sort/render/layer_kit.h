/* Layers of which each ray is clear or not, against closed forms: scenes of quads around a point that the camera sees in a spot of
 * no size to speak of, in places of any size and anywhere. */
#ifndef SORT_TESTS_LAYER_KIT_H
#define SORT_TESTS_LAYER_KIT_H

#include "sort/film/film.h"
#include "tests/sort/render/render_kit.h"

/* Everything is scaled, then moved. The point that the camera sees is the origin of the plane z = 0, from above. */
typedef struct LayerPlace {
    double scale, move[3];
} LayerPlace;

enum { LAYER_PLACES = 4 };
extern const LayerPlace layer_places[LAYER_PLACES];

typedef struct LayerQuad {
    const char *name, *material;
    const char *fields; /* further ones of the instance, each with a comma in front */
    double corners[4][3];
} LayerQuad;

/* Writes the package: `scene` with the quads, and what else it has but for frame, depth, camera and sky. eye_height: of the camera. */
void layer_write_scene(const Kit *kit, const LayerPlace *place, const LayerQuad *quads,
                       size_t count, float eye_height, KitScene scene);
/* Renders it, and compares the mean of the layer with what is expected of each channel. `what`: of the message. */
void layer_check(const Kit *kit, const LayerPlace *place, FilmAov layer, const double expected[3],
                 const char *what);

#endif
