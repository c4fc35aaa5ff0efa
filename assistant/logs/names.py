"""File names: which are surely no logs, and in which order people expect them."""

from __future__ import annotations

import re

from corpus.late import late

_CODE = "py pyi pyc pyx ipynb c cc cpp cu cuh h hpp rs go java js ts css html sh bash ps1 rb lua sql md rst tex".split()
_SETTINGS = "yaml yml toml cfg ini conf lock env properties proto xml plist tf tfvars j2 sbatch slurm".split()
_DATA = (
    "pt pth bin ckpt safetensors onnx engine plan gguf npy npz pkl pickle h5 hdf5 arrow parquet feather tfrecord "
    "record idx mdb lmdb db sqlite csv tsv model vocab msgpack distcp"
).split()
_MEDIA = "png jpg jpeg gif webp svg pdf mp4 webm mp3 wav ico ttf woff woff2".split()
_BUILT = (
    "so a o dll dylib exe jar whl egg deb rpm cubin ptx fatbin img iso sqsh sif qcow2 nsys-rep ncu-rep qdrep".split()
)
_NO_LOGS = frozenset([*_CODE, *_SETTINGS, *_DATA, *_MEDIA, *_BUILT])
_EVENTS = late(r"^events\.out\.tfevents\.|^core(?:\.\d+)?$|\.lock$|^\.|~$")
_TRACE = late(r"trace_rank_?\d|flight_?recorder|(?:^|[_\-.])fr_(?:trace|dump)", re.I)
"""Names of flight-recorder dumps, whatever they end in."""
_NUMBER = late(r"(\d+)")


def is_no_log(name: str) -> bool:
    """Whether a file found in a directory or an archive is left out because of its name."""
    if _TRACE.search(name) is not None:
        return False
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    return suffix in _NO_LOGS or _EVENTS.search(name) is not None


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort rank-2.log before rank-10.log."""
    return [
        (0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part)
        for part in _NUMBER.split(name)
        if part
    ]
