#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sort/accel/tracer.h"

Tracer tracer_create(const Scene *scene, const bool *material_has_alpha, uint32_t capacity)
{
    Tracer t = {.arena = arena_create(0, 0)};
    AccelDesc desc = {.size_bytes = sizeof desc,
                      .scene = scene,
                      .material_has_alpha = material_has_alpha,
                      .thread_count = 2};
    Error err = {0};
    if (accel_create(&desc, &t.accel, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(ray_batch_create(t.arena, capacity, &t.rays, NULL), STATUS_OK);
    assert_int_equal(hit_batch_create(t.arena, capacity, &t.hits, NULL), STATUS_OK);
    assert_int_equal(shadow_batch_create(t.arena, capacity, &t.shadow, NULL), STATUS_OK);
    return t;
}

void tracer_destroy(Tracer *t)
{
    accel_destroy(t->accel);
    arena_destroy(t->arena);
}
