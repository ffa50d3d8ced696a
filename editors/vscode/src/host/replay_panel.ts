/** A transcript's timeline in a webview without network: only the bundled script and style may load. */

import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import { replay } from "../client/replaying.js";
import type { ReplayReport } from "../model/timeline.js";

const SUFFIXES = ["jsonl", "json", "traj"];

/** Replays the file, the shown one, or one that is asked for; nothing when nobody names one. */
export async function showReplay(given: vscode.Uri | undefined, command: string, extension: vscode.Uri): Promise<void> {
  const file = given ?? (await chooseFile());
  if (!file) return;
  const windows = vscode.workspace.getConfiguration("ctxd").get<number[]>("replay.windows", [200_000, 60_000]);
  const name = path.basename(file.fsPath);
  const report = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Replaying ${name}`, cancellable: true },
    async (_, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      try {
        return await replay({ command, file: file.fsPath, windows, signal: abort.signal });
      } catch (error) {
        if (token.isCancellationRequested) return undefined;
        throw error;
      }
    },
  );
  if (report) showReport(report, name, extension);
}

async function chooseFile(): Promise<vscode.Uri | undefined> {
  const shown = vscode.window.activeTextEditor?.document.uri;
  if (shown?.scheme === "file" && SUFFIXES.some((suffix) => shown.path.endsWith(`.${suffix}`))) return shown;
  const [picked] =
    (await vscode.window.showOpenDialog({ filters: { Transcripts: SUFFIXES }, openLabel: "Replay" })) ?? [];
  return picked;
}

function showReport(report: ReplayReport, name: string, extension: vscode.Uri): void {
  const dist = vscode.Uri.joinPath(extension, "dist");
  const panel = vscode.window.createWebviewPanel("ctxd.replay", `Replay: ${name}`, vscode.ViewColumn.Active, {
    enableScripts: true,
    localResourceRoots: [dist],
  });
  panel.webview.onDidReceiveMessage((message: unknown) => {
    if (message === "ready") void panel.webview.postMessage(report);
  });
  panel.webview.html = page(panel.webview, dist);
}

function page(webview: vscode.Webview, dist: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64url");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(dist, "timeline.js")).toString();
  const style = webview.asWebviewUri(vscode.Uri.joinPath(dist, "timeline.css")).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${style}">
  <title>Replay</title>
</head>
<body>
  <main id="main" aria-busy="true"></main>
  <script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
