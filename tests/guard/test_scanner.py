"""What the scanner finds, where, and what it leaves alone."""

from __future__ import annotations

import base64
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.guard.scanner import OVERLAP_BYTES, PIECE_BYTES, Overrun, Scanner, load
from ctxd.tokenizer.cache_file import cache_folder
from tests.support.behaviour import behaviour
from tests.support.credentials import Credential, credentials, innocents, text

ROUNDS = 5
PATIENT = 60.0


@pytest.fixture(scope="module")
def scanner() -> Scanner:
    folder = cache_folder()
    return load(folder / "guard" if folder else None)


def cut(data: bytes, scanner: Scanner) -> bytes:
    kept, position = b"", 0
    for start, end, rule in scanner.find(data, PATIENT):
        kept += data[position:start] + b"[REDACTED:" + rule.encode() + b"]"
        position = end
    return kept + data[position:]


@behaviour("guard.kinds")
@pytest.mark.parametrize("kind", [c.kind for c in credentials()])
def test_a_credential_is_found_whole_wherever_it_is_printed(scanner: Scanner, kind: str) -> None:
    for _ in range(ROUNDS):
        (found,) = (c for c in credentials() if c.kind == kind)
        for around in ("{}", "first line\n{}\nlast line\n", "2026-01-01 INFO {} done"):
            kept = cut(around.format(found.line).encode(), scanner)
            assert found.secret.encode() not in kept, kind
            assert not any(line in kept.decode() for line in found.secret.split("\n")), kind
            assert b"[REDACTED:" in kept


@behaviour("guard.innocent")
def test_digests_ids_locks_code_and_masks_are_left_alone(scanner: Scanner) -> None:
    for _ in range(ROUNDS):
        for line in innocents():
            data = f"before\n{line}\nafter\n".encode()
            assert scanner.find(data, PATIENT) == [], line


@behaviour("guard.border")
@pytest.mark.parametrize("shift", range(-60, 61, 12))
def test_a_secret_across_the_border_of_two_pieces_is_found_whole(scanner: Scanner, shift: int) -> None:
    secret = next(c.secret for c in credentials() if c.kind == "github ghp_")
    for border in (PIECE_BYTES, PIECE_BYTES - OVERLAP_BYTES):
        filler = "lorem ipsum " * (border // 12 + 1)
        data = (filler[: border + shift - len(secret)] + " " + secret + " " + filler).encode()
        (span,) = scanner.find(data, PATIENT)
        assert data[span.start : span.end] == secret.encode()


def test_a_long_key_across_a_border_is_found_whole(scanner: Scanner) -> None:
    key = next(c.secret for c in credentials() if c.kind == "private key")
    data = ("x\n" * ((PIECE_BYTES - 700) // 2) + key + "\n" + "y\n" * 40_000).encode()
    (span,) = scanner.find(data, PATIENT)
    assert data[span.start : span.end] == key.encode()


@behaviour("guard.repeated")
def test_a_secret_is_cut_out_where_it_stands_again_without_its_name(scanner: Scanner) -> None:
    secret = text(30)
    kept = cut(f"DEPLOY_TOKEN={secret}\nretrying with {secret}, still {secret}.\n".encode(), scanner)
    assert secret.encode() not in kept
    assert kept.count(b"[REDACTED:") == 3


def test_offsets_are_bytes_and_never_cut_a_character(scanner: Scanner) -> None:
    secret = next(c.secret for c in credentials() if c.kind == "stripe")
    for before, after in (("密钥是", "。完"), ("é\ud800", "\udfff😀")):
        data = f"{before} {secret} {after}".encode("utf-8", "surrogatepass")
        (span,) = scanner.find(data, PATIENT)
        assert data[span.start : span.end] == secret.encode()


def test_nul_bytes_and_a_byte_order_mark_do_not_move_offsets(scanner: Scanner) -> None:
    secret = next(c.secret for c in credentials() if c.kind == "gitlab")
    for before in (b"\0a\0b\0c" * 50, b"\xef\xbb\xbf", b"\0" * 1000, b"\x1b[31m"):
        data = before + b" token " + secret.encode() + b" \0\0"
        (span,) = scanner.find(data, PATIENT)
        assert data[span.start : span.end] == secret.encode()


@behaviour("guard.idempotent")
def test_what_was_redacted_once_stays_as_it_is(scanner: Scanner) -> None:
    for found in credentials():
        once = cut(f"a\n{found.line}\nb".encode(), scanner)
        assert cut(once, scanner) == once, found.kind


@behaviour("guard.linear")
@pytest.mark.parametrize(
    "unit",
    [
        b"password=",
        b"token = ",
        b"-----BEGIN RSA PRIVATE KEY-----\n",
        b"curl -u a:",
        b"eyJ",
        b"bearer ",
        b"a",
    ],
)
def test_hostile_repetition_takes_time_in_proportion(scanner: Scanner, unit: bytes) -> None:
    """Four times the text may take no more than ten times as long: a square would take sixteen."""
    small, large = unit * (400_000 // len(unit)), unit * (1_600_000 // len(unit))
    times = []
    for data in (small, large):
        start = time.perf_counter()
        scanner.find(data, PATIENT)
        times.append(time.perf_counter() - start)
    assert times[1] <= max(10 * times[0], 0.5)


def test_no_time_is_an_overrun_and_says_nothing_of_the_text(scanner: Scanner) -> None:
    with pytest.raises(Overrun) as failed:
        scanner.find(b"password=hunter2hunter3", 0.0)
    assert str(failed.value) == ""


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(credentials()), max_size=5),
    st.lists(st.sampled_from(innocents()), max_size=5),
    st.randoms(use_true_random=False),
)
def test_any_mixture_loses_its_secrets_and_nothing_else(
    scanner: Scanner, secret: list[Credential], innocent: list[str], chance: random.Random
) -> None:
    lines = [f"{c.kind}: begin\n{c.line}\nend" for c in secret] + innocent
    chance.shuffle(lines)
    kept = cut("\n\n".join(lines).encode(), scanner).decode()
    assert not any(c.secret in kept for c in secret)
    for line, count in Counter(innocent).items():
        assert kept.count(line) >= count


def test_a_cache_folder_that_cannot_be_is_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    secret = next(c.secret for c in credentials() if c.kind == "gitlab")
    assert load(blocked / "guard").find(f"see {secret} ".encode(), PATIENT)


def test_a_token_in_base64_is_found_with_all_that_encodes_it(scanner: Scanner) -> None:
    token = next(c.secret for c in credentials() if c.kind == "github ghp_")
    encoded = base64.b64encode(f"user:{token}".encode())
    kept = cut(b"data:\n  auth: " + encoded + b"\n", scanner)
    assert encoded[8:40] not in kept
    assert b"[REDACTED:" in kept
