"""Log text in, failures out: which lines of a failed job's log are the cause, and of what kind.

Pure: no database, network or settings. See docs/classifier.md.
"""

from classifier.engine import Engine, Session
from classifier.lines import clean_line
from classifier.results import CATEGORIES, ENGINE_VERSION, Annotation, Classification, Failure
from classifier.rules import RuleError, Ruleset, RuleSpec
from classifier.signatures import signature_of

__all__ = [
    "CATEGORIES",
    "ENGINE_VERSION",
    "Annotation",
    "Classification",
    "Engine",
    "Failure",
    "RuleError",
    "RuleSpec",
    "Ruleset",
    "Session",
    "clean_line",
    "signature_of",
]
