"""C3xx: every literal names the place that prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpus.lints.base import EntryFile, Finding, KeyPath, Knowledge, at, entry_rule, signatures
from corpus.model import Source

CLOSED = (
    "nvidia", "nvrm", "nvlink", "nvswitch", "fabric manager", "fabricmanager", "gsp", "dcgm", "cuda", "cudnn", "cublas",
    "tensorrt", "libtpu", "tpu", "neuron", "trainium", "habana", "gaudi", "ascend", "cann", "hccl", "rocm", "amdgpu",
    "mellanox", "connectx", "mlx5", "bluefield", "firmware", "bios", "bmc", "ipmi", "ecc", "ampere", "hopper",
    "gke", "google", "gcp", "aws", "ec2", "sagemaker", "efa", "azure", "oracle", "oci", "weights & biases", "wandb",
    "lustre", "weka", "vast", "gpfs", "spectrum scale", "lsf", "matlab", "intel", "hugging face hub", "artifactory",
    "apple", "metal", "mps", "windows", "docker hub", "databricks", "colab", "kaggle", "vertex", "runpod", "modal",
)  # fmt: skip
"""Words of a component whose source nobody outside can read."""

_REPO = re.compile(r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$")
_ARTIFACT = re.compile(r"^[a-z]+:\S+?(==|@|:)\S*\d\S*$")


def _sources(file: EntryFile) -> Iterator[tuple[KeyPath, str, Source]]:
    for index, signature in signatures(file):
        for position, source in enumerate(signature.source):
            yield ("signature", index, "source", position), signature.name, source


def imprecision(source: Source) -> str:
    """Why a source does not lead to the very file, or nothing."""
    if source.repo is not None and not _REPO.match(source.repo):
        return f"repo `{source.repo}` is not owner/name"
    if source.artifact is not None and not _ARTIFACT.match(source.artifact):
        return f"artifact `{source.artifact}` names no version"
    return ""


@entry_rule(
    "C301",
    "verified entry without a signature",
    why="nothing of it can be found in a log, so nothing was verified.",
    mend='add a [[signature]] with its source, or set status = "draft".',
)
def verified_has_signature(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """A verified entry has something to verify."""
    if file.value.status == "verified" and not file.value.signature:
        yield at(file, ("status",), 'status is "verified", but there is no [[signature]].')


@entry_rule(
    "C302",
    "source is not precise",
    why="a reviewer must be able to open the very file.",
    mend='write repo = "owner/name", or artifact = "pypi:torch==2.8.0" with its version.',
)
def source_is_precise(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Repositories are owner/name, artifacts name their version."""
    for where, name, source in _sources(file):
        reason = imprecision(source)
        if reason:
            yield at(file, where, f"`{name}`: {reason}.")


@entry_rule(
    "C303",
    "only public logs, though the software is open",
    why="links rot, and a log shows one version; the source shows the wording.",
    mend="name repo and path of the file that prints the text.",
)
def urls_for_closed_software(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Public logs alone suffice for closed software only."""
    if file.value.status != "verified":
        return
    context = " ".join((file.value.component, *file.value.tags)).lower()
    if any(re.search(rf"(?<![a-z]){re.escape(word)}", context) for word in CLOSED):
        return
    for index, signature in signatures(file):
        if all(source.urls for source in signature.source):
            where: KeyPath = ("signature", index, "source")
            yield at(file, where, f"`{signature.name}` rests on public logs; `{file.value.component}` is open.")


@entry_rule(
    "C304",
    "public logs are not independent",
    why="the same page twice is one witness.",
    mend="find a second log from somebody else.",
)
def urls_are_independent(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """The two public logs are two pages."""
    for where, name, source in _sources(file):
        pages = {url.split("#")[0].rstrip("/") for url in source.urls}
        if source.urls and len(pages) < 2:
            yield at(file, where, f"`{name}` names one page twice.")
        bad = [url for url in source.urls if not url.startswith(("http://", "https://"))]
        if bad:
            yield at(file, where, f"`{name}`: `{bad[0]}` is no address.")
