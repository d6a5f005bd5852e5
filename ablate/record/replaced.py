"""Files that are replaced whole: a full disk or a crash leaves the old one. Standard library."""

import os
import secrets
import stat
from pathlib import Path


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file in one step, with the rights of the one that it replaces.

    A link at the end of the path is replaced, not followed. Raises OSError, with the old file
    intact.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            old = path.lstat() if os.path.lexists(path) else None
            if old and stat.S_ISREG(old.st_mode):
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def save(path: Path, content: str | bytes) -> None:
    """Write what a user asked for to the path that they named; raises OSError.

    The file behind their own link is replaced whole; a pipe or a device takes what is written.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        replace_file(path, content)
