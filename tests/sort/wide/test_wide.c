/* Programs of the renderer's stages: a point has the same bits in the code of every class of CPUs and in any company. */
#include "base/hash.h"
#include "base/thread.h"
#include "sort/integrator/walk_rows.h"
#include "sort/light/light_tree_rows.h"
#include "sort/sampling/sampler_rows.h"
#include "sort/scene/triangle_rows.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 256, ROUNDS = 200 };

typedef union Rows {
    alignas(64) WideRow row[ROWS_MAX];
    TriangleRows triangle;
    SamplerRows sampler;
    LightTreeRows light_tree;
    WalkRows walk;
} Rows;

static const struct {
    const char *name;
    const WideProgram *program;
} programs[] = {
    {"triangle_place", &triangle_place_program},
    {"triangle_normal", &triangle_normal_program},
    {"triangle_frame", &triangle_frame_program},
    {"triangle_stand", &triangle_stand_program},
    {"triangle_sample", &triangle_sample_program},
    {"triangle_density", &triangle_density_program},
    {"triangle_footprint", &triangle_footprint_program},
    {"sampler_one", &sampler_one_program},
    {"sampler_pair", &sampler_pair_program},
    {"sampler_pairs", &sampler_pairs_program},
    {"light_tree_node", &light_tree_node_program},
    {"walk_begin", &walk_begin_program},
    {"walk_scatter", &walk_scatter_program},
    {"walk_leave", &walk_leave_program},
};

/* Fills all rows with numbers of one scale, in which zeros occur. */
static void fill(Rows *rows, uint64_t *seed)
{
    static const float scales[] = {1.0f, 1e-6f, 1e6f, 1e-15f, 1e15f};
    float scale = scales[*seed % SORT_COUNT_OF(scales)];
    for (uint32_t r = 0; r < ROWS_MAX; ++r)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            uint64_t h = hash_mix64((*seed)++);
            float x = (float)((double)(h >> 40) * 0x1p-23 - 1.0);
            rows->row[r][k] = h % 17 == 0 ? 0.0f : x * (h % 3 == 0 ? scale : 1.0f);
        }
}

/* Returns whether two runs gave the same; what is not a number has no bits that are promised. */
static bool agree(const Rows *a, const Rows *b)
{
    for (uint32_t r = 0; r < ROWS_MAX; ++r)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            float x = a->row[r][k], y = b->row[r][k];
            if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
                return false;
        }
    return true;
}

static uint32_t class_count(void)
{
    return wide_class_here() + 1;
}

static void test_classes_agree(void **state)
{
    (void)state;
    static Rows first, other;
    uint64_t seed = 1;
    for (uint32_t p = 0; p < SORT_COUNT_OF(programs); ++p)
        for (uint32_t round = 0; round < ROUNDS; ++round) {
            fill(&first, &seed);
            for (uint32_t c = 1; c < class_count(); ++c) {
                Rows given = first;
                other = given;
                wide_run_as(programs[p].program, 0, &given, 0xffff);
                wide_run_as(programs[p].program, c, &other, 0xffff);
                if (!agree(&given, &other))
                    fail_msg("%s: %s gives other bits than %s", programs[p].name, wide_classes[c],
                             wide_classes[0]);
            }
        }
}

static void test_lanes_are_alone(void **state)
{
    (void)state;
    static Rows together, alone, given;
    uint64_t seed = 2;
    for (uint32_t p = 0; p < SORT_COUNT_OF(programs); ++p)
        for (uint32_t round = 0; round < ROUNDS; ++round) {
            fill(&given, &seed);
            uint16_t live = (uint16_t)hash_mix64(seed);
            together = alone = given;
            wide_run(programs[p].program, &together, live);
            for (uint32_t k = 0; k < SSL_BLOCK; ++k)
                if (live >> k & 1)
                    wide_run(programs[p].program, &alone, (uint16_t)(1u << k));
            if (!agree(&together, &alone))
                fail_msg("%s: a point depends on its company", programs[p].name);
        }
}

int main(void)
{
    thread_flush_denormals();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_agree),
        cmocka_unit_test(test_lanes_are_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
