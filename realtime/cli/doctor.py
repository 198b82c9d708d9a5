"""`warmline doctor`: what will compute on this machine and why, and what is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from warmline.engine import Machine

State = Literal["ok", "note", "missing"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. "missing" keeps the service from running; a note costs speed or convenience."""

    subject: str
    state: State
    text: str


def examine() -> list[Finding]:
    """Look at everything. Takes some seconds if the kernels have to be compiled."""
    missing = missing_packages()
    version = importlib.metadata.version("warmline")
    findings = [Finding("warmline", "ok", f"{version} on Python {platform.python_version()}")]
    if missing:
        findings.append(Finding("packages", "missing", f'{", ".join(missing)}; install with: pip install ".[serve]"'))
    else:
        findings.append(Finding("packages", "ok", "all that the service needs"))
    return [*findings, *_machine(), _compiler(), *_computing(), _model()]


def missing_packages() -> list[str]:
    """The packages of the serve extra that are not installed."""
    required = importlib.metadata.requires("warmline") or []
    names = [re.split(r"[^\w.-]", item)[0] for item in required if re.search(r"extra == ['\"]serve['\"]", item)]
    return [name for name in names if not _installed(name)]


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _machine() -> list[Finding]:
    from warmline.engine import this_machine

    machine = this_machine()
    instructions = ", ".join(machine.instructions) or "no vector instructions that are known"
    memory = f"{machine.memory / 2**30:.1f} GiB" if machine.memory else "not known"
    slow = no_int8_products(machine)
    enough = not machine.memory or machine.memory >= 2 * 2**30
    return [
        Finding("system", "ok", machine.system),
        Finding("processor", "ok", f"{machine.processor}; cores to use: {machine.cores}"),
        Finding("instructions", "note" if slow else "ok", f"{instructions}; {slow}" if slow else instructions),
        Finding("memory", "ok" if enough else "note", memory if enough else f"{memory}; lower --kv-memory"),
    ]


def no_int8_products(machine: Machine) -> str | None:
    """What it costs that the processor has no instructions for products of 8-bit numbers; None if it has some."""
    if {"AVX-512 VNNI", "AVX-VNNI", "NEON dot product", "NEON int8"} & set(machine.instructions):
        return None
    return "without AVX-512 VNNI everything takes several times as long"


def _compiler() -> Finding:
    from warmline.engine import find_compiler

    if path := find_compiler():
        return Finding("compiler", "ok", path)
    return Finding(
        "compiler", "note", "no C++ compiler, so slower PyTorch kernels are used; on Debian: apt-get install g++"
    )


def _computing() -> list[Finding]:
    try:
        import torch
        from warmline.engine import EngineError, probe_cpu_backend
    except (ImportError, OSError) as error:
        return [Finding("torch", "missing", f"it can't be loaded: {error}")]
    findings = [Finding("torch", "ok", str(torch.__version__))]
    try:
        probe = probe_cpu_backend()
        state: State = "ok" if probe.kernels == "native" and probe.kept else "note"
        findings.append(Finding("backend", state, f"cpu: {probe.description}"))
    except (EngineError, ImportError) as error:
        findings.append(Finding("backend", "missing", str(error)))
    if torch.cuda.is_available():
        findings.append(Finding("gpu", "note", f"{torch.cuda.get_device_name(0)}; this version computes on the CPU"))
    return findings


def _model() -> Finding:
    from warmline.engine import CATALOG, DEFAULT_MODEL

    model = CATALOG[DEFAULT_MODEL]
    if model.path.is_file():
        return Finding("default model", "ok", f"{model.name} at {model.path}")
    return Finding(
        "default model",
        "note",
        f"{model.name} is not here yet; the first start fetches it ({model.megabytes} MB), or: warmline model fetch",
    )


def report(findings: list[Finding], *, as_json: bool) -> str:
    """The findings for people, a line each, or as a JSON object by subject."""
    if as_json:
        by_subject = {finding.subject: {"state": finding.state, "text": finding.text} for finding in findings}
        return msgspec.json.format(msgspec.json.encode(by_subject)).decode()
    width = max(len(finding.subject) for finding in findings)
    return "\n".join(f"{finding.state:<8} {finding.subject:<{width}}  {finding.text}" for finding in findings)
