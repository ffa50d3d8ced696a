/** Numbers and times as people read them. */

/** 84,512 → "84.5k"; 1,200,000 → "1.2M". */
export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${trim(count / 1000)}k`;
  return `${trim(count / 1_000_000)}M`;
}

function trim(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

export function exact(count: number): string {
  return count.toLocaleString("en-US");
}

/** Whole percents; what is there is never none. */
export function percent(part: number, whole: number): string {
  if (part > 0 && part < whole / 200) return "<1%";
  return `${Math.round((100 * part) / whole)}%`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KB", "MB", "GB"];
  let value = bytes;
  let unit = -1;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function plural(count: number, noun: string): string {
  return `${exact(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** "just now", "4 min ago", "3 h ago", else the date. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(then).toISOString().slice(0, 10);
}

/** The part of an id that tells sessions apart: "s_b8b39337d6e74516bab7" → "b8b39337". */
export function nickname(sessionId: string): string {
  const bare = sessionId.replace(/^s_/, "");
  return bare.length > 20 || /^[0-9a-f]{16,}$/.test(bare) ? bare.slice(0, 8) : bare;
}

/** One line of at most `limit` characters. */
export function clip(text: string, limit: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
