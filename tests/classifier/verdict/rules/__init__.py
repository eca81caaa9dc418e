"""The design's rules, each as scenarios on both sides of its edge."""

from tests.classifier.verdict.case import Case
from tests.classifier.verdict.rules import hostile, limits_and_trunk, look_alikes, own_run, trunk_before_and_after

CASES: list[Case] = [
    *own_run.CASES,
    *trunk_before_and_after.CASES,
    *look_alikes.CASES,
    *limits_and_trunk.CASES,
    *hostile.CASES,
]
