"""Masking: what goes, what stays, the same name everywhere, and masked text is masked to itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.masking import SECRET, Masker

GONE = [
    ("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123", f"HF_TOKEN={SECRET}"),
    ("key sk-proj-abcdEFGH1234ijklMNOP", f"key {SECRET}"),
    ("remote: ghp_0123456789abcdefghijABCDEFGHIJ012345", f"remote: {SECRET}"),
    ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", f"AWS_ACCESS_KEY_ID={SECRET}"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"aws_secret_access_key = {SECRET}"),
    ('{"password": "hunter22", "step": 3}', f'{{"password": "{SECRET}", "step": 3}}'),
    ('{"token":"zzz","step":3}', f'{{"token":"{SECRET}","step":3}}'),
    ('{"password": "a b"}', f'{{"password": "{SECRET}"}}'),
    ("{'hf_token': 'x1'}", f"{{'hf_token': '{SECRET}'}}"),
    (r'"{\"api_key\": \"ab\"}"', rf'"{{\"api_key\": \"{SECRET}\"}}"'),
    ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", f"WANDB_API_KEY={SECRET}"),
    ("Authorization: Bearer abcdef123456.xyz", f"Authorization: Bearer {SECRET}"),
    ("curl --token s3cr3tvalue https://x", f"curl --token {SECRET} https://x"),
    ("clone https://bob:pa55@example.com/x.git", f"clone https://{SECRET}@example.com/x.git"),
    ("GET /b?X-Amz-Signature=0a1b2c&X-Amz-Date=1", f"GET /b?X-Amz-Signature={SECRET}&X-Amz-Date=1"),
    ("cookie=eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", f"cookie={SECRET}"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
     f"-----BEGIN RSA PRIVATE KEY-----{SECRET}-----END RSA PRIVATE KEY-----"),
    ("POST https://hooks.slack.com/services/T0000/B0000/abcDEF123 failed", f"POST https://hooks.slack.com/services/{SECRET} failed"),
    ("AccountName=lab;AccountKey=q2Vj8k1+aa/0123456789abcdefghij==;EndpointSuffix=x", f"AccountName=lab;{SECRET};EndpointSuffix=x"),
    ("wandb login 0123456789abcdef0123456789abcdef01234567", f"wandb login {SECRET}"),
    ("mail jane.doe+x@corp.example.com now", "mail email-1 now"),
    ("connect to 10.4.7.12:29500 refused", "connect to ip-1:29500 refused"),
    ("peer 192.168.0.7<45678>", "peer ip-1<45678>"),
    ("from 203.0.113.9 port 22", "from ip-1 port 22"),
    ("inet6 fe80::1ff:fe23:4567:890a up", "inet6 ip-1 up"),
    ("ether 02:42:ac:11:00:02 up", "ether mac-1 up"),
    ("/home/jdoe/run/train.py", "/home/user-1/run/train.py"),
    ("USER=jdoe", "USER=user-1"),
    ("uid=1001(jdoe) gid=5", "uid=1001(user-1) gid=5"),
    ("jdoe@login07:~$ ls", "user-1@host-1:~$ ls"),
    ("MASTER_ADDR=gpu-a-17", "MASTER_ADDR=host-1"),
    ("lost ip-10-0-3-4.ec2.internal", "lost host-1"),
    ("db.svc.cluster.local:5432", "host-1:5432"),
]  # fmt: skip
STAYS = [
    "[rank5]:[E1128 13:12:11.004 ProcessGroupNCCL.cpp:607] Watchdog caught collective operation timeout",
    "NVRM: Xid (PCI:0000:8a:00): 79, pid=55182, name=python, GPU has fallen off the bus.",
    "2026-11-30T12:41:58.123Z INFO step 2290 loss 2.113 tokens: 2048 max_tokens=4096",
    '{"eos_token": "EOS", "pad_token": "PAD", "token": null, "tokens": "12", "password": "", "token_count": "7"}',
    "pad_token_id: 50256, eos_token='</s>', tokenizer=LlamaTokenizerFast",
    "listening on 127.0.0.1:8000 and 0.0.0.0:29500 and ::1",
    "NCCL version 2.19.3+cuda12.3, driver 535.104.12, cuDNN 8.9.2.26",
    "torch==2.1.0.4 nvidia-cudnn-cu12 8.9.7.29",
    "password: None, secret=null api_key: <unset>",
    "File \"/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1518, in _call_impl",
    "pip from https://pypi.org/simple and https://huggingface.co/meta-llama",
    "host: localhost, node: none",
    "KeyError: 'secretary'",
]  # fmt: skip


@pytest.mark.parametrize(("text", "masked"), GONE)
def test_what_must_not_leave_is_masked(text: str, masked: str) -> None:
    assert Masker()(text) == masked


@pytest.mark.parametrize("text", STAYS)
def test_what_a_diagnosis_rests_on_stays(text: str) -> None:
    assert Masker()(text) == text


def test_the_same_name_is_the_same_everywhere() -> None:
    mask = Masker(["node-b", "node-bb", "gpu"])
    assert mask("dmesg-node-b.log: node-bb and node-b, node-bcd") == "dmesg-host-1.log: host-2 and host-1, node-bcd"
    assert mask("10.0.0.1 then 10.0.0.2 then 10.0.0.1; gpu 3") == "ip-1 then ip-2 then ip-1; gpu 3"
    assert mask.counts() == {"host": 2, "ip": 2}


def test_secrets_are_counted() -> None:
    mask = Masker()
    mask("password=abcd token=abcd1234efgh5678")
    assert mask.counts() == {"secret": 2}


@pytest.mark.parametrize("text", [text for text, _ in GONE] + STAYS)
def test_masked_text_is_masked_to_itself(text: str) -> None:
    once = Masker(["node-b"])(text)
    again = Masker(["node-b"])
    assert again(once) == once
    assert again.counts() == {}


@given(st.text(max_size=300))
def test_any_text_can_be_masked(text: str) -> None:
    assert isinstance(Masker(["node-b"])(text), str)


def test_long_lines_take_no_time_of_note() -> None:
    for piece in ("a.", "token", "password=", "a@", "1.", "ab:", "eyJ", "-", "user="):
        Masker(["node-b"])(piece * 20_000)
