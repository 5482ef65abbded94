/* An acceleration structure of a scene with batches of rays to ask it, for tests. */
#ifndef SORT_TESTS_TRACER_H
#define SORT_TESTS_TRACER_H

#include "base/arena.h"
#include "sort/accel/accel.h"

typedef struct Tracer {
    Arena *arena;
    Accel *accel;
    RayBatch rays;
    HitBatch hits;
    ShadowBatch shadow;
} Tracer;

/* material_has_alpha as in AccelDesc, may be NULL; capacity: of each batch. Fails the test when the
 * structure cannot be made. */
Tracer tracer_create(const Scene *scene, const bool *material_has_alpha, uint32_t capacity);
void tracer_destroy(Tracer *t);

#endif
