/** Finding the `ctxd` command: the setting, the workspace's virtual environment, PATH, in this order. */

import * as path from "node:path";

export interface Search {
  setting: string;
  folders: readonly string[];
  home: string;
  searchPath: string;
  isExecutable(file: string): Promise<boolean>;
}

export type Located = { command: string } | { tried: readonly string[] };

const ENVIRONMENTS = [".venv", "venv"];

/** The first executable of the candidates, else what was tried. A setting that names nothing is not passed over. */
export async function locate(search: Search): Promise<Located> {
  const candidates = candidatesOf(search);
  for (const candidate of candidates) {
    if (await search.isExecutable(candidate)) return { command: candidate };
  }
  return { tried: candidates };
}

function candidatesOf(search: Search): string[] {
  if (search.setting) return expand(search.setting, search);
  return [
    ...search.folders.flatMap((folder) => ENVIRONMENTS.map((name) => path.join(folder, name, "bin", "ctxd"))),
    ...onPath("ctxd", search.searchPath),
  ];
}

function onPath(name: string, searchPath: string): string[] {
  return searchPath
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, name));
}

function expand(setting: string, search: Search): string[] {
  const home = setting.replace(/^~(?=$|\/)/, search.home);
  if (home.includes("${workspaceFolder}")) {
    return search.folders.map((folder) => home.replaceAll("${workspaceFolder}", folder));
  }
  if (path.isAbsolute(home)) return [home];
  if (!home.includes("/")) return onPath(home, search.searchPath);
  return search.folders.map((folder) => path.join(folder, home));
}
