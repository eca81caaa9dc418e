"""Tables, constraints and one-row rules. Each index names the question it serves."""

from hud.models.audit import AuditEntry
from hud.models.ci import Cell, Job, Run, Streak, Workflow, WorkflowRun
from hud.models.failure import Annotation, Failure, Log
from hud.models.inbox import FollowRequest, InboxItem
from hud.models.repository import Branch, GroupRule, Repository, RepositoryAlias
from hud.models.trunk import BranchCommit, Commit, HeadReport, PullRequest

__all__ = [
    "Annotation",
    "AuditEntry",
    "Branch",
    "BranchCommit",
    "Cell",
    "Commit",
    "Failure",
    "FollowRequest",
    "GroupRule",
    "HeadReport",
    "InboxItem",
    "Job",
    "Log",
    "PullRequest",
    "Repository",
    "RepositoryAlias",
    "Run",
    "Streak",
    "Workflow",
    "WorkflowRun",
]
