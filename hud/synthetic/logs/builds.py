"""Logs of compilers, linters, documentation and image builds that found a mistake in the code."""

from collections.abc import Iterator
from functools import partial

from hud.synthetic.logs.script import Scripts, register
from hud.synthetic.logs.vocabulary import Vocabulary

SCRIPTS: Scripts = {}
_log = partial(register, SCRIPTS)


def _ninja(v: Vocabulary, start: int, count: int) -> Iterator[str]:
    for index in range(start, start + count):
        area, name = v.passing(index)
        yield f"[{index}/940] Building CXX object native/{area}/CMakeFiles/{area}.dir/{name}_{index}.cc.o"


@_log("gcc", "Build", "cmake --build build --parallel")
def gcc(v: Vocabulary) -> Iterator[str]:
    source = f"/srv/work/checkout/native/{v.area}/{v.snake()}.cc"
    yield "+ cmake --build build --parallel"
    yield from _ninja(v, 1, 260)
    yield f"[261/940] Building CXX object native/{v.area}/CMakeFiles/{v.area}.dir/{v.snake()}.cc.o"
    yield f"FAILED: native/{v.area}/CMakeFiles/{v.area}.dir/{v.snake()}.cc.o "
    yield f"/usr/bin/c++ -O2 -std=c++20 -Inative -c {source}"
    yield f"{source}: In member function 'void {v.area}::Handle::take({v.area}::Handle&)':"
    yield f"\x1b[01m\x1b[K{source}:{v.line}:18:\x1b[m\x1b[K \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kuse of deleted function '{v.area}::Handle::Handle(const {v.area}::Handle&)'"
    yield f"  {v.line} |     slots_[at] = other;"
    yield "      |                  ^~~~~"
    yield from _ninja(v, 262, 3)
    yield "ninja: build stopped: subcommand failed."


@_log("linker", "Build", "cmake --build build --parallel")
def linker(v: Vocabulary) -> Iterator[str]:
    yield "+ cmake --build build --parallel"
    yield from _ninja(v, 1, 400)
    yield f"[401/940] Linking CXX shared library lib/lib{v.area}.so"
    yield f"FAILED: lib/lib{v.area}.so "
    yield f"/usr/bin/ld: native/{v.area}/CMakeFiles/{v.area}.dir/store.cc.o: in function `{v.area}::Store::open()':"
    yield f"store.cc:(.text+0x{v.hex(3, 'text')}): undefined reference to `{v.area}::{v.camel()}(unsigned int)'"
    yield "collect2: error: ld returned 1 exit status"
    yield "ninja: build stopped: subcommand failed."


@_log("msvc", "Build", "cmake --build build --config Release")
def msvc(v: Vocabulary) -> Iterator[str]:
    yield "+ cmake --build build --config Release"
    for index in range(200):
        _, name = v.passing(index)
        yield f"  {name}_{index}.cc"
    yield f"D:\\work\\checkout\\native\\{v.area}\\clock.cc({v.line},21): error C2039: 'clock_gettime': is not a member of '`global namespace'' [D:\\work\\checkout\\build\\{v.area}.vcxproj]"
    yield f"D:\\work\\checkout\\native\\{v.area}\\clock.cc({v.line},21): error C3861: 'clock_gettime': identifier not found [D:\\work\\checkout\\build\\{v.area}.vcxproj]"


@_log("maven_compile", "Build", "mvn -B -ntp -DskipTests package")
def maven_compile(v: Vocabulary) -> Iterator[str]:
    source = f"/srv/work/checkout/java/{v.area}/src/main/java/dev/harbour/{v.area}/{v.camel()}.java"
    yield "+ mvn -B -ntp -DskipTests package"
    yield "[INFO] Scanning for projects..."
    for index in range(80):
        area, _ = v.passing(index)
        yield f"[INFO] Compiling {v.number(index, 4, 90)} source files with javac [debug release 17] to target/classes ({area})"
    yield "[ERROR] COMPILATION ERROR : "
    yield f"[ERROR] {source}:[{v.line},34] cannot find symbol"
    yield f"  symbol:   method {v.area}Grant(long)"
    yield f"  location: class dev.harbour.{v.area}.{v.camel()}"
    yield "[INFO] BUILD FAILURE"
    yield f"[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0:compile (default-compile) on project harbour-{v.area}: Compilation failure"


@_log("cargo_compile", "Build", "cargo build --workspace --locked", exit_code=101)
def cargo_compile(v: Vocabulary) -> Iterator[str]:
    yield "+ cargo build --workspace --locked"
    for index in range(70):
        area, _ = v.passing(index)
        yield f"   Compiling harbour-{area}-{index} v4.1.0"
    yield "\x1b[0m\x1b[1m\x1b[38;5;9merror[E0308]\x1b[0m\x1b[1m: mismatched types\x1b[0m"
    yield f"   --> storage/{v.area}/src/{v.snake()}.rs:{v.line}:27"
    yield "    |"
    yield f"{v.line} |     let size: u32 = page.len();"
    yield "    |               ---   ^^^^^^^^^^ expected `u32`, found `usize`"
    yield ""
    yield "For more information about this error, try `rustc --explain E0308`."
    yield f"error: could not compile `harbour-{v.area}` (lib) due to 1 previous error"


@_log("tsc", "Check types", "npx tsc --noEmit", exit_code=2)
def tsc(v: Vocabulary) -> Iterator[str]:
    yield "+ npx tsc --noEmit"
    yield f"src/{v.area}/{v.area}-view.ts({v.line},17): error TS2345: Argument of type 'string | undefined' is not assignable to parameter of type 'string'."


@_log("bundle", "Measure bundle", "npx vite build && node tools/size.mjs")
def bundle(v: Vocabulary) -> Iterator[str]:
    yield "+ npx vite build"
    for index in range(30):
        area, name = v.passing(index)
        yield f"dist/assets/{area}-{name}.js   {v.seconds(index, 90)} kB │ gzip: {v.seconds(('z', index), 30)} kB"
    yield "+ node tools/size.mjs"
    yield f"Error: bundle is {v.fixed_number('kb', 301, 340)} kB, more than the 300 kB allowed; largest new part: {v.area}"


@_log("ruff", "Lint", "ruff check --output-format=concise .")
def ruff(v: Vocabulary) -> Iterator[str]:
    yield "+ ruff check --output-format=concise ."
    yield f"src/{v.area}/tables.py:{v.line % 20 + 1}:8: F401 [*] `itertools` imported but unused"
    yield f"src/{v.area}/tables.py:{v.line}:5: B007 Loop control variable `row` not used within loop body"
    yield "Found 2 errors."
    yield "[*] 1 fixable with the `--fix` option."


@_log("mypy", "Check types", "mypy src")
def mypy(v: Vocabulary) -> Iterator[str]:
    yield "+ mypy src"
    yield f'src/{v.area}/token.py:{v.line}: error: Incompatible return value type (got "str | None", expected "str")  [return-value]'
    yield f"Found 1 error in 1 file (checked {v.number('files', 400, 440)} source files)"


@_log("eslint", "Lint", "npx eslint src")
def eslint(v: Vocabulary) -> Iterator[str]:
    yield "+ npx eslint src"
    yield ""
    yield f"/srv/work/checkout/web/src/{v.area}/{v.area}-view.ts"
    yield f"  {v.line}:13  error  'retries' is assigned a value but never used  @typescript-eslint/no-unused-vars"
    yield ""
    yield "✖ 1 problem (1 error, 0 warnings)"


@_log("clang_format", "Check format", "clang-format --dry-run --Werror $(git ls-files native)")
def clang_format(v: Vocabulary) -> Iterator[str]:
    yield "+ clang-format --dry-run --Werror native"
    yield f"native/{v.area}/{v.snake()}.cc:{v.line}:31: error: code should be clang-formatted [-Wclang-format-violations]"
    yield "    if (slot == nullptr)  return false;"
    yield "                              ^"


@_log("headers", "Check licence headers", "python tools/headers.py")
def headers(v: Vocabulary) -> Iterator[str]:
    yield "+ python tools/headers.py"
    yield f"Error: 1 file has no licence header: java/{v.area}/src/main/java/dev/harbour/{v.area}/{v.camel()}.java"


@_log("actionlint", "Check workflows", "actionlint")
def actionlint(v: Vocabulary) -> Iterator[str]:
    yield "+ actionlint"
    yield f'.github/workflows/{v.fixed(("unit", "docker", "nightly"), "file")}.yml:{v.line % 90 + 4}:15: property "shards" is not defined in object type {{platform: string}} [expression]'


@_log("sphinx", "Build documentation", "sphinx-build -W -b html docs build/docs", exit_code=2)
def sphinx(v: Vocabulary) -> Iterator[str]:
    yield "+ sphinx-build -W -b html docs build/docs"
    yield "Running Sphinx v8.2.1"
    for index in range(90):
        area, name = v.passing(index)
        yield f"reading sources... [{index:3d}%] guide/{area}/{name}"
    yield f"/srv/work/checkout/docs/guide/{v.area}.rst:{v.line}: WARNING: Title underline too short."
    yield "Warning, treated as error:"
    yield f"/srv/work/checkout/docs/guide/{v.area}.rst:{v.line}:Title underline too short."


@_log("links", "Check links", "sphinx-build -b linkcheck docs build/links")
def links(v: Vocabulary) -> Iterator[str]:
    yield "+ sphinx-build -b linkcheck docs build/links"
    for index in range(80):
        area, name = v.passing(index)
        yield f"(guide/{area}: line {index + 3:4d}) ok        https://docs.example.invalid/{area}/{name}"
    yield f"(guide/{v.area}: line {v.line:4d}) broken    https://docs.example.invalid/{v.area}/old - 404 Client Error: Not Found for url"
    yield f"/srv/work/checkout/docs/guide/{v.area}.rst:{v.line}: WARNING: broken link: https://docs.example.invalid/{v.area}/old"
    yield "build finished with problems, 1 warning (with warnings treated as errors)."


@_log("docker_build", "Build image", "docker buildx build --push -t registry.example.invalid/harbour:edge .")
def docker_build(v: Vocabulary) -> Iterator[str]:
    yield "+ docker buildx build --push -t registry.example.invalid/harbour:edge ."
    for index in range(6, 40):
        yield f"#{index} {v.seconds(index, 60)} Setting up lib{v.passing(index)[0]}-dev (4.1.{index}) ..."
    yield f"#41 {v.seconds('e', 90)} E: Unable to locate package lib{v.area}-headers"
    yield '#41 ERROR: process "/bin/sh -c apt-get install -y --no-install-recommends $PACKAGES" did not complete successfully: exit code: 100'
    yield "------"
    yield "Dockerfile:22"
    yield 'ERROR: failed to solve: process "/bin/sh -c apt-get install -y --no-install-recommends $PACKAGES" did not complete successfully: exit code: 100'


@_log("scan", "Scan image", "scan-image --exit-code 1 --severity CRITICAL harbour:edge")
def scan(v: Vocabulary) -> Iterator[str]:
    yield "+ scan-image --exit-code 1 --severity CRITICAL harbour:edge"
    yield "harbour:edge (debian 13.1)"
    yield "Total: 1 (CRITICAL: 1)"
    yield f"Error: lib{v.area} 4.1.0 has a critical vulnerability, fixed in 4.1.{v.fixed_number('fixed', 1, 9)}"


@_log("config", "Check configuration", "python tools/environment.py --require")
def config(v: Vocabulary) -> Iterator[str]:
    yield "+ python tools/environment.py --require"
    yield f"Error: Input required and not supplied: {v.fixed(('token', 'registry-password', 'role-to-assume'), 'input')}"
