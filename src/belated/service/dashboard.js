// The dashboard: asks the server every two seconds, and shows what it says. Everything that comes
// from outside is put in as text, never as HTML.
"use strict";

const EVERY = 2000;
const SVG = "http://www.w3.org/2000/svg";
const NAMES = [
  [1, "1 second"], [10, "10 seconds"], [60, "1 minute"], [600, "10 minutes"], [3600, "1 hour"],
  [21600, "6 hours"], [86400, "1 day"], [604800, "1 week"], [2592000, "30 days"],
];
const KNOBS = 12;  // of which the best setting is shown
const NEVER = { chosen: 0, answered: 0, mean_reward: null };
const at = (id) => document.getElementById(id);
let chosen = null;
let timer = null;

// --- Asking --------------------------------------------------------------------------------------

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token");
}

async function ask(path) {
  const answer = await fetch(path, { headers: { Authorization: `Bearer ${token() || ""}` } });
  if (answer.status === 401 || answer.status === 403) throw new Error("token");
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  return answer.json();
}

async function refresh() {
  clearTimeout(timer);
  try {
    const { models } = await ask("/models");
    at("login").hidden = true;
    list(models);
    if (!models.length) {
      say("No models yet. POST /models makes one; belated serve --demo shows some.");
      at("model").hidden = true;
    } else {
      if (!models.some((model) => model.name === chosen)) chosen = models[0].name;
      show(await ask(`/models/${encodeURIComponent(chosen)}/live`));
      say(`${models.length} model${models.length > 1 ? "s" : ""}, as of ${new Date().toLocaleTimeString()}.`);
      list(models);
    }
  } catch (error) {
    if (error.message === "token") {
      at("login").hidden = false;
      at("model").hidden = true;
      say("A token is needed.");
      return;
    }
    say(`Cannot reach the server (${error.message}); trying again.`);
  }
  timer = setTimeout(refresh, document.hidden ? 5 * EVERY : EVERY);
}

function say(text) {
  if (at("state").textContent !== text) at("state").textContent = text;
}

// --- Pieces --------------------------------------------------------------------------------------

function make(name, text, ...classes) {
  const found = document.createElement(name);
  if (text !== undefined && text !== null) found.textContent = text;
  found.classList.add(...classes);
  return found;
}

function draw(name, attributes, text) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

function number(value) {
  if (value === null || value === undefined) return "none yet";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(4);
}

function short(value) {
  // At most seven characters, beside an axis.
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) return value.toExponential(1);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(size < 0.1 ? 2 : 3));
}

function span(seconds) {
  for (const [size, name] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    if (seconds >= size || size === 1) return `${Math.round(seconds / size)} ${name}`;
  }
  return "";
}

// --- Showing -------------------------------------------------------------------------------------

function list(models) {
  const names = models.map((model) => model.name);
  const buttons = [...at("models").querySelectorAll("button")];
  if (buttons.map((button) => button.dataset.name).join("\n") !== names.join("\n")) {
    at("models").replaceChildren(...models.map((model) => {
      const button = make("button", model.name);
      button.type = "button";
      button.dataset.name = model.name;
      button.addEventListener("click", () => { chosen = model.name; refresh(); });
      const item = make("li");
      item.append(button);
      return item;
    }));
  }
  for (const button of at("models").querySelectorAll("button")) {
    if (button.dataset.name === chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

function show(live) {
  const report = live.report;
  at("model").hidden = false;
  at("name").textContent = `${live.name} `;
  at("name").append(make("small", live.kind));
  if (at("why").textContent !== (live.why || "")) at("why").textContent = live.why || "";
  tiles(live, report);
  at("measure").hidden = nothingToMeasure(live);
  curve(at("measure"), live.measure, live.points, [
    [meanOf, "one"],
    ...(live.kind === "Knobs" ? [] : [[recentOf(live.points), "two", "lately"]]),  // there it is no mean
    [baselineOf, "three", live.baseline],
  ]);
  curve(at("open"), "open tickets", live.points, [[(point) => point[3], "one"]]);
  ages(live, report);
  timeline(live);
  actions(report, live.options);
  at("report").textContent = JSON.stringify(report, null, 1);
}

function tiles(live, report) {
  const heard = report.answered ?? report.observed ?? 0;
  const inner = report.model || report;
  const found = [
    ["asked", report.rounds, live.last_asked ? `last ${span(live.now - live.last_asked)} ago` : ""],
    ["answered", heard, live.last_answered ? `last ${span(live.now - live.last_answered)} ago` : ""],
    ["open", report.open, ""],
    ...(nothingToMeasure(live) ? [] : [[live.measure, measured(live), ""]]),
    ["came too late", live.late, "dropped"],
  ];
  if (inner.skipped !== undefined) found.push(["given up on", inner.skipped, "no answer came"]);
  if (inner.settled !== undefined) found.push(["settled", inner.settled, "by silence"]);
  if (report.withdrawn) found.push(["never shown", report.withdrawn, ""]);
  if (inner.cancelled) found.push(["cancelled", inner.cancelled, ""]);
  if (inner.max_answered_delay !== undefined) {
    found.push(["largest delay", inner.max_answered_delay, "predictions, of an answer that came"]);
    found.push(["longest unanswered", inner.max_unanswered_age, "predictions, open or closed without an answer"]);
  }
  if (report.gain !== null && report.gain !== undefined) {
    found.push(["gain over baseline", report.gain, "predicted, a choice"]);
    found.push(["agrees with baseline", `${Math.round(100 * report.agreement)} %`, `mode: ${report.mode}`]);
  }
  if (report.explored !== undefined) {
    found.push(["exploring", `${(100 * report.explored).toFixed(1)} %`, "of the choices"]);
  }
  for (const [name, value] of Object.entries(report.best || {}).slice(0, KNOBS)) {
    found.push([`best ${name}`.slice(0, 80), value, `start ${number(report.start[name])}`]);
  }
  if (report.half_width !== undefined) {
    found.push(["half-width", report.half_width, "mean of the intervals"]);
    const sure = report.is_vacuous ? "nothing yet" : `${(100 * report.guaranteed).toFixed(1)} %`;
    found.push(["guaranteed coverage", sure, report.is_vacuous ? "too few labels so far" : "at least"]);
    if (report.unbounded) found.push(["without ends", report.unbounded, "before the first label, left out"]);
  }
  const sure = report.certificate;
  if (sure && sure.total !== undefined) {
    const parts = [`learning ${number(sure.learning)}`, `lateness ${number(sure.delay)}`];
    if (sure.unanswered) parts.push(`still open ${number(sure.unanswered)}`);
    found.push(["regret at most", sure.total, parts.join(", ")]);
  }
  at("tiles").replaceChildren(...found.map(([name, value, more]) => {
    const tile = make("div");
    const shown = make("dd", number(value));
    if (more) shown.append(make("small", more));
    tile.append(make("dt", name), shown);
    return tile;
  }));
}

function nothingToMeasure(live) {
  // A learner without a certificate hears gradients, and never what a play cost.
  return live.kind === "Learner" && measured(live) === null;
}

function measured(live) {
  const last = live.points[live.points.length - 1];
  return last ? last[4] : null;
}

const meanOf = (point) => point[4];
const baselineOf = (point) => point[6] ?? null;

function recentOf(points) {
  // The mean between two points of a mean so far, over a twentieth of the points at which it moved.
  const moved = points.filter((point, place) => !place || point[5] !== points[place - 1][5]);
  const back = Math.max(1, Math.round(moved.length / 20));
  const places = new Map(moved.map((point, place) => [point, place]));
  return (point) => {
    const place = places.get(point);
    if (!place || point[4] === null) return null;
    const before = moved[Math.max(0, place - back)];
    return (point[4] * point[5] - (before[4] ?? 0) * before[5]) / (point[5] - before[5]);
  };
}

function curve(where, name, points, wanted) {
  const width = Math.max(where.clientWidth, 200), height = 170, left = 56, bottom = 22, top = 8;
  const lines = wanted.map(([read, look, words]) => [
    points.map((point, place) => [point[0], read(point, place)]).filter((pair) => pair[1] !== null), look, words]);
  const all = lines.flatMap(([pairs]) => pairs.map((pair) => pair[1]));
  const now = (pairs) => number(pairs[pairs.length - 1][1]);
  const beside = lines.slice(1).filter(([pairs]) => pairs.length);
  const said = [
    `${name}: ${lines[0][0].length ? `now ${now(lines[0][0])}` : "nothing yet"}`,
    ...beside.map(([pairs, , words]) => `${words} ${now(pairs)}`),
  ].join("; ");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said });
  if (all.length) {
    let low = Math.min(...all), high = Math.max(...all);
    if (low > 0 && low < 0.5 * high) low = 0;
    if (low === high) {
      high = low === 0 ? 1 : low + Math.abs(low) / 2;
      low = low === 0 ? 0 : low - Math.abs(low) / 2;
    }
    const begin = points[0][0], end = points[points.length - 1][0];
    const x = (when) => left + (width - left - 8) * (end > begin ? (when - begin) / (end - begin) : 1);
    const y = (what) => top + (height - top - bottom) * (1 - (what - low) / (high - low));
    for (const mark of [low, (low + high) / 2, high]) {
      svg.append(draw("line", { class: "axis", x1: left, x2: width - 8, y1: y(mark), y2: y(mark) }));
      svg.append(draw("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, short(mark)));
    }
    svg.append(draw("text", { x: left, y: height - 5 }, `${span(end - begin)} ago`));
    svg.append(draw("text", { x: width - 8, y: height - 5, "text-anchor": "end" }, "now"));
    for (const [pairs, look] of lines) {
      const path = pairs.map(([when, what], place) => `${place ? "L" : "M"}${x(when).toFixed(1)} ${y(what).toFixed(1)}`);
      svg.append(draw("path", { class: look, d: path.join("") }));
    }
  }
  where.replaceChildren(legend(lines, said), svg);
}

function legend(lines, said) {
  // The words of the picture, each beside a piece of its line.
  const caption = make("figcaption"), parts = said.split("; ");
  const shown = [lines[0], ...lines.slice(1).filter(([pairs]) => pairs.length)];
  shown.forEach(([pairs, look], place) => {
    const piece = make("span", null, "piece");
    if (pairs.length && shown.length > 1) {
      const line = draw("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" });
      line.append(draw("path", { class: look, d: "M0 4L24 4" }));
      piece.append(line);
    }
    piece.append(parts[place]);
    caption.append(piece, " ");
  });
  return caption;
}

function ages(live, report) {
  at("told").hidden = live.clock === null;
  let sum = 0;
  const asked = Math.max(report.rounds, 1);
  const counts = live.ages.counts;
  const last = counts.reduce((found, count, place) => (count ? place : found), 0);
  const rows = counts.slice(0, last + 1).map((count, place) => {
    sum += count;
    const row = make("tr"), share = make("td");
    const bar = make("meter");
    bar.max = 1;
    bar.value = Math.min(sum / asked, 1);
    bar.textContent = `${Math.round((100 * sum) / asked)} %`;
    share.append(bar, ` ${((100 * Math.min(sum, asked)) / asked).toFixed(1)} %`);
    const head = make("th", NAMES[place] ? NAMES[place][1] : "any time");
    head.scope = "row";
    row.append(head, share, make("td", number(sum)));
    return row;
  });
  at("age").tBodies[0].replaceChildren(...rows);
}

function timeline(live) {
  const shown = live.recent;
  const width = Math.max(at("timeline").clientWidth, 200), step = 6, height = shown.length * step + 26;
  const waits = (each) => each[2] === null && each[3];
  const waiting = shown.filter(waits).length;
  const closed = shown.filter((each) => each[2] === null && !each[3]).length;
  const said = [
    `${shown.length} of the newest tickets, from question to answer; ${waiting} of them still wait (dashed)`,
    ...(closed ? [`${closed} were closed without an answer (rings)`] : []),
  ].join(", ");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said });
  if (shown.length) {
    const begin = Math.min(...shown.map((each) => each[1])), now = live.clock ?? live.now;
    const last = Math.max(...shown.map((each) => (waits(each) ? now : each[2] ?? each[1])));
    const end = Math.max(last, begin + 1);  // now, unless nothing waits
    const x = (when) => 8 + (width - 16) * ((when - begin) / (end - begin));
    shown.forEach((each, place) => {
      const [, asked, answered] = each;
      const y = 6 + place * step;
      if (answered === null && !waits(each)) {
        svg.append(draw("circle", { class: "closed", cx: x(asked) + 2, cy: y, r: 2 }));
        return;
      }
      svg.append(draw("line", {
        class: waits(each) ? "waiting" : "answered",
        x1: x(asked), x2: Math.max(x(answered ?? end), x(asked) + 3), y1: y, y2: y,
      }));
    });
    const until = Math.abs(live.now - end) < 1 ? "now" : `${span(end - begin)} later`;
    svg.append(draw("text", { x: 8, y: height - 4 }, `${span(Math.max(live.now - begin, 0))} ago`));
    svg.append(draw("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, until));
  }
  at("timeline").replaceChildren(make("figcaption", said), svg);
}

function actions(report, options) {
  const found = report.actions;
  at("choices").hidden = !found;
  if (!found) return;
  const next = new Map((options || []).map((option) => [option.action, option]));
  at("next").textContent = !options ? "" : report.mode === "apprentice"
    ? "“Would choose” has the probabilities of its own choices, in the context that came last; as an apprentice it plays the baseline."
    : "“Would choose” has the probabilities of a choice now, in the context that came last.";
  const all = { ...Object.fromEntries([...next.keys()].map((name) => [name, NEVER])), ...found };
  const often = Object.entries(all).sort((a, b) => b[1].chosen - a[1].chosen).slice(0, 20);
  at("actions").tBodies[0].replaceChildren(...often.map(([name, about]) => {
    const row = make("tr"), head = make("th", name.slice(0, 80));
    head.scope = "row";
    head.title = name;
    const option = next.get(name);
    row.append(head, make("td", number(about.chosen)), make("td", number(about.answered)),
      make("td", withError(about)),
      make("td", option ? `${(100 * option.probability).toFixed(1)} %` : ""));
    return row;
  }));
}

function withError(about) {
  const error = about.standard_error;
  return number(about.mean_reward) + (error == null ? "" : ` ± ${error.toPrecision(1)}`);
}

// --- Beginning -----------------------------------------------------------------------------------

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", at("token").value.trim());
  at("token").value = "";
  refresh();
});
window.addEventListener("hashchange", refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
refresh();
