"""Which files a failure points at, by the names that runners give tests and by the paths in its lines."""

import pytest

from classifier.verdict.traces import Traces

WHERE, AFTER, NAMES = "where the failing test is", "which the failing test is named after", "which the failure names"
PACKAGE, NEAR = "in the package of the failing test", "where the failure is"


def told(path: str, *tests: str, text: str = "") -> str | None:
    """What speaks against a commit that touches the file, without the file's name."""
    clue = Traces([text], tests).clue_of(path)
    return clue[1].split(", ", 1)[1] if clue else None


@pytest.mark.parametrize(
    ("test", "path", "said"),
    [
        ("tests/a/test_views.py::Cart::test_x[1.2.py]", "tests/a/test_views.py", WHERE),
        ("tests/a/test_views.py::Cart::test_x", "tests/b/test_views.py", None),
        ("tests/a/test_views.py::Cart::test_x", "shop/views.py", AFTER),
        ("tests/a/test_views.py::Cart::test_x", "tests/a/conftest.py", NEAR),
        ("inductor/test_mill.py::test_x", "test/inductor/test_mill.py", WHERE),
        ("tests.forms.test_uuid.Cart.test_x", "tests/forms/test_uuid.py", WHERE),
        ("test_x (tests.forms.test_uuid.Cart)", "tests/forms/test_uuid.py", WHERE),
        ("tests.forms.test_uuid.Cart.test_x", "tests/forms/test_date.py", None),
        ("test_ops.Cart.test_x", "test/test_ops.py", WHERE),
        ("shop.cart.Cart.test_x", "cart.py", AFTER),
        ("github.com/brindle/kestrel/v2/pkg/net.TestDial/slow", "pkg/net/dial_test.go", WHERE),
        ("github.com/brindle/kestrel/pkg/net.TestDial", "pkg/net/tls.go", PACKAGE),
        ("github.com/brindle/kestrel/pkg/net.TestDial", "net/tls.go", None),
        ("./pkg/net.TestDial", "pkg/net/dial.go", AFTER),
        ("//press/pulp:pulp_test", "press/pulp/pulp_test.cc", WHERE),
        ("//press/pulp:pulp_test", "press/pulp/squeeze.cc", PACKAGE),
        ("net::tls::tests::dial", "src/net/tls.rs", WHERE),
        ("kestrel::net::tls::tests::dial", "crates/kestrel/src/net/tls/mod.rs", WHERE),
        ("net::tls::tests::dial", "src/net/tcp.rs", None),
        ("src/fruit.rs - peel (line 14)", "src/fruit.rs", WHERE),
        ("org.shop.cart.CartTest.adds", "core/src/test/java/org/shop/cart/CartTest.java", WHERE),
        ("adds(org.shop.cart.CartTest)", "core/src/main/java/org/shop/cart/Cart.java", AFTER),
        ("org.shop.CartTest$Inner#adds", "src/test/java/org/shop/CartTest.java", WHERE),
        ("Orchard.Tests.PressTests.Squeezes", "Orchard/Press.cs", AFTER),
        ("Orchard\\Tests\\PressTest::testSqueeze", "tests/PressTest.php", WHERE),
        ("PressTest#test_squeeze", "test/press_test.rb", WHERE),
        ("./spec/models/press_spec.rb:14", "app/models/press.rb", AFTER),
        ("src/cart/Cart.test.tsx > adds", "src/cart/Cart.tsx", AFTER),
        ("tests/test_commit.py::test_x", "src/commit.py", AFTER),
        ("tests/test_items.py::test_x", "src/items.py", AFTER),
    ],
)
def test_a_test_is_found_by_the_name_that_its_runner_gives_it(test: str, path: str, said: str | None) -> None:
    assert told(path, test) == said


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("/build/work/src/net/tls.cc:12:9: error: no", "src/net/tls.cc", NAMES),
        ("tls.cc(12): error C2065", "src/net/tls.cc", NAMES),
        ("src\\net\\tls.cc(12): error C2065", "src/net/tls.cc", NAMES),
        ("/home/me/venv/lib/python3.11/site-packages/django/db/query.py:3", "django/db/query.py", NAMES),
        ("/home/me/venv/lib/python3.11/site-packages/requests/api.py:3", "api.py", None),
        ("third_party/zip/inflate.c:3: error", "third_party/zip/inflate.c", NAMES),
    ],
)
def test_a_path_in_the_line_names_a_file_of_the_repository(text: str, path: str, said: str | None) -> None:
    assert told(path, text=text) == said


def test_a_copy_of_others_code_is_not_where_our_test_is() -> None:
    assert told("vendor/shop/tests/test_x.py", "tests/test_x.py::test_x") is None
    assert told("services/shop/tests/test_x.py", "tests/test_x.py::test_x") == WHERE


def test_nothing_is_said_of_a_failure_that_names_nothing() -> None:
    assert Traces([], []).clue_of("src/a.py") is None
    assert Traces(["exit 1"], ["adds an item"]).clue_of("src/a.py") is None
