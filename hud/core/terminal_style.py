"""SGR codes -> names of CSS classes. Inline style is forbidden by the page's security policy, so every colour is one
of sixteen whose look a theme defines; 256 and true colours become the nearest of them."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from hud.core.wholenumber import whole_number

_MOST_PARAMETERS = 32

# The reference look of the sixteen colours (xterm's), to which others are compared.
_SIXTEEN = (
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
)
_CUBE_STEPS = (0, 95, 135, 175, 215, 255)

_SWITCHES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"inverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"inverse": False},
    29: {"strike": False},
}


@lru_cache(maxsize=1024)
def nearest_colour(red: int, green: int, blue: int) -> int:
    """Return which of the sixteen colours looks nearest (weighted distance after T. Riemersma's "redmean")."""

    def distance(number: int) -> float:
        r, g, b = _SIXTEEN[number]
        mean = (red + r) / 2
        return (2 + mean / 256) * (red - r) ** 2 + 4 * (green - g) ** 2 + (2 + (255 - mean) / 256) * (blue - b) ** 2

    return min(range(16), key=distance)


def colour_of_256(number: int) -> int | None:
    """Return which of the sixteen stands for a colour of the 256-colour table: 16 named, a 6×6×6 cube, 24 greys."""
    if 0 <= number < 16:
        return number
    if number < 232:
        red, rest = divmod(number - 16, 36)
        return nearest_colour(_CUBE_STEPS[red], _CUBE_STEPS[rest // 6], _CUBE_STEPS[rest % 6]) if number > 0 else None
    grey = 8 + (number - 232) * 10
    return nearest_colour(grey, grey, grey) if number < 256 else None


@dataclass(frozen=True, slots=True)
class Style:
    """The look of text: the state that SGR codes change. Hidden text ("conceal") and blinking are left out."""

    fg: int | None = None
    bg: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False

    @property
    def classes(self) -> str:
        """Names of CSS classes. A background brings its own text colour, so that any pair stays readable."""
        names = [f"t-{name}" for name in ("bold", "italic", "underline", "strike") if getattr(self, name)]
        fg, bg = (self.bg, self.fg) if self.inverse else (self.fg, self.bg)
        if bg is not None:
            names.append(f"t-bg{bg}")
        elif self.inverse and fg is None:
            names.append("t-inverse")
        elif fg is not None:
            names.append(f"t-fg{fg}")
        elif self.dim:
            names.append("t-dim")
        return " ".join(names)

    def changed(self, parameters: str) -> "Style":
        """Return the style after one SGR code with these parameters (`1;31`, `38;5;196`, `38:2::0:200:0`)."""
        fields = parameters.split(";")[:_MOST_PARAMETERS]
        if not all(field.replace(":", "").isdigit() or not field for field in fields):
            return self  # a private code that only looks like SGR
        style = self
        while fields:
            style = style._after(fields)
        return style

    def _after(self, fields: list[str]) -> "Style":
        """Take one code off the front of `fields` and return the style after it."""
        parts = fields.pop(0).split(":")
        code = _number(parts[0]) or 0
        if code == 0:
            return Style()
        if code in (38, 48):
            colour = _colon_colour(parts[1:]) if len(parts) > 1 else _semicolon_colour(fields)
            return self if colour is None else self._coloured(code == 38, colour)
        if code == 4 and parts[1:] == ["0"]:
            return replace(self, underline=False)
        if code in _SWITCHES:
            return replace(self, **_SWITCHES[code])
        return self._after_named_colour(code)

    def _after_named_colour(self, code: int) -> "Style":
        tens, unit = divmod(code, 10)
        if tens in (3, 4) and unit < 8:
            return self._coloured(tens == 3, unit)
        if tens in (3, 4) and unit == 9:
            return self._coloured(tens == 3, None)
        if tens in (9, 10) and unit < 8:
            return self._coloured(tens == 9, unit + 8)
        return self

    def _coloured(self, foreground: bool, colour: int | None) -> "Style":
        return replace(self, fg=colour) if foreground else replace(self, bg=colour)


def _number(field: str) -> int | None:
    """Return the number of a field; great ones are no number of ours."""
    return whole_number(field, most=99_999)


def _semicolon_colour(fields: list[str]) -> int | None:
    """Take `5;n` or `2;r;g;b` off the front of `fields`."""
    mode = fields.pop(0) if fields else ""
    wanted = {"5": 1, "2": 3}.get(mode, 0)
    values = [_number(field) or 0 for field in fields[:wanted]]
    del fields[:wanted]
    return _colour(values) if len(values) == wanted else None


def _colon_colour(parts: list[str]) -> int | None:
    """Read `5:n`, `2:r:g:b` or `2:space:r:g:b`."""
    values = [_number(part) or 0 for part in parts[1:]]
    if parts[0] == "5" and values:
        return _colour(values[:1])
    if parts[0] == "2" and len(values) >= 3:
        return _colour(values[1:4] if len(values) > 3 else values)
    return None


def _colour(values: list[int]) -> int | None:
    if len(values) == 1:
        return colour_of_256(values[0])
    if len(values) == 3 and max(values) < 256:
        return nearest_colour(*values)
    return None
