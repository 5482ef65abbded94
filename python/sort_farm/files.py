"""Files that appear complete or not at all, on folders that several machines share."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

from .errors import FarmError


THREADS = 16  # that wait for a shared disk
_OWN_NAME = f"{socket.gethostname().split('.')[0]}-{os.getpid()}-{os.urandom(4).hex()}"


def own_name() -> str:
    """A name that no other process has on any machine, nor in any container that is called like another."""
    return _OWN_NAME


def reason(error: OSError) -> str:
    return error.strerror or str(error)


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise FarmError(f"{path}: the folder cannot be made: {reason(why)}") from None


def _give_name(temporary: Path, path: Path, is_new: bool) -> None:
    if is_new:
        try:
            os.link(temporary, path)
            remove(temporary)
            return
        except FileExistsError:
            raise
        except OSError:
            pass  # a disk without links, where only who comes first at the same moment is not told
    os.replace(temporary, path)


def write_whole(path: Path, data: bytes, is_new: bool = False) -> None:
    """Replaces the file, which survives a loss of power as the old one or as the new one. is_new: fails if there is one."""
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{own_name()}")
    try:
        with open(temporary, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _give_name(temporary, path, is_new)
    except OSError as why:
        remove(temporary)
        raise FarmError(f"{path}: cannot be written: {reason(why)}; what was there is unchanged") from None


def write_json(path: Path, value, is_new: bool = False) -> None:
    write_whole(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode(), is_new)


def read_json(path: Path):
    try:
        return json.loads(path.read_bytes())
    except OSError as why:
        raise FarmError(f"{path}: cannot be read: {reason(why)}") from None
    except ValueError as why:
        raise FarmError(f"{path}: not JSON: {why}") from None


def at_once(work, items: list) -> list:
    """The results of work(item), in order, of some threads: a shared disk answers each request after a while, and many at once."""
    if len(items) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))


def now_there(folder: Path) -> float:
    """The time by the clock of the folder's disk, by which files there are dated; that of this machine if nothing can be written."""
    probe = folder / f".clock.{own_name()}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        remove(probe)


def look_again(folder: Path) -> None:
    """Has clients of NFS ask the server for the folder's names: they remember for a minute which were not there."""
    try:
        os.listdir(folder)
    except OSError:
        pass


def remove(path: Path) -> None:
    """Removes the file if it is there and may be removed."""
    try:
        path.unlink()
    except OSError:
        pass


def set_aside(path: Path) -> Path:
    """Renames a damaged file to NAME.damaged, so that nobody takes it for a result, and it can be looked at."""
    aside = path.with_name(path.name + ".damaged")
    try:
        os.replace(path, aside)
    except FileNotFoundError:
        pass  # another machine was faster
    except OSError as why:
        raise FarmError(f"{path}: it is damaged and cannot be renamed: {reason(why)}") from None
    return aside
