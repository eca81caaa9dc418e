"""The strip of durations."""

from hud.core.strip import HEIGHT, TOP, StripCell, strip


def cells(*durations: float | None) -> list[StripCell]:
    return [StripCell("bar", ".", str(i), seconds) for i, seconds in enumerate(durations)]


def test_the_longest_duration_fills_the_height() -> None:
    drawn = strip(cells(30, 60))
    assert [bar.height for bar in drawn.bars] == [HEIGHT / 2, HEIGHT]
    assert drawn.bars[1].y == TOP and drawn.top_s == 60


def test_a_hung_run_is_cut_and_does_not_flatten_the_others() -> None:
    drawn = strip(cells(60, 60, 60, 6000))
    assert drawn.top_s == 240
    assert [bar.is_cut for bar in drawn.bars] == [False, False, False, True]
    assert drawn.bars[0].height == HEIGHT / 4


def test_what_has_no_duration_has_no_bar_but_its_sign() -> None:
    bar = strip(cells(None, 10)).bars[0]
    assert bar.height == 0 and bar.glyph == "."


def test_even_the_shortest_run_is_seen() -> None:
    assert strip(cells(0, 1000)).bars[0].height == 2


def test_nothing_known_draws_no_scale() -> None:
    drawn = strip(cells(None))
    assert drawn.median_y is None and drawn.top_s == 0
    assert strip([]).bars == ()
