import assert from "node:assert/strict";
import { access, chmod, constants, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { locate, type Search } from "../../src/client/locate.js";

async function folderWith(...commands: string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ctxd-locate-"));
  for (const command of commands) {
    const file = path.join(folder, command);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, "#!/bin/sh\n");
    await chmod(file, 0o755);
  }
  return folder;
}

function search(given: Partial<Search>): Search {
  const isExecutable = (file: string): Promise<boolean> =>
    access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
  return { setting: "", folders: [], home: "/nowhere", searchPath: "", isExecutable, ...given };
}

test("the virtual environment of any folder comes before PATH", async () => {
  const [one, two, bin] = [await folderWith(), await folderWith("venv/bin/ctxd"), await folderWith("ctxd")];
  assert.deepEqual(await locate(search({ folders: [one, two], searchPath: bin })), {
    command: path.join(two, "venv/bin/ctxd"),
  });
  assert.deepEqual(await locate(search({ folders: [one], searchPath: `relative:${bin}` })), {
    command: path.join(bin, "ctxd"),
  });
});

test("a setting fills in the folder and the home, and is not passed over when it names nothing", async () => {
  const folder = await folderWith("tools/ctxd", ".venv/bin/ctxd");
  for (const setting of ["${workspaceFolder}/tools/ctxd", "tools/ctxd", "~/tools/ctxd"]) {
    assert.deepEqual(await locate(search({ setting, folders: [folder], home: folder })), {
      command: path.join(folder, "tools/ctxd"),
    });
  }
  assert.deepEqual(await locate(search({ setting: "/no/ctxd", folders: [folder] })), { tried: ["/no/ctxd"] });
});

test("what was tried is told when nothing is there", async () => {
  const found = await locate(search({ folders: ["/w"], searchPath: "/usr/nothing" }));
  assert.deepEqual(found, { tried: ["/w/.venv/bin/ctxd", "/w/venv/bin/ctxd", "/usr/nothing/ctxd"] });
});
