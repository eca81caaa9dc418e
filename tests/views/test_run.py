"""The page of one run: what failed, since when, and the log around the failing line."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta
from urllib.parse import quote

import pytest

from hud.models import (
    Annotation,
    Branch,
    BranchCommit,
    Cell,
    Commit,
    Failure,
    Job,
    Log,
    Repository,
    RepositoryAlias,
    Run,
    Streak,
    Workflow,
)
from hud.services.logs import log_store
from tests.conftest import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "log_files")]
PAGE = "/brindle/kestrel/run/502"
WHOLE = {"max_bytes": 10**9, "head_bytes": 0, "tail_bytes": 0}


@pytest.fixture
def log_files(settings, tmp_path):
    """Logs go to a folder of this test alone."""
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "logs": folder}


@pytest.fixture
def repository():
    return Repository.objects.create(owner="brindle", name="kestrel", default_branch="main")


@pytest.fixture
def run(repository):
    """The failed run 502 of the job unit on the third of three commits of main; the first bad one is the second."""
    branch = Branch.objects.create(repository=repository, name="main")
    workflow = Workflow.objects.create(repository=repository, github_id=41, name="CI")
    job = Job.objects.create(repository=repository, workflow=workflow, name="unit", column=0)
    for position, letter in enumerate("abc", 1):
        commit = Commit.objects.create(repository=repository, sha=letter * 40, title=f"Step {position}", author="ida")
        BranchCommit.objects.create(branch=branch, commit=commit, position=position)
    run = Run.objects.create(
        repository=repository,
        job=job,
        commit=commit,
        external_id=502,
        name="unit",
        status="completed",
        conclusion="failure",
        origin="push",
        started_at=NOW - timedelta(minutes=30),
        completed_at=NOW - timedelta(minutes=12),
        runner_name="i-1",
        html_url="https://github.example/brindle/kestrel/actions/runs/9001/job/502",
        steps=[
            {"number": 1, "name": "Set up job", "status": "completed", "conclusion": "success"},
            {"number": 2, "name": "Run tests", "status": "completed", "conclusion": "failure"},
        ],
    )
    Cell.objects.create(
        commit=commit, job=job, run=run, state="failure", verdict="broken_trunk", verdict_reason="It was red before."
    )
    Streak.objects.create(branch=branch, job=job, first_bad=2, last_bad=3, last_good=1, length=2)
    return run


def store_log(run, text, **limits):
    raw = text if isinstance(text, bytes) else text.encode()
    with log_store().open(f"logs/{run.external_id}", **{**WHOLE, **limits}) as writer:
        writer.write(raw)
    stored = writer.close()
    cut = asdict(stored.cut) if stored.cut else None
    return Log.objects.create(
        run=run, status="stored", key=stored.key, size_bytes=stored.size_bytes, line_count=stored.line_count, cut=cut
    )


def add_failure(run, line_number, line="FAILED t::a", rank=0, **fields):
    values = {"rule": "pytest failure", "category": "test", "signature": f"s{rank}", **fields}
    return Failure.objects.create(run=run, rank=rank, line_number=line_number, line=line, **values)


def numbered(count):
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def body_of(client, address=PAGE, **headers):
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def part_of(client, target, query):
    return body_of(client, f"{PAGE}{query}", **{"HX-Request": "true", "HX-Target": target})


def lines_in(body):
    """Line numbers of the rows on a page."""
    return [int(number) for number in re.findall(r'id="L(\d+)"', body)]


def classes_of(body, number):
    return re.search(rf'id="L{number}" class="([^"]*)"', body)[1].split()


# ── What failed ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_it_tells_the_run_its_commit_its_verdict_and_its_streak(client, run):
    body = body_of(client)
    assert "<title>unit at ccccccc · HUD</title>" in body
    assert "Failed" in body and "Step 3" in body and "18 min" in body and "12 min ago" in body
    assert "Broken trunk." in body and "It was red before." in body
    assert "Red for 2 commits, since" in body and "/brindle/kestrel/commit/" + "b" * 40 in body
    assert "last good" in body and "/brindle/kestrel/commit/" + "a" * 40 in body
    assert 'href="https://github.example/brindle/kestrel/actions/runs/9001/job/502"' in body


def test_every_failure_is_listed_with_its_tests_and_leads_to_its_line(client, run):
    store_log(run, numbered(5000))
    add_failure(run, 4000, "FAILED t::a", tests=["t::a", "t::b"], context=["+ pytest -q"], signature="sig one")
    add_failure(run, 70, "disk full", rank=1, category="infra_disk", generic=True)
    body = body_of(client)
    assert "2 causes, likeliest first" in body
    assert body.index("FAILED t::a") < body.index("disk full")
    assert "2 failing tests" in body and "+ pytest -q" in body and "sig one" in body
    assert "infra disk" in body and "says little by itself" in body
    assert 'href="?lines=4000#L4000"' in body and 'href="?lines=70#L70"' in body


def test_all_attempts_are_shown_with_their_origin(client, run):
    Run.objects.create(
        repository=run.repository,
        job=run.job,
        commit=run.commit,
        external_id=700,
        name="unit",
        attempt=2,
        status="completed",
        conclusion="success",
        origin="rerun",
    )
    body = body_of(client)
    assert "2 runs of this job on this commit" in body
    assert 'href="/brindle/kestrel/run/700"' in body and "rerun by a person" in body
    assert "attempt 1, shown here" in body


def test_steps_and_annotations_are_shown(client, run):
    note = {"level": "failure", "message": "The runner was lost.", "path": ".github", "start_line": 7}
    Annotation.objects.create(run=run, number=0, **note)
    body = body_of(client)
    assert "failed at <bdi>Run tests</bdi>" in body
    assert "The runner was lost." in body and "<bdi>.github</bdi>:7" in body


def test_the_start_of_a_workflow_has_a_page_too(client, run):
    Run.objects.filter(pk=run.pk).update(external_id=-9001, conclusion="startup_failure")
    assert "the workflow failed to start" in body_of(client, "/brindle/kestrel/run/-9001").lower()


# ── The log ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_big_log_opens_around_the_primary_failure_which_is_marked(client, run):
    store_log(run, numbered(5000))
    add_failure(run, 4000)
    add_failure(run, 4003, rank=1)
    body = body_of(client)
    assert lines_in(body) == list(range(3984, 4035))
    assert "failing" in classes_of(body, 4000) and "failing" in classes_of(body, 4003)
    assert "failing" not in classes_of(body, 4001)


def test_lines_in_the_address_are_marked_and_shown(client, run):
    store_log(run, numbered(5000))
    body = body_of(client, f"{PAGE}?lines=120-140")
    assert set(range(120, 141)) <= set(lines_in(body))
    assert "selected" in classes_of(body, 120) and "selected" in classes_of(body, 140)
    assert "selected" not in classes_of(body, 141)


def test_more_lines_are_reached_by_links_without_scripts(client, run):
    store_log(run, numbered(5000))
    add_failure(run, 4000)
    body = body_of(client)
    (wider,) = re.findall(r'href="(\?window=3784-4034)#L3984"', body)
    assert lines_in(body_of(client, PAGE + wider)) == list(range(3784, 4035))
    assert 'href="?window=3984-4234#L4034"' in body


def test_more_lines_are_loaded_alone_with_scripts(client, run):
    store_log(run, numbered(5000))
    above = part_of(client, "log-above", "?window=3784-3983")
    assert lines_in(above) == list(range(3784, 3984))
    assert 'id="log-above"' in above and 'id="log-below"' not in above and "<html" not in above
    below = part_of(client, "log-below", "?window=4900-5000")
    assert lines_in(below) == list(range(4900, 5001))
    assert 'id="log-below"' not in below


def test_a_jump_loads_the_lines_alone(client, run):
    store_log(run, numbered(5000))
    part = part_of(client, "log", "?lines=70")
    assert part.strip().startswith('<ol id="log"') and 70 in lines_in(part)


@pytest.mark.parametrize("part", ["log", "log-hits", "log-above", "log-below"])
def test_no_part_of_the_log_is_kept_under_the_address_of_the_page(client, run, part):
    store_log(run, numbered(500))
    answer = client.get(PAGE + "?window=1-100&q=7", headers={"HX-Request": "true", "HX-Target": part})
    assert answer["Cache-Control"] == "no-store" and "HX-Target" in answer["Vary"]
    assert "<html" not in answer.content.decode()


def test_a_restored_history_gets_the_whole_page(client, run):
    store_log(run, numbered(10))
    headers = {"HX-Request": "true", "HX-Target": "log", "HX-History-Restore-Request": "true"}
    assert "<html" in body_of(client, PAGE, **headers)


def test_lines_past_the_end_show_the_end(client, run):
    store_log(run, numbered(5000))
    assert 5000 in lines_in(body_of(client, f"{PAGE}?lines=99999999"))


def test_groups_are_folded_unless_something_in_them_failed(client, run):
    store_log(run, "##[group]Run setup\nquiet\n##[endgroup]\n##[group]Run tests\nFAILED t::a\n##[endgroup]\n")
    add_failure(run, 5)
    body = body_of(client)
    quiet, loud = re.findall(r'<li class="group">.*?<details( open)?>', body)
    assert (quiet, loud) == ("", " open")


def test_line_777_of_a_log_with_carriage_returns_is_the_same_everywhere(client, run):
    """FC-22."""
    rows = [f"{number:04} {'.' * 54}\r\n" for number in range(1, 1201)]
    rows[776] = "0777 FAILED tests/test_io.py::test_seek\r\n"
    store_log(run, "".join(rows))
    body = body_of(client, f"{PAGE}?lines=777")
    assert re.search(r'id="L777".*?<span class="t">0777 FAILED tests/test_io.py::test_seek</span>', body)
    raw = b"".join(client.get(f"{PAGE}/log").streaming_content)
    assert raw.split(b"\n")[776] == rows[776].encode().rstrip(b"\n")


def test_colours_become_classes_and_terminal_tricks_become_text(client, run):
    store_log(
        run,
        "\x1b]8;;https://docs.example.invalid/E12\x1b\\E12\x1b]8;;\x1b\\ see link\n"
        "\x1b]8;;javascript:alert(1)\x07click me\x1b]8;;\x07\n"
        "\x1b[38;5;196mred256\x1b[0m\n"
        "user\u202ecod.exe\n"
        "\x1b]0;title never closed\nlast line\n",
    )
    body = body_of(client)
    assert 'href="https://docs.example.invalid/E12" data-host="docs.example.invalid"' in body
    assert "javascript:" not in body and "click me" in body
    assert '<span class="t-fg9">red256</span>' in body
    assert "&lt;U+202E&gt;" in body and "\u202e" not in body
    assert "last line" in body and "]8;;" not in body and "[38;5" not in body


def test_a_run_of_another_ci_leads_to_its_own_page_and_says_where_that_is(client, run):
    assert "Open at" not in body_of(client)
    Run.objects.update(details_url='https://ci.example.invalid/job/7?a=1&b="2')
    body = body_of(client)
    link = 'href="https://ci.example.invalid/job/7?a=1&amp;b=&quot;2" rel="noopener noreferrer"'
    assert f"<a {link}>Open at <bdi>ci.example.invalid</bdi></a>" in body


def test_of_another_cis_run_it_says_where_the_log_is(client, run):
    Log.objects.create(run=run, status=Log.Status.GONE, error="GitHub answered 404.")
    assert "GitHub no longer has this log" in body_of(client)
    Run.objects.update(details_url="https://ci.example.invalid/job/7")
    body = body_of(client)
    assert "GitHub has no log of this run" in body and "no longer has" not in body
    assert ">open it at <bdi>ci.example.invalid</bdi></a>" in body


@pytest.mark.parametrize(
    "address",
    [
        "",
        "javascript:alert(1)",
        "//ci.example.invalid/7",
        "https://",
        "https://ci.example.invalid/\u202eevil",
        "https://[broken/",
        "https://github.example/brindle/kestrel/runs/502",
    ],
)
def test_no_other_address_is_a_link_to_a_ci(client, run, address):
    Run.objects.update(details_url=address)
    assert "Open at" not in body_of(client)


def test_the_host_is_the_one_where_the_link_leads(client, run):
    Run.objects.update(details_url="https://github.com@evil.example.invalid/7")
    assert "Open at <bdi>evil.example.invalid</bdi>" in body_of(client)


def test_markup_in_any_name_is_text(client, run):
    evil = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
    Commit.objects.filter(pk=run.commit_id).update(title=evil, author=evil)
    Run.objects.filter(pk=run.pk).update(
        name=evil,
        runner_name=evil,
        workflow_name=evil,
        labels=[evil],
        html_url="javascript:alert(3)",
        steps=[{"name": evil}],
    )
    Cell.objects.update(verdict_reason=evil)
    Annotation.objects.create(run=run, number=0, level="failure", title=evil, message=evil, path=evil, start_line=1)
    store_log(run, f"\x1b[31m<scr\x1b[0mipt>alert(5)</script>\n{evil}\n")
    fields = {"rule": evil, "step": evil, "signature": evil, "tests": [evil], "context": [evil]}
    add_failure(run, 2, evil, **fields)
    body = body_of(client, f"{PAGE}?q={quote('<img')}")
    assert "<img" not in body and "<script>alert" not in body and "javascript:" not in body
    assert body.count("&lt;img src=x onerror=alert(1)&gt;") > 10


def test_a_very_long_line_is_cut_with_a_way_to_the_rest(client, run):
    store_log(run, "ERROR: " + "x" * 20_000 + "\nafter\n")
    body = body_of(client)
    assert "cut here" in body and 'id="log-raw"' in body and lines_in(body) == [1, 2]
    assert len(body) < 40_000


def test_a_failing_line_of_nine_thousand_characters_is_shown_whole(client, run):
    line = "ERROR: " + "x" * 9000
    store_log(run, line + "\n")
    assert line in body_of(client)


# ── Search ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_search_looks_through_the_whole_log(client, run):
    store_log(run, numbered(5000))
    body = body_of(client, f"{PAGE}?q=LINE+49")
    assert "The first 100 lines that match" in body
    assert 'href="?q=LINE+49&amp;lines=49#L49"' in body
    assert "<mark>line 49</mark>" in body


def test_a_search_is_answered_alone_with_scripts(client, run):
    store_log(run, numbered(5000))
    part = part_of(client, "log-hits", "?q=line+4999")
    assert part.strip().startswith('<div id="log-hits"') and "1 line matches" in part
    assert "<html" not in part


def test_a_search_goes_on_where_it_stopped(client, run):
    store_log(run, numbered(150))
    body = body_of(client, f"{PAGE}?q=line")
    (on,) = re.findall(r'href="(\?q=line&amp;after=100)"', body)
    assert "50 lines match" in body_of(client, PAGE + on.replace("&amp;", "&"))


def test_a_bad_pattern_is_explained_and_leaves_the_log_alone(client, run):
    store_log(run, numbered(5000))
    add_failure(run, 4000)
    body = body_of(client, f"{PAGE}?q=a(b&regex=on")
    assert "This pattern can&#x27;t be used: missing ): a(b" in body or "can't be used: missing ): a(b" in body
    assert 4000 in lines_in(body)


def test_a_search_without_hits_says_so(client, run):
    store_log(run, numbered(10))
    assert "No line" in body_of(client, f"{PAGE}?q=nothing")


# ── The raw log ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_raw_log_is_a_download_of_plain_text(client, run):
    store_log(run, "<script>alert(1)</script>\r\n")
    answer = client.get(f"{PAGE}/log")
    assert b"".join(answer.streaming_content) == b"<script>alert(1)</script>\r\n"
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == 'attachment; filename="brindle-kestrel-502.log"'
    assert answer["Content-Length"] == "27"


def test_the_raw_log_streams_in_the_asynchronous_server_too(run, async_client):
    from asgiref.sync import async_to_sync

    store_log(run, numbered(100_000))

    async def ask():
        answer = await async_client.get(f"{PAGE}/log")
        return [chunk async for chunk in answer.streaming_content]

    chunks = async_to_sync(ask)()
    assert len(chunks) > 2 and b"".join(chunks).decode() == numbered(100_000)


def test_a_raw_log_that_is_not_there_leads_to_the_page(client, run):
    answer = client.get(f"{PAGE}/log")
    assert answer.status_code == 404
    assert f'href="{PAGE}"' in answer.content.decode()


# ── States ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"status": "pending"}, "The log is on its way."),
        ({"status": "pending", "attempts": 2, "error": "GitHub said 502"}, "2 attempts failed (GitHub said 502)"),
        ({"status": "gone", "error": "GitHub answered 410."}, "GitHub no longer has this log."),
        ({"status": "refused", "error": "evil.example is not allowed."}, "its address is not allowed."),
        ({"status": "failed", "attempts": 8, "error": "timed out"}, "The log could not be fetched."),
        ({"status": "none"}, "There is no log to fetch."),
        ({"status": "stored", "key": "k", "line_count": 0}, "The log is empty."),
        ({"status": "stored", "key": "lost", "line_count": 9}, "The stored log can&#x27;t be read."),
    ],
)
def test_every_state_of_a_log_has_its_own_words(client, run, fields, sentence):
    Log.objects.create(run=run, **fields)
    body = body_of(client)
    assert sentence in body or sentence.replace("&#x27;", "'") in body
    assert "See the run on GitHub" in body


def test_a_run_that_goes_on_and_one_that_passed_say_why_there_is_no_log(client, run):
    Run.objects.filter(pk=run.pk).update(status="in_progress", conclusion="")
    assert "The run is not finished." in body_of(client)
    Run.objects.filter(pk=run.pk).update(status="completed", conclusion="success")
    assert "HUD keeps the logs of failed runs only." in body_of(client)


def test_a_failed_run_without_a_found_cause_says_so(client, run):
    store_log(run, "nothing to see\n")
    assert "No cause was found." in body_of(client)


def test_a_log_past_its_limit_says_what_is_missing(client, run):
    store_log(run, numbered(400_000), max_bytes=10**6, head_bytes=10**5, tail_bytes=10**5)
    log = Log.objects.get(run=run)
    first, last = log.cut["first_line"], log.cut["last_line"]
    body = body_of(client, f"{PAGE}?window={first - 2}-{first + 5}")
    assert f"lines {first} to {last}" in body and "LOG_MAX_BYTES" in body
    assert lines_in(body) == [first - 2, first - 1]
    inside = body_of(client, f"{PAGE}?window={first + 5}-{first + 9}")
    assert "These lines were left out" in inside


# ── Addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_unknown_addresses_lead_on(client, run):
    answer = client.get("/brindle/kestrel/run/1")
    assert answer.status_code == 404 and "HUD knows no run 1 of brindle/kestrel." in answer.content.decode()
    assert client.get("/nobody/nothing/run/1").status_code == 404


def test_a_former_name_leads_to_the_run(client, run):
    RepositoryAlias.objects.create(repository=run.repository, owner="old", name="name")
    answer = client.get("/old/name/run/502?lines=7")
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}?lines=7")


def test_the_number_of_statements_does_not_grow(client, run, django_assert_max_num_queries):
    store_log(run, numbered(5000))
    for rank in range(40):
        add_failure(run, rank + 1, rank=rank)
        Annotation.objects.create(run=run, number=rank, message="x")
        Run.objects.create(
            repository=run.repository, job=run.job, commit=run.commit, external_id=900 + rank, name="unit", attempt=rank
        )
    with django_assert_max_num_queries(12):
        body_of(client)
