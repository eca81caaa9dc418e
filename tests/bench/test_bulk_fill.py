"""The benchmarks' bulk fill writes what ingest would have written: the same rows, row ids aside."""

from typing import Any

import pytest
from django.db import models, transaction

from bench.bulk_fill import fill
from hud.models import (
    Branch,
    BranchCommit,
    Cell,
    Commit,
    Failure,
    HeadReport,
    Job,
    Log,
    Repository,
    Run,
    Streak,
    Workflow,
    WorkflowRun,
)
from hud.services.synthesize import synthesize
from hud.synthetic import SyntheticRepository

pytestmark = pytest.mark.django_db

NOW_S = 1_796_040_000
# What tells rows apart when ids differ; and what is the clock's or the order's, not the content's.
_NAMES = {
    "repository_id": "repository__name",
    "workflow_id": "workflow__path",
    "branch_id": "branch__name",
    "commit_id": "commit__sha",
    "head_id": "head__sha",
    "run_id": "run__external_id",
    "job_id": "job__name",
}
_LEFT_OUT = {
    "created_at": (Repository,),
    "reported_at": (HeadReport,),
    "version": (Branch,),
    "layout_version": (Repository,),
    "changed_at": (Branch,),
    "updated_at": (Cell,),
    "status": (Log,),
    "error": (Log,),
    "fetched_at": (Log,),
    "classified_by": (Log,),
}
_MODELS = (
    Repository,
    Branch,
    Commit,
    BranchCommit,
    HeadReport,
    Workflow,
    WorkflowRun,
    Job,
    Run,
    Cell,
    Streak,
    Log,
    Failure,
)


def _rows(model: type[models.Model]) -> list[tuple[Any, ...]]:
    names = [
        _NAMES.get(field.attname, field.attname)
        for field in model._meta.concrete_fields
        if not field.primary_key and model not in _LEFT_OUT.get(field.attname, ())
    ]
    return sorted(map(tuple, model._default_manager.values_list(*names)), key=repr)


def _source() -> SyntheticRepository:
    return SyntheticRepository("brindle/harbour", now_s=NOW_S, commits=60, jobs=70, fail_rate=0.05, seed=3)


def test_bulk_fill_and_ingest_write_the_same_rows() -> None:
    with transaction.atomic():
        synthesize(_source(), with_logs=False, with_pulls=False)
        by_ingest = {model: _rows(model) for model in _MODELS}
        transaction.set_rollback(True)
    fill(_source())
    for model in _MODELS:
        assert by_ingest[model], model
        assert _rows(model) == by_ingest[model], model
