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

Key = tuple[tuple[int, int, bool], ...]
"""(id of a rule, number of its version, whether it is the repository's own), these first."""


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
    return _ruleset(tuple(entry for entry in key_of(repository_id) if entry[0] != without))


def ruleset_with(
    repository_id: int | None, spec: classifier.RuleSpec, *, own: bool, without: int | None = None
) -> classifier.Ruleset:
    """Return the rules that would read these logs with one more: the repository's `own`, or one for all of them."""
    entries = [entry for entry in key_of(repository_id) if entry[0] != without]
    stored = _specs(tuple(entries))
    mine = [stored[rule_id] for rule_id, _, is_own in entries if is_own and rule_id in stored]
    all_s = [stored[rule_id] for rule_id, _, is_own in entries if not is_own and rule_id in stored]
    ordered = [spec, *mine, *all_s] if own else [*mine, spec, *all_s]
    builtin = classifier.Ruleset.builtin()
    return extended(builtin, usable(ordered, builtin))


def key_of(repository_id: int | None) -> Key:
    """Return which versions of people's rules are in force. One statement."""
    mine = Q(repository=None) | Q(repository_id=repository_id) if repository_id else Q(repository=None)
    rules = Rule.objects.filter(mine, enabled=True).order_by(F("repository").asc(nulls_last=True), "id")
    return tuple(
        (pk, version, repository is not None)
        for pk, version, repository in rules.values_list("id", "version", "repository")
    )


def state_of_rules(repository_id: int | None) -> str:
    """Return a short text that is another one as soon as a rule changes that reads these logs (without one: any)."""
    key: object = key_of(repository_id)
    if repository_id is None:
        key = list(Rule.objects.filter(enabled=True).order_by("id").values_list("id", "version"))
    told = f"{classifier.ENGINE_VERSION} {classifier.Ruleset.builtin().fingerprint} {key}"
    return blake2b(told.encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=64)
def _ruleset(key: Key) -> classifier.Ruleset:
    """Versions never change, so neither does what they make."""
    builtin = classifier.Ruleset.builtin()
    stored = _specs(key)
    return extended(builtin, usable([stored[rule_id] for rule_id, _, _ in key if rule_id in stored], builtin))


def _specs(key: Key) -> dict[int, classifier.RuleSpec]:
    if not key:
        return {}
    wanted = Q()
    for rule_id, number, _ in key:
        wanted |= Q(rule_id=rule_id, number=number)
    stored = RuleVersion.objects.filter(wanted).values_list("rule_id", "spec")
    return {rule_id: spec_of(spec) for rule_id, spec in stored}


def usable(specs: Iterable[classifier.RuleSpec], builtin: classifier.Ruleset) -> list[classifier.RuleSpec]:
    """Return the rules that this version of HUD can use: no rule may stop a log."""
    return [spec for spec in specs if not why_unusable(spec, builtin)]


def why_unusable(spec: classifier.RuleSpec, builtin: classifier.Ruleset) -> str:
    """Return why this version of HUD leaves a stored rule out, "" where it does not."""
    try:
        check_rule(spec, [section.name for section in builtin.sections])
    except classifier.RuleError as error:
        logger.warning("a stored rule is left out: %s", error)
        return str(error)
    return ""


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
