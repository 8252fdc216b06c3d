"""Slow, obvious versions of the losses, written from their formulas.

Nothing here imports the library. A round is drawn by itself, from the seed and t alone, and every
formula is written out in numpy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from naive import philox4x32

Array = npt.NDArray[np.float64]
Kind = Literal["random", "drifting", "switching", "blocks", "alternating", "adaptive"]
Targets = Literal["none", "numbers", "labels"]
Family = Literal["linear", "quadratic", "absolute", "squared", "logistic", "hinge"]

TARGETS: dict[Family, Targets] = {
    "linear": "none",
    "quadratic": "none",
    "absolute": "numbers",
    "squared": "numbers",
    "logistic": "labels",
    "hinge": "labels",
}
NOISES, MEANS, SIGNS = 2, 3, 4


def words(seed: int, block: int, stream: int, t: int) -> tuple[int, int, int, int]:
    """Four words of the generator for counter (block, stream, t low, t high)."""
    low = 2**32 - 1
    return philox4x32((block, stream, t & low, t >> 32), (seed & low, seed >> 32))


def between_signs(word: int) -> float:
    """A number in (-1, 1) from 32 bits."""
    return (word + 0.5) * 2.0**-31 - 1.0


def unit_vector(seed: int, stream: int, t: int, dim: int) -> Array:
    """Normals by Marsaglia's polar method, two candidate pairs per block, normalised."""
    normals: list[float] = []
    block = 0
    while len(normals) < dim:
        four = [between_signs(word) for word in words(seed, block, stream, t)]
        for x, y in (four[:2], four[2:]):
            s = x * x + y * y
            if s < 1.0:
                factor = math.sqrt(-2.0 * math.log(s) / s)
                normals += [x * factor, y * factor]
        block += 1
    vector = np.array(normals[:dim])
    return vector / float(np.linalg.norm(vector))


def signs(seed: int, block: int, count: int) -> list[float]:
    """Signs 1 (bit set) or -1 from the bits of the generator, lowest bits and words first."""
    bits: list[int] = []
    while len(bits) < count:
        for word in words(seed, len(bits) // 128, SIGNS, block):
            bits += [word >> i & 1 for i in range(32)]
    return [1.0 if bit else -1.0 for bit in bits[:count]]


@dataclass(frozen=True)
class NaiveSource:
    """A generated sequence of (a_t, b_t); ``length`` is the number of rounds in a phase."""

    kind: Kind
    dim: int
    scale: float = 1.0
    noise: float = 0.5
    length: int = 1
    seed: int = 0

    def mean(self, t: int) -> Array:
        """The hidden direction m_t."""
        phase = 0 if self.kind == "random" else t // self.length
        start = unit_vector(self.seed, MEANS, phase, self.dim)
        if self.kind != "drifting":
            return start
        end = unit_vector(self.seed, MEANS, phase + 1, self.dim)
        share = t % self.length / self.length
        return (1.0 - share) * start + share * end

    def draw(self, t: int, targets: Targets, x: Array) -> tuple[Array, float]:
        """a_t, and b_t or 0."""
        a, number = self._vector_and_number(t, targets, x)
        if targets == "none":
            return a, 0.0
        if targets == "labels":
            return a, 1.0 if number >= 0.0 else -1.0
        return a, number

    def _vector_and_number(self, t: int, targets: Targets, x: Array) -> tuple[Array, float]:
        first_axis = np.eye(self.dim)[0]
        if self.kind == "blocks":
            sign, *rest = signs(self.seed, t // self.length, self.dim + 1)
            return self.scale * np.array(rest) / math.sqrt(self.dim), self.scale * sign
        if self.kind == "alternating":
            height = 0.5 if t == 0 else (-1.0) ** t
            return self.scale * height * first_axis, self.scale
        if self.kind == "adaptive":
            length = float(np.linalg.norm(x))
            return self.scale * (x / length if length > 0.0 else first_axis), 0.0
        m, u = self.mean(t), unit_vector(self.seed, NOISES, t, self.dim)
        if targets == "none":
            return self.scale * ((1.0 - self.noise) * m + self.noise * u), 0.0
        a = self.scale * u
        xi = between_signs(words(self.seed, 0, SIGNS, t)[0])
        return a, (1.0 - self.noise) * float(m @ a) + self.noise * self.scale * xi


def value(family: Family, a: Array, b: float, x: Array, curvature: float = 1.0) -> float:
    """f_t(x)."""
    inner = float(a @ x)
    if family == "linear":
        return inner
    if family == "quadratic":
        return curvature / 2.0 * float((x - a) @ (x - a))
    if family == "absolute":
        return abs(inner - b)
    if family == "squared":
        return (inner - b) ** 2 / 2.0
    if family == "logistic":
        return float(np.logaddexp(0.0, -b * inner))
    return max(0.0, 1.0 - b * inner)


def gradient(family: Family, a: Array, b: float, x: Array, curvature: float = 1.0) -> Array:
    """A (sub)gradient of f_t at x; 0 at a kink."""
    inner = float(a @ x)
    if family == "linear":
        return a
    if family == "quadratic":
        return curvature * (x - a)
    if family == "absolute":
        return float(np.sign(inner - b)) * a
    if family == "squared":
        return (inner - b) * a
    if family == "logistic":
        return -b * math.exp(-float(np.logaddexp(0.0, b * inner))) * a
    return -b * a if b * inner < 1.0 else 0.0 * a
