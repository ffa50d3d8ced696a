/** The daemon's options from the editor's settings: only what somebody set, nested as the wire has it. */

import { OPTIONS } from "../protocol/options.js";

/** Options by group and name. */
export type Nested = Record<string, Record<string, unknown>>;

/** `valueOf` answers undefined for what nobody set, so that the file of the workspace counts there. */
export function gather(valueOf: (setting: string) => unknown): Nested {
  const nested: Nested = {};
  for (const setting of OPTIONS) {
    const value = valueOf(setting);
    const [, group, name] = setting.split(".");
    if (value !== undefined && group && name) (nested[group] ??= {})[name] = value;
  }
  return nested;
}
