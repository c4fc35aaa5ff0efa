"""The closed set of typed placeholders that signatures may use.

Each kind has one pattern without nested repetition, so that matching stays
linear in the length of the record. Every kind also takes the usual redactions
(`xxxxxx`, `[***]`, `<host>`); a redacted value is marked in the capture.
The table in corpus/README.md is written from `KINDS` and its examples.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """One placeholder kind: its pattern, and examples that tests hold it to."""

    pattern: str
    accepts: tuple[str, ...]
    refuses: tuple[str, ...]
    about: str


REDACTED = r"(?:[xX]{3,64}|\*{3,64}|\[(?:\*{2,64}|[A-Z_ ]{3,32})\]|<[A-Za-z][A-Za-z0-9_ .-]{0,40}>|\.\.\.)"

KINDS: dict[str, Kind] = {
    "int": Kind(
        r"[-+]?(?<!\d)(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,24})(?!\d)",
        ("0", "-9", "126,257,359,472", "18446744073709551615"),
        ("", "x1", "0x1f"),
        "a whole number, with sign or thousands separators",
    ),
    "hex": Kind(
        r"(?<![0-9A-Za-z])(?:0[xX])?[0-9A-Fa-f]{1,64}(?:_[0-9A-Fa-f]{1,64}){0,4}(?![0-9A-Za-z])",
        ("0x1f", "DEADBEEF", "0x1_0abe0000", "8a000"),
        ("0xzz", ""),
        "a hexadecimal number, with or without 0x, also the driver's 0x1_0abe0000",
    ),
    "float": Kind(
        r"[-+]?(?<!\d)(?:\d{1,24}(?:\.\d{0,24})?|\.\d{1,24})(?:[eE][-+]?\d{1,4})?(?!\.?\d)|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|[Ii]nfinity)\b",
        ("1.5", "3", "2.1E-05", "nan", "-inf", ".5"),
        ("abc", ""),
        "a decimal number, also nan and inf",
    ),
    "size": Kind(
        r"\d{1,20}(?:,\d{3}){0,8}(?:\.\d{1,12})?[ ]?(?:[KMGTPE]i?B|[KMGTPE]i?|[kmgt]i?[Bb]|B|[Bb]ytes|[kK]b|pages)(?![A-Za-z])",
        ("1.95 GiB", "117.59G", "64MB", "20.00 MiB", "1024 bytes", "0 bytes"),
        ("1.95", "GiB"),
        "a number with a unit of memory or storage",
    ),
    "path": Kind(
        r"[^\s'\"`,;()<>|:]{1,1024}(?::[^\s'\"`,;()<>|:]{1,256}){0,3}",
        ("/dev/shm/nccl-Q3xTzA", "ckpt/step_100/model.pt", "hdfs://x/y", "libcudart.so.12", "C:/data/x"),
        ("", " "),
        "a path, URL or file name without blanks",
    ),
    "host": Kind(
        r"[A-Za-z0-9_\[](?:[A-Za-z0-9_.:\-\]]{0,253}[A-Za-z0-9_\]])?",
        ("node-b", "10.0.0.1", "ip-172-31-45-20.internal", "worker_1", "[node01]:40027", "fe80::1"),
        ("-x", ""),
        "a host name or address, with an optional port",
    ),
    "ip": Kind(
        r"(?:(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\d)|\[?(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}\]?)(?:%\w{1,16})?",
        ("10.4.2.8", "fe80::1", "::1"),
        ("node-b", "10.4.2"),
        "an IPv4 or IPv6 address",
    ),
    "pci": Kind(
        r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{8}:|[0-9A-Fa-f]{4}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?(?![0-9A-Fa-f])",
        ("0000:8a:00", "00000000:8A:00.0", "0000:3b:00.0", "3b:00.0"),
        ("8a000", "0000:8a"),
        "a PCI address: optional 4 or 8 digit domain, bus, device, optional function",
    ),
    "dtype": Kind(
        r"(?:torch\.|jnp\.|np\.|tf\.)?(?:c10::)?[A-Za-z]{1,12}\d{0,3}(?:_?[a-z]\w{0,8})?",
        ("torch.float32", "Half", "BFloat16", "bf16", "float8_e4m3fn", "c10::Half"),
        ("", "."),
        "an element type as frameworks write it",
    ),
    "shape": Kind(
        r"(?:torch\.Size\()?[\[(]?[ ]?-?\d{0,12}(?:[ ]?[,x][ ]?-?\d{1,12}){0,15},?[ ]?[\])]?\)?",
        ("torch.Size([4, 16])", "(4, 16)", "[32000, 4096]", "4x16", "16"),
        ("abc",),
        "a tensor shape",
    ),
    "name": Kind(
        r"[A-Za-z0-9_][A-Za-z0-9_./:@+~%$#&=*\-]{0,254}",
        ("ALLREDUCE", "ncclCommRegister", "meta-llama/Llama-2-7b", "torch._C", "mlx5_0:1"),
        ("", " ", "'x'"),
        "one word: identifier, operation, module, device",
    ),
    "duration": Kind(
        r"\d{1,12}(?::\d{2}){1,2}(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?[ ]?(?:milliseconds?|microseconds?|nanoseconds?|seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|ms|us|ns|s|m|h|d)(?![A-Za-z])|\d{1,18}(?:\.\d{1,9})?",
        ("1800000 milliseconds", "0:30:00", "300s", "10 min", "5.0"),
        ("s", ""),
        "a length of time, with or without unit",
    ),
    "any": Kind(
        r".{0,400}?",
        ("", "whatever stands here"),
        (),
        "anything, as little as possible, at most 400 characters",
    ),
}

ANY_LIMIT = 400
"""How many characters an `{any}` may bridge."""


def full_match(kind: str, text: str) -> bool:
    """Tell whether a whole text is a value of this placeholder kind."""
    return re.fullmatch(f"(?:{KINDS[kind].pattern})|{REDACTED}", text) is not None
