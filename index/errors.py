"""Errors of retrieval: each one sentence and what to type next.

RetrievalError             the index or the encoder cannot be used (exit 4)
├── UnknownEncoderError    no encoder has that name and no folder lies there (exit 2)
├── MissingExtraError      the encoder needs a package that is not installed (exit 2)
├── ModelFileError         a file of the encoder is missing or is not what its card says
├── StaleIndexError        the index was made from another corpus or by another encoder
└── BrokenIndexError       the index is missing or damaged; building it again mends it
"""

from __future__ import annotations

from corpus.errors import FirstfaultError

REBUILD = "Type `firstfault index build`."


class RetrievalError(FirstfaultError):
    """Entries cannot be searched by meaning or by words."""

    exit_code = 4


class UnknownEncoderError(RetrievalError):
    """No encoder is known by this name, and no folder of this name holds one."""

    exit_code = 2


class MissingExtraError(RetrievalError):
    """The encoder needs packages that firstfault does not install by itself."""

    exit_code = 2


class ModelFileError(RetrievalError):
    """A file of the encoder is missing, damaged or of another version."""


class StaleIndexError(RetrievalError):
    """The index does not belong to this corpus or to this encoder."""


class BrokenIndexError(RetrievalError):
    """The index is missing or cannot be read; it can always be built again."""
