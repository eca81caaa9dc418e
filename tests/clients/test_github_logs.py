"""Job logs: the token stays with the API (FC-28), the place is checked (FC-37), the bytes come in pieces."""

import gzip
import io
import json
import logging
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.clients.github import (
    BadAnswer,
    Forbidden,
    GitHubClient,
    LogGone,
    RateLimited,
    RedirectRefused,
    TimedOut,
    TimeLimits,
    Unavailable,
)
from hud.clients.github.logs import CHUNK_BYTES, inflated
from tests.clients.conftest import TOKEN, Clock
from tests.fakes.github import BlobHost, FakeGitHub, FakeRepository, Scripted, recorded_repository

Connect = Callable[..., GitHubClient]
REPO = "brindle/kestrel"
PATH = f"/repos/{REPO}/actions/jobs/931/logs"
LOG = b"FAILED t/test_a.py::test_b - AssertionError\n"


def read(client: GitHubClient, job_id: int = 931) -> bytes:
    with client.job_log(REPO, job_id) as pieces:
        return b"".join(pieces)


def at(url: str) -> Scripted:
    return Scripted(302, None, {"Location": url})


@pytest.fixture
def blob_says(github: FakeGitHub, blob: BlobHost) -> Callable[..., None]:
    """Make the API point to the log host, which gives this body."""

    def say(body: bytes, status: int = 200, **headers: str) -> None:
        github.script(PATH, at(f"{blob.url}/log?sig=one"))
        blob.script("/log", Scripted(status, body, {name.replace("_", "-"): value for name, value in headers.items()}))

    return say


def field_case(shared_data: Path, case_id: str) -> Any:
    cases = json.loads((shared_data / "field-cases.json").read_text())
    return next(case for case in cases if case["id"] == case_id)["input"]


def test_a_refused_place_is_asked_for_again_and_its_error_is_not_the_log(
    shared_data: Path, github: FakeGitHub, blob: BlobHost, client: GitHubClient, caplog: pytest.LogCaptureFixture
) -> None:
    case = field_case(shared_data, "FC-28")
    github.script(PATH, at(f"{blob.url}/log?sig=one"), at(f"{blob.url}/log?sig=two"))
    blob.script("/log", *[Scripted(given["answer"], given["body"].encode()) for given in case["blob"]])
    with caplog.at_level(logging.DEBUG):
        assert read(client) == case["blob"][1]["body"].encode()
    assert [seen.query["sig"] for seen in blob.requests] == ["one", "two"]
    for seen in blob.requests:
        assert "authorization" not in seen.headers
        assert "cookie" not in seen.headers
        assert TOKEN not in str(seen)
    assert "sig=" not in caplog.text
    assert TOKEN not in caplog.text
    assert github.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_place_on_the_api_s_own_port_sees_no_token_either(github: FakeGitHub, client: GitHubClient) -> None:
    github.script(PATH, at("/logs-here?sig=one"))
    github.script("/logs-here", Scripted(200, LOG, {"Set-Cookie": "a=b"}))
    assert read(client) == LOG
    assert "authorization" not in github.requests[-1].headers


def test_a_place_that_is_always_refused_is_unavailable_and_not_gone(
    github: FakeGitHub, blob: BlobHost, client: GitHubClient
) -> None:
    github.script(PATH, *[at(f"{blob.url}/log?sig=secret")] * 9)
    blob.script("/log", *[Scripted(403, b"<Error/>")] * 9)
    with pytest.raises(Unavailable, match="403") as refusal:
        read(client)
    assert "sig" not in str(refusal.value)
    assert len(blob.requests) == 4


@pytest.mark.parametrize("status", [404, 410])
def test_a_log_that_is_gone_is_told_as_gone(
    github: FakeGitHub, blob: BlobHost, client: GitHubClient, status: int
) -> None:
    github.script(PATH, Scripted(status, {"message": "Not Found"}), at(f"{blob.url}/log?sig=one"))
    blob.script("/log", Scripted(status, b""))
    for _ in range(2):
        with pytest.raises(LogGone, match=str(status)):
            read(client)


@pytest.mark.parametrize(
    "place",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:169.254.169.254]/latest",
        "http://10.0.0.1/log",
        "https://evil.example/log",
        "https://store.blob.core.windows.net/log",
        "http://outside.blob.core.windows.net/log",
        "https://user:pw@outside.blob.core.windows.net/log",
        "ftp://127.0.0.1/log",
        "file:///etc/passwd",
        "",
    ],
)
def test_a_place_inside_or_unknown_is_refused_and_says_so(github: FakeGitHub, connect: Connect, place: str) -> None:
    names = {"store.blob.core.windows.net": ["169.254.169.254"], "outside.blob.core.windows.net": ["20.60.1.1"]}
    client = connect(resolve=lambda host, port: names.get(host, [host]))
    github.script(PATH, at(place) if place else Scripted(302))
    with pytest.raises((RedirectRefused, LogGone)) as refusal:
        read(client)
    assert len(github.requests) <= 2
    assert "pw" not in str(refusal.value)


def test_the_field_case_s_inside_place_is_refused(shared_data: Path, github: FakeGitHub, client: GitHubClient) -> None:
    location = next(iter(field_case(shared_data, "FC-37")["log"].values())).removeprefix("302 Location: ")
    github.script(PATH, at(location))
    with pytest.raises(RedirectRefused, match=r"169\.254\.169\.254 .*LOG_HOSTS"):
        read(client)


def test_a_recorded_log_is_read_from_the_host_that_github_names(
    shared_data: Path, github: FakeGitHub, blob: BlobHost, client: GitHubClient
) -> None:
    ozone = github.add(
        recorded_repository(shared_data / "github" / "ozone", "apache/ozone", id=212382406, branch="master")
    )
    job_id = min(int(path.name.split(".")[0]) for path in (shared_data / "github/ozone/logs").iterdir())
    github.blob_url = lambda number: f"{blob.url}/{number}?sig=one"
    blob.blobs[f"/{job_id}"] = Scripted(200, ozone.logs.get(job_id))
    with client.job_log("apache/ozone", job_id) as pieces:
        assert b"".join(pieces) == ozone.logs.get(job_id)
    assert "authorization" not in blob.requests[0].headers


def test_a_configured_host_may_lie_inside(github: FakeGitHub, blob: BlobHost, connect: Connect) -> None:
    client = connect(log_hosts=("logs.intern.example",), resolve=lambda host, port: ["127.0.0.1"])
    github.script(PATH, at(f"http://logs.intern.example:{blob.port}/log"))
    blob.script("/log", Scripted(200, LOG))
    assert read(client) == LOG


def test_when_the_api_is_elsewhere_this_machine_is_inside(github: FakeGitHub, blob: BlobHost, connect: Connect) -> None:
    from hud.clients.github.options import hosts_named

    assert hosts_named(("*.x.example", "y.example"), "api.github.com") == ["y.example", "api.github.com"]
    assert "127.0.0.1" in hosts_named((), "localhost")


def test_a_second_redirect_is_checked_like_the_first(github: FakeGitHub, blob: BlobHost, client: GitHubClient) -> None:
    github.script(PATH, at(f"{blob.url}/log"), at(f"{blob.url}/log"))
    blob.script("/log", at("/moved"), at("http://169.254.169.254/"))
    blob.script("/moved", Scripted(200, LOG))
    assert read(client) == LOG
    with pytest.raises(RedirectRefused):
        read(client)


def test_the_log_of_a_renamed_repository_is_found(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient
) -> None:
    kestrel.logs = {931: LOG}
    github.rename(REPO, "brindle-labs/kestrel-ci")
    assert read(client) == LOG
    assert github.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"


def test_a_log_given_directly_is_read(kestrel: FakeRepository, client: GitHubClient) -> None:
    kestrel.logs = {931: LOG}
    assert read(client) == LOG


def test_refusals_of_the_api_reach_the_caller(github: FakeGitHub, client: GitHubClient, clock: Clock) -> None:
    github.script(PATH, Scripted(403, {"message": "Must have admin rights to Repository."}))
    with pytest.raises(Forbidden, match="admin rights"):
        read(client)
    github.script(PATH, Scripted(403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "9"}))
    for _ in range(2):
        with pytest.raises(RateLimited):
            read(client)
    assert len(github.requests) == 2


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_packed_answer_is_unpacked(
    blob_says: Callable[..., None], client: GitHubClient, pack: Callable[[bytes], bytes]
) -> None:
    blob_says(pack(LOG * 1000), Content_Encoding="gzip" if pack is gzip.compress else "deflate")
    assert read(client) == LOG * 1000


def test_a_gzip_file_is_recognised_without_a_header_even_when_joined(
    blob_says: Callable[..., None], client: GitHubClient
) -> None:
    blob_says(gzip.compress(LOG) + gzip.compress(b"more\n") + b"\0" * 100)
    assert read(client) == LOG + b"more\n"


@given(
    st.lists(st.binary(max_size=2000), max_size=4), st.integers(1, 50), st.sampled_from([gzip.compress, zlib.compress])
)
def test_however_a_packed_log_is_cut_into_pieces_it_comes_out_whole(
    parts: list[bytes], size: int, pack: Callable[[bytes], bytes]
) -> None:
    packed = b"".join(map(gzip.compress, parts)) if pack is gzip.compress else pack(b"".join(parts))
    cut = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert b"".join(inflated(cut)) == b"".join(parts)


def zipped(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return packed.getvalue()


def test_a_zip_gives_its_files_in_order(blob_says: Callable[..., None], client: GitHubClient) -> None:
    blob_says(zipped(**{"unit__10_last.txt": b"3\n", "unit__2_second.txt": b"2\n", "unit__1_first.txt": b"1\n"}))
    assert read(client) == b"1\n2\n3\n"


def test_a_zip_with_whole_jobs_on_top_gives_only_these(blob_says: Callable[..., None], client: GitHubClient) -> None:
    blob_says(zipped(**{"0_unit.txt": LOG, "unit__1_first.txt": b"again\n"}))
    assert read(client) == LOG


def test_an_empty_zip_and_an_empty_log_are_empty(blob_says: Callable[..., None], client: GitHubClient) -> None:
    blob_says(zipped())
    assert read(client) == b""
    blob_says(b"")
    assert read(client) == b""


@pytest.mark.parametrize(
    ("body", "headers", "error"),
    [
        (gzip.compress(LOG * 100)[:-20], {"Content_Encoding": "gzip"}, Unavailable),
        (b"\x1f\x8bnonsense-nonsense", {}, BadAnswer),
        (zipped(**{"0_unit.txt": LOG * 100})[:-30], {}, BadAnswer),
        (LOG, {"Content_Encoding": "br"}, BadAnswer),
    ],
    ids=["a cut gzip", "no gzip at all", "a cut zip", "another coding"],
)
def test_a_damaged_log_is_an_error_and_not_a_shorter_log(
    blob_says: Callable[..., None], client: GitHubClient, body: bytes, headers: dict[str, str], error: type[Exception]
) -> None:
    blob_says(body, **headers)
    with pytest.raises(error):
        read(client)


def test_a_zip_past_its_limit_names_the_setting(blob_says: Callable[..., None], connect: Connect) -> None:
    blob_says(zipped(**{"0_unit.txt": LOG}))
    with pytest.raises(BadAnswer, match="GITHUB_MAX_LOG_ZIP_BYTES"):
        read(connect(max_zip_bytes=50))


def test_a_connection_that_breaks_off_is_not_the_end_of_the_log(
    blob_says: Callable[..., None], client: GitHubClient
) -> None:
    blob_says(LOG, Content_Length="100000", Connection="close")
    with pytest.raises(Unavailable, match="broke"):
        read(client)


def test_a_log_that_takes_too_long_names_the_limit(
    blob_says: Callable[..., None], connect: Connect, clock: Clock
) -> None:
    blob_says(b"x" * (3 * CHUNK_BYTES))
    client = connect(times=TimeLimits(log_s=5))
    with pytest.raises(TimedOut, match="GITHUB_LOG_TIMEOUT_S"), client.job_log(REPO, 931) as pieces:
        for _ in pieces:
            clock.now_s += 10


@pytest.mark.parametrize("packed", [True, False])
def test_a_large_log_is_never_whole_in_memory(
    blob_says: Callable[..., None], client: GitHubClient, packed: bool
) -> None:
    line_block = LOG * 2000
    body = gzip.compress(line_block * 600) if packed else line_block * 600
    blob_says(body, **({"Content_Encoding": "gzip"} if packed else {}))
    with client.job_log(REPO, 931) as pieces:
        next(pieces)
        tracemalloc.start()
        try:
            largest, total = 0, 0
            for piece in pieces:
                largest, total = max(largest, len(piece)), total + len(piece)
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert total > len(line_block) * 590
    assert largest <= CHUNK_BYTES
    assert peak_bytes < 8 * CHUNK_BYTES
