"""Which files the commits of the invented project touch: those of their area, and where a story breaks or mends
something, the ones that its logs name."""

from collections.abc import Mapping

from hud.synthetic.dice import Dice
from hud.synthetic.logs.tests import maven_subject
from hud.synthetic.logs.vocabulary import Vocabulary
from hud.synthetic.words import AREAS

# By kind of cause. The places in braces are words of the log's own vocabulary.
CULPRITS: Mapping[str, tuple[str, ...]] = {
    "pytest_assert": ("src/{area}/store.py", "tests/{area}/test_{area}_store.py"),
    "pytest_error": ("src/{area}/api.py", "tests/{area}/test_{area}_api.py"),
    "gtest": ("native/{area}/{area}_test.cc", "native/{area}/reader.cc"),
    "maven_test": ("java/{area}/src/main/java/dev/harbour/{area}/{subject}.java",),
    "cargo_test": ("storage/{area}/src/lib.rs",),
    "go_race": ("agent/{area}/set.go",),
    "jest": ("web/src/{area}/{area}-view.test.ts", "web/src/{area}/{area}-view.ts"),
    "gcc": ("native/{area}/{snake}.cc",),
    "msvc": ("native/{area}/clock.cc",),
    "ruff": ("src/{area}/tables.py",),
    "mypy": ("src/{area}/token.py",),
    "sphinx": ("docs/guide/{area}.rst",),
}
_SOURCES = (
    "src/{area}/{name}.py",
    "native/{area}/{name}.cc",
    "native/{area}/{name}.h",
    "java/{area}/src/main/java/dev/harbour/{area}/{name}.java",
    "storage/{area}/src/{name}.rs",
    "agent/{area}/{name}.go",
    "web/src/{area}/{name}.ts",
)
_NAMES = ("buffer", "cursor", "driver", "limits", "options", "plan", "pool", "state", "writer")
_PINS = {"vite": ("web/package-lock.json", "web/package.json"), "tokio": ("Cargo.lock", "Cargo.toml")}
_OTHER_PINS = ("third_party/versions.txt",)


def culprits(kind: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The files behind a cause, by the words of its log; none where no file is to blame."""
    words = {"area": vocabulary.area, "snake": vocabulary.snake(), "subject": maven_subject(vocabulary)}
    return tuple(path.format(**words) for path in CULPRITS.get(kind, ()))


def usual_paths(dice: Dice, commit: object, title: str, *, docs: bool) -> tuple[str, ...]:
    """The files of a commit of this title that breaks nothing by itself. `docs`: it touches documentation too."""
    if title.startswith("Bump "):
        return _PINS.get(title.split()[1], _OTHER_PINS)
    named = title.split(":")[0]
    area = named if named in AREAS else dice.pick(AREAS, "touched area", commit)
    guide = f"docs/guide/{area}.rst"
    if title.startswith(("Document ", "docs:")) or ": Document " in title:
        return (guide,)
    sources = tuple(
        dice.pick(_SOURCES, "source", commit, number).format(area=area, name=dice.pick(_NAMES, "file", commit, number))
        for number in range(dice.between(1, 3, "touched", commit))
    )
    return tuple(sorted({*sources, *([guide] if docs else [])}))
