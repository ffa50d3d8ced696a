// One window of the workbench, as a person sees and uses it.

import { mkdirSync } from "node:fs";
import path from "node:path";

export const PATIENCE = 60_000;
/** Milliseconds for one attempt at something that is tried again. */
const ATTEMPT = 4000;

/** Waits until a reading satisfies; between two looks is a tenth of a second. */
export async function until(what, read, satisfies = Boolean) {
  const end = Date.now() + PATIENCE;
  let last;
  while (Date.now() < end) {
    last = await read();
    if (satisfies(last)) return last;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited in vain for ${what}; last: ${JSON.stringify(last)}`);
}

/** Thousands of tokens that a gauge shows. */
export const tokens = (text) => Number(/([\d.]+)k\//.exec(text)?.[1] ?? NaN);

export class Window {
  constructor(page, pictures) {
    this.page = page;
    this.pictures = pictures;
    this.gauge = page.locator(".statusbar-item[id*='ctxd.gauge']");
    this.input = page.locator(".quick-input-widget input.input");
  }

  /** The gauge's text; empty without one. */
  async reading() {
    return (await this.gauge.count()) ? (await this.gauge.first().innerText()).trim() : "";
  }

  /** Waits for a reading of the gauge. */
  async shows(what, satisfies) {
    const isRight = typeof satisfies === "function" ? satisfies : (text) => satisfies.test(text);
    return until(what, () => this.reading(), isRight);
  }

  /** A row of a tree by its text. */
  row(text) {
    return this.page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
  }

  /** A notification by its text. */
  toast(text) {
    return this.page.locator(".notification-toast", { hasText: text });
  }

  /** What the view says where no session is shown. */
  welcome(text) {
    return this.page.locator(".welcome-view-content", { hasText: text });
  }

  /** A line of an editor. */
  line(text) {
    return this.page.locator(".editor-instance .view-line", { hasText: text }).first();
  }

  /** Runs a command by the palette. A key that a webview gets while it loads is lost, and a closing palette takes nothing. */
  async run(title) {
    await until(`the palette to take ${title}`, async () => {
      try {
        await this.page.keyboard.press("F1");
        await this.input.fill(`>${title}`, { timeout: ATTEMPT });
        await this.entry(title).click({ timeout: ATTEMPT });
        return true;
      } catch {
        return false;
      }
    });
  }

  /** A row of the list that is asked from. */
  entry(text) {
    return this.page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
  }

  async pick(text) {
    await this.entry(text).click();
  }

  /** Opens a file of the workspace. */
  async open(name) {
    await until(`${name} to be found`, async () => {
      try {
        await this.page.keyboard.press("Control+P");
        await this.input.fill(name, { timeout: ATTEMPT });
        await this.entry(path.basename(name)).click({ timeout: ATTEMPT });
        return true;
      } catch {
        return false;
      }
    });
    await this.page.locator(".tab.active", { hasText: path.basename(name) }).waitFor();
  }

  /** Chooses from the menu of what is right-clicked. A menu passes over the first clicks after it opened. */
  async menu(target, title) {
    await target.click({ button: "right" });
    const entry = this.page.locator(".monaco-menu .action-item", { hasText: title }).first();
    await entry.waitFor();
    await until(`the menu to take ${title}`, async () => {
      await entry.click({ timeout: 1000 }).catch(() => {});
      return (await entry.count()) === 0;
    });
  }

  /** Lets every notification go. */
  async clear() {
    await this.run("Notifications: Clear All Notifications");
    await until("no notification", async () => (await this.page.locator(".notification-toast").count()) === 0);
  }

  async theme(name) {
    await this.run("Preferences: Color Theme");
    await this.input.fill(name);
    await this.pick(name);
  }

  /** The page inside the shown webview. */
  webview() {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
  }

  /** A picture, without a pointer over anything. */
  async shot(name, { hover = false } = {}) {
    if (!hover) await this.page.mouse.move(760, 16);
    mkdirSync(this.pictures, { recursive: true });
    await this.page.screenshot({ path: path.join(this.pictures, `${name}.png`), animations: "disabled" });
  }

  /** Closes the window as a person does: the page says good-bye, so that its extension host ends. */
  async close() {
    await this.page.goto("about:blank");
    await this.page.close();
  }
}
