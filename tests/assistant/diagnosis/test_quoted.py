"""What holds the literals of entries to the letter and is not the log of a job."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload"))
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."

DOCUMENTS = {
    "notebook": f'{{\n "cells": [\n  {{"cell_type": "code", "outputs": ["{OOM}"]}}\n ]\n}}\n',
    "table": f'id,job,message\n1,100,"{OOM}"\n2,101,"{OOM}"\n',
    "manual": f"NAME\n       job - runs\nDESCRIPTION\n       It may print\n       {OOM}\n",
    "own-result": f'{{\n  "schema": "firstfault.diagnosis/1",\n  "text": "{OOM}"\n}}\n',
}
LOGS = {
    "export": f'timestamp,severity,message\n2026-11-30T12:00:00Z,ERROR,"{OOM}"\n',
    "sentence": f"first,second,third\n{OOM}\n",
    "plain": f"NAME=job\n{OOM}\n",
    "quoting logger": f'E0301 10:00:00.0 1 model.cc:654] "failed to load: {OOM}"\n',
    "json": f'{{"msg": "start"}}\n{OOM}\n',
}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_a_document_called_a_log_is_no_job(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.log").write_text(DOCUMENTS[name])
    assert diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE).initiating is None


@pytest.mark.parametrize("name", sorted(LOGS))
def test_a_log_that_looks_a_little_like_one_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.log").write_text(LOGS[name])
    assert diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE).status == "identified"


def test_an_export_with_times_is_a_log_whatever_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "export.csv").write_text(LOGS["export"])
    assert diagnose([str(tmp_path / "export.csv")], catalogue=CATALOGUE).status == "identified"


_SAID = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. How do I fix it?"
REQUESTS = {
    "vllm": f"INFO 11-30 10:00:01 [logger.py:43] Received request chatcmpl-1: prompt: '<|user|>{_SAID}<|assistant|>', params: SamplingParams(n=1)",
    "body": f'INFO:     body {{"model": "m", "messages": [{{"role": "user", "content": "{_SAID}"}}]}}',
    "python-body": f"DEBUG request: {{'messages': [{{'role': 'user', 'content': '{_SAID}'}}]}}",
    "completion": f"INFO handling prompt='{_SAID}' max_tokens=16",
    "tgi": f'DEBUG generate {{"inputs":"{_SAID}","parameters":{{}}}}',
    "llama": f"slot 0 processing [INST] {_SAID} [/INST]",
    "chat-template": f"<|im_start|>user {_SAID}<|im_end|>",
    "url": '10.0.0.9 - - [30/Nov/2026:09:00:00 +0000] "GET /q?x=CUDA out of memory. Tried to allocate 2.00 GiB HTTP/1.1" 200 12',
    "lines": f"Received request cmpl-5: prompt: 'my log:\n{OOM}\nwhat now?\n', params: SamplingParams(n=1)",
    "alpaca": f"### Instruction: {_SAID}",
}  # fmt: skip


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_what_a_user_wrote_to_a_server_is_no_fault_of_it(tmp_path: Path, name: str, after: int) -> None:
    served = 'INFO:     10.0.0.9:51 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    (tmp_path / "server.log").write_text("\n".join([served] * 4 + [REQUESTS[name]] + [served] * after) + "\n")
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.initiating is None and not [finding for finding in result.findings if finding.set_aside != "quoted"]


REPORTS = {
    "answer": '{"object":"error","message":"CUDA out of memory. Tried to allocate 2.00 GiB","code":500}',
    "error": "ERROR engine.py:7] prompt of 900 tokens: CUDA out of memory. Tried to allocate 2.00 GiB",
    "assertion": f"../aten/src/ATen/Indexing.cu:1236: select: block: [5,0,0] {OOM}",
    "warning": f"/usr/lib/python3.11/site-packages/torch/fsdp.py:2224: UserWarning: Failed to clone: {OOM}",
    "prompt-never-closed": "Received request cmpl-5: prompt: 'my log:\nERROR CUDA out of memory. Tried to allocate 2.00 GiB",
    "prompt-done": "prompt: 'hello' done\nERROR CUDA out of memory. Tried to allocate 2.00 GiB",
}


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_servers_own_error_is_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "server.log").write_text(f"start\n{REPORTS[name]}\n")
    assert diagnose([str(tmp_path)], catalogue=CATALOGUE).status == "identified"


def test_what_grep_prints_is_a_quotation(tmp_path: Path) -> None:
    (tmp_path / "found.log").write_text(f"train.log:17:{OOM}\nsrc/run.py:3:    raise {OOM}\n")
    assert diagnose([str(tmp_path)], catalogue=CATALOGUE).initiating is None


def test_the_servers_own_error_decides_and_not_the_one_that_a_user_quoted_above_it(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(f"{REQUESTS['vllm']}\nERROR {OOM}\n")
    found = diagnose([str(tmp_path)], catalogue=CATALOGUE).initiating
    assert found is not None and found.evidence[0].line == 2


@pytest.mark.parametrize(
    ("line", "is_quoted"),
    [
        (f'ERROR failed for prompt="What is 2+2?" : {OOM}', False),
        (f"ERROR request {{'inputs': 'hello'}} died of {OOM}", False),
        (f"INFO prompt='I don't know why {OOM} comes', params", True),
        (f'INFO prompt="it said \\"no\\" and {OOM}"', True),
        (f"INFO {{'inputs': 'hello', 'context': '{OOM}'}}", True),
        (f'INFO messages=[{{"role": "user", "content": "{OOM}"}}]', True),
    ],
)
def test_what_stands_after_the_quote_that_ends_a_prompt_is_the_servers(
    tmp_path: Path, line: str, is_quoted: bool
) -> None:
    (tmp_path / "server.log").write_text(f"INFO start\n{line}\n")
    result = diagnose([str(tmp_path / "server.log")], catalogue=CATALOGUE)
    assert (result.initiating is None) == is_quoted
