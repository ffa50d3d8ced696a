"""Settings: options as the host sends them, resolved and checked.

Options are nested camelCase (protocol.md, section 9). Every option is a field here, so the
documentation of options is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Ratio = Annotated[float, Meta(ge=0.0, le=1.0)]
Share = Annotated[float, Meta(gt=0.0, le=1.0)]


class _Group(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=False):
    """Base of the option groups."""


class Storage(_Group, frozen=True):
    """`root`: state folder, `cache`: cache folder; empty for the platform's own.

    `force_network`: write on NFS and the like, where locks cannot be trusted. `bookmark_bytes`: a session
    closed after its log has grown by as much leaves a bookmark, with which it opens sooner.
    """

    root: str = ""
    cache: str = ""
    force_network: bool = False
    segment_bytes: Positive = 64 * 1024 * 1024
    bookmark_bytes: Positive = 4 * 1024 * 1024


class ModelOptions(_Group, frozen=True):
    """`windows`: model id to context window in tokens, for models the catalog does not know."""

    windows: dict[str, Positive] = {}


class Budget(_Group, frozen=True):
    """Thresholds as fractions of window minus reserve. `reserve`: output tokens, 0 for the rule."""

    handoff_ratio: Ratio = 0.7
    compaction_ratio: Share = 0.8
    reserve: Count = 0


class ElisionOptions(_Group, frozen=True):
    """Elision (behaviour.md, section 4). `start_at` 0 elides whatever the age and size rules name."""

    enabled: bool = True
    start_at: Ratio = 0.5
    target: Ratio = 0.4
    stale_turns: Positive = 5
    oversized_bytes: Positive = 8192
    keep_turns: Positive = 10
    min_messages: Positive = 30
    cache_expired_ms: Positive = 60_000
    cache_keep_turns: Positive = 3
    cache_min_messages: Positive = 15
    recent_files: Count = 5


class ClearingOptions(_Group, frozen=True):
    """The provider's own clearing of tool results (Anthropic only; behaviour.md, section 4). Off by default.

    `keep`: newest tool uses it leaves alone. `trigger` and `clear_at_least`: input tokens, 0 leaves
    them to the provider. `exclude_tools`: names of tools it must not clear.
    """

    enabled: bool = False
    keep: Count = 10
    trigger: Count = 0
    clear_at_least: Count = 0
    exclude_tools: tuple[str, ...] = ()


class CompactionOptions(_Group, frozen=True):
    """`auto` false never compacts on its own. `keep_messages`: newest messages always kept whole.

    `pin_tokens`: what pins may cost together, at most; also at most a tenth of the input budget.
    `hook_timeout_ms`: how long a host may take to allow or block one.
    """

    auto: bool = True
    keep_messages: Positive = 6
    pin_tokens: Positive = 4096
    hook_timeout_ms: Positive = 10_000


class SummarizerOptions(_Group, frozen=True):
    """Who writes summaries and how long they may take.

    `use`: `auto` asks the host where it can, else a configured provider, else none. `window`: the
    summariser's context window in tokens, 0 for the session's. `provider` and `model` name a model for
    `ctxd[llm]` (`anthropic`, `google`, `openai`, or `openai` with a `base_url`); its key comes from the
    environment variable `api_key_env` (empty for the provider's usual one), or is the host's own to give as
    `api_key`; it is never stored.
    `cooldown_ms`: how long three failures in a row keep a session from asking.
    """

    use: Literal["auto", "host", "provider", "none"] = "auto"
    timeout_ms: Positive = 60_000
    retry_delay_ms: Count = 500
    cooldown_ms: Count = 300_000
    window: Count = 0
    max_output_tokens: Positive = 8_000
    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    api_key: str = ""

    def __repr__(self) -> str:
        return f"SummarizerOptions(use={self.use!r}, provider={self.provider!r}, model={self.model!r})"


class HandoffOptions(_Group, frozen=True):
    """The hidden message of the band between the thresholds (behaviour.md, section 6)."""

    enabled: bool = True


class RecallOptions(_Group, frozen=True):
    """How much of tool results is shown when they arrive, and how they are read again (E §12).

    `spill_bytes`: a stored form longer than this is shown as its first `head_bytes`, its last `tail_bytes`
    and a handle. `turn_bytes`: what all results of one assistant turn show together, at most; where they
    are more, each is cut to its part of that. Both are scaled down in small windows: a turn shows at most
    `turn_share` of the window (a token taken for 4 bytes), one result half of that. `page_bytes`: size of
    one recall page.
    """

    spill_bytes: Positive = 102_400
    turn_bytes: Positive = 204_800
    turn_share: Share = 0.25
    head_bytes: Positive = 4096
    tail_bytes: Positive = 2048
    page_bytes: Positive = 49_152


class CacheOptions(_Group, frozen=True):
    """Price of writing and reading a cached prefix, relative to plain input (O §32)."""

    write_premium: float = 1.25
    read_factor: float = 0.1
    expected_calls: Positive = 10


class GuardOptions(_Group, frozen=True):
    """`secrets` false stores what tools say as it is, secrets included; every session says so.

    `sanitize`: show what tools say with data URIs and long hexadecimal shortened and with what reads like
    orders to a model marked as untrusted; recall gives it as it came. `timeout_ms`: how long one message's
    outputs may be scanned before they are kept aside unscanned.
    """

    secrets: bool = True
    sanitize: bool = True
    timeout_ms: Positive = 5_000


class WorkspaceOptions(_Group, frozen=True):
    """Files shown again after a compaction: the `restore_files` the session touched last, 0 for none.

    Of each at most its first `restore_lines` lines and `restore_bytes` bytes. `snapshots`: keep the files as
    they are, by git in the state folder, when the user speaks and when a turn ends, for `session/rewind`.
    `read_bytes`: what one `workspace/readFile` may answer; more is a hint. `read_tools`, `write_tools`: names
    of the host's tools that read and that write a file, beside the known ones; `path_arguments`: what they
    call the path. `watch` false tells nobody what becomes of touched files.
    """

    restore_files: Count = 5
    restore_lines: Positive = 200
    restore_bytes: Positive = 16_384
    snapshots: bool = False
    read_bytes: Positive = 50_000
    read_tools: tuple[str, ...] = ()
    write_tools: tuple[str, ...] = ()
    path_arguments: tuple[str, ...] = ()
    watch: bool = True


class MemoryOptions(_Group, frozen=True):
    """Project memory (behaviour.md, section 9). `enabled` false shows, finds and writes nothing.

    `location`: the state folder, or `.ctxd/memory` in the workspace. `consolidate`: what the user asked to
    remember is written down after a compaction. `episodes`: each compaction is kept to be found later.
    The index is shown within `index_lines`, `index_bytes` and `index_tokens`; a topic is at most
    `topic_lines` and `topic_bytes`, and `topic_tokens` is where its headroom ends. `vectors`: search by
    meaning too, with `ctxd-server[vectors]`.
    """

    enabled: bool = True
    location: Literal["state", "workspace"] = "state"
    consolidate: bool = True
    episodes: bool = True
    index_lines: Positive = 200
    index_bytes: Positive = 25_600
    index_tokens: Positive = 6_000
    topic_lines: Positive = 20_000
    topic_bytes: Positive = 1_048_576
    topic_tokens: Positive = 262_144
    vectors: bool = False


class Wire(_Group, frozen=True):
    """`max_message_bytes`: largest frame. `max_bytes`: provider request size, 0 for the dialect's own."""

    max_message_bytes: Positive = 64 * 1024 * 1024
    max_bytes: Count = 0


class Settings(_Group, frozen=True):
    """All settings, every one with its default."""

    storage: Storage = Storage()
    model: ModelOptions = ModelOptions()
    budget: Budget = Budget()
    elision: ElisionOptions = ElisionOptions()
    clearing: ClearingOptions = ClearingOptions()
    compaction: CompactionOptions = CompactionOptions()
    handoff: HandoffOptions = HandoffOptions()
    summarizer: SummarizerOptions = SummarizerOptions()
    recall: RecallOptions = RecallOptions()
    cache: CacheOptions = CacheOptions()
    guard: GuardOptions = GuardOptions()
    workspace: WorkspaceOptions = WorkspaceOptions()
    memory: MemoryOptions = MemoryOptions()
    wire: Wire = Wire()
