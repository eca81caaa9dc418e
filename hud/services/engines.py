"""Which rules read a repository's logs: the built-in ones with people's own on top, ready to classify.

Every process keeps the engines that it made, by what the rules say. Before each log one short query asks whether the
rules are still the same, so that a change is picked up at once and by all, without a restart.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

from django.db.models import F, Q

import classifier
from classifier.rules import check_rule
from hud.core.ruleform import spec_of
from hud.models import Rule, RuleVersion

logger = logging.getLogger(__name__)

MOST_ENGINES = 12
"""Engines that one process keeps; each takes about a megabyte, and the better part of a second to make."""

Key = tuple[tuple[int, int], ...]
"""(id of a rule, number of its version), a repository's own rules first."""


@dataclass(frozen=True, slots=True)
class Reader:
    """An engine, and the name of its answers, as in `Log.classified_by`."""

    engine: classifier.Engine
    version: str


def reader_of(repository_id: int | None) -> Reader:
    """Return what reads the logs of this repository now."""
    ruleset = ruleset_of(repository_id)
    return Reader(engine_for(ruleset), version_name(ruleset))


def version_of(repository_id: int | None) -> str:
    """Return the name of the answers that the rules of now would give."""
    return version_name(ruleset_of(repository_id))


def version_name(ruleset: classifier.Ruleset) -> str:
    """Return what names the answers of these rules."""
    return f"{classifier.ENGINE_VERSION}:{ruleset.fingerprint[:16]}"


def ruleset_of(repository_id: int | None, *, without: int | None = None) -> classifier.Ruleset:
    """Return the rules that read this repository's logs; without a repository, those for all of them.

    `without`: the id of a rule to leave out.
    """
    return _ruleset(tuple(pair for pair in key_of(repository_id) if pair[0] != without))


def key_of(repository_id: int | None) -> Key:
    """Return which versions of people's rules are in force. One statement."""
    mine = Q(repository=None) | Q(repository_id=repository_id) if repository_id else Q(repository=None)
    rules = Rule.objects.filter(mine, enabled=True).order_by(F("repository").asc(nulls_last=True), "id")
    return tuple(rules.values_list("id", "version"))


def state_of_rules(repository_id: int | None) -> str:
    """Return a short text that is another one as soon as a rule changes that reads these logs (without one: any)."""
    key = key_of(repository_id) if repository_id else tuple(Rule.objects.order_by("id").values_list("id", "version"))
    told = f"{classifier.ENGINE_VERSION} {classifier.Ruleset.builtin().fingerprint} {key}"
    return blake2b(told.encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=64)
def _ruleset(key: Key) -> classifier.Ruleset:
    """Versions never change, so neither does what they make."""
    builtin = classifier.Ruleset.builtin()
    return extended(builtin, [spec for _, spec in usable_specs(_specs(key), builtin)[0]])


def _specs(key: Key) -> list[tuple[int, classifier.RuleSpec]]:
    wanted = Q()
    for rule_id, number in key:
        wanted |= Q(rule_id=rule_id, number=number)
    stored = dict(RuleVersion.objects.filter(wanted).values_list("rule_id", "spec")) if key else {}
    return [(rule_id, spec_of(stored[rule_id])) for rule_id, _ in key if rule_id in stored]


def usable_specs(
    specs: Iterable[tuple[int, classifier.RuleSpec]], builtin: classifier.Ruleset
) -> tuple[list[tuple[int, classifier.RuleSpec]], dict[int, str]]:
    """Return the rules that this version of HUD can use, and why it cannot use the others: no rule stops a log."""
    sections = [section.name for section in builtin.sections]
    usable, refused = [], {}
    for rule_id, spec in specs:
        try:
            check_rule(spec, sections)
        except classifier.RuleError as error:
            refused[rule_id] = str(error)
            logger.warning("rule %s is left out: %s", rule_id, error)
        else:
            usable.append((rule_id, spec))
    return usable, refused


def extended(below: classifier.Ruleset, specs: Sequence[classifier.RuleSpec]) -> classifier.Ruleset:
    """Return the rules with these on top. Of two with one name the first counts: a repository's own before all's.

    Examples are left out: changing one changes no answer, so no log is read again for it.
    """
    by_name: dict[str, classifier.RuleSpec] = {}
    for spec in specs:
        by_name.setdefault(spec.name, replace(spec, example="", near_miss=""))
    return below.extended(list(by_name.values()))


_engines: OrderedDict[str, classifier.Engine] = OrderedDict()
_making = threading.Lock()


def engine_for(ruleset: classifier.Ruleset) -> classifier.Engine:
    """Return an engine for the rules, made at most once while this process remembers it."""
    with _making:
        engine = _engines.pop(ruleset.fingerprint, None) or classifier.Engine(ruleset)
        _engines[ruleset.fingerprint] = engine
        while len(_engines) > MOST_ENGINES:
            _engines.popitem(last=False)
    return engine
