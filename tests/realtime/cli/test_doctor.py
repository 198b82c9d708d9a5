"""What `warmline doctor` finds."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from warmline.engine import Machine
from warmline.realtime.cli import doctor
from warmline.realtime.cli.doctor import Finding, examine, missing_packages, report


def found(findings: list[Finding], subject: str) -> Finding:
    return next(finding for finding in findings if finding.subject == subject)


@pytest.fixture(autouse=True)
def torch_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled here."""
    monkeypatch.setenv("WARMLINE_KERNELS", "torch")


def test_this_machine_lacks_nothing_that_is_needed() -> None:
    """Where the tests run, the service runs."""
    findings = examine()
    assert [finding for finding in findings if finding.state == "missing"] == []
    assert "WARMLINE_KERNELS=torch" in found(findings, "backend").text
    assert found(findings, "processor").text.endswith(tuple("0123456789"))


def test_missing_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is named, with how to install it."""
    monkeypatch.setattr(doctor, "_installed", lambda package: package not in ("tokenizers", "gguf"))
    assert missing_packages() == ["gguf", "tokenizers"]
    packages = found(examine(), "packages")
    assert packages.state == "missing" and 'pip install ".[serve]"' in packages.text


def test_without_torch_it_still_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is what it is for."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert found(examine(), "torch").state == "missing"


def test_without_a_compiler_it_says_what_that_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """And how to get one."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    compiler = found(examine(), "compiler")
    assert compiler.state == "note" and "apt-get install g++" in compiler.text


def test_a_model_that_is_not_here_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first start fetches it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = found(examine(), "default model")
    assert model.state == "note" and "warmline model fetch" in model.text


def test_a_kernel_choice_that_does_not_exist_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the choices there are."""
    monkeypatch.setenv("WARMLINE_KERNELS", "magic")
    backend = found(examine(), "backend")
    assert backend.state == "missing" and "magic" in backend.text


def test_the_slow_kernels_are_a_note_whatever_their_reason_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A compiler's complaint may well hold the word native."""
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'error: bad value native for -march=' >&2; exit 1\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WARMLINE_KERNELS", "auto")
    findings = examine()
    assert found(findings, "compiler") == Finding("compiler", "ok", str(compiler))
    backend = found(findings, "backend")
    assert backend.state == "note" and "bad value native" in backend.text


def test_kernels_that_each_start_compiles_anew_are_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache folder that others can write to isn't used."""
    folder = tmp_path / "warmline" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("WARMLINE_KERNELS", "auto")
    backend = found(examine(), "backend")
    assert backend.state == "note" and "for this start only" in backend.text


@pytest.mark.parametrize(
    ("instructions", "slow"),
    [
        (["AVX2"], True),
        (["AVX2", "AVX-512"], True),
        (["AVX2", "AVX-512", "AVX-512 VNNI"], False),
        (["AVX2", "AVX-VNNI"], False),
        (["NEON", "NEON dot product"], False),
        ([], True),
    ],
)
def test_a_processor_without_products_of_bytes_is_a_note(
    monkeypatch: pytest.MonkeyPatch, instructions: list[str], slow: bool
) -> None:
    """It says what that costs."""
    machine = Machine("Linux", "a processor", 2, instructions, 8 << 30)
    monkeypatch.setattr("warmline.engine.this_machine", lambda: machine)
    finding = found(examine(), "instructions")
    assert finding.state == ("note" if slow else "ok")
    assert ("without AVX-512 VNNI everything takes several times as long" in finding.text) == slow


def test_the_report_is_for_people_or_for_programs() -> None:
    """A line each, or an object by subject."""
    findings = [Finding("torch", "ok", "2.13"), Finding("compiler", "note", "none")]
    assert report(findings, as_json=False) == "ok       torch     2.13\nnote     compiler  none"
    assert msgspec.json.decode(report(findings, as_json=True)) == {
        "torch": {"state": "ok", "text": "2.13"},
        "compiler": {"state": "note", "text": "none"},
    }
