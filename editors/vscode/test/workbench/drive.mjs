// Drives a real VS Code workbench with the packaged extension as a person would, scene after scene.
//
//   node test/workbench/drive.mjs WORKBENCH VSIX CTXD PICTURES
//
// WORKBENCH is the folder that setup.sh made. Needs Node 24, which is in it. Screenshots go to PICTURES.

import assert from "node:assert/strict";
import path from "node:path";
import { context } from "./scenes/context.mjs";
import { folders } from "./scenes/folders.mjs";
import { models } from "./scenes/models.mjs";
import { replay } from "./scenes/replay.mjs";
import { states } from "./scenes/states.mjs";
import { steering } from "./scenes/steering.mjs";
import { trust } from "./scenes/trust.mjs";
import { Workbench } from "./workbench.mjs";

const [tools, vsix, ctxd, pictures] = process.argv.slice(2).map((given) => path.resolve(given));
const LARGEST = 1024 * 1024;

const began = Date.now();
let passed = 0;
function step(sentence) {
  passed++;
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.log(`ok ${String(passed).padStart(2)} ${seconds.padStart(5)} s  ${sentence}`);
}

const bench = new Workbench(tools, ctxd, pictures);
const stage = { bench, step };
try {
  const size = bench.install(vsix);
  assert.ok(size < LARGEST, `the package has ${size} bytes`);
  step(`the package of ${Math.round(size / 1024)} KB installs`);
  assert.deepEqual(bench.unknownIcons(), []);
  step("every icon that it names is one of VS Code's");
  bench.installFrom(path.join(import.meta.dirname, "consumer"));
  await bench.start();
  stage.window = await bench.window();

  for (const scene of [trust, folders, context, steering, models, replay]) await scene(stage);
  await stage.window.run("Consumer: Measure the Host");
  const { p99, longest } = await bench.written("measure.json");
  assert.ok(p99 <= 100, `the extension host waited ${p99} ms`);
  step(`the extension host answers: 99 of 100 waits are within ${p99.toFixed(0)} ms, the longest ${longest.toFixed(0)} ms`);
  await states(stage);

  const times = [...bench.log().matchAll(/activated in (\d+) ms/g)].map(([, time]) => Number(time));
  assert.ok(times.length >= 3 && Math.max(...times) <= 300, `activation took ${times.join(", ")} ms`);
  step(`activate() took ${times.join(", ")} ms in ${times.length} windows`);
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  await stage.window?.shot("failed").catch(() => {});
  console.error(bench.log().slice(-1500));
  console.error(error);
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await stage.leave?.().catch(() => {});
  await bench.end();
}
process.exit();
