"""Logs of test runners that found a failing test."""

from collections.abc import Iterator
from functools import partial

from hud.synthetic.logs.script import Scripts, register
from hud.synthetic.logs.vocabulary import Vocabulary

SCRIPTS: Scripts = {}
_log = partial(register, SCRIPTS)

_GREEN = "\x1b[32m"
_RED = "\x1b[31m"
_BOLD_RED = "\x1b[1m\x1b[31m"
_OFF = "\x1b[0m"


def _pytest_head(v: Vocabulary, count: int) -> Iterator[str]:
    yield "+ python -m pytest --shard $SHARD -ra"
    yield "============================= test session starts =============================="
    yield "platform linux -- Python 3.12.8, pytest-9.0.1, pluggy-1.6.0"
    yield "rootdir: /srv/work/checkout"
    yield f"collected {count} items"
    yield ""


def _pytest_passing(v: Vocabulary, count: int) -> Iterator[str]:
    for index in range(count):
        area, name = v.passing(index)
        yield f"tests/{area}/test_{area}_{index % 9}.py::test_{name} {_GREEN}PASSED{_OFF} [{index * 100 // count:3d}%]"


@_log("pytest_assert", "Run tests", "python -m pytest --shard $SHARD -ra")
def pytest_assert(v: Vocabulary) -> Iterator[str]:
    path, name = f"tests/{v.area}/test_{v.area}_store.py", f"test_{v.snake()}"
    wanted, got = v.fixed_number("wanted", 12, 4000), v.fixed_number("got", 2, 11)
    yield from _pytest_head(v, 600)
    yield from _pytest_passing(v, 420)
    yield f"{path}::{name} {_RED}FAILED{_OFF} [ 71%]"
    yield "=================================== FAILURES ==================================="
    yield f"_____________________________ {name} _____________________________"
    yield ""
    yield f"    def {name}(store):"
    yield f"        batch = store.load({v.area!r})"
    yield ">       assert batch.count == expected"
    yield f"{_BOLD_RED}E       assert {got} == {wanted}{_OFF}"
    yield f"E        +  where {got} = Batch(area={v.area!r}, at=0x{v.hex(12, 'address')}).count"
    yield ""
    yield f"{path}:{v.line}: AssertionError"
    yield "=========================== short test summary info ============================"
    yield f"FAILED {path}::{name} - assert {got} == {wanted}"
    yield f"============ 1 failed, {v.number('ok', 570, 598)} passed, 3 skipped in {v.seconds('t', 900)}s ============"


@_log("pytest_error", "Run tests", "python -m pytest --shard $SHARD -ra")
def pytest_error(v: Vocabulary) -> Iterator[str]:
    path = f"tests/{v.area}/test_{v.area}_api.py"
    names = [f"test_{v.snake(index)}" for index in range(3)]
    key = f"{v.other_area}_id"
    yield from _pytest_head(v, 600)
    yield from _pytest_passing(v, 380)
    for name in names:
        yield f"{path}::{name} {_RED}FAILED{_OFF} [ 64%]"
    yield "=================================== FAILURES ==================================="
    for name in names:
        yield f"_____________________________ {name} _____________________________"
        yield "Traceback (most recent call last):"
        yield f'  File "/srv/work/checkout/src/{v.area}/api.py", line {v.line}, in fetch'
        yield f"    return self._rows[row[{key!r}]]"
        yield f"{_BOLD_RED}E   KeyError: {key!r}{_OFF}"
        yield f"src/{v.area}/api.py:{v.line}: KeyError"
    yield "=========================== short test summary info ============================"
    for name in names:
        yield f"FAILED {path}::{name} - KeyError: {key!r}"
    yield f"============ 3 failed, {v.number('ok', 570, 596)} passed in {v.seconds('t', 900)}s ============"


@_log("pytest_timeout", "Run tests", "python -m pytest --shard $SHARD -ra")
def pytest_timeout(v: Vocabulary) -> Iterator[str]:
    path, name = f"tests/{v.area}/test_{v.area}_wait.py", f"test_{v.snake()}"
    yield from _pytest_head(v, 300)
    yield from _pytest_passing(v, 210)
    yield "+++++++++++++++++++++++++++++++++++ Timeout ++++++++++++++++++++++++++++++++++++"
    yield f"~~~~~~~~~~~~~~~~~~~~ Stack of {v.area}-reader (1{v.number('thread', 1000, 9999)}) ~~~~~~~~~~~~~~~~~~~~"
    yield f'  File "/srv/work/checkout/src/{v.area}/reader.py", line {v.line}, in wait'
    yield "    self._ready.wait()"
    yield "=========================== short test summary info ============================"
    yield f"FAILED {path}::{name} - Failed: Timeout (>120.0s) from pytest-timeout."
    yield f"============ 1 failed, {v.number('ok', 200, 298)} passed in {v.seconds('t', 900)}s ============"


@_log("pytest_crash", "Run tests", "python -m pytest --shard $SHARD -ra", exit_code=139)
def pytest_crash(v: Vocabulary) -> Iterator[str]:
    yield from _pytest_head(v, 300)
    yield from _pytest_passing(v, 170)
    yield f"tests/{v.area}/test_{v.area}_native.py::test_{v.snake()} Fatal Python error: Segmentation fault"
    yield ""
    yield f"Current thread 0x0000{v.hex(8, 'thread')} (most recent call first):"
    yield f'  File "/srv/work/checkout/src/{v.area}/native.py", line {v.line} in decode'
    yield f'  File "/srv/work/checkout/tests/{v.area}/test_{v.area}_native.py", line {v.line // 2 + 3} in test_{v.snake()}'
    yield f"/srv/work/run.sh: line 14: {v.number('pid', 2000, 9000)} Segmentation fault      (core dumped) python -m pytest --shard $SHARD -ra"


def _gtest_passing(v: Vocabulary, count: int) -> Iterator[str]:
    for index in range(count):
        area, name = v.passing(index)
        test = f"{area.title()}Test.{''.join(word.title() for word in name.split('_'))}"
        yield f"{_GREEN}[ RUN      ]{_OFF} {test}"
        yield f"{_GREEN}[       OK ]{_OFF} {test} ({v.number(index, 0, 900)} ms)"


@_log("gtest", "Run native tests", "./build/bin/native_tests --gtest_color=yes")
def gtest(v: Vocabulary) -> Iterator[str]:
    test = f"{v.area.title()}Test.{v.camel()}"
    yield "+ ./build/bin/native_tests --gtest_color=yes"
    yield f"{_GREEN}[==========]{_OFF} Running 412 tests from 38 test suites."
    yield from _gtest_passing(v, 180)
    yield f"{_GREEN}[ RUN      ]{_OFF} {test}"
    yield f"/srv/work/checkout/native/{v.area}/{v.area}_test.cc:{v.line}: Failure"
    yield "Expected equality of these values:"
    yield "  reader.position()"
    yield f"    Which is: {v.fixed_number('got', 1, 400)}"
    yield f"  {v.fixed_number('wanted', 401, 900)}"
    yield f"{_RED}[  FAILED  ]{_OFF} {test} ({v.number('ms', 1, 800)} ms)"
    yield from _gtest_passing(v, 40)
    yield f"{_GREEN}[==========]{_OFF} 412 tests from 38 test suites ran. ({v.number('total', 40000, 90000)} ms total)"
    yield f"{_GREEN}[  PASSED  ]{_OFF} 411 tests."
    yield f"{_RED}[  FAILED  ]{_OFF} 1 test, listed below:"
    yield f"{_RED}[  FAILED  ]{_OFF} {test}"
    yield ""
    yield " 1 FAILED TEST"


@_log("ctest", "Run native tests", "ctest --test-dir build --output-on-failure -j4", exit_code=8)
def ctest(v: Vocabulary) -> Iterator[str]:
    number = v.fixed_number("number", 20, 180)
    yield "+ ctest --test-dir build --output-on-failure -j4"
    yield "Test project /srv/work/checkout/build"
    for index in range(1, 200):
        area, name = v.passing(index)
        if index == number:
            yield f"{index:3d}/200 Test #{index}: {v.area}_{v.snake()} ...................***Failed    {v.seconds('f', 4)} sec"
            yield f"{v.area}_test.cc:{v.line}: check failed: reader drained"
        else:
            yield f"{index:3d}/200 Test #{index}: {area}_{name} ...................   Passed    {v.seconds(index, 4)} sec"
    yield "99% tests passed, 1 tests failed out of 200"
    yield f"Total Test time (real) = {v.seconds('total', 400)} sec"
    yield "The following tests FAILED:"
    yield f"\t{number} - {v.area}_{v.snake()} (Failed)"
    yield "Errors while running CTest"


@_log("tsan", "Run native tests", "ctest --test-dir build --output-on-failure -j4", exit_code=66)
def tsan(v: Vocabulary) -> Iterator[str]:
    yield "+ ./build/bin/native_tests --gtest_brief=1"
    yield from _gtest_passing(v, 120)
    yield "=================="
    yield f"WARNING: ThreadSanitizer: data race (pid={v.number('pid', 2000, 60000)})"
    yield f"  Write of size 8 at 0x7b{v.hex(10, 'at')} by thread T{v.number('t', 2, 9)}:"
    yield f"    #0 {v.area}::Store::{v.camel()}() native/{v.area}/store.cc:{v.line} (native_tests+0x{v.hex(6, 'pc')})"
    yield f"  Previous read of size 8 at 0x7b{v.hex(10, 'at')} by main thread:"
    yield f"    #0 {v.area}::Store::size() const native/{v.area}/store.h:{v.line // 3 + 5} (native_tests+0x{v.hex(6, 'pc2')})"
    yield f"SUMMARY: ThreadSanitizer: data race native/{v.area}/store.cc:{v.line} in {v.area}::Store::{v.camel()}()"
    yield "=================="
    yield "ThreadSanitizer: reported 1 warnings"


@_log("sanitizer", "Run tests", "python -m pytest --shard $SHARD -ra", exit_code=1)
def sanitizer(v: Vocabulary) -> Iterator[str]:
    pid = v.number("pid", 2000, 60000)
    yield from _pytest_head(v, 300)
    yield from _pytest_passing(v, 150)
    yield "================================================================="
    yield f"=={pid}==ERROR: AddressSanitizer: heap-use-after-free on address 0x60{v.hex(10, 'at')} at pc 0x{v.hex(12, 'pc')}"
    yield f"READ of size {v.fixed_number('size', 1, 8)} at 0x60{v.hex(10, 'at')} thread T0"
    yield f"    #0 0x{v.hex(12, 'f0')} in {v.area}::Page::{v.camel()}() /srv/work/checkout/native/{v.area}/page.cc:{v.line}"
    yield f"    #1 0x{v.hex(12, 'f1')} in {v.area}::Reader::next() /srv/work/checkout/native/{v.area}/reader.cc:{v.line // 2 + 9}"
    yield f"SUMMARY: AddressSanitizer: heap-use-after-free /srv/work/checkout/native/{v.area}/page.cc:{v.line} in {v.area}::Page::{v.camel()}()"
    yield f"=={pid}==ABORTING"


def _maven_passing(v: Vocabulary, module: str, count: int) -> Iterator[str]:
    for index in range(count):
        area, name = v.passing(index)
        test = f"dev.harbour.{area}.Test{''.join(word.title() for word in name.split('_'))}"
        yield f"[INFO] Running {test}"
        yield f"[INFO] Tests run: {v.number(('n', index), 2, 30)}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: {v.seconds(index, 40)} s - in {test}"


def maven_subject(v: Vocabulary) -> str:
    """The class that the failing integration test is named after."""
    return v.area.title() + v.fixed(("Failover", "Recovery", "Handover", "Upgrade"), "class")


@_log("maven_test", "Run integration tests", "mvn -B -ntp verify -Pintegration")
def maven_test(v: Vocabulary) -> Iterator[str]:
    name = f"Test{maven_subject(v)}"
    method = f"test{v.camel()}"
    yield "+ mvn -B -ntp verify -Pintegration"
    yield "[INFO] Scanning for projects..."
    yield f"[INFO] Building harbour-{v.area} 4.1.0-SNAPSHOT"
    yield from _maven_passing(v, v.area, 90)
    yield f"[INFO] Running dev.harbour.{v.area}.{name}"
    yield f"[ERROR] Tests run: 14, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: {v.seconds('x', 90)} s <<< FAILURE! - in dev.harbour.{v.area}.{name}"
    yield f"[ERROR] dev.harbour.{v.area}.{name}.{method}  Time elapsed: {v.seconds('y', 30)} s  <<< FAILURE!"
    yield f"org.opentest4j.AssertionFailedError: expected: <{v.fixed(('LEADER', 'SEALED', 'ACTIVE'), 'want')}> but was: <{v.fixed(('FOLLOWER', 'OPEN', 'DRAINING'), 'got')}>"
    yield f"\tat dev.harbour.{v.area}.{name}.{method}({name}.java:{v.line})"
    yield from _maven_passing(v, v.area, 25)
    yield "[INFO] Results:"
    yield "[INFO] "
    yield "[ERROR] Failures: "
    yield f"[ERROR]   {name}.{method}:{v.line} expected: <{v.fixed(('LEADER', 'SEALED', 'ACTIVE'), 'want')}> but was: <{v.fixed(('FOLLOWER', 'OPEN', 'DRAINING'), 'got')}>"
    yield "[INFO] "
    yield f"[ERROR] Tests run: {v.number('all', 900, 1400)}, Failures: 1, Errors: 0, Skipped: 4"
    yield "[INFO] ------------------------------------------------------------------------"
    yield "[INFO] BUILD FAILURE"
    yield f"[INFO] Total time:  {v.number('min', 18, 50)}:{v.number('sec', 10, 59)} min"
    yield f"[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.5.2:test (default-test) on project harbour-{v.area}: There are test failures."


@_log("maven_crash", "Run integration tests", "mvn -B -ntp verify -Pintegration")
def maven_crash(v: Vocabulary) -> Iterator[str]:
    yield "+ mvn -B -ntp verify -Pintegration"
    yield "[INFO] Scanning for projects..."
    yield from _maven_passing(v, v.area, 60)
    yield f"[INFO] Running dev.harbour.{v.area}.Test{v.camel()}"
    yield "[INFO] BUILD FAILURE"
    yield f"[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.5.2:test (default-test) on project harbour-{v.area}: The forked VM terminated without properly saying goodbye. VM crash or System.exit called?"
    yield "[ERROR] Process Exit Code: 134"
    yield "[ERROR] Crashed tests:"
    yield f"[ERROR] dev.harbour.{v.area}.Test{v.camel()}"


@_log("cargo_test", "Run tests", "cargo test --workspace --locked", exit_code=101)
def cargo_test(v: Vocabulary) -> Iterator[str]:
    test = f"{v.area}::tests::{v.snake()}"
    yield "+ cargo test --workspace --locked"
    for index in range(60):
        area, _ = v.passing(index)
        yield f"\x1b[1m\x1b[32m   Compiling{_OFF} harbour-{area}-{index} v4.1.0"
    yield f"    Finished `test` profile [unoptimized + debuginfo] target(s) in {v.seconds('c', 200)}s"
    yield "running 240 tests"
    for index in range(150):
        area, name = v.passing(index)
        yield f"test {area}::tests::{name}_{index} ... {_GREEN}ok{_OFF}"
    yield f"test {test} ... {_RED}FAILED{_OFF}"
    yield ""
    yield "failures:"
    yield ""
    yield f"---- {test} stdout ----"
    yield ""
    yield f"thread '{test}' ({v.number('tid', 3000, 9000)}) panicked at storage/{v.area}/src/lib.rs:{v.line}:9:"
    yield "assertion `left == right` failed"
    yield f"  left: {v.fixed_number('left', 1, 99)}"
    yield f" right: {v.fixed_number('right', 100, 199)}"
    yield "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
    yield ""
    yield "failures:"
    yield f"    {test}"
    yield ""
    yield f"test result: FAILED. 239 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in {v.seconds('f', 30)}s"
    yield ""
    yield "error: test failed, to rerun pass `-p harbour-storage --lib`"


def _go_passing(v: Vocabulary, count: int) -> Iterator[str]:
    for index in range(count):
        area, _ = v.passing(index)
        yield f"ok  \tharbour.dev/agent/{area}{index}\t{v.seconds(index, 9)}s"


@_log("go_test", "Run tests", "go test ./...")
def go_test(v: Vocabulary) -> Iterator[str]:
    yield "+ go test ./..."
    yield from _go_passing(v, 40)
    yield f"--- FAIL: Test{v.camel()} ({v.seconds('t', 3)}s)"
    yield f"    {v.area}_test.go:{v.line}: got {v.fixed_number('got', 1, 50)} entries, want {v.fixed_number('want', 51, 99)}"
    yield "FAIL"
    yield f"FAIL\tharbour.dev/agent/{v.area}\t{v.seconds('p', 9)}s"
    yield from _go_passing(v, 12)
    yield "FAIL"


@_log("go_race", "Run tests", "go test -race ./...")
def go_race(v: Vocabulary) -> Iterator[str]:
    yield "+ go test -race ./..."
    yield from _go_passing(v, 40)
    yield "=================="
    yield "WARNING: DATA RACE"
    yield f"Write at 0x00c000{v.hex(6, 'at')} by goroutine {v.number('g', 20, 90)}:"
    yield f"  harbour.dev/agent/{v.area}.(*Set).Add()"
    yield f"      /srv/work/checkout/agent/{v.area}/set.go:{v.line} +0x{v.hex(3, 'pc')}"
    yield "=================="
    yield f"--- FAIL: Test{v.camel()} ({v.seconds('t', 3)}s)"
    yield "    testing.go:1490: race detected during execution of test"
    yield "FAIL"
    yield f"FAIL\tharbour.dev/agent/{v.area}\t{v.seconds('p', 9)}s"
    yield "FAIL"


@_log("jest", "Run tests", "npx jest --ci --shard=$SHARD")
def jest(v: Vocabulary) -> Iterator[str]:
    title = v.snake().replace("_", " ")
    yield "+ npx jest --ci --shard=$SHARD"
    for index in range(70):
        area, name = v.passing(index)
        yield f"\x1b[0m\x1b[7m\x1b[1m\x1b[32m PASS {_OFF} src/{area}/{name}.test.ts ({v.seconds(index, 9)} s)"
    yield f"\x1b[0m\x1b[7m\x1b[1m\x1b[31m FAIL {_OFF} src/{v.area}/{v.area}-view.test.ts"
    yield f"  ● {v.area} view › {title}"
    yield ""
    yield "    expect(received).toEqual(expected) // deep equality"
    yield ""
    yield f"    Expected: {_GREEN}{v.fixed_number('want', 10, 90)}{_OFF}"
    yield f"    Received: {_RED}{v.fixed_number('got', 91, 190)}.5{_OFF}"
    yield ""
    yield f"      at Object.<anonymous> (src/{v.area}/{v.area}-view.test.ts:{v.line}:24)"
    yield ""
    yield "Test Suites: 1 failed, 70 passed, 71 total"
    yield f"Tests:       1 failed, {v.number('ok', 500, 640)} passed, 641 total"
    yield "Ran all test suites."


@_log("playwright", "Run browser tests", "npx playwright test")
def playwright(v: Vocabulary) -> Iterator[str]:
    title = v.snake().replace("_", " ")
    spec = f"e2e/{v.area}.spec.ts:{v.line}:3"
    yield "+ npx playwright test"
    yield "Running 64 tests using 4 workers"
    for index in range(40):
        area, name = v.passing(index)
        yield f"  ✓  {index + 1} e2e/{area}.spec.ts:{index + 8}:3 › {name.replace('_', ' ')} ({v.seconds(index, 9)}s)"
    yield f"  ✘  41 {spec} › {title} (30.{v.number('ms', 0, 9)}s)"
    yield ""
    yield f"  1) {spec} › {title} ──────────"
    yield ""
    yield "    Error: Timed out 5000ms waiting for expect(locator).toBeVisible()"
    yield ""
    yield f"    Locator: getByRole('row', {{ name: '{v.area}' }})"
    yield f"        at /srv/work/checkout/web/e2e/{v.area}.spec.ts:{v.line + 9}:31"
    yield ""
    yield "  1 failed"
    yield f"    {spec} › {title} ──────────"
    yield f"  63 passed ({v.number('m', 3, 8)}.4m)"


@_log("benchmark", "Compare with baseline", "python bench/compare.py --against main")
def benchmark(v: Vocabulary) -> Iterator[str]:
    yield "+ python bench/compare.py --against main"
    for index in range(60):
        area, name = v.passing(index)
        yield f"{area}/{name:<34} base {v.number(('b', index), 100, 900)} us   now {v.number(('n', index), 100, 900)} us   ok"
    yield f"REGRESSION: {v.area}/{v.snake()} is {v.fixed_number('slower', 14, 60)} % slower than main (limit 10 %)"
    yield "AssertionError: 1 of 61 benchmarks is slower than the limit"


@_log("fuzz", "Fuzz", "./build/bin/fuzz_codec -max_total_time=3600", exit_code=77)
def fuzz(v: Vocabulary) -> Iterator[str]:
    yield "+ ./build/bin/fuzz_codec -max_total_time=3600"
    for index in range(200):
        yield f"#{(index + 1) * 65536}\tREDUCE cov: {2000 + index} ft: {9000 + index * 3} corp: {400 + index} exec/s: {v.number(index, 4000, 9000)}"
    yield f"=={v.number('pid', 20, 900)}==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60{v.hex(10, 'at')}"
    yield f"    #1 0x{v.hex(12, 'pc')} in {v.area}::decode(unsigned char const*, unsigned long) native/{v.area}/decode.cc:{v.line}"
    yield f"SUMMARY: AddressSanitizer: heap-buffer-overflow native/{v.area}/decode.cc:{v.line} in {v.area}::decode"
    yield f"artifact_prefix='./'; Test unit written to ./crash-{v.hex(40, 'unit')}"


@_log("soak", "Soak", "./soak.sh --hours 1")
def soak(v: Vocabulary) -> Iterator[str]:
    yield "+ ./soak.sh --hours 1"
    for index in range(120):
        yield f"minute {index // 2:02d}: {v.number(index, 40000, 52000)} operations a second, lag {v.number(('lag', index), 1, 90)} ms"
    yield f"AssertionError: replica lag stayed above 5 s for {v.number('for', 61, 200)} s (limit 60 s)"
