// Checks the examples against v1/schema.json. Needs Node and nothing else.
//
//   node protocol/validate.mjs
//
// v1/examples/<Type>/*.json must fit v1/schema.json's <Type>, v1/invalid/<Type>/*.json must not. The checker knows
// the keywords that the schema uses and stops at any other one, so nothing passes unread.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const V1 = join(fileURLToPath(new URL(".", import.meta.url)), "v1");
const schema = JSON.parse(readFileSync(join(V1, "schema.json"), "utf8"));
const SILENT = new Set(["title", "description", "default", "examples", "discriminator", "format", "deprecated"]);

const KINDS = {
  string: (v) => typeof v === "string",
  integer: (v) => Number.isInteger(v),
  number: (v) => typeof v === "number",
  boolean: (v) => typeof v === "boolean",
  null: (v) => v === null,
  array: (v) => Array.isArray(v),
  object: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
};

// Each keyword's complaint about `v`, or nothing.
const KEYWORDS = {
  $ref: (ref, v, path) => check(schema.$defs[ref.split("/").pop()], v, path),
  type: (t, v, path) => ([t].flat().some((k) => KINDS[k](v)) ? [] : [`${path}: not ${t}`]),
  const: (c, v, path) => (JSON.stringify(c) === JSON.stringify(v) ? [] : [`${path}: not ${JSON.stringify(c)}`]),
  enum: (all, v, path) => (all.some((e) => JSON.stringify(e) === JSON.stringify(v)) ? [] : [`${path}: none of ${all}`]),
  anyOf: (all, v, path) => (all.some((s) => !check(s, v, path).length) ? [] : [`${path}: fits none`]),
  oneOf: (all, v, path) => (all.filter((s) => !check(s, v, path).length).length === 1 ? [] : [`${path}: fits not one`]),
  allOf: (all, v, path) => all.flatMap((s) => check(s, v, path)),
  properties: (named, v, path) =>
    KINDS.object(v) ? Object.keys(named).flatMap((k) => (k in v ? check(named[k], v[k], `${path}.${k}`) : [])) : [],
  required: (names, v, path) => (KINDS.object(v) ? names.filter((n) => !(n in v)).map((n) => `${path}.${n}: missing`) : []),
  additionalProperties: (rest, v, path, owner) =>
    KINDS.object(v)
      ? Object.keys(v)
          .filter((k) => !(k in (owner.properties ?? {})))
          .flatMap((k) => (rest === true ? [] : rest === false ? [`${path}.${k}: unknown`] : check(rest, v[k], `${path}.${k}`)))
      : [],
  propertyNames: (names, v, path) => (KINDS.object(v) ? Object.keys(v).flatMap((k) => check(names, k, `${path}.${k}`)) : []),
  items: (each, v, path) => (KINDS.array(v) ? v.flatMap((e, i) => check(each, e, `${path}.${i}`)) : []),
  prefixItems: (each, v, path) =>
    KINDS.array(v) ? each.flatMap((s, i) => (i < v.length ? check(s, v[i], `${path}.${i}`) : [])) : [],
  minItems: (n, v, path) => (KINDS.array(v) && v.length < n ? [`${path}: shorter than ${n}`] : []),
  maxItems: (n, v, path) => (KINDS.array(v) && v.length > n ? [`${path}: longer than ${n}`] : []),
  minLength: (n, v, path) => (KINDS.string(v) && [...v].length < n ? [`${path}: shorter than ${n}`] : []),
  maxLength: (n, v, path) => (KINDS.string(v) && [...v].length > n ? [`${path}: longer than ${n}`] : []),
  pattern: (p, v, path) => (KINDS.string(v) && !new RegExp(p, "u").test(v) ? [`${path}: does not match ${p}`] : []),
  minimum: (n, v, path) => (KINDS.number(v) && v < n ? [`${path}: below ${n}`] : []),
  maximum: (n, v, path) => (KINDS.number(v) && v > n ? [`${path}: above ${n}`] : []),
  exclusiveMinimum: (n, v, path) => (KINDS.number(v) && v <= n ? [`${path}: not above ${n}`] : []),
  exclusiveMaximum: (n, v, path) => (KINDS.number(v) && v >= n ? [`${path}: not below ${n}`] : []),
};

function check(part, value, path) {
  if (part === true) return [];
  return Object.entries(part).flatMap(([keyword, argument]) => {
    if (SILENT.has(keyword)) return [];
    if (!(keyword in KEYWORDS)) throw new Error(`the schema uses ${keyword}, which this checker does not know`);
    return KEYWORDS[keyword](argument, value, path, part);
  });
}

let passed = 0;
let failed = 0;
for (const [folder, shouldFit] of [["examples", true], ["invalid", false]]) {
  for (const type of readdirSync(join(V1, folder))) {
    for (const file of readdirSync(join(V1, folder, type))) {
      const value = JSON.parse(readFileSync(join(V1, folder, type, file), "utf8"));
      const complaints = type in schema.$defs ? check(schema.$defs[type], value, type) : [`no type ${type}`];
      if (type in schema.$defs && (complaints.length === 0) === shouldFit) passed += 1;
      else {
        failed += 1;
        console.log(`${folder}/${type}/${file}: ${complaints.join("; ") || "fits, and should not"}`);
      }
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
