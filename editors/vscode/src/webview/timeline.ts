/** The replay's page: one chart per window, walked with the arrow keys, and the same numbers as a table. */

import {
  type Chart,
  describe,
  type FileReport,
  layOut,
  type Managed,
  type Recorded,
  type ReplayReport,
  summarize,
} from "../model/timeline.js";
import { exact } from "../model/words.js";

interface Host {
  postMessage(message: string): void;
  getState(): ReplayReport | undefined;
  setState(state: ReplayReport): void;
}
declare function acquireVsCodeApi(): Host;

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 300;
const MARGIN = { left: 48, right: 92, top: 14, bottom: 30 };
/** A figure that is narrower has its thresholds named inside the plot, which then goes to the right edge. */
const ROOMY = 420;
const EDGE = 12;

type Attributes = Record<string, string | number>;

function html(name: string, attributes: Attributes, ...children: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function svg(name: string, attributes: Attributes, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function show(report: ReplayReport): void {
  const main = document.getElementById("main");
  if (!main) return;
  main.removeAttribute("aria-busy");
  main.replaceChildren(...report.files.flatMap(drawFile));
}

function drawFile(file: FileReport): HTMLElement[] {
  const head = html(
    "header",
    {},
    html("h1", {}, file.file),
    html(
      "p",
      { class: "quiet" },
      `${file.format}, ${exact(file.responses)} model responses. Sizes are simulated from what would have been sent.`,
    ),
  );
  return [head, ...file.managed.map((run) => drawRun(run, file.recorded))];
}

function drawRun(run: Managed, recorded: readonly Recorded[]): HTMLElement {
  const title = `Window of ${exact(run.window)} tokens`;
  const figure = html("div", { class: "figure" });
  const readout = html("p", { class: "readout", role: "status", "aria-live": "polite" });
  const section = html(
    "section",
    { "aria-label": title },
    html("h2", {}, title),
    html("p", {}, summarize(run)),
    legend(run, chartOf(run, 600, recorded).recorded !== ""),
    figure,
    readout,
    table(run),
  );
  const cursor = new Cursor(run, readout);
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(figure.clientWidth);
    if (now < 120 || now === width) return;
    width = now;
    const focused = figure.contains(document.activeElement);
    figure.replaceChildren(cursor.draw(chartOf(run, width, recorded), width, title));
    if (focused) figure.querySelector<SVGElement>("svg")?.focus();
  }).observe(figure);
  return section;
}

function chartOf(run: Managed, width: number, recorded: readonly Recorded[]): Chart {
  const plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    width: width - MARGIN.left - (width < ROOMY ? EDGE : MARGIN.right),
    height: HEIGHT - MARGIN.top - MARGIN.bottom,
  };
  return layOut(run, plot, recorded);
}

/** The chart with the request that is looked at. */
class Cursor {
  private at = -1;
  private chart: Chart | undefined;
  private readonly pointer = svg("g", { class: "cursor" });

  constructor(
    private readonly run: Managed,
    private readonly readout: HTMLElement,
  ) {
    readout.textContent = "Point at the chart, or focus it and use the arrow keys, to read a request.";
  }

  draw(chart: Chart, width: number, title: string): SVGElement {
    this.chart = chart;
    const { plot } = chart;
    const picture = svg(
      "svg",
      {
        width,
        height: HEIGHT,
        viewBox: `0 0 ${width} ${HEIGHT}`,
        tabindex: 0,
        role: "application",
        "aria-roledescription": "chart",
        "aria-label": `${title}: size of each request. Arrow keys move, Page Up and Page Down jump to compactions.`,
      },
      ...chart.ticks.map((tick) =>
        svg("line", { class: "grid", x1: plot.left, x2: plot.left + plot.width, y1: tick.y, y2: tick.y }),
      ),
      ...chart.ticks.map((tick) => svg("text", { class: "axis end", x: plot.left - 8, y: tick.y + 4 }, tick.label)),
      ...chart.steps.map((step) =>
        svg("text", { class: "axis middle", x: step.x, y: plot.top + plot.height + 18 }, step.label),
      ),
      svg("path", { class: "interval", d: chart.interval }),
      svg("path", { class: "area", d: chart.area }),
      ...apart(chart.thresholds).flatMap(({ name, y, text }) => [
        svg("line", {
          class: `threshold ${name.toLowerCase()}`,
          x1: plot.left,
          x2: plot.left + plot.width,
          y1: y,
          y2: y,
        }),
        width < ROOMY
          ? svg("text", { class: "axis end inside", x: plot.left + plot.width - 4, y: text + 12 }, name)
          : svg("text", { class: "axis", x: plot.left + plot.width + 8, y: text + 4 }, name),
      ]),
      svg("path", { class: "recorded", d: chart.recorded }),
      svg("path", { class: "line", d: chart.line }),
      this.pointer,
      ...chart.marks.map((mark) =>
        drawMark(mark.kind, mark.x, mark.kind === "compaction" ? mark.y : plot.top + plot.height),
      ),
    );
    picture.addEventListener("pointermove", (event) => this.point((event as PointerEvent).offsetX));
    picture.addEventListener("keydown", (event) => this.press(event as KeyboardEvent));
    picture.addEventListener("focus", () => this.move(this.at < 0 ? 0 : this.at));
    if (this.at >= 0) this.move(this.at);
    return picture;
  }

  private point(x: number): void {
    const { plot, points } = this.chart ?? {};
    if (!plot || !points?.length) return;
    this.move(Math.round(((x - plot.left) / plot.width) * (points.length - 1)));
  }

  private press(event: KeyboardEvent): void {
    const last = this.run.timeline.length - 1;
    const compactions = this.run.timeline.flatMap((moment, at) => (moment.compacted ? [at] : []));
    const to: Record<string, number | undefined> = {
      ArrowLeft: this.at - 1,
      ArrowRight: this.at + 1,
      Home: 0,
      End: last,
      PageDown: compactions.find((at) => at > this.at) ?? last,
      PageUp: compactions.findLast((at) => at < this.at) ?? 0,
    };
    const next = to[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.move(next);
  }

  private move(to: number): void {
    if (!this.chart) return;
    const { plot, points } = this.chart;
    this.at = Math.max(0, Math.min(points.length - 1, to));
    const point = points[this.at];
    if (!point) return;
    this.pointer.replaceChildren(
      svg("line", { x1: point.x, x2: point.x, y1: plot.top, y2: plot.top + plot.height }),
      svg("circle", { cx: point.x, cy: point.y, r: 4 }),
    );
    const said = describe(this.run, this.at);
    if (this.readout.textContent !== said) this.readout.textContent = said;
  }
}

/** A compaction is a filled diamond on the line, an elision a tick on the axis: told apart without colour. */
function drawMark(kind: "compaction" | "elision", x: number, y: number): SVGElement {
  if (kind === "elision") return svg("line", { class: "elision", x1: x, x2: x, y1: y, y2: y - 7 });
  return svg("path", { class: "compaction", d: `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z` });
}

/** Labels moved apart where thresholds lie close together. */
function apart(thresholds: Chart["thresholds"]): (Chart["thresholds"][number] & { text: number })[] {
  let last = -Infinity;
  return [...thresholds]
    .sort((a, b) => a.y - b.y)
    .map((one) => {
      const text = Math.max(one.y, last + 14);
      last = text;
      return { ...one, text };
    });
}

function legend(run: Managed, wasReported: boolean): HTMLElement {
  const swatch = (...parts: SVGElement[]): SVGElement =>
    svg("svg", { width: 16, height: 12, "aria-hidden": "true" }, ...parts);
  const entry = (picture: SVGElement, text: string): HTMLElement => html("li", {}, picture, text);
  return html(
    "ul",
    { class: "legend" },
    entry(swatch(svg("line", { class: "line", x1: 0, x2: 16, y1: 6, y2: 6 })), "size of the request"),
    ...(wasReported
      ? [entry(swatch(svg("line", { class: "recorded", x1: 0, x2: 16, y1: 6, y2: 6 })), "as recorded")]
      : []),
    entry(swatch(svg("rect", { class: "interval", x: 0, y: 1, width: 16, height: 10 })), "foreseen, from low to high"),
    ...(run.compactions.length ? [entry(swatch(drawMark("compaction", 8, 6)), "compaction")] : []),
    ...(run.elisions ? [entry(swatch(drawMark("elision", 8, 9)), "outputs elided")] : []),
  );
}

function table(run: Managed): HTMLElement {
  const headings = ["Request", "Tokens", "Foreseen", "Elided", "Compaction"];
  const rows = run.timeline.map((moment, at) =>
    html(
      "tr",
      moment.compacted ? { class: "marked" } : {},
      html("th", { scope: "row" }, String(at + 1)),
      html("td", {}, exact(moment.tokens)),
      html("td", {}, exact(moment.predicted)),
      html("td", {}, moment.elisions ? exact(moment.elisions) : ""),
      html("td", {}, moment.compacted ? `${exact(moment.before)} → ${exact(moment.after)}` : ""),
    ),
  );
  return html(
    "details",
    {},
    html("summary", {}, "All requests as a table"),
    html(
      "div",
      { class: "scroll" },
      html(
        "table",
        {},
        html("thead", {}, html("tr", {}, ...headings.map((text) => html("th", { scope: "col" }, text)))),
        html("tbody", {}, ...rows),
      ),
    ),
  );
}

const host = acquireVsCodeApi();
window.addEventListener("message", ({ data }: MessageEvent<ReplayReport>) => {
  host.setState(data);
  show(data);
});
const kept = host.getState();
if (kept) show(kept);
else host.postMessage("ready");
