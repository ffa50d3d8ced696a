/** What the status bar shows: of the daemon while it does not run, else of one session. */

import type { State } from "../client/supervisor.js";
import type { Projection } from "../protocol/types.js";
import type { Watched } from "./sessions.js";
import { exact, nickname, percent, short } from "./words.js";

export interface Gauge {
  text: string;
  /** Markdown. */
  tooltip: string;
  /** For screen readers. */
  spoken: string;
  severity: "none" | "warning" | "error";
}

export const INSTALL = "pip install ctxd-server";
export const UPGRADE = "pip install --upgrade ctxd-server";

export const PHASES: Record<Projection["phase"], { icon: string; word: string; meaning: string }> = {
  below_handoff: { icon: "$(circle-large-outline)", word: "below", meaning: "below the handoff band" },
  handoff_band: { icon: "$(color-mode)", word: "handoff", meaning: "in the handoff band: state is made explicit" },
  compaction_due: { icon: "$(circle-large-filled)", word: "due", meaning: "compaction is due" },
  unknown: { icon: "$(question)", word: "unknown", meaning: "the window is not known" },
};

const SOURCES: Record<Projection["source"], string> = {
  provider: "reported by the provider",
  provider_plus_estimate: "reported by the provider, plus an exact count of what came since",
  local_estimate: "counted here; the provider has not reported yet",
  unknown: "not known",
};

/** The gauge while no session is shown, by the daemon's state. */
export function gaugeOf(state: State, watched: Watched | undefined, summaries: string): Gauge {
  if (state.kind !== "running") return daemonGauge(state);
  if (!watched) {
    return plain("$(dashboard) ctxd", "No agent session in this workspace yet.", "none");
  }
  const lines = [`**Session ${nickname(watched.info.sessionId)}** · ${watched.info.model?.id ?? "no model named"}`];
  const warnings = warningsOf(watched);
  const found = watched.projection;
  if (!found) {
    lines.push(watched.trouble ?? "Reading…");
    const severity = watched.trouble ? "warning" : "none";
    return plain(watched.trouble ? "$(warning) unreadable" : "$(dashboard) …", lines.join("\n\n"), severity);
  }
  const phase = PHASES[found.phase];
  const of = found.window === null ? "" : `/${short(found.window)}`;
  const share = found.window === null ? "" : ` (${percent(found.tokens, found.window)})`;
  lines.push(
    `${exact(found.tokens)}${found.window === null ? "" : ` of ${exact(found.window)}`} tokens${share}, ${phase.meaning}`,
  );
  lines.push(`Between ${exact(found.low)} and ${exact(found.high)}; ${SOURCES[found.source]}`);
  if (found.handoffThreshold !== null && found.compactionThreshold !== null) {
    lines.push(`Handoff from ${exact(found.handoffThreshold)}, compaction from ${exact(found.compactionThreshold)}`);
  }
  if (!found.reachable) lines.push(`What cannot be compacted (${exact(found.floor)}) is itself above the threshold.`);
  lines.push(...warnings.map((warning) => `$(warning) ${warning}`), summaries);
  const mark = !watched.info.durable ? " $(warning)" : warnings.length ? " $(lock)" : "";
  return {
    text: `${phase.icon} ${short(found.tokens)}${of} ${phase.word}${mark}`,
    tooltip: lines.filter(Boolean).join("\n\n"),
    spoken:
      `Agent context: ${exact(found.tokens)}${found.window === null ? "" : ` of ${exact(found.window)}`} tokens, ${phase.meaning}. ${warnings.join(" ")}`.trim(),
    severity: warnings.length ? "warning" : "none",
  };
}

/** Why the session is not as it should be, in sentences. */
export function warningsOf(watched: Watched): string[] {
  const warnings: string[] = [];
  if (!watched.info.durable) warnings.push("The disk refuses new events: nothing is acknowledged until it takes them.");
  if (watched.health === "damaged") warnings.push("Some acknowledged records cannot be read.");
  const holder = watched.info.holder;
  if (holder) {
    const who = holder.client ?? "another process";
    warnings.push(`Read-only here: written by ${who} (process ${holder.pid} on ${holder.host}).`);
  }
  return warnings;
}

function daemonGauge(state: Exclude<State, { kind: "running" }>): Gauge {
  switch (state.kind) {
    case "stopped":
      return plain("$(circle-slash) ctxd", "The daemon is stopped.", "none");
    case "noFolder":
      return plain("$(dashboard) ctxd", "Open a folder to see its agent sessions.", "none");
    case "untrusted":
      return plain("$(shield) ctxd", "Not started: this workspace is not trusted.", "none");
    case "starting":
      return plain("$(sync~spin) ctxd", "The daemon is starting.", "none");
    case "missing":
      return plain(
        "$(error) ctxd not found",
        `ctxd is not installed, or not where it was looked for. Run:\n\n\`${INSTALL}\`\n\nLooked at: ${listed(state.tried)}`,
        "error",
      );
    case "tooOld":
      return plain(
        "$(error) ctxd too old",
        `${state.command} (version ${state.version}) does not speak this extension's protocol. Run:\n\n\`${UPGRADE}\``,
        "error",
      );
    case "tooNew":
      return plain(
        "$(error) ctxd too new",
        `${state.command} (version ${state.version}) speaks a newer protocol. Update the extension.`,
        "error",
      );
    case "misconfigured":
      return plain("$(error) ctxd settings", `The daemon refuses a setting: ${state.message}`, "error");
    case "waiting":
      return plain(
        "$(sync~spin) ctxd ended",
        `The daemon ended (${state.reason}). It is started again in ${state.pause / 1000} s, attempt ${state.attempt}.`,
        "warning",
      );
    case "crashLoop":
      return plain(
        "$(error) ctxd keeps ending",
        `The daemon ended ${state.ends} times in a row (${state.reason}) and is not started again by itself. What was acknowledged is on disk.`,
        "error",
      );
  }
}

function listed(tried: readonly string[]): string {
  const shown = tried.slice(0, 4).map((name) => `\`${name}\``);
  return shown.join(", ") + (tried.length > shown.length ? ` and ${tried.length - shown.length} more` : "");
}

function plain(text: string, tooltip: string, severity: Gauge["severity"]): Gauge {
  return { text, tooltip, spoken: tooltip.replace(/[`*]/g, "").replace(/\n+/g, " "), severity };
}
