"""The classifier's front door: a session takes the bytes of a log in any portions, and gives its failures."""

from collections.abc import Iterable, Sequence

from classifier.blocks import Blocks
from classifier.matching import Matcher
from classifier.ranking import ranked_failures
from classifier.reading import Reading
from classifier.results import Annotation, Classification
from classifier.rules import Ruleset


class Engine:
    """A ruleset ready to classify. Make it once and share it between threads; each log has its own session."""

    def __init__(self, rules: Ruleset | None = None) -> None:
        self.rules = rules or Ruleset.builtin()
        self._matcher = Matcher(self.rules)

    def start(self) -> "Session":
        """A new session for one log."""
        return Session(self._matcher)

    def classify(
        self, log: bytes | Iterable[bytes], annotations: Sequence[Annotation] = (), *, everything: bool = False
    ) -> Classification:
        """One log, whole or in portions. `everything` also lists echoes and what was set aside."""
        session = self.start()
        for portion in (log,) if isinstance(log, (bytes, bytearray, memoryview)) else log:
            session.feed(bytes(portion))
        return session.finish(annotations, everything=everything)


class Session:
    """One log being read. Memory stays bounded whatever its size; portions may end anywhere."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._blocks = Blocks()
        self._reading = Reading(matcher)

    def feed(self, portion: bytes) -> None:
        """Takes the next bytes of the log."""
        for block in self._blocks.add(portion):
            self._reading.read(block)

    def finish(self, annotations: Sequence[Annotation] = (), *, everything: bool = False) -> Classification:
        """The failures, primary first. The session is over then."""
        self._reading.read(self._blocks.rest())
        hits = self._reading.hits()
        hits.extend(self._reading.annotation_hits(annotations))
        return Classification(
            self._reading.lines, self._blocks.bytes, ranked_failures(hits, self._reading.tests(), everything=everything)
        )
