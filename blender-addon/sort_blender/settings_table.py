"""The settings of a render as sort/scene/settings.inc has them; written by scripts/settings-docs."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """`kind`: U32, FLOAT or BOOL. `field`: the name in scene.json."""
    kind: str
    field: str
    least: float
    most: float
    default: float
    meaning: str


ROWS = (
    Row("U32", "samples", 1, 16777216, 64, "samples per pixel"),
    Row("U32", "max_depth", 1, 1024, 8, "most surfaces that a path interacts with"),
    Row("U32", "max_diffuse", 1, 1024, 1024, "most diffuse reflections of a path, and exits from translucent bodies"),
    Row("U32", "max_glossy", 1, 1024, 1024, "most reflections of a path that are not diffuse"),
    Row("U32", "max_transmission", 1, 1024, 1024, "most refractions and scattering transmissions of a path"),
    Row("U32", "max_transparent", 0, 128, 128, "most surfaces that a path or a shadow ray passes straight through"),
    Row("U32", "roulette_depth", 1, 1025, 3, "surface from which on Russian roulette may end a path that carries little light: later ones take more time and leave less noise"),
    Row("FLOAT", "clamp_direct", 0, 3.4028234e38, 0, "limit of the light that one sample brings after at most one bounce, as the mean of its channels; 0: no limit"),
    Row("FLOAT", "clamp_indirect", 0, 3.4028234e38, 0, "limit of the light that one sample brings after two or more bounces: fewer fireflies, dimmer caustics; 0: no limit"),
    Row("FLOAT", "filter_glossy", 0, 3.4028234e38, 0, "blurs what a path meets after blurry bounces, more so the larger the value, as in Cycles: softer caustics with less noise; 0: none"),
    Row("FLOAT", "light_threshold", 0, 3.4028234e38, 0, "light below which a shadow ray is traced by chance only: less time for a little noise; 0: all are traced"),
    Row("FLOAT", "ao_distance_m", 0, 3.4028234e38, 0, "distance in metres within which surfaces darken one another in the layer ambient_occlusion and the view ao; 0: a tenth of the scene"),
    Row("U32", "seed", 0, 4294967295, 0, "seed of the random numbers: each seed gives other noise"),
    Row("BOOL", "transparent_film", 0, 1, 0, "the camera does not see the environment, which still lights and is reflected; alpha is 0 there"),
    Row("FLOAT", "film_exposure", 0, 3.4028234e38, 1, "factor on the picture and its light passes when they are written, as in Cycles; films store unscaled light"),
)
