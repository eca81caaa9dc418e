"""Putting the two objects of a log on a storage so that a reader never sees half of one."""

import os
from pathlib import Path
from typing import IO

from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage


def save_whole(storage: Storage, name: str, content: IO[bytes], size_bytes: int) -> None:
    """Store `content` under exactly `name`. What lies there with this size is kept; anything else was half-written."""
    if storage.exists(name):
        if storage.size(name) == size_bytes:
            return
        storage.delete(name)
    saved = storage.save(name, File(content, name=name))
    if saved != name and storage.exists(name):
        storage.delete(saved)  # another worker stored the same log meanwhile
        return
    _flush(storage, saved)


def replace_object(storage: Storage, name: str, data: bytes) -> None:
    """Store `data` under `name` in place of what is there, at once where the storage can do that."""
    if isinstance(storage, FileSystemStorage):
        new = storage.save(f"{name}.new", ContentFile(data))
        _flush(storage, new)
        Path(storage.path(new)).replace(storage.path(name))
        return
    saved = storage.save(name, ContentFile(data))
    if saved != name:  # this storage never overwrites
        storage.delete(saved)
        storage.delete(name)
        storage.save(name, ContentFile(data))


def _flush(storage: Storage, name: str) -> None:
    """Ask the disk to keep a file before anything points at it."""
    if isinstance(storage, FileSystemStorage):
        descriptor = os.open(storage.path(name), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
