"""Lines that stand in many different failures, in the words of the tools that print them.

Two strengths. A *wrapper* says only that something failed (`make: *** [all] Error 2`): no evidence of anything, neither
for a person nor as an alibi. A *bare* line says what broke but names no place (`Segmentation fault`), or names only the
whole that broke (a crate, a package): the same line on the base is the same red, elsewhere it proves nothing.

One RE2 pattern a line, for the whole text in lower case or not, without the marks before it and the dots behind it.
"""

from __future__ import annotations

import re2

_LONGEST = 500
"""Characters; a longer line has more in it than these words."""

# Severities, tools and names of exceptions that stand before the words, once or more often.
_MARKS = r"""
\S*##\[error\]
\[(?:error|fatal|info|warn(?:ing)?)\]
(?:npm|lerna|pnpm) (?:err!|error)
(?:[a-z_]\w*\.)*\w*(?:error|exception)
cmake error(?: at [^:]*)?
xcodebuild|fatal|failure|failed|err!|elifecycle|warning|note|nox >|task|msbuild ?|msb\d+
[>*×✖✗]+|-->?
"""

_WRAPPERS = r"""
# Exit codes, in everybody's words
(?:the )?process(?: '[^']*'| "[^"]*")? (?:completed|exited|failed)(?: with)?:? CODE
(?:the )?process didn't exit successfully:.*
(?:[\w./-]+ )?WORK(?: ['"`][^'"`]*['"`]| [\w./-]+)?:? (?:was )?ENDED(?: on line \d+)?(?::| with)? CODE(?:[:,].*)?
(?:exited|failed) with CODE|(?:\(exit\) )?exited
exit(?:ed)?(?: with)? (?:code|status):? -?\d+|exit -?\d+|(?:exit|return) ?code:? -?\d+|non-?zero exit code
systemexit(?:: -?\d+)?
(?:the )?command .* exited with(?: code)? \d+|done\. your build exited with \d+
(?:run|job|command|script|final attempt) failed\b[.:]? .*exit(?:ed)?\b.*\d+\)?
command failed(?:: .*)?
failed to run (?:script step|task|command)\b.*|bad exit status from .*|builder for .* failed with exit code \d+
.* subprocess returned exit status \d+
# GitHub, GitLab, Jenkins
executing the custom container implementation failed\b.*
the (?:operation|run) was cancell?ed|cancell?ed
the (?:action|job) .*(?:has timed out after|exceeded the maximum execution time).*
cleaning up project directory.*|finished: failure|finished with error|build step .* marked build as failure
# Node
npm (?:err!|error) (?:errno|path|command|location|workspace|in workspace|cwd|argv|node|npm)\b.*
code (?:\d+|elifecycle)|errno -?\d+|lifecycle script\b.*|a complete log of this run can be found in:?.*
err_pnpm_recursive_(?:run|exec)_first_fail\b.*|info visit https://yarnpkg\.com\S* .*
script \S+ exited .*|npm run \S+ exited .*
# Make, ninja, CMake, bazel and the like
\w*make(?:\[\d+\])?: \*\*\* (?:.*error -?\d+.*|waiting for unfinished jobs\W*)
\w*make(?:\[\d+\])?: target .* not remade .*
ninja: (?:error: )?build stopped\b.*|scons: building terminated because of errors
(?:-- )?configuring incomplete, errors occurred|errors while running ctest
build did not complete(?: successfully)?|executed \d+ out of \d+ tests?:.*
(?:info: )?build completed, \d+ tests? failed.*
# Gradle, Maven, MSBuild
\* (?:what went wrong|try|exception is):.*|run with --[\w-]+ .*|execution failed for task .*|task :\S+ failed
build completed with \d+ failures?|build failure|-> \[help \d+\]
failed to execute goal \S*(?:surefire|failsafe)\S* \([^)]*\) on project \S+(?: there are test failures\b.*)?
tests run: \d+, failures: .*|run \d+: .*|\[help \d+\] .*|mvn <(?:args|goals)> -rf .*
(?:please refer to|see) (?:dump files|\S+ for the individual test results)\b.*
after correcting the problems, you can resume .*
to see the full stack trace of the errors?, .*|re-?run maven (?:using|with) .*
for more information about the errors and possible solutions\b.*
there (?:was|were|are) (?:failing tests|test failures|\d+ (?:failures?|errors?))\b.*
(?:error )?msb(?:4181|3073|6006)\b.*|\d+ error\(s\)|failed!\s+- failed:.*|test run (?:failed|aborted)
the "?\w+"? task returned false but did not log an error
# Rust, Go, Python packaging, tox
aborting due to (?:\d+ )?previous errors?.*|test failed, to rerun pass .*|\d+ targets? failed|test result: failed\..*
build failed, waiting for other jobs to finish\W*
-+ fail|fail: \d+ tests? failed|done \d+ tests?\b.*
command errored out with exit status.*|subprocess-exited-with-error|metadata-generation-failed|failed building wheel
.* did not run successfully|this error originates from a subprocess\b.*|invocationerror for command .*
py\w*: (?:fail|exit) .*|evaluation failed :\(.*|\S+: commands failed|session \S+ failed
# Counts, headings and bare words of test runners
failed \((?:failures|errors|skipped|expected failures|unexpected successes)=.*
=*\s*(?:\d+ (?:failed|passed|errors?|skipped|deselected|warnings?|xfailed|xpassed|rerun)(?:, )?)+(?: in .*)?
(?:test suites|tests|snapshots):\s+.*\d+ (?:failed|total)\b.*|tests: \d+, assertions: .*|\d+ examples?, \d+ failures?.*
=+ ?(?:failures|errors|short test summary info) ?=+|traceback \(most recent call last\)|summary of failures
build failed(?: in [\d.:hms ]+| with an exception|: exit .*)?|\** ?(?:test|build|archive|analyze) failed ?\**
(?:some |the )?(?:following )?PARTS (?:have |has |did |were )?fail(?:ed|ing)?(?:\.? +see .*|:? ?exit code -?\d+)?
failed PARTS|failed to build project|rake aborted|found \d+ (?:errors?|problems?|failures?)(?: in .*)?
TOOLS[: ]+(?:goal .* |run )?(?:tests?|builds?|check|lint)? ?failed
fail(?:ed|ures?)?|errors?(?: occurred)?|aborted?|fatalerror|unknown error|internal error
"""

# A crash, a hang or a vague word without a place, and wrappers that name at least their command, package or crate.
_BARE = r"""
(?:fatal )?(?:segmentation fault|bus error|illegal instruction|floating point exception)(?: \(core dumped\))?
(?:aborted|killed|terminated|timed? ?out|timeout|core dumped)(?: \(core dumped\))?
(?:received )?(?:signal:? )?(?:sig[a-z]{3,6})|received signal \d+
(?:fatal |uncaught )?(?:assertion ?(?:failed|error)|exception|runtime ?error|panic(?:ked)?)
.*returned non-?zero exit (?:status|code)\b.*|.*exited with (?:non-?zero )?(?:code|status)\b.*
.*did not complete successfully: exit code: \d+
could not compile `[^`]*`(?: \([^)]*\))?(?: due to .*)?
fail\s+\S+\s+(?:\(cached\)|[\d.]+s|\[(?:build|setup) failed\])
"""

_PARTS = {
    "CODE": r"(?:an? )?(?:non-?zero )?(?:error )?(?:exit )?(?:with )?(?:code|status)(?: exit status)?:?"
    r"(?: ?['\"]?-?\d+['\"]?)?",
    "WORK": r"(?:command|script|step|shell|bash|cmd|powershell|pwsh|recipe|task|job|build|program|child_process)",
    "ENDED": r"(?:exited|failed|returned|terminated|completed)",
    "PARTS": r"(?:tests?|checks?|steps?|jobs?|scripts?|commands?|builds?|stages?|pipelines?|lint|suites?|tasks?"
    r"|targets?|testing|run|examples?)",
    "TOOLS": r"(?:rspec|pytest|jest|vitest|mocha|cargo|go|mix|meson|waf|buck2?|pants|turbo|gradle|mvn|sbt|npm|yarn|pnpm"
    r"|make|ctest|tox|nox|rake|bazel|dotnet|swift|xcodebuild)",
}
"""What the capital words above stand for."""


def _any_of(block: str) -> str:
    lines = [line for line in block.splitlines() if line and not line.startswith("#")]
    joined = "|".join(lines)
    for name, pattern in _PARTS.items():
        joined = joined.replace(name, pattern)
    return f"(?:{joined})"


_WRAPPER = re2.compile(rf"(?i)^\s*(?:{_any_of(_MARKS)}[:!]?\s+|##\[error\])*{_any_of(_WRAPPERS)}[.!:]*\s*$")
_BARE_LINE = re2.compile(rf"(?i)^\s*(?:\S*##\[error\]\s*|(?:error|fatal):\s+)*{_any_of(_BARE)}[.:!]*\s*$")


def is_wrapper(text: str) -> bool:
    """The line only says that something failed."""
    return len(text) <= _LONGEST and bool(_WRAPPER.match(text))


def is_bare(text: str) -> bool:
    """The line says how something broke, yet not where."""
    return bool(_BARE_LINE.match(text))
