"""The door for GitHub's webhooks."""

import hmac
from hashlib import sha256

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from hud.core.github import BadPayload
from hud.services import inbox
from hud.tasks import ingest_inbox


def _refuse(status: int, reason: str) -> JsonResponse:
    return JsonResponse({"error": reason}, status=status)


def signature_is_right(body: bytes, header: str) -> bool:
    """Check `X-Hub-Signature-256` over the bytes that came, in constant time. Any header text is allowed."""
    expected = "sha256=" + hmac.new(settings.GITHUB_WEBHOOK_SECRET.encode(), body, sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), header.encode("utf-8", "surrogateescape"))


@csrf_exempt
@require_POST
def github(request: HttpRequest) -> JsonResponse:
    """Take one delivery: signature first, then shape, then the inbox, then the answer 202."""
    try:
        body = request.body
    except RequestDataTooBig:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return _refuse(
            413, f"The body is larger than {limit} bytes; raise WEBHOOK_MAX_BYTES if GitHub really sends so much."
        )
    if not signature_is_right(body, request.headers.get("X-Hub-Signature-256", "")):
        return _refuse(401, "The signature in X-Hub-Signature-256 is missing or wrong; check the webhook's secret.")
    if request.content_type != "application/json":
        return _refuse(415, "Set the webhook's content type to application/json.")
    event, delivery = request.headers.get("X-GitHub-Event", ""), request.headers.get("X-GitHub-Delivery", "")
    if not event or len(event) > 60:
        return _refuse(400, "The header X-GitHub-Event is missing or too long.")
    if not delivery or len(delivery) > 100:
        return _refuse(400, "The header X-GitHub-Delivery is missing or too long.")
    return _take(event, delivery, body)


def _take(event: str, delivery: str, body: bytes) -> JsonResponse:
    try:
        accepted = inbox.accept_delivery(event=event, delivery=delivery, body=body)
    except BadPayload as error:
        return _refuse(422, f"This is no {event} event that can be read: {error}.")
    except inbox.DeliveryConflict as error:
        return _refuse(409, str(error))
    if accepted.outcome in ("stored", "retried"):
        inbox.nudge(ingest_inbox.delay)
    return JsonResponse({"status": accepted.outcome}, status=202)
