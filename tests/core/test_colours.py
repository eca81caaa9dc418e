"""The colours: readable, and apart for every kind of colour vision. Computed from css/variables.css, no browser."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[2] / "static" / "css" / "variables.css"
Colour = tuple[float, float, float]

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
VISION = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
MARKS = ("red", "amber", "violet", "blue")
APART = 20.0
"""Distance in CIE L*a*b* (1976) that is plain to see in small marks; 2.3 is the least that anybody notices."""


def themes() -> dict[str, dict[str, Colour]]:
    text = CSS.read_text()
    light, dark = text.split('[data-theme="dark"]')[0].split("@media")[0], text.split('[data-theme="dark"]')[1]
    return {
        name: {m: linear(h) for m, h in re.findall(r"--([\w-]+): (#\w{6});", part)}
        for name, part in (("light", light), ("dark", dark))
    }


def linear(text: str) -> Colour:
    parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return r, g, b


def luminance(colour: Colour) -> float:
    r, g, b = colour
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: Colour, other: Colour) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def seen(colour: Colour, vision: str) -> Colour:
    r, g, b = (min(1.0, max(0.0, sum(w * c for w, c in zip(row, colour, strict=True)))) for row in VISION[vision])
    return r, g, b


def lab(colour: Colour) -> Colour:
    r, g, b = colour
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = luminance(colour)
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: Colour, other: Colour, vision: str) -> float:
    a, b = lab(seen(one, vision)), lab(seen(other, vision))
    return sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5


THEMES = themes()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_red_amber_violet_and_blue_stay_apart_for_every_colour_vision(theme: str, vision: str) -> None:
    colours = THEMES[theme]
    for one, other in itertools.combinations(MARKS, 2):
        assert distance(colours[one], colours[other], vision) >= APART, (one, other)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_a_bar_differs_from_its_gaps_and_red_from_the_green_dots(theme: str, vision: str) -> None:
    colours = THEMES[theme]
    assert distance(colours["red"], colours["red-pale"], vision) >= APART
    assert distance(colours["red"], colours["green"], vision) >= APART


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_at_least_four_and_a_half_to_one_and_marks_three(theme: str) -> None:
    colours = THEMES[theme]
    for ground in ("bg", "bg-raised", "bg-hover"):
        for text in ("text", "text-quiet", "link"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for text in ("red", "green", "blue", "grey"):
        assert contrast(colours[text], colours["bg"]) >= 4.5, text
    for mark in ("red", "violet", "blue", "green", "grey", "line-strong", "amber-edge"):
        assert contrast(colours[mark], colours["bg"]) >= 3, mark
    for name in ("red", "amber", "violet"):
        assert contrast(colours[f"{name}-ink"], colours[name]) >= 4.5, name
    for wash in ("red-wash", "amber-wash"):
        assert contrast(colours["text"], colours[wash]) >= 4.5
