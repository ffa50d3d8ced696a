/** A replay as a chart: from what `ctxd replay --json` measured to positions. Knows no document. */

import { exact, percent, plural } from "./words.js";

/** One request as it was sent, tokens. */
export interface Moment {
  session: string;
  line: number;
  tokens: number;
  predicted: number;
  low: number;
  high: number;
  phase: string;
  elisions: number;
  freed: number;
  compacted: boolean;
  before: number;
  after: number;
}

export interface Managed {
  window: number;
  requests: number;
  largest: number;
  elisions: number;
  compactions: readonly unknown[];
  outputs: { outputs: number; evicted: number; recovered: number; lost: readonly string[] };
  violations: readonly string[];
  overflows: readonly string[];
  thresholds: { available: number; handoff: number; compaction: number } | null;
  timeline: readonly Moment[];
}

/** A request as it was really sent; `line` is where its answer stands, `reported` the provider's own size of it. */
export interface Recorded {
  line: number;
  reported: number;
}

export interface FileReport {
  file: string;
  format: string;
  dialect: string;
  responses: number;
  recorded: readonly Recorded[];
  managed: readonly Managed[];
}

/** What `ctxd replay --json` prints, as far as it is drawn. */
export interface ReplayReport {
  ok: boolean;
  files: readonly FileReport[];
}

export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Mark {
  at: number;
  x: number;
  y: number;
  kind: "compaction" | "elision";
}

export interface Chart {
  plot: Plot;
  /** SVG path of the requests' sizes. */
  line: string;
  area: string;
  /** Of the interval between low and high. */
  interval: string;
  /** Of the requests as recorded, as far as they are not above the plot. */
  recorded: string;
  points: { x: number; y: number }[];
  marks: Mark[];
  thresholds: { name: string; tokens: number; y: number }[];
  ticks: { label: string; y: number }[];
  steps: { label: string; x: number }[];
}

/** Positions in a plot of that size, in pixels. */
export function layOut(run: Managed, plot: Plot, recorded: readonly Recorded[]): Chart {
  const line = run.timeline;
  const top = Math.max(run.window, ...line.map((m) => m.tokens));
  const x = (at: number): number =>
    plot.left + (line.length < 2 ? plot.width / 2 : (at / (line.length - 1)) * plot.width);
  const y = (tokens: number): number => plot.top + plot.height * (1 - Math.min(tokens, top) / top);
  const points = line.map((moment, at) => ({ x: x(at), y: y(moment.tokens) }));
  const path = pathOf(points);
  const floor = plot.top + plot.height;
  const lows = line.map((m, at) => ({ x: x(at), y: y(m.low) })).reverse();
  const highs = line.map((m, at) => ({ x: x(at), y: y(m.high) }));
  const first = points[0];
  const last = points.at(-1);
  return {
    plot,
    line: path,
    area: first && last ? `${path}L${round(last.x)} ${round(floor)}L${round(first.x)} ${round(floor)}Z` : "",
    interval: highs.length ? `${pathOf([...highs, ...lows])}Z` : "",
    recorded: recordedPath(run, recorded, top, x, y),
    points,
    marks: line.flatMap((moment, at): Mark[] => {
      const place = { at, x: x(at), y: y(moment.tokens) };
      if (moment.compacted) return [{ ...place, kind: "compaction" }];
      return moment.elisions ? [{ ...place, kind: "elision" }] : [];
    }),
    thresholds: thresholdsOf(run).map((one) => ({ ...one, y: y(one.tokens) })),
    ticks: ticksUpTo(top).map((tokens) => ({ label: tokens ? `${tokens / 1000}k` : "0", y: y(tokens) })),
    steps: stepsOf(line.length, plot.width).map((at) => ({ label: String(at + 1), x: x(at) })),
  };
}

/** One request in a sentence. */
export function describe(run: Managed, at: number): string {
  const moment = run.timeline[at];
  if (!moment) return "";
  const parts = [
    `Request ${at + 1} of ${run.timeline.length}: ${exact(moment.tokens)} tokens, ${percent(moment.tokens, run.window)} of the window`,
  ];
  parts.push(`foreseen ${exact(moment.predicted)}, between ${exact(moment.low)} and ${exact(moment.high)}`);
  if (moment.compacted) parts.push(`compacted before it, ${exact(moment.before)} to ${exact(moment.after)} tokens`);
  else if (moment.elisions)
    parts.push(`${plural(moment.elisions, "output")} elided before it, ${exact(moment.freed)} tokens freed`);
  return `${parts.join("; ")}. Line ${moment.line}.`;
}

/** What happened under this window, in a sentence. */
export function summarize(run: Managed): string {
  const { outputs } = run;
  const faults = run.violations.length + run.overflows.length + outputs.lost.length;
  const parts = [
    `${plural(run.requests, "request")}, the largest ${exact(run.largest)} tokens (${percent(run.largest, run.window)} of ${exact(run.window)})`,
    plural(run.compactions.length, "compaction"),
    ...(run.elisions ? [plural(run.elisions, "elision")] : []),
    `${exact(outputs.recovered)} of ${exact(outputs.evicted)} evicted outputs come back byte for byte`,
    faults ? `${plural(faults, "fault")}` : "no fault",
  ];
  return `${parts.join("; ")}.`;
}

/** Broken where the size is above the plot, or was not reported. */
function recordedPath(
  run: Managed,
  recorded: readonly Recorded[],
  top: number,
  x: (at: number) => number,
  y: (tokens: number) => number,
): string {
  const sizes = new Map(recorded.map(({ line, reported }) => [line, reported]));
  let pen = "M";
  return run.timeline
    .map(({ line }, at) => {
      const tokens = sizes.get(line);
      const step = tokens !== undefined && tokens <= top ? `${pen}${round(x(at))} ${round(y(tokens))}` : "";
      pen = step ? "L" : "M";
      return step;
    })
    .join("");
}

function thresholdsOf(run: Managed): { name: string; tokens: number }[] {
  const limits = run.thresholds;
  if (!limits) return [{ name: "Window", tokens: run.window }];
  return [
    { name: "Window", tokens: run.window },
    { name: "Compaction", tokens: limits.compaction },
    { name: "Handoff", tokens: limits.handoff },
  ];
}

function ticksUpTo(top: number): number[] {
  const rough = top / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const ticks: number[] = [];
  for (let tokens = 0; tokens <= top; tokens += step) ticks.push(tokens);
  return ticks;
}

function stepsOf(count: number, width: number): number[] {
  if (count < 2) return count ? [0] : [];
  const most = Math.max(2, Math.floor(width / 80));
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000].find((s) => count / s <= most) ?? count;
  const steps = [0];
  for (let at = step - 1; at < count; at += step) if (at > 0) steps.push(at);
  return steps;
}

function pathOf(points: readonly { x: number; y: number }[]): string {
  return points.map(({ x, y }, at) => `${at ? "L" : "M"}${round(x)} ${round(y)}`).join("");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
