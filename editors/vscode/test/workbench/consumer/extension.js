// Another extension: it offers a language model, and writes what ctxd's client and recall tool answer to a file.

const { writeFileSync } = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const SUMMARY = "The test model answered.";
let asked = 0;

exports.activate = (context) => {
  const information = {
    id: "echo",
    name: "Echo",
    family: "echo",
    version: "1",
    maxInputTokens: 100000,
    maxOutputTokens: 8000,
    capabilities: {},
  };
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("test", {
      provideLanguageModelChatInformation: async () => [information],
      provideLanguageModelChatResponse: async (_model, _messages, _options, progress) => {
        asked++;
        progress.report(new vscode.LanguageModelTextPart(SUMMARY));
      },
      provideTokenCount: async () => 10,
    }),
    vscode.commands.registerCommand("consumer.use", async () => {
      const folder = vscode.workspace.workspaceFolders[0].uri;
      const answers = {};
      try {
        const client = (await vscode.extensions.getExtension("ctxd.ctxd").activate()).getClient();
        await client.ready();
        const { sessions } = await client.request("session/list", { workspace: folder.toString() });
        answers.sessions = sessions.length;
        const input = { handle: "call_0" };
        const told = await vscode.lm.invokeTool("ctxd_recall", { input, toolInvocationToken: undefined });
        answers.recall = told.content.map((part) => part.value).join("");
        answers.asked = asked;
      } catch (error) {
        answers.error = String(error);
      }
      writeFileSync(path.join(folder.fsPath, "consumer.json"), JSON.stringify(answers));
    }),
  );
};
