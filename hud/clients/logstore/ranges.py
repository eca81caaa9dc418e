"""Reading parts of a stored object: a ranged request where the storage is S3-compatible, else open and seek."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

from django.core.files.storage import Storage

ReadRange = Callable[[int, int], bytes]


@contextmanager
def ranges_of(storage: Storage, name: str) -> Iterator[ReadRange]:
    """Give a function (offset, length) -> bytes over the object `name`; raise FileNotFoundError if there is none."""
    with storage.open(name, "rb") as file:
        # django-storages' S3File would first copy the whole object into a temporary file; its `obj` is boto3's.
        remote = getattr(file, "obj", None)
        yield partial(_ask_for_range, remote) if remote is not None else partial(_seek_and_read, file)


def _ask_for_range(remote: Any, offset: int, length: int) -> bytes:
    try:
        body: bytes = remote.get(Range=f"bytes={offset}-{offset + length - 1}")["Body"].read()
    except remote.meta.client.exceptions.NoSuchKey as error:
        raise FileNotFoundError(remote.key) from error
    return body


def _seek_and_read(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)
