/* The kit of the tests of light sources: lights of a fixture, and irradiance by sampling them. */
#ifndef SORT_TESTS_LIGHT_KIT_H
#define SORT_TESTS_LIGHT_KIT_H

#include "base/stat/ztest.h"
#include "sort/light/light.h"
#include "tests/sort/scene/scene_fixture.h"

#define PI 3.14159265358979323846

/* The chance of a false alarm; a program makes about a hundred such tests. */
#define KIT_SIGNIFICANCE 1e-6

/* The lights of the fixture; no mesh emits. */
Lights *kit_lights(SceneFixture *f);
/* One more light, of radiance, intensity or irradiance 2 (red); then as kit_lights. */
Lights *kit_one_light(SceneFixture *f, SceneLight light);

/* Red irradiance at a point by sampling `lights`; shadows are not looked at. */
ZTest kit_irradiance(const Lights *lights, float3 position, float3 normal, uint32_t samples);
/* Fails the test unless it is the expected one, known to 1 %. */
void kit_check_irradiance(const Lights *lights, float3 position, float3 normal, double expected);

/* Checks that sampling the light and random directions in the cone of 1 - cos `one_minus_cos` around the normal (0, 1, 0)
 * give the same irradiance, and densities that integrate to 1, less the samples that are lost. Rays along the directions
 * start `skipped` metres on. */
void kit_check_strategies(SceneLight light, float3 position, float one_minus_cos, float skipped);

#endif
