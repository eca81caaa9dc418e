"""Logs of runs that failed for no fault of the code: machines, networks, disks, registries, limits, people."""

from collections.abc import Iterator
from functools import partial

from hud.synthetic.logs.script import Scripts, register
from hud.synthetic.logs.vocabulary import Vocabulary

SCRIPTS: Scripts = {}
_log = partial(register, SCRIPTS)

# What GitHub tells beside such a run, by kind: level and message of its annotations.
ANNOTATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "runner_lost": (
        (
            "failure",
            "The self-hosted runner lost communication with the server. Verify the machine is running and has a healthy network connection.",
        ),
    ),
    "job_timeout": (
        ("failure", "The job has exceeded the maximum execution time of 1h0m0s"),
        ("failure", "The operation was canceled."),
    ),
    "superseded": (("failure", "Canceling since a higher priority waiting request for integration-main exists"),),
    "stopped": (("failure", "The operation was canceled."),),
    "disk_full": (
        ("failure", "Process completed with exit code 1."),
        ("warning", "You are running out of disk space. Free space left: 0 MB"),
    ),
}


def _work(v: Vocabulary, count: int) -> Iterator[str]:
    for index in range(count):
        area, name = v.passing(index)
        yield f"{area}.{name} finished in {v.seconds(index)} s"


@_log("runner_lost", "Run tests", "./ci/run.sh", end="cut")
def runner_lost(v: Vocabulary) -> Iterator[str]:
    yield "+ ./ci/run.sh"
    yield from _work(v, v.number("n", 90, 400))
    yield f"{v.area}.{v.snake()} fini"


@_log("disk_full", "Build image", "docker buildx build --load -t harbour:edge .")
def disk_full(v: Vocabulary) -> Iterator[str]:
    yield "+ docker buildx build --load -t harbour:edge ."
    for index in range(4, 90):
        yield f"#{index} {v.seconds(index, 60)} extracting layer sha256:{v.hex(64, index)}"
    yield f"write /var/lib/docker/tmp/layer-{v.hex(10, 'layer')}: no space left on device"
    yield "ERROR: failed to build: no space left on device"


@_log("registry_429", "Pull base image", "docker pull registry.example.invalid/base:24.04")
def registry_429(v: Vocabulary) -> Iterator[str]:
    yield "+ docker pull registry.example.invalid/base:24.04"
    for attempt in range(1, 4):
        yield f"attempt {attempt} of 3, waiting {attempt * 10} s"
        yield "Error response from daemon: toomanyrequests: You have reached your pull rate limit. (HTTP 429)"
    yield "Pulling the base image failed 3 times, giving up"


@_log("dns", "Install toolchain", "sudo apt-get update", exit_code=100)
def dns(v: Vocabulary) -> Iterator[str]:
    yield "+ sudo apt-get update"
    host = v.fixed(("packages.example.invalid", "mirror.example.invalid"), "host")
    for number in range(1, 4):
        yield f"Err:{number} https://{host} noble{'' if number == 1 else '-updates'} InRelease"
        yield f"  Temporary failure resolving '{host}'"
    yield f"curl: (6) Could not resolve host: {host}"
    yield "E: Some index files failed to download. They have been ignored, or old ones used instead."


@_log("artifact_503", "Fetch build", "python ci/artifact.py fetch build")
def artifact_503(v: Vocabulary) -> Iterator[str]:
    yield "+ python ci/artifact.py fetch build"
    yield from _work(v, 12)
    for attempt in range(1, 6):
        yield f"attempt {attempt} of 5: 503 Service Unavailable"
    yield "##[error]Failed to ListArtifacts: Unexpected HTTP response: 503 Service Unavailable"


@_log("package_index", "Install dependencies", "python -m pip install -r requirements-ci.txt")
def package_index(v: Vocabulary) -> Iterator[str]:
    yield "+ python -m pip install -r requirements-ci.txt"
    for index in range(30):
        yield f"Collecting harbour-{v.passing(index)[0]}=={index}.2.1"
    for left in range(4, -1, -1):
        yield f"WARNING: Retrying (Retry(total={left}, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ReadTimeoutError(\"HTTPSConnectionPool(host='index.example.invalid', port=443): Read timed out. (read timeout=15)\")': /simple/{v.area}/"
    yield f"ERROR: Could not find a version that satisfies the requirement harbour-{v.area} (from versions: none)"
    yield "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='index.example.invalid', port=443): Read timed out."


@_log("git_fetch", "Check out", "git fetch --depth=1 origin", exit_code=128)
def git_fetch(v: Vocabulary) -> Iterator[str]:
    yield "+ git fetch --depth=1 origin"
    for _ in range(3):
        yield "error: RPC failed; curl 56 GnuTLS recv error (-9): Error decoding the received TLS packet."
        yield "fatal: early EOF"
        yield "fatal: fetch-pack: invalid index-pack output"
    yield "##[error]The process '/usr/bin/git' failed with exit code 128"


@_log("oom_killed", "Run tests", "./ci/run.sh", exit_code=137)
def oom_killed(v: Vocabulary) -> Iterator[str]:
    yield "+ ./ci/run.sh"
    yield from _work(v, v.number("n", 150, 300))
    yield f"[{v.number('up', 2000, 9000)}.{v.number('us', 100000, 999999)}] Out of memory: Killed process {v.number('pid', 3000, 9000)} (python) total-vm:{v.number('vm', 14000000, 16000000)}kB, anon-rss:{v.number('rss', 13000000, 13900000)}kB"
    yield f"./ci/run.sh: line 9: {v.number('pid', 3000, 9000)} Killed                  python -m pytest --shard $SHARD"


@_log("step_timeout", "Run tests", "./ci/run.sh")
def step_timeout(v: Vocabulary) -> Iterator[str]:
    yield "+ ./ci/run.sh"
    yield from _work(v, v.number("n", 150, 300))
    yield f"{v.area}.{v.snake()} started"
    yield "##[error]The action 'Run tests' has timed out after 90 minutes."


@_log("job_timeout", "Run tests", "./ci/run.sh", end="missing")
def job_timeout(v: Vocabulary) -> Iterator[str]:
    yield from ()


@_log("superseded", "Run tests", "./ci/run.sh", end="missing")
def superseded(v: Vocabulary) -> Iterator[str]:
    yield from ()


@_log("stopped", "Run tests", "./ci/run.sh", end="cancelled")
def stopped(v: Vocabulary) -> Iterator[str]:
    yield "+ ./ci/run.sh"
    yield from _work(v, v.number("n", 30, 90))


@_log("bare_exit", "Run browser tests", "./ci/browser.sh")
def bare_exit(v: Vocabulary) -> Iterator[str]:
    yield "+ ./ci/browser.sh"
    yield from _work(v, 40)
