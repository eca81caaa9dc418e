"""`python -m classifier [FILE|-] [--rules EXTRA.toml] [--all]`: a log in, a JSON object out (docs/classifier.md)."""

import argparse
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import zstandard

from classifier.engine import Engine
from classifier.rules import RuleError, Ruleset

PORTION_BYTES: Final = 1 << 18
UNREADABLE: Final = 2


def main(arguments: list[str] | None = None) -> int:
    """Prints the classification; exit code 2, with one line on stderr, if the log or the rules cannot be read."""
    options = _options(arguments)
    try:
        engine = Engine(Ruleset.load(options.rules) if options.rules else Ruleset.builtin())
        result = engine.classify(_portions(options.file), everything=options.all).as_dict()
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, RuleError) as reason:
        print(f"classifier: {_plain(reason)}", file=sys.stderr)
        return UNREADABLE
    print(json.dumps(result, indent=1))
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m classifier", description="Finds the causes of failure in one log.")
    parser.add_argument("file", nargs="?", default="-", help="a log: plain, .gz or .zst; - reads standard input")
    parser.add_argument("--rules", help="a TOML file with further rules, put before the built-in ones")
    parser.add_argument("--all", action="store_true", help="also echoes, and what was set aside")
    return parser.parse_args(arguments)


def _portions(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from _unpacked(sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield from _unpacked(file)


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Tells gzip and zstd by their first bytes, not by the name."""
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    start = buffered.peek(4)[:4]
    stream: BinaryIO = cast(BinaryIO, buffered)
    if start.startswith(b"\x1f\x8b"):
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=buffered))
    elif start == b"\x28\xb5\x2f\xfd":
        stream = cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(buffered, read_across_frames=True))
    while portion := stream.read(PORTION_BYTES):
        yield portion


def _plain(reason: Exception) -> str:
    return " ".join(str(reason).split()) or type(reason).__name__


if __name__ == "__main__":
    sys.exit(main())
