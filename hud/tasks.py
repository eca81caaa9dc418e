"""Celery's shells: ids in, a service called. Every task is safe to run twice."""

from functools import partial

from celery import shared_task

from hud.models import Run
from hud.services import (
    comment,
    evaluation_requests,
    follow,
    inbox,
    judging,
    junit,
    logs,
    logwork,
    mail,
    poll,
    turns,
    waiting_results,
)
from hud.services.alert_clock import evaluate_by_clock
from hud.services.alerting import evaluate_requested, look_after_alerts
from hud.services.author_mail import tell_authors
from hud.services.github import github_client
from hud.services.ingest import Applied
from hud.services.mail import deliver_mails
from hud.services.notify import deliver_to, targets_to_wake
from hud.services.silence_reminders import remind_owners
from hud.services.silences import end_resolved_silences, note_turned_silences
from hud.services.subscriptions import look_at_followed, tell_followers

MOST_FETCHES = 4
"""Messages sent for the logs of one batch: each fetches what is due until nothing is, so a few are enough."""


@shared_task(name="hud.tasks.ingest_inbox")
def ingest_inbox() -> int:
    """Work on what waits in the inbox."""
    return inbox.drain(follow_up)


@shared_task(name="hud.tasks.fetch_logs")
def fetch_logs() -> None:
    """Fetch and classify the logs that are due. As many run side by side as there are worker processes."""
    with github_client() as client:
        if logs.fetch_due_logs(client=client):
            fetch_logs.delay()
    judge_soon()


@shared_task(name="hud.tasks.fetch_annotations")
def fetch_annotations(run_id: int) -> None:
    """Read one run's annotations again."""
    with github_client() as client:
        logs.fetch_annotations(run_id=run_id, client=client)
    judge_soon()


@shared_task(name="hud.tasks.classify_again")
def classify_again(run_id: int) -> None:
    """Classify one run anew from what is stored."""
    logs.classify_again(Run.objects.get(pk=run_id))
    judge_soon()


@shared_task(name="hud.tasks.judge")
def judge() -> None:
    """Decide verdicts again where evidence changed."""
    if judging.judge_due() or judging.review_step():
        judge.delay()


@shared_task(name="hud.tasks.read_logs_again")
def read_logs_again() -> None:
    """Take a turn at trials and reclassifications; what is left is queued behind whatever came in meanwhile."""
    if turns.work_one_turn():
        queue_reading()


def queue_reading() -> None:
    """Have a worker take a turn at trials and reclassifications."""
    turns.queue_turn(partial(read_logs_again.apply_async, expires=turns.QUEUED_FOR_S))


@shared_task(name="hud.tasks.sweep")
def sweep() -> None:
    """Take up what a lost message or a killed worker left behind."""
    inbox.nudge(ingest_inbox.delay)
    if logs.has_due_logs():
        fetch_logs.delay()
    for run_id in logs.due_classifications():
        classify_again.delay(run_id)
    if logwork.anything_waits():
        queue_reading()
    waiting_results.attach_waiting()
    judge_soon()
    if comment.due_reports(1):
        write_reports.delay()
    if evaluation_requests.any_due():
        evaluate_alerts_again.delay()


@shared_task(name="hud.tasks.evaluate_alerts_again")
def evaluate_alerts_again() -> None:
    """Evaluate alerts again where that failed, or where what rules count has changed."""
    evaluate_requested()


@shared_task(name="hud.tasks.write_reports")
def write_reports() -> None:
    """Bring HUD's comments and check runs at GitHub up to date."""
    with github_client() as client:
        for report_id in comment.due_reports():
            comment.write_report(report_id=report_id, client=client)


@shared_task(name="hud.tasks.poll_due")
def poll_due() -> None:
    """Hand out the branches to poll and the back-fills to go on with."""
    for branch_id in poll.due_branches():
        poll_branch.apply_async((branch_id,), expires=300)
    for request_id in follow.due_requests():
        back_fill.apply_async((request_id,), expires=300)


@shared_task(name="hud.tasks.poll_branch")
def poll_branch(branch_id: int) -> None:
    """Bring one branch up to date from GitHub."""
    with github_client() as client:
        poll.poll_branch(branch_id=branch_id, client=client, after_commit=follow_up)


@shared_task(name="hud.tasks.back_fill")
def back_fill(request_id: int) -> None:
    """Go on with one back-fill."""
    with github_client() as client:
        follow.back_fill(request_id=request_id, client=client, after_commit=follow_up)


@shared_task(name="hud.tasks.notify_due")
def notify_due() -> None:
    """Tell what only time makes due, and send what a lost message or a failed try left behind."""
    try:
        note_turned_silences()
        end_resolved_silences()
        remind_owners()
        evaluate_by_clock()
        look_after_alerts()
    finally:  # what was written before must go out, whatever goes wrong here
        for target_id in targets_to_wake():
            notify_target.delay(target_id)


@shared_task(name="hud.tasks.notify_target")
def notify_target(target_id: int) -> None:
    """Send what waits for one target."""
    deliver_to(target_id)


@shared_task(name="hud.tasks.notify_people")
def notify_people() -> None:
    """Tell people of what they follow, and authors of what their commits broke."""
    try:
        look_at_followed()
        tell_followers()
        tell_authors()
    finally:  # what was written before must go out, whatever goes wrong here
        deliver_mails()


@shared_task(name="hud.tasks.forget_old_mails")
def forget_old_mails() -> int:
    """Delete mails about what people follow that were sent long ago."""
    return mail.forget_old_mails()


@shared_task(name="hud.tasks.forget_old_items")
def forget_old_items() -> int:
    """Delete inbox items that were done long ago."""
    return inbox.forget_old_items()


@shared_task(name="hud.tasks.forget_old_test_results")
def forget_old_test_results() -> int:
    """Delete test results that are older than they are kept."""
    return junit.forget_old_results()


def follow_up(applied: Applied) -> None:
    """Queue the work that follows from applied facts; called after the commit."""
    for _ in applied.logs_wanted[:MOST_FETCHES]:
        fetch_logs.delay()
    for run_id in applied.annotations_wanted:
        fetch_annotations.delay(run_id)
    for run_id in applied.classify_again:
        classify_again.delay(run_id)
    judge_soon()


def judge_soon() -> None:
    """Queue the decision of verdicts, if some wait for it."""
    if judging.has_work():
        judge.delay()
