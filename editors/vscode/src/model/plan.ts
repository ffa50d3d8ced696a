/**
 * A planned compaction as two texts to compare: the view as it is, and what would become of it. Kept messages
 * read the same on both sides, so that a diff shows what is shortened and what leaves.
 */

import type {
  Audit,
  CompactionReport,
  HistoryMessage,
  RestoredFile,
  SessionSummary,
  UnitReport,
} from "../protocol/types.js";
import { roleOf, textOf } from "./native.js";
import { exact, percent, plural } from "./words.js";

export interface Comparison {
  before: string;
  after: string;
  title: string;
  /** For the question whether to commit. */
  verdict: string;
}

/** A message of the view, with its place in it. */
interface Line {
  at: number;
  role: string;
  text: string;
  line: HistoryMessage;
}

/** Lines of a message that both sides show at most. */
const SHOWN_LINES = 6;

const FATE: Record<UnitReport["fidelity"], string> = {
  full: "kept",
  truncate: "shortened",
  compact: "shortened",
  summary: "replaced by the summary",
  dropped: "left out",
};

export function compare(report: CompactionReport, view: readonly HistoryMessage[]): Comparison {
  const { before, after } = report;
  const fates = new Map(report.units.flatMap((unit) => unit.messageIds.map((id) => [id, unit] as const)));
  const freed = before.tokens - after.tokens;
  const lines = view.map((line, at): Line => ({ at, role: roleOf(line.message), text: textOf(line.message), line }));
  return {
    before: [
      `${exact(before.tokens)} tokens in ${plural(before.messages, "message")}`,
      ...lines.flatMap(whole),
    ].join("\n"),
    after: [
      `${exact(after.tokens)} tokens in ${plural(after.messages, "message")}`,
      "",
      ...auditLines(report.audit),
      ...summaryLines(report.ledger),
      ...fileLines(report.restoredFiles ?? []),
      ...lines.flatMap((line) => fated(line, fates.get(line.line.messageId))),
    ].join("\n"),
    title: `Compaction: ${exact(before.tokens)} → ${exact(after.tokens)} tokens`,
    verdict: verdictOf(report, freed),
  };
}

/** What to tell when there is nothing to commit. */
export function refusalOf(report: CompactionReport): string | undefined {
  switch (report.outcome) {
    case "planned":
    case "applied":
      return undefined;
    case "noop":
      return "There is nothing to compact: the view is as small as it gets by rule.";
    case "blocked":
      return "A host's hook refused this compaction.";
    case "cannotReach":
      return `It cannot be made small enough: ${exact(report.floor)} tokens cannot be compacted, ${exact(report.target)} were aimed at.`;
    case "inputRequired":
      return "The daemon asks for a summary in a way this extension did not ask for.";
    case "failed":
      return `The compaction failed: ${report.failureReason ?? "no reason given"}.`;
  }
}

function verdictOf(report: CompactionReport, freed: number): string {
  const counts = new Map<string, number>();
  for (const fate of Object.values(FATE)) counts.set(fate, 0);
  for (const unit of report.units) {
    const fate = FATE[unit.fidelity];
    counts.set(fate, (counts.get(fate) ?? 0) + unit.messageIds.length);
  }
  const found = [...counts].filter(([, count]) => count > 0);
  const parts = found.map(([fate, count]) => `${exact(count)} ${fate}`);
  const share = report.before.tokens ? ` (${percent(freed, report.before.tokens)})` : "";
  return `Frees ${exact(freed)} tokens${share}. Messages: ${parts.join(", ")}. Undo brings the view back.`;
}

function auditLines(audit: Audit): string[] {
  const { constraints, toolOutputs, exactRecords, filesMentioned, artifacts, invariants } = audit;
  const lines = [
    `The user's words: ${constraints.verbatim} of ${constraints.total} stand word for word${added(constraints.reinjected)}`,
    `Tool outputs: ${toolOutputs.evicted} leave, ${toolOutputs.recoverable} of them can be fetched back`,
    `Files mentioned: ${filesMentioned.before} before, ${filesMentioned.after} after, ${filesMentioned.recoverable} can be found again`,
  ];
  if (exactRecords.total)
    lines.push(`Exact records: ${exactRecords.verbatim} of ${exactRecords.total} stand word for word`);
  if (artifacts.total)
    lines.push(
      `Artifacts of the contract: ${artifacts.referenced} of ${artifacts.total} named${added(artifacts.reinjected)}`,
    );
  if (invariants.total)
    lines.push(
      `Invariants of the contract: ${invariants.held} of ${invariants.total} held${added(invariants.reinjected)}`,
    );
  return ["── Audit", ...lines, ""];
}

function added(count: number): string {
  return count ? `, ${count} put back` : "";
}

function summaryLines(summary: SessionSummary | undefined): string[] {
  if (!summary) return [];
  const lists: [string, readonly string[]][] = [
    ["The user's words", summary.constraints.map((quote) => quote.text)],
    ["Decisions", summary.decisions.filter((d) => !d.stale).map((d) => d.summary)],
    ["Changed files", summary.mutations.map((m) => `${m.path} (${m.role})`)],
    ["Evidence", summary.evidence],
    ["Done", summary.progressDone],
    ["In progress", summary.progressInProgress],
    ["Risks", summary.risks],
    ["Next", summary.nextSteps],
  ];
  const sections = lists
    .filter(([, lines]) => lines.length)
    .flatMap(([title, lines]) => [`${title}:`, ...lines.map(quoted), ""]);
  return ["── Summary that stands for what left", `Goal: ${summary.goal}`, "", ...sections];
}

function quoted(text: string): string {
  return `  - ${text.replaceAll("\n", "\n    ")}`;
}

function fileLines(files: readonly RestoredFile[]): string[] {
  if (!files.length) return [];
  const named = files.map(({ path, changed }) => `  - ${path}${changed ? ", changed since it was read" : ""}`);
  return ["── Files shown as they are on disk", ...named, ""];
}

function whole({ at, role, text }: Line): string[] {
  return ["", headline(at, role), ...cut(text)];
}

/** What leaves is one line, close to the next. */
function fated(line: Line, unit: UnitReport | undefined): string[] {
  if (!unit || unit.fidelity === "full") return whole(line);
  const handle = unit.handle ? `, handle ${unit.handle}` : "";
  return [`${headline(line.at, line.role)}: ${FATE[unit.fidelity]}${handle}`];
}

function headline(at: number, role: string): string {
  return `── ${at + 1} ${role}`;
}

function cut(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length <= SHOWN_LINES) return lines;
  return [...lines.slice(0, SHOWN_LINES), `… ${plural(lines.length - SHOWN_LINES, "more line")}`];
}
