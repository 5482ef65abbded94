"""The daylight of Sky Texture, type Nishita: single scattering in a spherical atmosphere of air, dust and ozone
[Nishita1993], for 21 wavelengths, as linear sRGB. numpy alone, no Blender.

What the paper leaves open is as Cycles has it, found by comparing pictures: the dust's phase function and extinction, the
shape of the ozone layer, the quadratures, the rows of the table, the sun's disc without ozone.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

NM = np.arange(380, 781, 20)
STEP_NM = 20
# CIE 1931, 2 degrees: x, y, z at each wavelength [CIE1931].
OBSERVER = np.array([
    (0.001368, 0.000039, 0.00645), (0.01431, 0.000396, 0.06785), (0.13438, 0.004, 0.6456), (0.34828, 0.023, 1.74706),
    (0.2908, 0.06, 1.6692), (0.09564, 0.13902, 0.81295), (0.0049, 0.323, 0.272), (0.06327, 0.71, 0.07825),
    (0.2904, 0.954, 0.0203), (0.5945, 0.995, 0.0039), (0.9163, 0.87, 0.00165), (1.0622, 0.631, 0.0008),
    (0.85445, 0.381, 0.00019), (0.4479, 0.175, 0.00002), (0.1649, 0.061, 0), (0.04677, 0.017, 0),
    (0.011359, 0.004102, 0), (0.0029, 0.001047, 0), (0.00069, 0.000249, 0), (0.000166, 0.00006, 0),
    (0.000042, 0.000015, 0)])
XYZ_TO_RGB = np.array([(3.2404542, -1.5371385, -0.4985314), (-0.9692660, 1.8760108, 0.0415560),
                       (0.0556434, -0.2040259, 1.0572252)])
# Absorption by ozone where it is densest, 1/m: 5.4e18 molecules/m3. Up to 480 nm and at 600 nm the cross-sections of
# [Serdyuchenko2014], else the coefficients of [Leckner1978], by which the two agree.
OZONE = 1e-9 * np.array([1.52, 8.25, 29.8, 85.4, 198, 419, 618, 989, 1545, 2122, 2472, 2704, 2163, 1627, 1174, 742, 474,
                         288, 206, 144, 82])
AIR = 1.1312e-30 / (NM * 1e-9) ** 4  # Rayleigh scattering at sea level, 1/m
DUST, DUST_EXTINCTION = 2e-5, 1.11  # Mie scattering at sea level, 1/m; extinction by it
FORWARD = 0.76  # asymmetry of dust
AIR_HEIGHT_M, DUST_HEIGHT_M = 8000.0, 1200.0
GROUND_M, TOP_M = 6360e3, 6420e3  # radii
PLANCK, LIGHT, BOLTZMANN = 6.62607e-34, 2.99792e8, 1.38065e-23
SUN_K, SUN_RADIUS_M, SUN_DISTANCE_M = 5778.0, 6.957e8, 1.496e11
STEPS = 32  # along a line of sight
WIDTH, HEIGHT = 128, 128  # of the table
LIMB = 0.6  # the sun's edge is darker by this part


def _sunlight() -> np.ndarray:
    """Irradiance above the atmosphere, W/(m2 nm): a black body."""
    metres = NM * 1e-9
    radiance = 2 * PLANCK * LIGHT ** 2 / metres ** 5 / np.expm1(PLANCK * LIGHT / (metres * BOLTZMANN * SUN_K))
    return math.pi * (SUN_RADIUS_M / SUN_DISTANCE_M) ** 2 * radiance * 1e-9


def _rgb(spectrum: np.ndarray) -> np.ndarray:
    return spectrum @ OBSERVER @ XYZ_TO_RGB.T * STEP_NM


def _densities(places: np.ndarray) -> np.ndarray:
    """[..., 3]: of air, dust and ozone, by those at their densest."""
    height = np.maximum(np.sqrt(np.einsum("...k,...k->...", places, places)) - GROUND_M, 0.0)
    ozone = np.maximum(np.where(height < 25e3, height / 15e3 - 2 / 3, 8 / 3 - height / 15e3), 0.0)
    return np.stack([np.exp(-height / AIR_HEIGHT_M), np.exp(-height / DUST_HEIGHT_M), ozone], axis=-1)


def _to_the_top(places: np.ndarray, directions: np.ndarray) -> np.ndarray:
    along = np.einsum("...k,...k->...", places, directions)
    return np.sqrt(along ** 2 - np.einsum("...k,...k->...", places, places) + TOP_M ** 2) - along


def _depths(places: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Densities along the ways out, metres: Gauss-Laguerre of 8 points, the length being 25."""
    nodes, weights = np.polynomial.laguerre.laggauss(8)
    length = _to_the_top(places, direction)[..., None]
    return length * sum(w * math.exp(x) / 25 * _densities(places + length * (x / 25) * direction)
                        for x, w in zip(nodes, weights))


def _is_in_shade(places: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Tells which places the earth shades from light that comes from `direction`."""
    along = np.einsum("...k,...k->...", places, direction)
    return (along < 0) & (along ** 2 >= np.einsum("...k,...k->...", places, places) - GROUND_M ** 2)


@dataclass(frozen=True)
class Sky:
    """Angles in radians; densities by those of a clear day."""
    elevation: float
    altitude_m: float
    air: float
    dust: float
    ozone: float

    def key(self) -> str:
        return f"sky {astuple(self)}"

    def _extinction(self) -> np.ndarray:
        """[3, wavelengths], 1/m."""
        return np.stack([self.air * AIR, np.full(len(NM), self.dust * DUST * DUST_EXTINCTION), self.ozone * OZONE])

    def _eye(self) -> np.ndarray:
        return np.array([0.0, 0.0, GROUND_M + min(max(self.altitude_m, 1.0), 59999.0)])

    def table(self) -> np.ndarray:
        """Radiance [rows, columns, rgb] float32; parts of it may be negative. Columns are azimuths from the sun's to
        the opposite, rows elevations as Cycles has them: row j stands for the elevation that belongs half a row
        higher."""
        azimuth = (np.arange(WIDTH) + 0.5) / WIDTH * math.pi
        elevation = (math.pi / 2 + math.pi / 4 / HEIGHT) * (np.arange(HEIGHT) / HEIGHT) ** 2
        azimuth, elevation = np.meshgrid(azimuth, elevation)
        directions = np.stack([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth),
                               np.sin(elevation)], axis=-1)
        return self._radiance(directions).astype(np.float32)

    def _radiance(self, directions: np.ndarray) -> np.ndarray:
        """Returns the sky's radiance for directions that point upwards; the sun stands over +x."""
        sun = np.array([math.cos(self.elevation), 0.0, math.sin(self.elevation)])
        toward = directions @ sun
        air_phase = 3 / (16 * math.pi) * (1 + toward ** 2)
        g2 = FORWARD ** 2
        dust_phase = (3 / (8 * math.pi) * (1 - g2) * (1 + toward ** 2)
                      / ((2 + g2) * (1 + g2 - 2 * FORWARD * toward) ** 1.5))
        extinction, eye = self._extinction().astype(np.float32), self._eye()
        scattering = np.stack([extinction[0], extinction[1] / np.float32(DUST_EXTINCTION)])
        step = (_to_the_top(eye, directions) / STEPS)[..., None]
        passed, sum_of = 0.0, 0.0
        for k in range(STEPS):
            places = eye + (k + 0.5) * step * directions
            amounts = _densities(places) * step
            passed = passed + amounts
            depth = (passed + _depths(places, sun)).astype(np.float32)
            arriving = np.exp(-depth @ extinction)
            arriving[_is_in_shade(places, sun)] = 0.0
            turned = np.stack([amounts[..., 0] * air_phase, amounts[..., 1] * dust_phase], axis=-1)
            sum_of = sum_of + arriving * (turned.astype(np.float32) @ scattering)
        return _rgb(sum_of * _sunlight())

    def sun(self, angle: float) -> tuple[np.ndarray, np.ndarray]:
        """Radiances rgb of the disc of this full angle, at its lowest place above the horizon and its highest; between
        them they change evenly. Black below the horizon."""
        low, high = max(self.elevation - angle / 2, 0.0), self.elevation + angle / 2
        if high <= 0:
            return np.zeros(3), np.zeros(3)
        disc_sr = 2 * math.pi * (1 - math.cos(angle / 2))
        through = [_depths(self._eye(), np.array([math.cos(e), 0.0, math.sin(e)])) for e in (low, high)]
        extinction = self._extinction()[:2]
        return tuple(_rgb(np.exp(-depth[:2] @ extinction) * _sunlight() / disc_sr) for depth in through)

    def sun_light(self, angle: float) -> tuple[np.ndarray, float, float]:
        """Describes the part of the disc that is above the horizon: its irradiance rgb on a surface that faces it, the
        elevation of its middle, and the full angle of a disc there that stays above the horizon."""
        bottom, top = self.sun(angle)
        low, high = max(self.elevation - angle / 2, 0.0), self.elevation + angle / 2
        cells = (np.arange(256) + 0.5) / 128 - 1
        x, y = np.meshgrid(cells, cells)
        r2 = x ** 2 + y ** 2
        elevation = self.elevation + y * angle / 2
        shine = np.where((r2 < 1) & (elevation > 0), 1 - LIMB * (1 - np.sqrt(np.maximum(1 - r2, 0))), 0.0)
        part = (elevation - low) / max(high - low, 1e-9)
        colours = shine[..., None] * np.maximum(bottom + (top - bottom) * part[..., None], 0.0)
        disc_sr = 2 * math.pi * (1 - math.cos(angle / 2))
        irradiance = colours.mean(axis=(0, 1)) * 4 / math.pi * disc_sr
        if self.elevation >= angle / 2 or irradiance.max() <= 0:
            return irradiance, self.elevation, angle
        middle = float((colours.sum(axis=-1) * elevation).sum() / colours.sum())
        return irradiance, middle, min(angle, 2 * middle)
