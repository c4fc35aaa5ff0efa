"""Whether bytes are text, and in which encoding, from the first of them."""

from __future__ import annotations

from index.blocks import encoding_from

MOST_ODD = 0.10
"""Share of bytes that are not text above which a file is called binary."""

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\x1b\x08\x0b\x0c\x07\0") + b"\x7f"


def encoding_of(start: bytes) -> str:
    """utf-8, utf-16-le, utf-32-be ... as the byte order mark or the pattern of NULs says."""
    return encoding_from(start)[0]


def binary_reason(start: bytes) -> str:
    """A sentence when the bytes are no text, else an empty string.

    NUL bytes alone do not decide: a log that was cut while it was written
    begins with a hole of them.
    """
    encoding, mark = encoding_from(start)
    if encoding != "utf-8":
        return ""
    body = start[mark:].replace(b"\0", b"")
    if not body:
        return ""
    odd = len(body) - len(body.translate(None, _CONTROLS))
    # The sample may end within a character.
    text = body.decode("utf-8", "replace").rstrip("\ufffd")
    share = (odd + text.count("\ufffd")) / len(body)
    if share <= MOST_ODD:
        return ""
    return f"looks binary, {share:.0%} of its first bytes are not text"
