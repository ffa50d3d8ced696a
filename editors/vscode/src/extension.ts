/** Where everything meets: the daemon's life, the gauge, the view, the commands. */

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { type Params, type Result, sentenceOf } from "./client/link.js";
import { locate, type Located } from "./client/locate.js";
import { type State, Supervisor } from "./client/supervisor.js";
import { Commands } from "./host/commands.js";
import { Compaction } from "./host/compaction.js";
import { ContextView } from "./host/context_view.js";
import { Outputs, Texts } from "./host/documents.js";
import { languageModels, registerTools } from "./host/language_models.js";
import { showReplay } from "./host/replay_panel.js";
import { StatusBar } from "./host/status_bar.js";
import { gaugeOf, INSTALL, UPGRADE } from "./model/gauge.js";
import { gather, type Nested } from "./model/options.js";
import { Sampler, sentence } from "./model/sampling.js";
import { Sessions } from "./model/sessions.js";
import type { RequestsToDaemon } from "./protocol/methods.js";

/** Milliseconds between looks at the session of the gauge; every so manieth look is at all of them. */
const LOOK_MS = 2000;
const DEEP_EVERY = 5;

/** What other extensions get. */
export interface Client {
  /** Whether the running daemon serves a method. */
  has(method: string): boolean;
  request<M extends keyof RequestsToDaemon>(method: M, params: Params<M>): Promise<Result<M>>;
  /** Resolves once the daemon runs; rejects when it cannot be started. */
  ready(): Promise<void>;
}

export interface Api {
  /** The connection that this window shares. A session opened with it to write is left to its opener. */
  getClient(): Client;
}

export function activate(context: vscode.ExtensionContext): Api {
  const began = performance.now();
  const log = vscode.window.createOutputChannel("ctxd", { log: true });
  const config = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration("ctxd");
  const folders = (): readonly vscode.WorkspaceFolder[] => vscode.workspace.workspaceFolders ?? [];
  const sampler = new Sampler(
    languageModels,
    () => ({ enabled: config().get("sampling.enabled", true), family: config().get("sampling.model", "") }),
    () => view.say(sampler.standing),
  );

  const daemon = new Supervisor({
    obstacle: () => (!folders().length ? "noFolder" : vscode.workspace.isTrusted ? undefined : "untrusted"),
    locate: () => find(config().get("path", ""), folders()),
    now: Date.now,
    after: (milliseconds, call) => {
      const timer = setTimeout(call, milliseconds);
      return () => clearTimeout(timer);
    },
    connect: async (command) => {
      log.info(`starting ${command}`);
      const { connect } = await import("./host/language_link.js");
      return connect({
        command,
        log,
        options: options(),
        sampling: config().get("sampling.enabled", true),
        handlers: {
          sample: (params, token) => sampler.answer(params, token),
          viewChanged: ({ sessionId, projection }) => sessions.take(sessionId, projection),
          sessionChanged: () => void look(true),
        },
      });
    },
  });
  const sessions = new Sessions(daemon, () => folders().map(({ uri }) => uri.toString()));
  const bar = new StatusBar();
  const view = new ContextView(daemon, sessions);
  const outputs = new Outputs(daemon);
  const texts = new Texts();
  const compaction = new Compaction(daemon, sessions, texts);
  const commands = new Commands(daemon, sessions, outputs, texts);

  const draw = (): void => {
    const gauge = gaugeOf(daemon.state, sessions.active, sentence(sampler.standing));
    bar.show(config().get("gauge.show", true) ? gauge : undefined);
    view.update();
  };
  const look = async (deep: boolean): Promise<void> => {
    if (daemon.state.kind !== "running") return;
    await sessions.refresh(deep).catch((error: unknown) => log.warn(`sessions: ${sentenceOf(error)}`));
  };
  sessions.onChange(draw);
  daemon.onState((state) => {
    log.info(`daemon: ${state.kind}${"reason" in state ? ` (${state.reason})` : ""}`);
    void vscode.commands.executeCommand("setContext", "ctxd.state", state.kind);
    void vscode.commands.executeCommand("setContext", "ctxd.hasMemory", daemon.has("memory/index"));
    if (state.kind !== "running" && state.kind !== "waiting" && state.kind !== "starting") sessions.clear();
    draw();
    view.update(true);
    void notify(state);
    if (state.kind === "running") void look(true);
  });

  let looks = 0;
  const timer = setInterval(() => {
    // The folders of a workspace file may come after activation, and not always with an event.
    if (daemon.state.kind === "noFolder" && folders().length) void daemon.restart();
    const deep = ++looks % DEEP_EVERY === 0;
    if (vscode.window.state.focused || deep) void look(deep && (view.visible || vscode.window.state.focused));
  }, LOOK_MS);

  const register = (name: string, run: (...given: never[]) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(`ctxd.${name}`, async (...given: never[]) => {
      try {
        await run(...given);
      } catch (error) {
        log.error(`${name}: ${sentenceOf(error)}`);
        void vscode.window.showErrorMessage(sentenceOf(error));
      }
    });
  /** A command after which everything is read again. */
  const changing = (name: string, run: (...given: never[]) => Promise<void>): vscode.Disposable =>
    register(name, async (...given: never[]) => {
      await run(...given);
      await look(true);
      view.update(true);
    });

  context.subscriptions.push(
    log,
    bar,
    view,
    compaction,
    outputs.register(),
    texts.register(),
    registerTools(daemon, sessions),
    { dispose: () => clearInterval(timer) },
    changing("compact", (node: never) => compaction.begin(commands.sessionOf(node))),
    changing("commitPlan", () => compaction.commit()),
    changing("discardPlan", () => compaction.discard()),
    changing("undo", (node: never) => compaction.undo(commands.sessionOf(node))),
    changing("pinSelection", () => commands.pinSelection()),
    changing("unpin", (node: never) => commands.unpin(node)),
    changing("fork", (node: never) => commands.fork(node)),
    changing("refresh", async () => {}),
    register("export", (node: never) => commands.export(node)),
    register("showMemory", () => commands.showMemory()),
    register("chooseSession", (node: never) => commands.chooseSession(node)),
    register("openOutput", (given: never) => commands.openOutput(given)),
    register("copyHandle", (given: never) => commands.copyHandle(given)),
    register("revealFile", (node: never) => commands.revealFile(node)),
    register("replay", async (uri: never) =>
      showReplay(uri, await commandOf(daemon, config().get("path", ""), folders()), context.extensionUri),
    ),
    register("restart", () => daemon.restart()),
    register("showLog", () => log.show()),
    register("copyInstall", () => vscode.env.clipboard.writeText(daemon.state.kind === "tooOld" ? UPGRADE : INSTALL)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void daemon.restart()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (daemon.state.kind !== "running") void daemon.restart();
      void look(true);
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("ctxd")) return;
      const stuck =
        daemon.state.kind === "missing" || daemon.state.kind === "misconfigured" || daemon.state.kind === "tooOld";
      if (stuck || change.affectsConfiguration("ctxd.path") || change.affectsConfiguration("ctxd.sampling.enabled"))
        void daemon.restart();
      else daemon.notify("workspace/didChangeConfiguration", { settings: { ctxd: options() } });
      draw();
    }),
    { dispose: () => void daemon.stop() },
  );
  draw();
  void daemon.start();
  log.info(`activated in ${Math.round(performance.now() - began)} ms`);
  return { getClient: () => clientOf(daemon) };
}

/** The options of the daemon that somebody set. */
function options(): Nested {
  const all = vscode.workspace.getConfiguration();
  return gather((setting) => {
    const found = all.inspect(setting);
    const set = found?.globalValue ?? found?.workspaceValue ?? found?.workspaceFolderValue;
    return set === undefined ? undefined : all.get(setting);
  });
}

async function find(setting: string, folders: readonly vscode.WorkspaceFolder[]): Promise<Located> {
  return locate({
    setting,
    folders: folders.map(({ uri }) => uri.fsPath),
    home: homedir(),
    searchPath: process.env["PATH"] ?? "",
    isExecutable: (file) =>
      access(file, constants.X_OK).then(
        () => true,
        () => false,
      ),
  });
}

/** The command of the running daemon, else the one that would be started. */
async function commandOf(
  daemon: Supervisor,
  setting: string,
  folders: readonly vscode.WorkspaceFolder[],
): Promise<string> {
  if (daemon.state.kind === "running") return daemon.state.command;
  if (!vscode.workspace.isTrusted) throw new Error("Replaying starts ctxd, which needs a trusted workspace.");
  const found = await find(setting, folders);
  if ("tried" in found) throw new Error(`ctxd is not installed. Run: ${INSTALL}`);
  return found.command;
}

function clientOf(daemon: Supervisor): Client {
  return {
    has: (method) => daemon.has(method),
    request: (method, params) => daemon.request(method, params),
    ready: () =>
      new Promise((resolve, reject) => {
        const settle = (state: State): boolean => {
          if (state.kind === "running") resolve();
          else if (state.kind === "starting" || state.kind === "waiting" || state.kind === "stopped") return false;
          else reject(new Error(`the ctxd daemon cannot be started: ${state.kind}`));
          return true;
        };
        if (settle(daemon.state)) return;
        const stop = daemon.onState((state) => settle(state) && stop());
      }),
  };
}

/** A message for what a person has to act on; the view says the rest. */
async function notify(state: State): Promise<void> {
  if (state.kind === "missing" || state.kind === "tooOld") {
    const command = state.kind === "missing" ? INSTALL : UPGRADE;
    const said =
      state.kind === "missing" ? "ctxd is not installed" : `ctxd ${state.version} is too old for this extension`;
    const answer = await vscode.window.showErrorMessage(
      `${said}. Run: ${command}`,
      "Put It in a Terminal",
      "Set Its Path",
    );
    if (answer === "Set Its Path") await vscode.commands.executeCommand("workbench.action.openSettings", "ctxd.path");
    if (answer !== "Put It in a Terminal") return;
    const terminal = vscode.window.createTerminal("ctxd");
    terminal.show();
    terminal.sendText(command, false);
  } else if (state.kind === "misconfigured") {
    const answer = await vscode.window.showErrorMessage(`ctxd refuses a setting: ${state.message}`, "Open Settings");
    if (answer) await vscode.commands.executeCommand("workbench.action.openSettings", "@ext:ctxd.ctxd");
  } else if (state.kind === "crashLoop") {
    const answer = await vscode.window.showErrorMessage(
      "The ctxd daemon keeps ending and is not started again by itself.",
      "Show Log",
      "Start Again",
    );
    if (answer === "Show Log") await vscode.commands.executeCommand("ctxd.showLog");
    if (answer === "Start Again") await vscode.commands.executeCommand("ctxd.restart");
  }
}
