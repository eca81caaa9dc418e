"""What a failure names of a repository's files: paths in its lines, and where its tests live by their names.

Runners name tests by file (`tests/test_a.py::test_b`), by module (`pkg.mod.Class.test_b`), by class
(`org.shop.CartTest.adds`), by package (`github.com/a/b/pkg/net.TestDial`, `//net:dial_test`) or by crate path
(`net::tls::tests::dial`).
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator

import re2

# How many times likelier a commit is the culprit that touches such a file. Chosen by hand.
NAMED_FILE = 8.0
TEST_FILE = 6.0
TESTED_FILE = 3.0
SAME_DIRECTORY = 2.0

_LONGEST_TEXT = 4000
_PATH = re2.compile(r"[\w@+.-]+(?:[/\\][\w@+.-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}\b")
_PACKAGE = re2.compile(r"^(?P<path>[\w.~-]*/[\w./~-]*)\.(?:Test|Benchmark|Example|Fuzz)\w*")
_HOST = re2.compile(r"^[\w-]+(?:\.[\w-]+)+/[^/]+/[^/]+(?:/v\d+)?(?:/|$)")
_TARGET = re2.compile(r"^@?[\w.-]*//(?P<path>[\w./-]*):(?P<name>[\w.-]+)")
_DOTTED = re2.compile(r"^(?:[\w\[\]-]+ ?\()?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\)?")
_CRATE_PATH = re2.compile(r"^(?:[\w-]+ )?(?P<name>[a-z_][a-z0-9_]*(?:::[a-z_][a-z0-9_]*)+)$")
_CLASS = re2.compile(r"\b(?:[A-Z]\w*(?:Tests?|TestCase|Spec|Suite|IT|Cest)|Test[A-Z]\w*)\b")
_JAVA_CLASS = re2.compile(r"\b[a-z_]\w*(?:\.[a-z_]\w*)*\.([A-Z]\w+)")
_BEFORE = re2.compile(r"^(?:[Tt]est_|it_|Test([A-Z]))")
_BEHIND = re2.compile(r"(?:[._-](?:tests?|spec|it|suite)|TestCase|Tests?|Spec|Suite|IT|Cest)$")
_IS_TEST = re2.compile(r"(?i)^tests?_|_tests?$")
_FOREIGN = re2.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules|vendor|vendored|third[_-]party|external|\.cargo|\.m2|pkg/mod|usr/lib)/"
)
"""Where code of others lies, installed or copied."""
_CARGO_TESTS = ("tests", "test")


class Traces:
    """The files that a failure points at. `texts` are its lines and captures, `tests` the ids of its tests."""

    def __init__(self, texts: Iterable[str], tests: Iterable[str]) -> None:
        tests = tuple(test[:_LONGEST_TEXT] for test in tests)
        named = {_normal(path) for text in texts for path in _PATH.findall(text[:_LONGEST_TEXT])}
        files = {path for test in tests for path in _files(test)}
        modules = {module for test in tests for module in _modules(test)}
        self._named, self._test_files = _Ends(named), _Ends(files)
        self._modules = _Ends(modules, from_the_top=True)
        self._crate_files = _Ends((path for test in tests for path in _crate_files(test)), from_the_top=True)
        self._packages = frozenset(package for test in tests for package in _packages(test))
        self._package_directories = _Ends(self._packages)
        self._directories = frozenset(map(posixpath.dirname, named | files)) - {""}
        classes = {name for test in tests for name in _CLASS.findall(test)}
        self._java_classes = frozenset(name for test in tests for name in _JAVA_CLASS.findall(test))
        targets = {found.group("name") for test in tests if (found := _TARGET.search(test))}
        alone = {_stem(path) for path in files if "/" not in path}
        self._test_stems = frozenset(map(_key, classes | targets | alone))
        about = classes | self._java_classes | targets | {_stem(path) for path in files | modules}
        self._tested_stems = frozenset(key for key in (_key(_tested(name)) for name in about) if len(key) > 2)

    def clue_of(self, path: str) -> tuple[float, str] | None:
        """What speaks against a commit that touches the file: a factor, and why."""
        path = _normal(path)
        if self._holds_the_test(path):
            return TEST_FILE, f"touches {path}, where the failing test is"
        if path in self._named:
            return NAMED_FILE, f"touches {path}, which the failure names"
        if _key(_stem(path)) in self._tested_stems:
            return TESTED_FILE, f"touches {path}, which the failing test is named after"
        directory = posixpath.dirname(path)
        if self._packages and not self._packages.isdisjoint(_ends_and_beginnings(directory)):
            return TESTED_FILE, f"touches {path}, in the package of the failing test"
        if directory in self._directories:
            return SAME_DIRECTORY, f"touches {directory}/, where the failure is"
        return None

    def _holds_the_test(self, path: str) -> bool:
        bare, extension = posixpath.splitext(path)
        stem = _stem(path)
        if path in self._test_files or _key(stem) in self._test_stems or stem in self._java_classes:
            return True
        if extension == ".py":
            return bare in self._modules
        if extension == ".rs":
            return bare.removesuffix("/mod") in self._crate_files
        return path.endswith("_test.go") and posixpath.dirname(path) in self._package_directories


class _Ends:
    """Paths that name another where one ends with the other; `from_the_top`: where it ends with them."""

    def __init__(self, named: Iterable[str], *, from_the_top: bool = False) -> None:
        self._from_the_top = from_the_top
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for one in sorted(named):
            self._by_name[posixpath.basename(one)].append(one)

    def __contains__(self, path: str) -> bool:
        near = self._by_name.get(posixpath.basename(path), ())
        return any(_ends_with(path, one) and (not self._from_the_top or len(one) <= len(path)) for one in near)


def _files(test: str) -> Iterator[str]:
    """`tests/test_a.py::test_b` -> `tests/test_a.py`; a package's name is no file."""
    if ("/" in test or "::" in test or " › " in test) and not _PACKAGE.search(test) and not _TARGET.search(test):
        head = test.split("[", 1)[0].split("::", 1)[0]
        yield from (_normal(path) for path in _PATH.findall(head))


def _packages(test: str) -> Iterator[str]:
    """`github.com/a/b/pkg/net.TestDial` and `//pkg/net:dial_test` -> `pkg/net`."""
    found = _PACKAGE.search(test) or _TARGET.search(test)
    if found:
        package = _normal(_HOST.sub("", found.group("path")))
        if package:
            yield package


def _modules(test: str) -> Iterator[str]:
    """`shop.tests.test_cart.Cart.test_adds` -> `shop/tests/test_cart`, and whatever else of it may be a module."""
    found = _DOTTED.search(test)
    parts = found.group("name").split(".") if found and "/" not in test else []
    for end in range(1, len(parts) + 1):
        if end > 1 or _IS_TEST.search(parts[0]):
            yield "/".join(parts[:end])


def _crate_files(test: str) -> Iterator[str]:
    """`net::tls::tests::dial` -> `src/net/tls`; the first word may be the crate's name."""
    found = _CRATE_PATH.search(test)
    parts = found.group("name").split("::")[:-1] if found else []
    if parts and parts[-1] in _CARGO_TESTS:
        parts.pop()
    for start in range(min(2, len(parts))):
        yield "/".join(["src", *parts[start:]])


def _tested(name: str) -> str:
    """What a test is named after: `Cart` of `CartTest`, `cart` of `test_cart` and of `cart.spec`."""
    tested: str = _BEHIND.sub("", _BEFORE.sub(r"\1", name))
    return tested


def _key(name: str) -> str:
    """`press_test`, `press-test` and `PressTest` are one name."""
    return name.replace("_", "").replace("-", "").casefold()


def _normal(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").strip("/")


def _ends_with(path: str, named: str) -> bool:
    """`src/net/tls.cc` is named by `tls.cc`, by `net/tls.cc` and by `/build/src/net/tls.cc`. Code of others is named
    only as such, and a file at the top of the repository by no file of theirs."""
    if path == named:
        return True
    if path.endswith(f"/{named}"):
        return bool(_FOREIGN.search(named)) or not _FOREIGN.search(path)
    return named.endswith(f"/{path}") and ("/" in path or not _FOREIGN.search(named))


def _ends_and_beginnings(directory: str) -> Iterator[str]:
    """`src/pkg/net` -> itself, `pkg/net`, `net`, and `src`, `src/pkg`: the packages that it is, or is below."""
    parts = directory.split("/")
    for at in range(len(parts)):
        yield "/".join(parts[at:])
        yield "/".join(parts[:at])


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
