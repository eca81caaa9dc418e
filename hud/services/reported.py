"""Failed tests of a run's test report, where nothing in its log says what failed."""

from __future__ import annotations

from collections.abc import Sequence

import classifier
from classifier.verdict.failure import as_read, causes_of
from hud.core.cell import FAILING, state_of
from hud.core.text import storable
from hud.models import Failure, Log, Run, TestResult

SOURCE = "report"
RULE = "failed in the test report"
MOST_FAILURES = 50
"""Failed tests that get a row of their own; the first row names all of them."""


def with_reported_tests(
    run: Run, found: Sequence[classifier.Failure], told_conclusion: str | None = None
) -> list[classifier.Failure]:
    """Return what was found in the run's log, or, if no cause is among that, the failed tests of its report before it.

    A run that was stopped or passed did not fail of them. While its log is on its way nothing stands in for it: the
    cause would change when it comes. `told_conclusion`: what annotations say of how it ended; None for what is stored
    of that. Two statements if no cause is found, none else.
    """
    own = [failure for failure in found if failure.source != SOURCE]
    told = run.told_conclusion if told_conclusion is None else told_conclusion
    state, _ = state_of(run.status, told or run.conclusion or None)
    if state not in FAILING or causes_of([as_read(failure) for failure in own]):
        return own
    if Log.objects.filter(run=run, status=Log.Status.PENDING).exists():
        return own
    failed = TestResult.objects.filter(report__run=run, outcome=TestResult.Outcome.FAILED)
    rows = list(failed.order_by("test__owner", "test__name").values_list("test__owner", "test__name", "message"))
    names = [storable(f"{owner}.{name}" if owner else name, 500) for owner, name, _ in rows]
    reported = [
        _failure(name, message, names if at == 0 else [name])
        for at, (name, (_, _, message)) in enumerate(zip(names[:MOST_FAILURES], rows, strict=False))
    ]
    return [*reported, *own]


def _failure(name: str, message: str, tests: Sequence[str]) -> classifier.Failure:
    first_line = next(iter(message.strip().splitlines()), "")
    return classifier.Failure(
        rule=RULE,
        category="test",
        line_number=0,
        line=f"{name}: {first_line}" if first_line else name,
        captures=(name,),
        signature=classifier.signature_of(RULE, (name,)),
        tests=tuple(dict.fromkeys([name, *tests])),
        source=SOURCE,
    )


def found_in_log(run: Run) -> list[classifier.Failure]:
    """Return what the classifier found in the run's log or annotations, as it is stored. One statement."""
    return [_as_found(row) for row in run.failures.exclude(source=SOURCE).order_by("rank")]


def _as_found(row: Failure) -> classifier.Failure:
    return classifier.Failure(
        rule=row.rule,
        category=row.category,
        line_number=row.line_number,
        line=row.line,
        captures=tuple(row.captures),
        signature=row.signature,
        generic=row.generic,
        tests=tuple(row.tests),
        context=tuple(row.context),
        step=row.step or None,
        source=row.source,
    )
