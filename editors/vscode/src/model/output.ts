/** A fetched output as a read-only document, page by page: its address, and what it shows. */

import type { RecallFetchParams, RecallFetchResult } from "../protocol/types.js";
import { exact, plural } from "./words.js";

export const SCHEME = "ctxd-output";

export interface Address {
  sessionId: string;
  /** Tool call id, digest or message id. */
  handle: string;
  page: number;
  title: string;
}

/** Path and query of the document's address; the title is what the tab shows. */
export function addressParts(address: Address): { path: string; query: string } {
  const name = address.title.replace(/[^\w.@-]+/g, "-").slice(0, 60) || "output";
  const query = new URLSearchParams({ session: address.sessionId, handle: address.handle, page: String(address.page) });
  return { path: `/${name}.page-${address.page + 1}.txt`, query: query.toString() };
}

/** The address back. Throws for one that is not of this scheme. */
export function parseAddress(path: string, query: string): Address {
  const given = new URLSearchParams(query);
  const sessionId = given.get("session");
  const handle = given.get("handle");
  if (!sessionId || !handle) throw new Error("this is no address of an output");
  const title = path.replace(/^\//, "").replace(/\.page-\d+\.txt$/, "");
  return { sessionId, handle, page: Number(given.get("page") ?? 0), title };
}

/** The parameters that fetch a page: a handle is a digest, a message id, or else a tool call id. */
export function fetchParams(address: Address): RecallFetchParams {
  const { sessionId, handle, page } = address;
  if (handle.startsWith("sha256:")) return { sessionId, digest: handle, page };
  if (/^m_[0-9a-f]+(\.\d+)?$/.test(handle)) return { sessionId, messageId: handle, page };
  return { sessionId, toolCallId: handle, page };
}

/** The document's text: the page as it was stored. What is no text is shown as hex. */
export function render(fetched: RecallFetchResult): string {
  if (fetched.encoding === "utf-8") return fetched.content;
  return hex(Buffer.from(fetched.content, "base64"));
}

/** What stands above the text. */
export function caption(fetched: RecallFetchResult): string {
  const parts = [
    `${fetched.toolName || "output"}`,
    `page ${fetched.page + 1} of ${fetched.pages}`,
    plural(fetched.totalBytes, "byte"),
  ];
  if (fetched.redactions) parts.push(`${exact(fetched.redactions)} secrets cut out before it was stored`);
  return parts.join(" · ");
}

function hex(bytes: Buffer): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.subarray(at, at + 16);
    const shown = [...row].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(
      `${at.toString(16).padStart(8, "0")}  ${row.toString("hex").replace(/(..)/g, "$1 ").padEnd(48)} ${shown}`,
    );
  }
  return lines.join("\n");
}
