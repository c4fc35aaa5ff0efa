"""Masking: what must not leave the machine is taken out of log text before it is shared.

Secrets become `[secret]`; hosts, users, e-mail addresses and addresses of the
network become `host-1`, `user-1` ..., the same one wherever it stands, so that
the story stays readable. What a diagnosis rests on is left alone: times, ranks,
versions, PCI addresses, paths below a home, loopback addresses. Masked text is
masked to itself.

No list of shapes is complete: whoever shares the result reads it first, and the
program says so.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Final

SECRET: Final = "[secret]"
_TOKENS: Final = re.compile(
    r"""(?x)
    \b(?: hf_[A-Za-z0-9]{16,}                            # Hugging Face
      | (?:sk|pk|rk)-[A-Za-z0-9_-]{16,}                  # OpenAI, Anthropic, Stripe and their like
      | gh[opsur]_[A-Za-z0-9]{20,} | github_pat_\w{20,}  # GitHub
      | glpat-[\w-]{16,}                                 # GitLab
      | nvapi-[\w-]{16,}                                 # NVIDIA
      | (?:AKIA|ASIA|AROA)[0-9A-Z]{16}                   # AWS
      | AIza[\w-]{30,} | ya29\.[\w.-]{20,}               # Google
      | xox[abeprs]-[\w-]{10,}                           # Slack
      | dckr_pat_[\w-]{16,} | pypi-[\w-]{32,}
      | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                  # JWT
      | AccountKey=[A-Za-z0-9+/=]{20,}                   # Azure storage, in a connection string
      | (?<=wandb\ login\ )[0-9a-f]{40}                  # Weights & Biases, typed
    )"""
)
_WEBHOOK: Final = re.compile(
    r"(?i)(https://(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|[\w.-]{1,80}\.webhook\.office\.com)/)"
    r"([^\s\"'<>]+)"
)
"""The path of such an address is all that one needs to post there."""
_PRIVATE_KEY: Final = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)
_BEARER: Final = re.compile(
    r"(?i)\b((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)?\s*|bearer\s+)([\w.~+/=-]{8,})"
)
_URL_USER: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)([^\s/@:]{1,256}(?::[^\s/@]{0,256})?)@")
_SIGNED: Final = re.compile(
    r"(?i)([?&](?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)|signature|sig|token"
    r"|access_token|key|apikey|api_key)=)([^&\s\"'<>]+)"
)
_VALUE: Final = r"""\\?["']?)([^\s"'\\,;&<>()\[\]{}]{%d,})"""
_NAMED: Final = re.compile(
    r"""(?ix)(\b[\w.-]{0,40}(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key(?:[_-]?id)?
    |private[_-]?key|credentials?)\\?["']?\s*(?:=|:|\s=>)\s*"""
    + _VALUE % 4
)
_TOKEN_NAMED: Final = re.compile(
    r"""(?i)(\b[\w.-]{0,40}(?:token|auth|cookie|session[_-]?id)\\?["']?\s*[=:]\s*""" + _VALUE % 12
)
_SHORT: Final = re.compile(
    r"""(?i)((\\?["'])(?:[\w-]{0,30}(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|cookie)"""
    r"""|(?:(?:access|auth|api|refresh|bearer|hf|id|session|csrf|secret|wandb|user|service)[_-])?token)\2\s*:\s*\2)([^"'\\<>]{1,64})(?=\2)"""
)
"""A field of JSON whose name says that it is a secret: of `"token":"zzz"` no length and no look of the value matters."""
_OPTION: Final = re.compile(r"(?i)(--(?:[\w-]{0,40}-)?(?:password|passwd|secret|token|api-key)[ =])(\S{4,})")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_LOGIN: Final = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]{0,63})@([A-Za-z][\w.-]{0,63})(?=:|\s|$)")
_HOME: Final = re.compile(r"(/(?:home|Users|users|user|scratch)/)([A-Za-z_][\w.-]*)")
_USER: Final = re.compile(
    r"""(?ix)(\b(?:user|(?:login|user)[-_]?name)(?:\\?["']?\s*=\s*\\?["']?|\\?["']\s*:\s*\\?["'])|\busername:\s*)([a-z_][\w.-]*)"""
)
_UID: Final = re.compile(r"(\buid=\d+\()([^)\s]+)(?=\))")
_HOST_NAMED: Final = re.compile(
    r"""(?ix)(\b(?:hostname|host|nodename|node_name|node|master_addr|nodelist|server|endpoint|rdzv_endpoint)
    \\?["']?\s*[=:]\s*\\?["']?(?:[a-z]+://)?)(?=[a-z]*[0-9.-])([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*)(?![\w(])"""
)
_HOST_SLURM: Final = re.compile(
    r"(\bON |\bsrun: error: |\bslurmstepd-|\bslurmd-)(?=[\w.-]*[\d-])([A-Za-z][\w-]*(?:\.[\w-]+)*)(?= (?:CANCELLED|TERMINATED)|: )"
)
_INTERNAL: Final = re.compile(
    r"(?i)(?<![\w.-])(?:[a-z0-9][a-z0-9-]{0,62}\.){1,10}(?:internal|local|localdomain|lan|corp|intra|intranet|cluster|hpc|private|home)\b"
)
_AWS_NAME: Final = re.compile(r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b")
_IPV4: Final = re.compile(r"(?<![\w.-])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d|\.\d)")
_VERSION_BEFORE: Final = re.compile(
    r"(?i)(?:\bv|version|driver|cudnn|-cu\d+|nccl|cuda|release|firmware|vbios|fw|kernel)[ :=v]*$"
)
_IPV6: Final = re.compile(
    r"(?i)(?<![\w:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])|(?<![\w:.])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])"
)
_MAC: Final = re.compile(r"(?i)(?<![\w:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:])")
_GENERIC_USERS: Final = frozenset(
    "root user users ubuntu ec2-user centos admin nobody runner jovyan app none null true false slurm default id name "
    "error the a an is not tmp data dataset datasets run runs log logs ckpt ckpts checkpoint checkpoints model models "
    "shared share cache jobs job team projects project".split()
)
_GENERIC_HOSTS: Final = frozenset(
    "localhost localdomain node nodes host hosts gpu cpu rank worker workers master head none null true false unknown "
    "default error kernel server http https tcp static c10d etcd the a an is not has was for".split()
)
_CONFIG_VALUES: Final = re.compile(
    r"(?i)^(?:none|null|true|false|not|set|unset|empty|missing|invalid|required|\*+|x{3,}|<.*|\$.*|\d+)$"
)


class Masker:
    """Masks texts of one story; the same name gets the same number in all of them."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        """Take the host names that are known to stand in the texts; others are told by their shape."""
        self._numbers: dict[str, dict[str, str]] = {}
        self.secrets = 0
        """Secrets that were taken out."""
        known = {
            name for name in hosts if len(name) > 2 and name.lower() not in _GENERIC_HOSTS and not _is_masked(name)
        }
        longest = sorted(known, key=lambda name: (-len(name), name))
        # A dash or a dot may stand beside a name, as in `dmesg-node-b.log`; a letter or a digit makes it another name.
        self._known = re.compile(
            r"(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, longest)) + r")(?![A-Za-z0-9])"
        ) if longest else None  # fmt: skip

    def __call__(self, text: str) -> str:
        """The text without secrets, names and addresses."""
        text = self._without_secrets(text)
        text = _EMAIL.sub(self._named("email"), text)
        text = self._without_addresses(text)
        if self._known is not None:
            text = self._known.sub(self._named("host"), text)
        text = _INTERNAL.sub(self._named("host"), text)
        text = _AWS_NAME.sub(self._named("host"), text)
        text = _HOST_NAMED.sub(self._after("host", _GENERIC_HOSTS), text)
        text = _HOST_SLURM.sub(self._after("host", _GENERIC_HOSTS), text)
        text = _LOGIN.sub(self._login, text)
        text = _HOME.sub(self._after("user", _GENERIC_USERS), text)
        text = _UID.sub(self._after("user", _GENERIC_USERS), text)
        return _USER.sub(self._after("user", _GENERIC_USERS), text)

    def counts(self) -> dict[str, int]:
        """How much was masked: secrets, and different hosts, users, e-mail addresses, addresses."""
        found = {"secret": self.secrets, **{kind: len(names) for kind, names in self._numbers.items()}}
        return {kind: count for kind, count in found.items() if count}

    # ---- secrets

    def _without_secrets(self, text: str) -> str:
        text = _PRIVATE_KEY.sub(self._secret(lambda found: f"{found[1]}{SECRET}{found[2]}"), text)
        text = _URL_USER.sub(self._secret(lambda found: f"{found[1]}{SECRET}@"), text)
        text = _SIGNED.sub(self._secret(lambda found: f"{found[1]}{SECRET}"), text)
        text = _BEARER.sub(self._secret(lambda found: f"{found[1]}{SECRET}"), text)
        text = _WEBHOOK.sub(self._secret(lambda found: f"{found[1]}{SECRET}"), text)
        text = _TOKENS.sub(self._secret(lambda _: SECRET), text)
        text = _OPTION.sub(self._secret(lambda found: f"{found[1]}{SECRET}"), text)
        text = _SHORT.sub(self._value(lambda value: True, group=3), text)
        text = _NAMED.sub(self._value(lambda value: True), text)
        return _TOKEN_NAMED.sub(self._value(_looks_random), text)

    def _secret(self, shown: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            if SECRET in found[0]:
                return found[0]
            self.secrets += 1
            return shown(found)

        return replace

    def _value(self, is_one: Callable[[str], bool], group: int = 2) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            value = found[group]
            if SECRET in value or _CONFIG_VALUES.match(value) or not is_one(value):
                return found[0]
            self.secrets += 1
            return f"{found[1]}{SECRET}"

        return replace

    # ---- names

    def _named(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda found: found[0] if _is_masked(found[0]) else self._number(kind, found[0])

    def _after(self, kind: str, generic: frozenset[str]) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            name = found[2]
            if name.lower() in generic or _is_masked(name):
                return found[0]
            return found[1] + self._number(kind, name)

        return replace

    def _login(self, found: re.Match[str]) -> str:
        user = (
            found[1] if found[1].lower() in _GENERIC_USERS or _is_masked(found[1]) else self._number("user", found[1])
        )
        host = (
            found[2] if found[2].lower() in _GENERIC_HOSTS or _is_masked(found[2]) else self._number("host", found[2])
        )
        return f"{user}@{host}"

    def _number(self, kind: str, name: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return numbers.setdefault(name.lower(), f"{kind}-{len(numbers) + 1}")

    # ---- addresses

    def _without_addresses(self, text: str) -> str:
        def address(found: re.Match[str]) -> str:
            try:
                parsed = ipaddress.ip_address(found[0])
            except ValueError:
                return found[0]
            if parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast or found[0].startswith("255."):
                return found[0]
            if not parsed.is_private and _VERSION_BEFORE.search(text, max(0, found.start() - 24), found.start()):
                return found[0]
            return self._number("ip", found[0])

        text = _MAC.sub(self._named("mac"), text)
        return _IPV6.sub(address, _IPV4.sub(address, text))


def _is_masked(text: str) -> bool:
    return re.fullmatch(r"(?:host|user|email|ip|mac)-\d+", text) is not None


def _looks_random(value: str) -> bool:
    """Whether a value is made of letters and digits as a key is; a word, a number, a path or a shape is not."""
    has_both = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return has_both and "/" not in value and not re.fullmatch(r"[\d.eE+-]+|0x[0-9a-fA-F]+", value)
