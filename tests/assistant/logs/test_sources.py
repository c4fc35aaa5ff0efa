from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard

from assistant.logs import decompress, sources
from assistant.logs.decompress import Caps
from assistant.logs.names import is_no_log, natural_key
from assistant.logs.sources import NothingReadable, Source, Unread, expand

TEXT = b"".join(b"[rank%d]: step %d of a plain log\n" % (n % 8, n) for n in range(20_000))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(source: Source, chunk: int = 65_536) -> tuple[bytes, list[str]]:
    buffer = bytearray(chunk)
    out = b""
    with source.open() as stream:
        while size := stream.readinto(memoryview(buffer)):
            out += buffer[:size]
        return out, list(stream.problems)


def only(paths: Sequence[str], stdin: Any = None) -> Source:
    found, unread = expand(paths, stdin)
    assert unread == []
    (source,) = found
    return source


def refusal(*paths: str) -> str:
    with pytest.raises(NothingReadable) as caught:
        expand(paths)
    assert caught.value.exit_code == 2
    return str(caught.value)


# ---- plain files and directories


def test_a_file_is_shown_as_given(here: Path) -> None:
    (here / "a").mkdir()
    (here / "a" / "job.log").write_bytes(TEXT)
    source = only(["a/../a/job.log"])
    assert (source.path, source.size_hint, source.compressed) == ("a/../a/job.log", len(TEXT), False)
    assert read(source) == (TEXT, [])


def test_a_directory_gives_its_logs_in_natural_order(here: Path) -> None:
    for name in ("rank-10.log", "rank-2.log", "sub/dmesg", "train.py", "model.safetensors", "notes.md", ".hidden"):
        path = here / "run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"text\n")
    (here / "run" / "weights").write_bytes(os.urandom(5000))
    found, unread = expand(["run"])
    assert [source.path for source in found] == ["rank-2.log", "rank-10.log", "sub/dmesg"]
    assert unread == []


def test_a_directory_loop_and_a_second_name_are_read_once(here: Path) -> None:
    (here / "job.log").write_bytes(TEXT)
    (here / "again").symlink_to(here)
    (here / "latest.log").symlink_to("job.log")
    (here / "dangling.log").symlink_to("gone")
    assert [source.path for source in expand(["."])[0]] == ["job.log"]
    assert len(expand(["job.log", "job.log"])[0]) == 1


def test_globs_that_the_shell_left_alone(here: Path) -> None:
    for n in (10, 9):
        (here / f"r{n}.out").write_bytes(b"x\n")
    assert [source.path for source in expand(["r*.out"])[0]] == ["r9.out", "r10.out"]
    (here / "odd[1].log").write_bytes(b"x\n")
    assert only(["odd[1].log"]).path == "odd[1].log"


def test_what_is_no_log() -> None:
    assert is_no_log("train.py")
    assert is_no_log("core.1234")
    assert is_no_log("events.out.tfevents.17")
    assert not is_no_log("slurm-12.out")
    assert not is_no_log("dmesg")
    assert not is_no_log("job.log.1")
    assert sorted(["r10", "r9", "b"], key=natural_key) == ["b", "r9", "r10"]


# ---- what cannot be read


def test_missing_and_empty(here: Path) -> None:
    (here / "empty.log").touch()
    (here / "bare").mkdir()
    assert "nope.log: no such file or directory" in refusal("nope.log")
    assert "empty.log: is empty" in refusal("empty.log")
    assert "bare: there are no logs in this directory" in refusal("bare")
    assert "nothing was named" in refusal()


def test_binary_says_how_much(here: Path) -> None:
    (here / "core").write_bytes(bytes(range(256)) * 40)
    assert "looks binary" in refusal("core")
    assert "% of its first bytes are not text" in refusal("core")


@pytest.mark.parametrize(
    "start",
    [
        b"\0" * 9000 + b"log after a hole\n",
        "Grüße, 日本語 │ box\n".encode() * 100,
        b"\x1b[31mred\x1b[0m\x08\r\n" * 100,
        "utf-16 text\n".encode("utf-16"),
        ("utf-16 without a mark\n" * 10).encode("utf-16-le"),
    ],
)
def test_odd_text_is_not_binary(here: Path, start: bytes) -> None:
    (here / "odd.log").write_bytes(start)
    assert read(only(["odd.log"]))[0] == start


def test_encoding_is_told(here: Path) -> None:
    (here / "a.log").write_bytes("x\n".encode("utf-16"))
    assert only(["a.log"]).encoding == "utf-16-le"


def test_a_fifo_without_a_writer_is_not_waited_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "WAIT_FOR_WRITER", 0.05)
    os.mkfifo("pipe")
    (here / "job.log").write_bytes(TEXT)
    began = time.monotonic()
    found, unread = expand(["pipe", "job.log"])
    assert time.monotonic() - began < 2
    assert [source.path for source in found] == ["job.log"]
    assert unread[0].path == "pipe"


def test_a_fifo_with_a_writer_is_read(here: Path) -> None:
    os.mkfifo("pipe")

    def write() -> None:
        with Path("pipe").open("wb") as pipe:
            pipe.write(TEXT)

    writer = threading.Thread(target=write)
    writer.start()
    while True:
        try:
            source = only(["pipe"])
            break
        except NothingReadable:
            time.sleep(0.01)
    assert read(source) == (TEXT, [])
    writer.join()


def test_devices_are_no_logs() -> None:
    assert "/dev/zero: is a device or terminal, not a log" in refusal("/dev/zero")


def test_an_unreadable_file_is_named_and_the_rest_is_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a.log").write_bytes(TEXT)
    (here / "secret.log").write_bytes(TEXT)
    opened = open

    def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
        if str(path).endswith("secret.log"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **kwargs)

    monkeypatch.setattr("builtins.open", guarded)
    found, unread = expand(["."])
    assert [source.path for source in found] == ["a.log"]
    assert unread == [Unread("secret.log", "permission denied")]


def test_a_file_that_vanishes_raises_when_it_is_opened(here: Path) -> None:
    (here / "a.log").write_bytes(TEXT)
    source = only(["a.log"])
    (here / "a.log").unlink()
    with pytest.raises(FileNotFoundError):
        source.open()


# ---- compressed

PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("chunk", [1000, 262_144])
def test_compressed_by_content_not_by_name(here: Path, kind: str, chunk: int) -> None:
    (here / "job.log").write_bytes(PACKERS[kind](TEXT) + PACKERS[kind](b"second member\n"))
    source = only(["job.log"])
    assert source.compressed
    assert read(source, chunk) == (TEXT + b"second member\n", [])


@pytest.mark.parametrize("kind", PACKERS)
def test_truncated_data_gives_all_that_is_there(here: Path, kind: str) -> None:
    noise = b"".join(os.urandom(24).hex().encode() + b"\n" for _ in range(30_000))
    whole = PACKERS[kind](noise)
    (here / "torn").write_bytes(whole[: len(whole) * 2 // 3])
    data, problems = read(only(["torn"]))
    assert noise.startswith(data)
    # bzip2 and xz give whole blocks only.
    assert len(data) > {"gz": 900_000, "zst": 800_000, "bz2": 0, "xz": 800_000}[kind]
    assert len(problems) == 1
    assert "ends early or is damaged" in problems[0]


def damaged(seed: int, share: float) -> tuple[bytes, bytes, int]:
    """Text, its gz form with ten bytes overwritten, and how much of the text was packed before them."""
    text = random.Random(seed).randbytes(150_000).hex().encode() + b"\n"
    packed = bytearray(gzip.compress(text))
    place = int(len(packed) * share)
    before = len(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(bytes(packed[:place])))
    packed[place : place + 10] = b"0123456789"
    return text, bytes(packed), before


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_all_before_the_damage_is_read_and_the_damage_is_named(here: Path, seed: int, share: float) -> None:
    text, packed, before = damaged(seed, share)
    (here / "bad.gz").write_bytes(packed)
    data, problems = read(only(["bad.gz"]))
    assert data[: before - decompress.RESCUED] == text[: before - decompress.RESCUED]
    assert "damaged" in problems[0]


def test_all_before_the_damage_is_read_of_a_second_member_and_of_a_pipe(here: Path) -> None:
    text, packed, before = damaged(3, 0.1)
    (here / "bad.gz").write_bytes(gzip.compress(TEXT) + packed)
    kept = len(TEXT) + before - decompress.RESCUED
    data, problems = read(only(["bad.gz"]))
    assert data[:kept] == (TEXT + text)[:kept]
    (piped,), _ = expand(["-"], io.BytesIO(gzip.compress(TEXT) + packed))
    data, problems = read(piped)
    assert data[:kept] == (TEXT + text)[:kept]
    assert "damaged" in problems[0]


def test_what_was_never_compressed_is_refused(here: Path) -> None:
    (here / "head.gz").write_bytes(b"\x1f\x8b\x08\x00nothing good")
    assert "head.gz: the gz data ends early or is damaged" in refusal("head.gz")


def test_padding_after_the_last_member_is_no_problem(here: Path) -> None:
    (here / "a.gz").write_bytes(gzip.compress(TEXT) + b"\0" * 512)
    assert read(only(["a.gz"])) == (TEXT, [])


def test_a_bomb_is_stopped_and_its_start_is_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "Caps", lambda: Caps(ratio=500, after=1 << 20, total=1 << 30))
    for kind in ("gz", "zst", "xz"):
        (here / f"bomb.{kind}").write_bytes(PACKERS[kind](b"the start\n" + b"\n" * (16 << 20)))
        data, problems = read(only([f"bomb.{kind}"]))
        assert data.startswith(b"the start\n")
        assert 1 << 20 <= len(data) < 9 << 20
        assert "like a bomb: stopped after" in problems[0]


def test_all_inputs_share_a_total(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "Caps", lambda: Caps(total=len(TEXT) * 3 // 2))
    for n in range(3):
        (here / f"{n}.gz").write_bytes(gzip.compress(TEXT + b"%d" % n))
    results = [read(source) for source in expand(["."])[0]]
    assert results[0][1] == []
    assert "stopped there" in results[2][1][0]


def test_default_limits() -> None:
    assert (Caps().ratio, Caps().after) == (500, 256 * decompress.MIB)


# ---- archives


def make_tar(path: Path, mode: str, **members: bytes) -> None:
    with tarfile.open(path, mode) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_members_are_sources_in_any_order(here: Path, mode: str) -> None:
    make_tar(here / "run.tar.x", mode, a=TEXT, logs__b=b"b\n", c_gz=gzip.compress(b"c\n"), weights=os.urandom(5000))
    found, unread = expand(["run.tar.x"])
    assert [source.path for source in found] == ["run.tar.x!a", "run.tar.x!logs/b", "run.tar.x!c_gz"]
    assert unread == []
    assert read(found[2]) == (b"c\n", [])
    assert read(found[0]) == (TEXT, [])
    assert read(found[1]) == (b"b\n", [])
    assert read(found[0]) == (TEXT, [])


def test_zip_members_and_archives_in_archives(here: Path) -> None:
    make_tar(here / "in.tar.gz", "w:gz", x=b"x\n", y=b"y\n")
    with zipfile.ZipFile("run.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", TEXT)
        archive.write("in.tar.gz")
    make_tar(here / "out.tar", "w", z=(here / "run.zip").read_bytes())
    found, unread = expand(["out.tar"])
    assert [source.path for source in found] == [
        "out.tar!z!a.log",
        "out.tar!z!in.tar.gz!x",
        "out.tar!z!in.tar.gz!y",
    ]
    assert unread == []
    assert [read(source)[0] for source in found] == [TEXT, b"x\n", b"y\n"]


def test_archives_without_end_are_refused(here: Path) -> None:
    data = b"x\n"
    for _ in range(5):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("deeper", data)
        data = buffer.getvalue()
    (here / "deep.zip").write_bytes(data)
    assert "is an archive 4 levels deep" in refusal("deep.zip")


def test_a_truncated_tar_gives_its_first_members(here: Path) -> None:
    make_tar(here / "whole.tar", "w", a=TEXT, b=TEXT)
    (here / "torn.tar").write_bytes((here / "whole.tar").read_bytes()[: len(TEXT) * 3 // 2])
    found, unread = expand(["torn.tar"])
    assert [source.path for source in found] == ["torn.tar!a", "torn.tar!b"]
    assert unread[0].path == "torn.tar"
    assert read(found[0]) == (TEXT, [])
    data, problems = read(found[1])
    assert TEXT.startswith(data)
    assert len(data) > len(TEXT) // 3
    assert problems


def test_an_empty_archive(here: Path) -> None:
    make_tar(here / "none.tar", "w", model_pt=b"")
    make_tar(here / "none.tar", "w", **{"model.pt": b"x"})
    assert "none.tar: there are no logs in this archive" in refusal("none.tar")


# ---- pipes


class Unseekable(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer[:700])


@pytest.mark.parametrize("paths", [[], ["-"]])
def test_standard_input(paths: list[str]) -> None:
    source = only(paths, io.BufferedReader(Unseekable(TEXT)))
    assert (source.path, source.size_hint) == ("stdin", None)
    assert read(source) == (TEXT, [])


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_standard_input(kind: str) -> None:
    source = only([], Unseekable(PACKERS[kind](TEXT)))
    assert source.compressed
    assert read(source) == (TEXT, [])


def test_an_archive_on_standard_input(here: Path) -> None:
    make_tar(here / "run.tgz", "w:gz", a=TEXT, b=b"b\n")
    found, _ = expand([], Unseekable((here / "run.tgz").read_bytes()))
    assert [source.path for source in found] == ["stdin!a", "stdin!b"]
    assert [read(source)[0] for source in found] == [TEXT, b"b\n"]


def test_empty_standard_input() -> None:
    with pytest.raises(NothingReadable, match="stdin: is empty"):
        expand([], io.BytesIO(b""))
