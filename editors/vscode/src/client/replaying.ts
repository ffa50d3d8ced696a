/** `ctxd replay FILE --json` as a child process. */

import { spawn } from "node:child_process";
import type { ReplayReport } from "../model/timeline.js";

export interface ReplayRequest {
  command: string;
  file: string;
  windows: readonly number[];
  signal: AbortSignal;
}

/** The file could not be replayed; the message is the command's own. */
export class ReplayFailed extends Error {}

/** Exit code 1 means that something was found, and the report says what; only 2 and others have no report. */
export async function replay(request: ReplayRequest): Promise<ReplayReport> {
  const windows = request.windows.flatMap((window) => ["--window", String(window)]);
  const child = spawn(request.command, ["replay", request.file, "--json", ...windows], {
    signal: request.signal,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output: Buffer[] = [];
  const complaints: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => complaints.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0 && code !== 1) throw new ReplayFailed(lastLines(Buffer.concat(complaints).toString()));
  return JSON.parse(Buffer.concat(output).toString()) as ReplayReport;
}

function lastLines(text: string): string {
  const lines = text
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return lines.slice(-3).join(" ") || "ctxd replay failed";
}
