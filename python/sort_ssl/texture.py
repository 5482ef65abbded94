"""Textures as arrays of texels, with the transpose of their lookups."""

import numpy as np

_WRAPS = ("periodic", "clamp")


class Texture:
    """A texture of an array [height][width][3 or 4], whose first row is the top one: what the shader's textures may be besides
    functions. Lookups blend the four nearest texels; there are no smaller levels, so footprints are not filtered. Where the
    texture has three channels, alpha is 1.

    A texture of one's own is anything that has

        texels                  an array [...][channels]
        taps(coordinates)       for coordinates [n][7] (s, t, ds/dx, dt/dx, ds/dy, dt/dy, blur) which texels are blended, as numbers
                                [n][k] of the rows of texels.reshape(-1, channels), and their weights [n][3][k]: in the value, in d/ds
                                and in d/dt
        with_texels(array)      the same with other texels
    """

    def __init__(self, texels, wrap="periodic"):
        texels = np.asarray(texels, dtype=np.float32)
        if texels.ndim != 3 or texels.shape[2] not in (3, 4) or texels.size == 0:
            raise ValueError(f"a texture is an array (height, width, 3 or 4), not {texels.shape}")
        if wrap not in _WRAPS:
            raise ValueError(f"wrap is {' or '.join(_WRAPS)}, not '{wrap}'")
        self.texels, self.wrap = texels, wrap

    def with_texels(self, texels):
        return Texture(texels, self.wrap)

    def _axis(self, place, count):
        """The two texels on an axis, and the weight of the second."""
        low = np.floor(place)
        pair = np.stack([low, low + 1], axis=1).astype(np.int64)
        pair = pair % count if self.wrap == "periodic" else np.clip(pair, 0, count - 1)
        return pair, place - low

    def taps(self, coordinates):
        height, width = self.texels.shape[:2]
        s, t = coordinates[:, 0].astype(np.float64), coordinates[:, 1].astype(np.float64)
        columns, x = self._axis(s * width - 0.5, width)
        rows, y = self._axis((1 - t) * height - 0.5, height)
        places = rows[:, [0, 0, 1, 1]] * width + columns[:, [0, 1, 0, 1]]
        across, down = np.stack([1 - x, x, 1 - x, x], 1), np.stack([1 - y, 1 - y, y, y], 1)
        by_s = np.array([-1, 1, -1, 1]) * width * down
        by_t = np.array([1, 1, -1, -1]) * height * across
        return places, np.stack([across * down, by_s, by_t], axis=1)


def look_up(texture, coordinates, with_derivatives):
    """The colors [n][4], or with derivatives [n][3][4]."""
    texels = texture.texels.reshape(-1, texture.texels.shape[-1])
    places, weights = texture.taps(coordinates)
    found = np.einsum("nrk,nkc->nrc", weights, texels[places].astype(np.float64))
    if found.shape[2] == 3: # alpha 1
        found = np.concatenate([found, np.zeros_like(found[:, :, :1])], axis=2)
        found[:, 0, 3] = 1
    return found if with_derivatives else found[:, 0]


def spread(texture, coordinates, adjoints):
    """The transpose of look_up, for adjoints [n][1 or 3][4]: the texels [m], and the numbers [m][channels] that they get."""
    channels = texture.texels.shape[-1]
    places, weights = texture.taps(coordinates)
    numbers = np.einsum("nrk,nrc->nkc", weights[:, :adjoints.shape[1]], adjoints[:, :, :channels].astype(np.float64))
    return places.reshape(-1), numbers.reshape(-1, channels).astype(np.float32)


def tangent_of(texture, texels):
    """A texture of tangents of the texels of another: where that has alpha 1, it has 0."""
    texels = np.asarray(texels, dtype=np.float32)
    if texels.shape != texture.texels.shape:
        raise ValueError(f"the texture has the shape {texture.texels.shape}, and its tangent {texels.shape}")
    missing = np.zeros(texels.shape[:-1] + (4 - texels.shape[-1],), np.float32)
    return texture.with_texels(np.concatenate([texels, missing], axis=-1))
