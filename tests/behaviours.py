"""What ctxd promises, one sentence each, with where the promise comes from.

Enforced both ways by test_behaviours.py: each is claimed by a test with `@behaviour("id")`, and no test
claims another. Sources are the design notes of the project (reliability.md, behaviour.md, protocol.md,
house.md, the public fault reports in reports.md) and the issues that asked for it.
"""

from __future__ import annotations

from typing import NamedTuple


class Behaviour(NamedTuple):
    """`sentence` says what holds; `source` where that was decided."""

    sentence: str
    source: str


BEHAVIOURS: dict[str, Behaviour] = {
    "D1.acknowledged": Behaviour("What was acknowledged is there after opening again.", "reliability.md D1"),
    "D1.idempotent": Behaviour("A record whose id is in the log is not written twice.", "reliability.md D1"),
    "D1.group-commit": Behaviour(
        "Appends that overlap keep their order and are each answered with their own records.",
        "reliability.md D1",
    ),
    "D1.killed": Behaviour(
        "A process killed at any moment loses nothing it acknowledged.", "reliability.md D1"
    ),
    "D1.power-cut": Behaviour("No power cut loses what was acknowledged.", "reliability.md D1"),
    "D1.one-sync": Behaviour("Many appends at once take far fewer syncs.", "reliability.md D1"),
    "D2.frame": Behaviour(
        "A record is one line of valid JSON whose last member is its checksum.", "reliability.md D2"
    ),
    "D2.any-json": Behaviour(
        "Any JSON comes back byte for byte, lone surrogates and odd line breaks included.",
        "reliability.md D2",
    ),
    "D2.seed": Behaviour("A line of another session does not verify.", "reliability.md D2"),
    "D2.bit-flip": Behaviour("A flipped bit anywhere in a line is noticed.", "reliability.md D2"),
    "D2.limit": Behaviour("A line above 16 MiB is refused with its size.", "reliability.md D2"),
    "snapshots.exact": Behaviour("Files come back from a snapshot byte for byte.", "issue 4, build"),
    "snapshots.apart": Behaviour(
        "A snapshot touches nothing of the workspace and runs nothing it configures.", "issue 4, build"
    ),
    "snapshots.refused": Behaviour(
        "Files are restored all or not at all, and never through a link.", "issue 4, build"
    ),
    "rewind.files": Behaviour("A rewind brings the files back to what they were.", "issue 4, build"),
    "rewind.files-refused": Behaviour(
        "A rewind that would lose more than the session's own edits is refused and changes nothing.",
        "issue 4, build",
    ),
    "bookmark.sooner": Behaviour(
        "A session closed in order opens without its log being scanned again.", "issue 2, shows 4"
    ),
    "bookmark.never-truth": Behaviour(
        "A bookmark counts only while it and all it covers are byte for byte what they were.",
        "reliability.md D5",
    ),
    "bookmark.same": Behaviour(
        "A session is the same whether it was opened at a bookmark or from its log.",
        "behaviour.md §1",
    ),
    "D3.new-segment": Behaviour("A full segment is followed by a new one.", "reliability.md D3"),
    "D3.unfinished": Behaviour(
        "A segment whose opening was never finished supersedes nothing.", "reliability.md D3"
    ),
    "D4.torn-tail": Behaviour(
        "A log cut at any byte of its last record keeps everything before it.", "reliability.md D4"
    ),
    "D4.reported": Behaviour(
        "A torn tail is reported with segment, offset, length and digest.", "reliability.md D4"
    ),
    "D4.prefix": Behaviour(
        "Records behind an unacknowledged gap are dropped from view.", "reliability.md D4"
    ),
    "D5.gap": Behaviour(
        "A lost acknowledged record makes the session read-only, with an explicit gap.", "reliability.md D5"
    ),
    "D5.any-byte": Behaviour(
        "A flipped byte anywhere in a log never changes in silence what is shown.", "reliability.md D5"
    ),
    "D5.missing-segment": Behaviour("A missing segment is a gap.", "reliability.md D5"),
    "D5.duplicate": Behaviour("A doubled line is told.", "reliability.md D5"),
    "D5.quarantine": Behaviour("Broken bytes are kept once, under their digest.", "reliability.md D5"),
    "D8.one-writer": Behaviour("A second process is told who writes, and may read.", "reliability.md D8"),
    "D8.stopped": Behaviour(
        "A stopped holder keeps the lease; a killed one loses it at once.", "reliability.md D8"
    ),
    "D8.epoch": Behaviour("What an older epoch wrote behind a newer one is damage.", "reliability.md D8"),
    "D8.tail": Behaviour(
        "A reader follows what the holder acknowledges, and nothing else.", "reliability.md D8"
    ),
    "D8.replaced-lock": Behaviour(
        "A holder whose lock file was replaced stops writing.", "reliability.md D8"
    ),
    "D8.network": Behaviour("Network file systems are told from local ones.", "reliability.md D8"),
    "D9.full-disk": Behaviour(
        "A full disk is said, and the session resumes by itself when there is room.", "reliability.md D9"
    ),
    "D9.full-at-open": Behaviour(
        "A disk that is full at opening gives a session that says so.", "reliability.md D9"
    ),
    "D9.file-limit": Behaviour("A limit on file size moves on to new segments.", "reliability.md D9"),
    "D10.poisoned": Behaviour("A descriptor that failed once is never used again.", "reliability.md D10"),
    "D10.any-call": Behaviour(
        "Whichever system call fails, nothing acknowledged is lost.", "reliability.md D10"
    ),
    "D10.kernel": Behaviour("A sync or write that the kernel fails is survived.", "reliability.md D10"),
    "D11.links": Behaviour("A lock file that is a link is refused.", "reliability.md D11"),
    "D11.modes": Behaviour("Folders and files are for their owner alone.", "reliability.md D11"),
    "D11.strangers": Behaviour("A state folder that others can write to is refused.", "reliability.md D11"),
    "D11.state-links": Behaviour("State behind a link is refused.", "reliability.md D11"),
    "D13.future": Behaviour(
        "A format of the future is read if it allows, and never written to.", "reliability.md D13"
    ),
    "counting.engines-agree": Behaviour(
        "Both token engines give one number for any text.", "behaviour.md §2"
    ),
    "counting.offline": Behaviour("The first start needs no network.", "issue 2, build"),
    "counting.vocabulary": Behaviour(
        "A damaged vocabulary file is rewritten and never counted with.", "issue 2, build"
    ),
    "counting.special-tokens": Behaviour("Special tokens inside text are plain text.", "behaviour.md §2"),
    "counting.surrogates": Behaviour(
        "Lone surrogates are counted and never end counting.", "behaviour.md §2"
    ),
    "counting.long-runs": Behaviour(
        "A run of text without breaks is counted in bounded time.", "behaviour.md §2"
    ),
    "counting.once": Behaviour("A content is counted once for each encoding.", "behaviour.md §2"),
    "counting.families": Behaviour(
        "Models without a public tokenizer are o200k times a stated factor.", "behaviour.md §2"
    ),
    "counting.images": Behaviour("An image costs what its provider's formula says.", "behaviour.md §2"),
    "counting.cjk": Behaviour("Chinese is counted by its tokens.", "reports.md D48"),
    "counting.base64": Behaviour("A screenshot is never counted as its base64.", "reports.md D50"),
    "dialects.a1": Behaviour(
        "What stands between a call and its result is moved behind it.", "reports.md A1"
    ),
    "dialects.a2": Behaviour("An orphan result is found however often the list was cut.", "reports.md A2"),
    "dialects.a3": Behaviour("No cut parts a call from its results.", "reports.md A3"),
    "dialects.a4": Behaviour("A verdict says which rule is broken and in which message.", "reports.md A4"),
    "dialects.a5": Behaviour(
        "A batch that waits for results is cut at its start or not at all.", "reports.md A5"
    ),
    "dialects.a7": Behaviour("Parallel calls keep every result that came.", "reports.md A7"),
    "dialects.a8": Behaviour("A parallel batch goes whole or stays whole.", "reports.md A8"),
    "dialects.a9": Behaviour("Calls that wait for their results are no orphans.", "reports.md A9"),
    "dialects.a10": Behaviour("An old unanswered call gets a stub and stops nothing.", "reports.md A10"),
    "dialects.a11": Behaviour("What is pending is read from the list each time.", "reports.md A11"),
    "dialects.a12": Behaviour("The newest tool loop is handed back byte for byte.", "reports.md A12"),
    "dialects.a13": Behaviour("Signed thinking is never edited.", "reports.md A13"),
    "dialects.a16": Behaviour("Reasoning that must be passed back survives every edit.", "reports.md A16"),
    "dialects.a17": Behaviour("Unknown members survive every edit.", "reports.md A17"),
    "dialects.a18": Behaviour("No empty block is ever sent.", "reports.md A18"),
    "dialects.a20": Behaviour("Messages that look alike are not taken for one another.", "reports.md A20"),
    "usage.cached": Behaviour("Cached tokens are part of the prompt once.", "reports.md D43"),
    "usage.structured": Behaviour("Structured results count.", "reports.md D49"),
    "mending.lawful": Behaviour(
        "A mended list breaks no law, and mending it again changes nothing.", "behaviour.md §3"
    ),
    "mending.untouched": Behaviour("A lawful list is handed back as it came.", "behaviour.md §3"),
    "mending.cuts": Behaviour("Both sides of a cut point are as lawful as the whole.", "behaviour.md §3"),
    "translate.lawful": Behaviour(
        "A list of any dialect is lawful in any other, and typed by its SDK.", "issue 4, build"
    ),
    "translate.ids": Behaviour("Call ids map one to one where a provider restricts them.", "issue 4, build"),
    "translate.losses": Behaviour("What cannot cross is named, without its content.", "issue 4, build"),
    "native.any-bytes": Behaviour(
        "Whatever a message holds, it comes back as the bytes it came in, in every dialect.",
        "issue 4, shows 2",
    ),
    "recordings.typed": Behaviour(
        "Every request of a recorded session is lawful and typed by the SDK, in every dialect.",
        "issue 4, shows 1",
    ),
    "projection.lapsed": Behaviour(
        "Reasoning that its provider leaves out once the user speaks again is not counted from then on.",
        "behaviour.md §2",
    ),
    "admission.items": Behaviour("An item id of the Responses API stands in a view once.", "issue 4, build"),
    "recordings.every-dialect": Behaviour(
        "Every recording is managed in every dialect, and every request is sendable and typed by the SDK.",
        "issue 4, shows 1",
    ),
    "recordings.recall": Behaviour("Every output of a recorded session comes back.", "issue 4, shows 1"),
    "reports.every-dialect": Behaviour(
        "What reports A and D ask holds in every dialect where their shape exists.", "issue 4, shows 5"
    ),
    "switch.view": Behaviour(
        "After a switch views are in the new dialect, and stored messages in their own.", "issue 4, build"
    ),
    "switch.stands": Behaviour("A switch stands after a restart and in a fork.", "issue 4, build"),
    "switch.policy": Behaviour(
        "Elision, compaction, pins and undo work over messages of two dialects.", "issue 4, build"
    ),
    "switch.calls": Behaviour(
        "Calls from before a switch and after it never share an id where the provider wants them unique.",
        "issue 4, build",
    ),
    "switch.losses": Behaviour(
        "Every request says what of it did not cross from the dialect it came in.", "issue 4, build"
    ),
    "export.dialect": Behaviour("A native export is in the dialect asked for.", "issue 4, build"),
    "wire.native-bytes": Behaviour("A native message is the same bytes in and out.", "protocol.md §2"),
    "wire.null": Behaviour(
        "Null means absent in ctxd's own members, and stays inside native ones.", "protocol.md §10"
    ),
    "wire.deep": Behaviour("What is nested too deeply is answered.", "issue 2, build"),
    "wire.surrogates": Behaviour("Lone surrogates survive the wire.", "issue 2, build"),
    "wire.oversize": Behaviour(
        "A frame above the limit is drained and answered, and the daemon goes on.", "protocol.md §1"
    ),
    "wire.broken-header": Behaviour("A broken header is fatal.", "protocol.md §1"),
    "wire.lifecycle": Behaviour("Requests outside the lifecycle are refused.", "protocol.md §1"),
    "wire.stdout": Behaviour("Standard output carries nothing but frames.", "protocol.md §1"),
    "wire.cancel": Behaviour("A cancelled request is answered at once.", "protocol.md §1"),
    "wire.progress": Behaviour(
        "Progress begins and ends, and its token can be used again.", "protocol.md §1"
    ),
    "wire.shapes": Behaviour("Anything that is no message gets the code for it.", "jsonrpc.md §1"),
    "wire.exit-codes": Behaviour("Exit after shutdown is 0, and without it 1.", "protocol.md §1"),
    "wire.stdin-ends": Behaviour("The end of stdin ends the daemon.", "protocol.md §1"),
    "wire.parent": Behaviour("The daemon ends when the process it was told of does.", "protocol.md §1"),
    "wire.signals": Behaviour("A signal ends the daemon while stdin stays open.", "jsonrpc.md §1"),
    "wire.no-deadlock": Behaviour("A host may write as much as it likes before it reads.", "jsonrpc.md §1"),
    "wire.garbage": Behaviour("Garbage in good frames neither stops nor ends the daemon.", "protocol.md §1"),
    "wire.light-start": Behaviour(
        "Nothing heavy is loaded before initialize is answered.", "issue 2, shows 4"
    ),
    "errors.paths": Behaviour(
        "Invalid params are answered with paths and without values.", "protocol.md §10"
    ),
    "errors.internal": Behaviour("A defect is answered with an error id and nothing else.", "protocol.md §1"),
    "errors.log": Behaviour("No payload and no exception text reaches the log.", "protocol.md §1"),
    "errors.kinds": Behaviour("A method names only error kinds that exist.", "protocol.md §1"),
    "errors.facts": Behaviour("Every fact an error carries is documented.", "protocol.md §1"),
    "protocol.generated": Behaviour("The generated files are what the daemon's types say.", "house.md §6"),
    "protocol.transcripts": Behaviour(
        "The golden transcripts replay, from another language too.", "house.md §6"
    ),
    "protocol.examples": Behaviour("Examples fit their types and invalid ones do not.", "house.md §6"),
    "house.layers": Behaviour("A floor imports only what is below it.", "house.md §2"),
    "D7.corrupt": Behaviour(
        "Stored bytes that no longer match their digest are never handed out.", "reliability.md D7"
    ),
    "D7.once": Behaviour("The same bytes are stored once.", "reliability.md D7"),
    "D7.sweep": Behaviour("Old temporary files are swept and young ones left.", "reliability.md D7"),
    "store.index": Behaviour("A damaged index is begun anew.", "issue 2, build"),
    "store.broken-tail": Behaviour("An append after a broken tail is not swallowed.", "reports.md F66"),
    "store.two-processes": Behaviour("Two processes never write one session.", "reports.md F68"),
    "store.temporary-names": Behaviour("A temporary name is never shared.", "reports.md F69"),
    "store.memory": Behaviour("Opening a log takes memory for facts and not for bodies.", "reports.md F70"),
    "options.order": Behaviour("A later change outranks the host, and the host the file.", "protocol.md §9"),
    "options.bad-value": Behaviour(
        "A bad option is named by its path and changes nothing.", "protocol.md §9"
    ),
    "options.unknown": Behaviour("Unknown options are named and the others taken.", "protocol.md §9"),
    "admission.as-validated": Behaviour(
        "An append is refused exactly where validation says refuse.", "issue 2, shows 5"
    ),
    "admission.sendable": Behaviour("Whatever was taken makes a request that validates.", "issue 2, shows 5"),
    "units.atoms": Behaviour("A tool turn is one unit, however its results come.", "behaviour.md §3"),
    "replay.clean": Behaviour("Every served transcript replays clean at every window.", "issue 2, shows 2"),
    "replay.foreseen": Behaviour(
        "The long session stays under every window and its sizes are foreseen.", "issue 2, shows 1"
    ),
    "replay.bundled": Behaviour(
        "The bundled session shows everything the demo promises.", "issue 2, shows 1"
    ),
    "editors.lock": Behaviour("The extension's lock names no registry.", "issue 6, build"),
    "editors.commands": Behaviour(
        "Every command of the extension is declared and registered.", "issue 6, build"
    ),
    "editors.configs": Behaviour(
        "The configs for Neovim and Emacs start the daemon and show the newest session.", "issue 6, build"
    ),
    "replay.timeline": Behaviour(
        "The JSON of a replay holds every request with its size, and what was done before it.",
        "issue 6, build",
    ),
    "replay.crossed": Behaviour(
        "A recording replays clean in every other dialect, what stays behind counted.", "issue 4, shows 1"
    ),
    "importers.merged": Behaviour(
        "The lines of one response are one response with the last usage.", "issue 2, build"
    ),
    "importers.any-cut": Behaviour("A recording cut at any byte imports lawfully.", "issue 2, build"),
    "importers.every-file": Behaviour(
        "Every recorded session imports and replays clean in its own dialect.", "issue 4, shows 1"
    ),
    "importers.branches": Behaviour("Only the branch that stands is imported.", "issue 4, build"),
    "importers.bounded": Behaviour("A file of any size imports in bounded memory.", "reports.md F70"),
    "doctor.says": Behaviour(
        "The doctor names what is wrong with a machine, and what to do.", "reliability.md D11"
    ),
    "import.whole": Behaviour(
        "An imported session is there after a restart, whole, with its usage.", "issue 4, build"
    ),
    "client.native": Behaviour("The client sends native values untouched.", "issue 2, build"),
    "client.ends": Behaviour(
        "Leaving the client shuts the daemon down with exit code zero.", "issue 2, build"
    ),
    "fold.deterministic": Behaviour("Folding a prefix and then the rest is folding all.", "behaviour.md §1"),
    "fold.grows": Behaviour("Between changes of the view it only grows at its end.", "behaviour.md §1"),
    "fold.checkpoint": Behaviour(
        "A checkpoint replaces the view and carries its summary.", "behaviour.md §1"
    ),
    "fold.undo": Behaviour(
        "Undo brings back the view before the checkpoint byte for byte.", "behaviour.md §10"
    ),
    "fold.pins": Behaviour("A pinned message stays through a compaction word for word.", "behaviour.md §10"),
    "handoff.once": Behaviour(
        "A handoff is shown once an epoch, and a second or malformed one suppresses it.", "behaviour.md §6"
    ),
    "rendering.kept-up": Behaviour(
        "A view that was kept up is the view rendered at once.", "behaviour.md §1"
    ),
    "projection.floor": Behaviour(
        "The provider's floor is the larger of its total and its parts.", "behaviour.md §2"
    ),
    "projection.not-twice": Behaviour("The provider's answer is not counted again.", "behaviour.md §2"),
    "projection.elision": Behaviour(
        "An elision keeps the anchor and subtracts its saving.", "behaviour.md §2"
    ),
    "projection.checkpoint": Behaviour("A checkpoint drops the anchor.", "reports.md B30"),
    "projection.no-usage": Behaviour("Without any usage everything is estimated.", "reports.md B31"),
    "projection.unreachable": Behaviour(
        "A floor at the threshold cannot be compacted away.", "reports.md B21"
    ),
    "projection.margin": Behaviour(
        "A local estimate decides with a fifth more than it says.", "behaviour.md §2"
    ),
    "projection.restart": Behaviour("A session folded anew predicts the same.", "behaviour.md §1"),
    "projection.interval": Behaviour(
        "The interval is learned from the session's own errors.", "behaviour.md §2"
    ),
    "budget.reserve": Behaviour(
        "The reserve is a tenth within bounds and at most half the window.", "behaviour.md §2"
    ),
    "budget.small-windows": Behaviour("An 8k window has thresholds.", "behaviour.md §2"),
    "budget.unknown": Behaviour(
        "The host is believed before the catalog, and nothing is guessed.", "reports.md D52"
    ),
    "fingerprint.stable": Behaviour(
        "The same events give the same fingerprint after a restart.", "behaviour.md §2"
    ),
    "elision.stale": Behaviour("A result older than five user turns is stale.", "behaviour.md §4"),
    "elision.oversized": Behaviour(
        "A result above 8192 bytes is oversized, whatever the total.", "reports.md C36"
    ),
    "elision.superseded": Behaviour(
        "A newer read of the same range supersedes the older.", "behaviour.md §4"
    ),
    "elision.snipped": Behaviour(
        "Turns outside the newest ten are snipped once there are thirty messages.", "behaviour.md §4"
    ),
    "elision.cold-cache": Behaviour("A cold cache lets go of all but the newest three.", "behaviour.md §4"),
    "elision.newest": Behaviour("The newest tool turn is never elided.", "behaviour.md §4"),
    "elision.recent-files": Behaviour(
        "The newest read of each of the five most recently touched files stays.", "behaviour.md §4"
    ),
    "elision.order": Behaviour("Reads go before writes, and errors last, oldest first.", "behaviour.md §4"),
    "elision.pressure": Behaviour("Below half the budget nothing is touched.", "behaviour.md §4"),
    "elision.worth-it": Behaviour(
        "A small saving in front of a long prefix is not worth it.", "behaviour.md §4"
    ),
    "elision.idempotent": Behaviour(
        "Calls, ids, order and prose stay, and a second pass changes nothing.", "behaviour.md §4"
    ),
    "elision.placeholder": Behaviour(
        "A placeholder says tool, target, outcome, size, reason and the exact way back.", "reports.md E62"
    ),
    "compaction.target": Behaviour("The target is the smallest of its bounds.", "behaviour.md §5"),
    "compaction.gain": Behaviour("A gain is five percent or more.", "reports.md B25"),
    "compaction.task": Behaviour("An active task of six thousand characters stays whole.", "behaviour.md §5"),
    "handoff.band": Behaviour(
        "The model is told of a compaction in the band below it, and at no other time.", "behaviour.md §6"
    ),
    "handoff.once-an-epoch": Behaviour("One handoff in an epoch, over restarts too.", "behaviour.md §6"),
    "handoff.hidden": Behaviour("People neither see nor find a handoff.", "behaviour.md §6"),
    "handoff.suppressed": Behaviour(
        "Handoff records that contradict or are not understood suppress their epoch.", "blade.md §4"
    ),
    "handoff.race": Behaviour("Of requests at once one gives the handoff.", "blade.md §4"),
    "handoff.after-elision": Behaviour("The band is looked at after elision.", "blade.md §4"),
    "undo.view": Behaviour(
        "Undo brings back the view of before, and what came since behind it.", "behaviour.md §10"
    ),
    "undo.pins": Behaviour("Undo leaves pins as they are now.", "behaviour.md §10"),
    "partial.newer": Behaviour("A partial compaction leaves all that is newer as it is.", "behaviour.md §10"),
    "partial.units": Behaviour(
        "A partial compaction covers no call that waits for its result.", "behaviour.md §10"
    ),
    "partial.request": Behaviour(
        "A request whose words a partial compaction covers is repeated while it is worked on.",
        "behaviour.md §5",
    ),
    "pins.verbatim": Behaviour("What is pinned is in every view, word for word.", "behaviour.md §10"),
    "pins.whole": Behaviour("What is pinned is neither elided nor clipped.", "behaviour.md §10"),
    "pins.budget": Behaviour("Pins have a budget, counted with all they keep.", "behaviour.md §10"),
    "contains.outputs": Behaviour(
        "Whether the model still sees an output is said, and why not.", "protocol.md §3"
    ),
    "contains.files": Behaviour(
        "A file that was written since it was read is not in context.", "protocol.md §3"
    ),
    "recovery.smaller": Behaviour(
        "An overflow is answered with a strictly smaller request.", "behaviour.md §5"
    ),
    "recovery.once": Behaviour("One recovery for each success.", "reports.md B22"),
    "recovery.fails-closed": Behaviour(
        "What is no overflow, or came after output, fails and changes nothing.", "behaviour.md §5"
    ),
    "recovery.restart": Behaviour("A restart neither repeats a recovery nor loses one.", "behaviour.md §5"),
    "overflow.recognised": Behaviour(
        "Overflows are recognised in the words of every provider served.", "behaviour.md §5"
    ),
    "overflow.rate-limits": Behaviour("A rate limit is never taken for an overflow.", "behaviour.md §5"),
    "search.values": Behaviour(
        "A value is found by the words around it, with the page it is on.", "issue 3, shows 4"
    ),
    "search.everything": Behaviour("All that was ever stored can be searched.", "behaviour.md §7"),
    "search.rebuilt": Behaviour(
        "An index that cannot be believed is filled again from the log.", "behaviour.md §7"
    ),
    "threshold.exact": Behaviour(
        "At the threshold a compaction comes, and one token below it none.", "behaviour.md §2"
    ),
    "threshold.elision-first": Behaviour("No summary is made where elision is enough.", "blade.md §11"),
    "threshold.downshift": Behaviour(
        "A smaller model is compacted for before its first request.", "reports.md C42"
    ),
    "threshold.unknown": Behaviour("An unknown window elides and never compacts.", "behaviour.md §2"),
    "threshold.small": Behaviour("Windows of a few thousand tokens work.", "behaviour.md §2"),
    "loops.floor": Behaviour("A floor at the threshold never makes a loop.", "reports.md B21"),
    "loops.brim": Behaviour("At the brim compactions are few and every request fits.", "reports.md B26"),
    "append.client-id": Behaviour(
        "A repeated client id appends nothing twice, over restarts too.", "protocol.md §2"
    ),
    "append.expected-revision": Behaviour(
        "An expected revision lets only one of two hosts in.", "protocol.md §2"
    ),
    "append.twice": Behaviour("A result given twice is dropped with a warning.", "protocol.md §10"),
    "append.unknown-members": Behaviour(
        "Unknown members survive byte for byte in every answer.", "protocol.md §2"
    ),
    "history.pages": Behaviour("Pages of history meet without gap or overlap.", "protocol.md §2"),
    "history.hidden": Behaviour("Hidden messages are for the model and not for people.", "protocol.md §2"),
    "crash.any-call": Behaviour(
        "A crash after any call changes nothing that was answered.", "issue 2, shows 3"
    ),
    "cancel.on-disk": Behaviour(
        "A cancelled append is there or not, on disk and in memory alike.", "protocol.md §1"
    ),
    "context.prefix": Behaviour(
        "Between two changes of the view a request only grows at its end.", "behaviour.md §1"
    ),
    "context.prepare-twice": Behaviour("Preparing twice is one request.", "protocol.md §3"),
    "errors.nothing-written": Behaviour(
        "An append that is refused changes no byte of a log.", "issue 2, shows 5"
    ),
    "recall.bytes": Behaviour("Every output of a session comes back byte for byte.", "behaviour.md §7"),
    "sessions.client-id": Behaviour(
        "A call repeated under its client id appends nothing twice.", "protocol.md §2"
    ),
    "crash.view": Behaviour(
        "Killed between any two calls, a session is byte for byte what it was.", "issue 2, shows 3"
    ),
    "crash.take-over": Behaviour(
        "A second daemon reads what the first writes, and takes over when it is dead.", "issue 2, shows 3"
    ),
    "recall.every-output": Behaviour(
        "Every output of a real session comes back byte for byte.", "behaviour.md §7"
    ),
    "facts.errors": Behaviour("An error is what the result says it is and not its words.", "behaviour.md §4"),
    "workspace.confined": Behaviour("No path reads a file outside its workspace.", "reliability.md §3"),
    "workspace.raced": Behaviour(
        "No file that changes while it is read leaks or is passed off as whole.", "reliability.md §3"
    ),
    "restore.inside-target": Behaviour(
        "Files are shown again inside the target, and counted.", "reports.md E64"
    ),
    "restore.no-starvation": Behaviour(
        "Files that may not be shown do not take the places of those that may.", "blade.md §8"
    ),
    "restore.no-injection": Behaviour(
        "A restored file can neither end its block nor begin another.", "behaviour.md §5"
    ),
    "restore.links": Behaviour("A link is refused, and the report says so.", "reports.md F73"),
    "sampling.three": Behaviour("Three samples in all, whatever kinds of trouble come.", "behaviour.md §5"),
    "sampling.shrinks": Behaviour(
        "An overflow makes the input strictly smaller: files, oldest units, caps.", "behaviour.md §5"
    ),
    "sampling.budgeted": Behaviour(
        "Prompt and answer fit the summariser's window before anything is sent.", "behaviour.md §5"
    ),
    "summary.advisory": Behaviour(
        "A model's summary adds no words of the user's and no files.", "reports.md E54"
    ),
    "summary.no-injection": Behaviour(
        "Nothing in the conversation passes for another message or for the prompt.", "reports.md E56"
    ),
    "summary.no-images": Behaviour("No image is ever text to a summariser.", "reports.md D50"),
    "summary.skeleton": Behaviour("A summary that says nothing is none.", "reports.md E57"),
    "summary.strategies": Behaviour(
        "`model` asks for a summary, `deterministic` never, and only `auto` may stop at elision.",
        "protocol.md §10",
    ),
    "summary.no-sampler": Behaviour(
        "With nobody to ask a compaction works without a model and says so.", "protocol.md §10"
    ),
    "summary.gate": Behaviour(
        "A summary that shrinks too little gives way to the deterministic plan.", "behaviour.md §5"
    ),
    "summary.inline": Behaviour(
        "A host that cannot be asked is told what to ask, and commits the text.", "protocol.md §3"
    ),
    "summary.dry-run": Behaviour("A dry run is applied as it was shown, or not at all.", "behaviour.md §5"),
    "breaker.opens": Behaviour("Three failures in a row stop a session from asking.", "behaviour.md §5"),
    "breaker.half-open": Behaviour("After a pause one attempt decides again.", "behaviour.md §5"),
    "breaker.uncounted": Behaviour("Aborts and blocked hooks are no failures.", "behaviour.md §5"),
    "breaker.keyed": Behaviour(
        "Failures belong to one session of one canonical workspace.", "behaviour.md §5"
    ),
    "hook.asked": Behaviour("A host with a hook is asked before every compaction.", "behaviour.md §5"),
    "hook.block": Behaviour("A block changes nothing and has no fallback.", "behaviour.md §5"),
    "hook.instructions": Behaviour("Instructions of the hook reach the summariser.", "protocol.md §8"),
    "hook.failing": Behaviour("A hook that fails stops nothing and is told.", "blade.md §6"),
    "compaction.single-flight": Behaviour("A session has one compaction at a time.", "reports.md B28"),
    "compaction.meanwhile": Behaviour(
        "Messages that arrive while a summary is made stay behind it in order.", "reports.md E59"
    ),
    "compaction.view-changed": Behaviour(
        "A plan for a view that is no more is not applied.", "behaviour.md §5"
    ),
    "compaction.events": Behaviour("Begin and end of a compaction come in pairs.", "reports.md B29"),
    "compaction.cancelled": Behaviour(
        "Cancelled at any await a session has its old view or its new one.", "behaviour.md §3"
    ),
    "summary.over-the-wire": Behaviour("A host is asked over the wire, without tools.", "protocol.md §8"),
    "summary.bad-answers": Behaviour(
        "A bad answer ends in the deterministic plan and is named.", "reports.md E57"
    ),
    "summary.host-errors": Behaviour(
        "An error of the host is tried again only where that may help.", "blade.md §6"
    ),
    "checkpoint.failed": Behaviour(
        "A checkpoint that cannot be written leaves the old view.", "behaviour.md §5"
    ),
    "checkpoint.killed": Behaviour(
        "Killed before its checkpoint a session is what it was.", "reliability.md D6"
    ),
    "provider.asks": Behaviour("A provider is asked with one request per sample.", "behaviour.md §5"),
    "provider.plain": Behaviour(
        "A summary is asked for without tools, streams or cache marks.", "behaviour.md §5"
    ),
    "provider.once": Behaviour("Retries are ctxd's own, and the library makes none.", "behaviour.md §5"),
    "provider.errors": Behaviour("What providers say of a failure is understood.", "behaviour.md §5"),
    "provider.key": Behaviour(
        "A key comes from the environment and is stored and logged nowhere.", "issue 3, build"
    ),
    "compaction.five-times": Behaviour(
        "Five compactions of a real session break nothing and lose nothing.", "issue 3, shows 1"
    ),
    "summary.small-model": Behaviour(
        "Whatever a model writes, nothing is lost and nothing breaks.", "issue 3, shows 1"
    ),
    "summary.unshown": Behaviour(
        "Of what a model could not be shown the facts are extracted.", "behaviour.md §5"
    ),
    "summary.host-gone": Behaviour(
        "A host that leaves while it is asked leaves the session as it was.", "behaviour.md §5"
    ),
    "words.survive": Behaviour(
        "What people asked to hold stands word for word after any number of compactions.", "issue 3, shows 2"
    ),
    "words.newest-wins": Behaviour(
        "A newer statement on the same subject replaces an older one, however it is worded.",
        "behaviour.md §5",
    ),
    "words.near-duplicates": Behaviour(
        "Near-duplicates about different subjects both stay.", "behaviour.md §5"
    ),
    "words.people-only": Behaviour(
        "No quote and no exact record comes from a tool, the model or its thinking.", "reports.md E54"
    ),
    "records.once": Behaviour(
        "An exact record stands verbatim once under its heading after every compaction.", "blade.md §6"
    ),
    "plans.carried": Behaviour(
        "The agent's plan outlives any number of compactions in every path.", "reports.md E55"
    ),
    "decisions.stale": Behaviour(
        "A decision that no longer holds is marked stale, and stale ones are bounded.", "behaviour.md §5"
    ),
    # Steering, contract, prompt layers, fidelity
    "steering.order": Behaviour(
        "What is said into a turn reaches the model once, in the order it was pushed.", "octos.md §28"
    ),
    "steering.no-turn": Behaviour("What is said into a turn begins no turn.", "octos.md §28"),
    "steering.leftovers": Behaviour("What a turn left waiting is for the next turn.", "octos.md §28"),
    "steering.stale-controls": Behaviour(
        "A pause or a cancel of a turn that ended stops nothing.", "octos.md §28"
    ),
    "steering.next-request": Behaviour(
        "What is said into a turn is a message of the next prepared request.", "protocol.md §7"
    ),
    "steering.reminders": Behaviour(
        "A reminder goes marked, and is never taken for the user's words.", "protocol.md §7"
    ),
    "steering.controls": Behaviour(
        "A pause or a cancel reaches the host as a note and never the model.", "protocol.md §7"
    ),
    "steering.one-more-round": Behaviour(
        "After a final answer the report says that something waits.", "octos.md §28"
    ),
    "steering.nothing-waits": Behaviour(
        "Without steering a request is byte for byte what it was.", "octos.md §28"
    ),
    "steering.dedup": Behaviour("The same under the same id is taken once, for ever.", "octos.md §28"),
    "steering.bounded": Behaviour(
        "A bounded number may wait, and a full queue stops no cancel.", "octos.md §28"
    ),
    "steering.fails-whole": Behaviour("A prepare that cannot be stored takes nothing in.", "behaviour.md §3"),
    "steering.cancelled-prepare": Behaviour(
        "A prepare cancelled at any moment loses nothing of what was said and repeats nothing.",
        "behaviour.md §3",
    ),
    "steering.told-again": Behaviour(
        "A pause or a cancel whose telling a crash may have cut off is told again within its turn.",
        "octos.md §28",
    ),
    "steering.task": Behaviour(
        "The request being worked on is carried with what was said into its turn.", "behaviour.md §5"
    ),
    "steering.one-batch": Behaviour(
        "What a request takes in is written in one batch with the rest of its plan.", "behaviour.md §3"
    ),
    "steering.killed": Behaviour(
        "Killed at any moment, what was said into a turn is there once.", "octos.md §28"
    ),
    "contract.preserved": Behaviour(
        "A compaction preserves all that a contract names, or does not happen.", "behaviour.md §5"
    ),
    "contract.ready": Behaviour(
        "Ready is a pass of every required validator, newest outcome, and a file of every artifact.",
        "octos.md §30",
    ),
    "contract.optional": Behaviour("What is optional only warns.", "octos.md §30"),
    "contract.bound": Behaviour(
        "A pass does not outlive a change of the files it was about.", "octos.md §30"
    ),
    "contract.inside": Behaviour(
        "An artifact is a regular file inside the workspace, reached through no link.", "octos.md §30"
    ),
    "contract.torn": Behaviour(
        "A torn record loses no outcome that was acknowledged before it.", "octos.md §30"
    ),
    "contract.evidence": Behaviour("Elision leaves whole what is evidence of a contract.", "behaviour.md §4"),
    "prompt.order": Behaviour(
        "A prompt is its base, instructions, agents and extras, in that order.", "octos.md §27"
    ),
    "prompt.discovery": Behaviour(
        "The first usable file of each kind is taken; what is no use is named with its reason.",
        "octos.md §27",
    ),
    "prompt.explicit": Behaviour("A text that is given is not looked for.", "octos.md §27"),
    "prompt.volatile": Behaviour(
        "Nothing volatile is in the part of a prompt that is cached.", "octos.md §27"
    ),
    "prompt.confined": Behaviour(
        "No instruction file is read through a link or outside its workspace.", "reports.md F73"
    ),
    "fidelity.levels": Behaviour(
        "A message is shown whole, as beginning and end, as one line, or in a summary.", "octos.md §22"
    ),
    "fidelity.seen": Behaviour(
        "Items and histories say alike how much of a message is shown.", "protocol.md §3"
    ),
    "fidelity.handles": Behaviour(
        "What is not shown whole names what recall gives back whole.", "octos.md §22"
    ),
    "fidelity.reported": Behaviour(
        "A report says of every unit what became of it and what is shown of it.", "behaviour.md §5"
    ),
    # Project memory, episodes and memory search.
    "D14.previous-version": Behaviour(
        "A version of a topic that loses something is in the ledger first.", "reliability.md D14"
    ),
    "D14.one-writer": Behaviour("Daemons change a topic one after another.", "reliability.md D14"),
    "memory.editor": Behaviour(
        "What a person's editor writes meanwhile is kept, and what it overwrote unseen comes back.",
        "issue 5, shows 2",
    ),
    "memory.safe-files": Behaviour(
        "A topic that is a link, has another name or is no file is never read nor written.",
        "reliability.md D14",
    ),
    "memory.provenance": Behaviour(
        "Of every entry it is known who said it, where and when.", "issue 5, build"
    ),
    "memory.episodes": Behaviour("Every compaction leaves its typed state as an episode.", "issue 5, build"),
    "memory.index-rebuildable": Behaviour(
        "The memory's search index can be deleted at any time.", "issue 5, build"
    ),
    "memory.consolidation-rules": Behaviour(
        "A rule for what to remember looks at the beginning of a sentence of the user's alone.",
        "blade.md §14",
    ),
    "memory.consolidation": Behaviour(
        "After a checkpoint the user's words to remember are in the workspace's memory, each once.",
        "behaviour.md §5",
    ),
    "memory.never-fails": Behaviour("No memory can make a compaction fail.", "behaviour.md §5"),
    "memory.off": Behaviour("Memory can be switched off, whole or in parts.", "issue 5, build"),
    "memory.secrets": Behaviour("Memory keeps no secrets.", "behaviour.md §8"),
    "memory.supersession": Behaviour(
        "A newer entry that says otherwise takes the place of the old one, which stays marked.",
        "reports.md F76",
    ),
    "memory.compare-and-swap": Behaviour(
        "A write against a version that is not there any more changes nothing.", "reliability.md D14"
    ),
    "memory.headroom": Behaviour(
        "A write says how much may follow before something is left out.", "reports.md F76"
    ),
    "memory.in-workspace": Behaviour(
        "Memory in the repository is reached through the workspace's boundary alone.", "issue 5, build"
    ),
    "memory.search-chinese": Behaviour("Chinese queries find Chinese entries.", "issue 5, shows 2"),
    "memory.search-order": Behaviour("Of equal answers the newest comes first.", "issue 5, build"),
    "memory.vectors": Behaviour(
        "With vectors other words for the same are found, offline; without them words are.", "issue 5, build"
    ),
    "memory.untrusted": Behaviour("What memory says is shown as quoted background.", "issue 5, build"),
    "memory.topic-names": Behaviour(
        "A topic's name is a file's name on every system, or it is refused.", "reliability.md §3"
    ),
    "memory.managed-block": Behaviour(
        "The index has one block of ctxd's, and what a person wrote around it stays.", "issue 5, build"
    ),
    "memory.index-bounded": Behaviour(
        "The index keeps its bounds, keeps the newest, and names exactly what it leaves out.",
        "reports.md F76",
    ),
    "memory.search-floor": Behaviour(
        "A query about nothing known finds nothing, in English and Chinese.", "issue 5, shows 2"
    ),
    "memory.writers": Behaviour(
        "Daemons and a person's editor that write at once lose no entry and tear no file.", "issue 5, shows 2"
    ),
    # The guard: secrets, text from outside.
    "guard.kinds": Behaviour(
        "Credentials of some forty kinds are found whole in what tools print.", "issue 5, shows 7"
    ),
    "guard.innocent": Behaviour(
        "Digests, UUIDs, lock-file hashes, code and masks are taken for no secrets.", "issue 5, shows 7"
    ),
    "guard.border": Behaviour(
        "A secret across the border of two scanned pieces is found whole.", "reliability.md §4"
    ),
    "guard.repeated": Behaviour(
        "A secret is cut out where it stands again without its name.", "behaviour.md §8"
    ),
    "guard.idempotent": Behaviour("Redacting twice changes nothing more.", "behaviour.md §8"),
    "guard.linear": Behaviour("No text makes scanning take more than its share.", "reliability.md §4"),
    "guard.nowhere": Behaviour(
        "After a session, a compaction and kill -9 no secret of a tool output is in the state folder, an "
        "export, an answer or on stderr.",
        "issue 5, shows 7",
    ),
    "guard.untouched": Behaviour(
        "Signatures, ids, encrypted reasoning, and the words of users and assistants are never redacted.",
        "issue 5, build",
    ),
    "guard.bytes": Behaviour(
        "A message in which nothing is found stays the bytes that came.", "protocol.md §2"
    ),
    "guard.said": Behaviour(
        "What was cut out is said with its rule: to who appended it and to who recalls it.",
        "protocol.md §2",
    ),
    "guard.unscanned": Behaviour(
        "What cannot be scanned is marked, kept beside the log, scanned again, its secrets gone.",
        "reliability.md §4",
    ),
    "guard.off": Behaviour("Switching redaction off is said wherever a session is.", "issue 5, build"),
    "guard.pending": Behaviour(
        "Pending messages show the secrets no more than appended ones, byte for byte.", "behaviour.md §1"
    ),
    "guard.orders": Behaviour(
        "Text that reads like orders is marked and wrapped, in whatever letters, and nothing of it is lost.",
        "behaviour.md §8",
    ),
    "guard.bulk": Behaviour(
        "Data URIs and very long hexadecimal are shortened where they are shown; digests are not.",
        "behaviour.md §8",
    ),
    "guard.view": Behaviour(
        "An output with bulk or orders in it is shown shortened and marked; recall gives it as it came.",
        "behaviour.md §8",
    ),
    "guard.spans": Behaviour(
        "Findings name their places in the text as it was given, and no two overlap.", "octos.md §26"
    ),
    # Files of the workspace.
    "read.hint": Behaviour("A read above the budget answers a range that fits exactly.", "octos.md §23"),
    "read.complete": Behaviour(
        "Following what a read names as next reads the whole file, no character cut.", "octos.md §23"
    ),
    "read.never-evicted": Behaviour("Content that left the view is never said to be in it.", "octos.md §23"),
    "recent.sources": Behaviour(
        "Tool calls, a message's meta and notifications touch files; the newest comes first.",
        "issue 5, build",
    ),
    "recent.durable": Behaviour("A restart forgets no touch.", "blade.md §8"),
    "recent.refused": Behaviour("A file that may not be shown is named with the reason.", "issue 5, build"),
    "restore.three-hundred-turns": Behaviour(
        "After each compaction just the newest five eligible files stand in the view, as they are now.",
        "issue 5, shows 1",
    ),
    "workspace.every-way": Behaviour(
        "No method that takes a path reads a file outside the workspace.", "issue 5, shows 6"
    ),
    "homes.moved": Behaviour("A folder that moved keeps its sessions.", "reports.md F72"),
    "homes.worktrees": Behaviour("Worktrees of a repository share their sessions.", "reports.md F72"),
    "homes.below": Behaviour("A session is resumed from below its folder.", "reports.md F72"),
    "homes.roots": Behaviour("A session is resumed from any root of a workspace.", "reports.md F72"),
    "roots.shown": Behaviour(
        "A file touched in another root of the workspace is read and shown like one of the own.",
        "reports.md F72",
    ),
    "roots.announced": Behaviour(
        "Only roots that are announced, of a session in one of them, are read.", "reports.md F72"
    ),
    "roots.confined": Behaviour(
        "Each root has a boundary of its own, and none leads to another.", "reliability.md §3"
    ),
    "paths.drives": Behaviour("A drive is one however it is spelled.", "reports.md F72"),
    "watcher.host": Behaviour(
        "A host is told what becomes of touched files, and of no others.", "protocol.md §8"
    ),
    "watcher.told": Behaviour("Every change of a followed file is told.", "issue 5, build"),
    "watcher.moves": Behaviour("A renamed file is said to have moved, and where to.", "issue 5, build"),
    "watcher.limit": Behaviour(
        "Without watches left touched files are polled, with a warning.", "issue 5, shows 4"
    ),
    "watcher.large": Behaviour(
        "A workspace of 50,000 files starts at once, and a burst is reconciled.", "issue 5, shows 4"
    ),
    "contains.restored": Behaviour(
        "A file that a compaction shows again is in context until it is written.", "protocol.md §3"
    ),
    # Recall, tools for the model, the budget of tool results.
    "tools.dialects": Behaviour("Tools are declared as each provider wants them.", "protocol.md §5"),
    "tools.mistakes": Behaviour(
        "What a model gets wrong is an answer it can act on, never an error of the protocol.",
        "protocol.md §5",
    ),
    "tools.bounded": Behaviour(
        "An answer of a tool is shown whole when it comes back as a result.", "octos.md §17"
    ),
    "recall.tool": Behaviour("A placeholder's words are the tool's exact next call.", "octos.md §17"),
    "recall.inside": Behaviour("One evicted output is searched by itself.", "behaviour.md §7"),
    "search.ahead": Behaviour("A very large output is indexed before anybody searches.", "issue 5, shows 3"),
    "recall.told-apart": Behaviour(
        "Unknown, removed, damaged and ambiguous handles are told apart.", "behaviour.md §7"
    ),
    "recall.redacted": Behaviour("Recall says how many secrets were cut out.", "reports.md F75"),
    "budget.window": Behaviour("Limits of tool results are scaled to the window.", "blade.md §12"),
    "budget.turn": Behaviour(
        "The results of a turn never show more than its limit together.", "blade.md §12"
    ),
    "budget.large": Behaviour(
        "A result of many megabytes is not read for every request that shows its ends.", "reports.md C35"
    ),
    "budget.favours": Behaviour("Errors and the newest result keep most.", "blade.md §12"),
    "budget.resume": Behaviour(
        "A resumed session shows of every result what it showed live.", "blade.md §12"
    ),
    "tools.all": Behaviour("Every tool is declared in every dialect.", "protocol.md §5"),
    "tools.memory": Behaviour(
        "Models read, write and search memory within what an answer may hold.", "protocol.md §5"
    ),
    "tools.files": Behaviour(
        "Models read files of the workspace by ranges that fit, without secrets.", "protocol.md §5"
    ),
}
