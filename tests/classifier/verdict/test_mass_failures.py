"""Many jobs that die of infrastructure in the same minutes."""

from datetime import UTC, datetime, timedelta

from classifier.verdict import Failure, Run, Settings
from classifier.verdict.mass import mass_failure_of, mass_failures

START = datetime(2026, 5, 1, tzinfo=UTC)
LOST = Failure("runner lost", "infra_runner", ("lost",))
BROKEN = Failure("pytest failure", "test", ("t.py::a",), tests=("t.py::a",))


def died(number: int, minutes: float, failure: Failure | None = LOST, job: str | None = None) -> Run:
    failures = (failure,) if failure else ()
    ended = START + timedelta(minutes=minutes)
    return Run(
        str(number), job or f"pull / linux-{number} / test", "failure", "c", completed_at=ended, failures=failures
    )


def test_five_jobs_within_minutes_are_a_mass_failure() -> None:
    (mass,) = mass_failures([died(n, 2 * n) for n in range(5)])
    assert mass.runs == ("0", "1", "2", "3", "4")
    assert len(mass.jobs) == 5
    assert (mass.started_at, mass.ended_at) == (START, START + timedelta(minutes=8))


def test_four_jobs_are_none() -> None:
    assert mass_failures([died(n, n) for n in range(4)]) == []


def test_many_shards_of_one_job_are_one_job() -> None:
    assert mass_failures([died(n, n, job=f"a / test (x, {n}, 9, r)") for n in range(1, 9)]) == []


def test_a_gap_parts_two_mass_failures() -> None:
    runs = [died(n, n) for n in range(5)] + [died(10 + n, 60 + n) for n in range(5)]
    assert [len(mass.runs) for mass in mass_failures(runs)] == [5, 5]


def test_only_runs_with_an_infrastructure_signature_belong_to_it() -> None:
    others = [died(n, n) for n in range(6)]
    assert mass_failure_of(died(20, 3, BROKEN), others) is None
    assert mass_failure_of(died(21, 3, None), others) is None
    found = mass_failure_of(died(22, 3), others)
    assert found is not None
    assert "22" in found.runs


def test_the_order_does_not_matter_and_a_run_counts_once() -> None:
    runs = [died(n, n) for n in range(5)]
    assert mass_failures([*reversed(runs), *runs]) == mass_failures(runs)


def test_the_limits_are_settings() -> None:
    runs = [died(0, 0), died(1, 40)]
    assert mass_failures(runs, Settings(mass_jobs=2, mass_minutes=40)) != []
    assert mass_failures(runs, Settings(mass_jobs=2, mass_minutes=39)) == []


def test_no_runs_no_mass_failure() -> None:
    assert mass_failures([]) == []
