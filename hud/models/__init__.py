"""Tables, constraints and one-row rules. Each index names the question it serves."""

from hud.models.access import ApiToken
from hud.models.alerts import (
    Acknowledgement,
    Alert,
    AlertEvent,
    AlertIssue,
    AlertRule,
    AlertRuleVersion,
    AlertSpan,
    DeliveryAttempt,
    EvaluationRequest,
    OutboxMessage,
    Silence,
    SilenceBreak,
    Target,
)
from hud.models.audit import AuditEntry
from hud.models.ci import Cell, Job, Run, Streak, Workflow, WorkflowRun
from hud.models.failure import Annotation, Failure, Log
from hud.models.inbox import FollowRequest, InboxItem
from hud.models.notices import Notice
from hud.models.repository import Branch, GroupRule, Repository, RepositoryAlias
from hud.models.results import Test, TestDay, TestReport, TestResult, WaitingReport
from hud.models.rules import Reclassification, Rule, RuleTrial, RuleVersion, TrialChange
from hud.models.subscriptions import (
    AuthorTelling,
    FollowedBranch,
    FollowedJob,
    Mail,
    MailAttempt,
    Subscription,
)
from hud.models.trunk import BranchCommit, Commit, HeadReport, PullRequest
from hud.models.verdict import (
    ForceMerge,
    JobRule,
    JudgeRequest,
    Label,
    PostedReport,
    Reporting,
    TrunkReview,
    Verdict,
)

__all__ = [
    "Acknowledgement",
    "Alert",
    "AlertEvent",
    "AlertIssue",
    "AlertRule",
    "AlertRuleVersion",
    "AlertSpan",
    "Annotation",
    "ApiToken",
    "AuditEntry",
    "AuthorTelling",
    "Branch",
    "BranchCommit",
    "Cell",
    "Commit",
    "DeliveryAttempt",
    "EvaluationRequest",
    "Failure",
    "FollowRequest",
    "FollowedBranch",
    "FollowedJob",
    "ForceMerge",
    "GroupRule",
    "HeadReport",
    "InboxItem",
    "Job",
    "JobRule",
    "JudgeRequest",
    "Label",
    "Log",
    "Mail",
    "MailAttempt",
    "Notice",
    "OutboxMessage",
    "PostedReport",
    "PullRequest",
    "Reclassification",
    "Reporting",
    "Repository",
    "RepositoryAlias",
    "Rule",
    "RuleTrial",
    "RuleVersion",
    "Run",
    "Silence",
    "SilenceBreak",
    "Streak",
    "Subscription",
    "Target",
    "Test",
    "TestDay",
    "TestReport",
    "TestResult",
    "TrialChange",
    "TrunkReview",
    "Verdict",
    "WaitingReport",
    "Workflow",
    "WorkflowRun",
]
