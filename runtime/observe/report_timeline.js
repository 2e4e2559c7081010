"use strict";
// The timeline: its data, its layout and its drawing. The other half of the
// script is report_controls.js.

// Faults of the page itself are counted where a test can read them.
const body = document.body;
body.dataset.errors = "0";
const fault = () => { body.dataset.errors = String(Number(body.dataset.errors) + 1); };
addEventListener("error", fault);
addEventListener("unhandledrejection", fault);
document.addEventListener("securitypolicyviolation", fault);

const byID = (id) => document.getElementById(id);
const data = JSON.parse(byID("data").textContent);
// The fields of a slice.
const SLICE = { track: 0, start: 1, length: 2, kind: 3, color: 4, name: 5, what: 6, amount: 7, range: 8, flags: 9, error: 10, waited: 11 };
const KERNEL = 0, H2D = 1, D2H = 2, D2D = 3, ZERO = 4;
const KINDS = ["Kernel", "Upload", "Download", "Copy across", "Zero-copy"];
const CRITICAL = 1, FAILED = 2;
const slices = data.slices || [], tracks = data.tracks || [];
const span = Math.max(data.span, 1);

// ---- words -------------------------------------------------------------
const digits = (f) => f < 9.995 ? f.toFixed(2) : f < 99.95 ? f.toFixed(1) : f.toFixed(0);
const time = (ns) => {
  if (ns < 0) return "-" + time(-ns);
  if (ns === 0) return "0 s";
  if (ns < 1e3) return ns.toFixed(0) + " ns";
  if (ns < 1e6) return digits(ns / 1e3) + " µs";
  if (ns < 1e9) return digits(ns / 1e6) + " ms";
  return digits(ns / 1e9) + " s";
};
const bytes = (n) => {
  if (n < 1024) return n + " B";
  let unit = 0;
  while (n >= 1024 && unit < 5) { n /= 1024; unit++; }
  return digits(n) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
};
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u2009");

// ---- colors ------------------------------------------------------------
// Custom properties that depend on the theme are only resolved where a color
// is used, so a hidden element uses each of them.
const probe = document.createElement("span");
probe.hidden = true;
body.append(probe);
const color = (name) => { probe.style.color = "var(--" + name + ")"; return getComputedStyle(probe).color; };
let theme = {};
const readTheme = () => {
  theme = { kernels: [] };
  for (const n of ["card", "text", "muted", "line", "faint", "accent", "focus", "ink", "up", "down", "zero"]) theme[n] = color(n);
  for (let i = 0; i <= 8; i++) theme.kernels.push(color("k" + i));
};

// ---- layout ------------------------------------------------------------
const box = byID("timeline"), canvas = byID("canvas"), paint = canvas.getContext("2d");
const AXIS = 30, GROUP = 26, KERNELS = 26, COPIES = 18, GAP = 4;
let gutter = 130, width = 0, height = 0;
const groups = []; // {y, name}
const rows = tracks.map(() => null); // {y, h, first, last}
let y = AXIS + 4;
for (let i = 0, device = -1; i < tracks.length; i++) {
  if (tracks[i].device !== device) {
    device = tracks[i].device;
    groups.push({ y, name: data.devices[device] });
    y += GROUP;
  }
  const h = tracks[i].copies ? COPIES : KERNELS;
  rows[i] = { y, h, first: 0, last: 0 };
  y += h + GAP;
  if (i + 1 < tracks.length && tracks[i + 1].device !== device) y += 8;
}
height = Math.max(y + 6, AXIS + 30);
for (let i = 0, t = 0; i <= slices.length; i++) {
  while (t < tracks.length && (i === slices.length || slices[i][SLICE.track] > t)) { rows[t].last = i; if (++t < tracks.length) rows[t].first = i; }
}

// ---- view --------------------------------------------------------------
let from = 0, to = span;           // what is shown, in ns
let hover = -1, chosen = -1;       // slices
let onlyCritical = false, ranging = null;
const inner = () => Math.max(width - gutter - 8, 10);
const xOf = (t) => gutter + (t - from) / (to - from) * inner();
const timeAt = (x) => from + (x - gutter) / inner() * (to - from);
const show = (a, b) => {
  const least = 50; // ns
  let w = Math.min(Math.max(b - a, least), span);
  let middle = (a + b) / 2;
  from = Math.min(Math.max(middle - w / 2, 0), Math.max(span - w, 0));
  to = from + w;
  draw();
};
const zoom = (factor, at) => show(at - (at - from) * factor, at + (to - at) * factor);

// firstVisible is the first slice of a row that ends after t; slices of a
// row do not overlap.
const firstVisible = (row, t) => {
  let lo = row.first, hi = row.last;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (slices[m][SLICE.start] + slices[m][SLICE.length] <= t) lo = m + 1; else hi = m;
  }
  return lo;
};

const resize = () => {
  const ratio = window.devicePixelRatio || 1;
  width = box.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  const longest = Math.max(0, ...tracks.slice(0, 200).map((t) => t.label.length));
  gutter = Math.min(Math.max(longest * 7 + 24, 90), Math.max(width * 0.3, 60));
  draw();
};

const FONT = '12px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif';
const clip = (text, w) => {
  if (w < 16) return "";
  if (paint.measureText(text).width <= w) return text;
  let n = Math.floor(text.length * w / paint.measureText(text).width);
  while (n > 0 && paint.measureText(text.slice(0, n) + "…").width > w) n--;
  return n > 0 ? text.slice(0, n) + "…" : "";
};

const drawAxis = () => {
  const room = Math.max(inner() / 110, 1), raw = (to - from) / room;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
  // The largest unit in which labels have at most two decimals.
  const unit = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([u]) => to >= u && step >= u / 100) || [1, "ns"];
  paint.fillStyle = theme.muted;
  paint.textAlign = "center";
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to * (1 + 1e-12); n++) {
    const x = xOf(n * step);
    if (x < gutter - 1) continue;
    paint.fillStyle = theme.line;
    paint.fillRect(Math.round(x), AXIS - 6, 1, height - AXIS);
    paint.fillStyle = theme.muted;
    const value = n * step / unit[0];
    const label = (Math.abs(value) >= 1e5 ? value.toFixed(0) : String(Number(value.toPrecision(9)))) + " " + unit[1];
    const half = paint.measureText(label).width / 2;
    paint.fillText(label, Math.min(Math.max(x, gutter + half - 4), width - half - 2), 12);
  }
};

const fillOf = (s) => {
  switch (s[SLICE.kind]) {
    case KERNEL: return theme.kernels[Math.min(s[SLICE.color], 8)];
    case D2H: return theme.down;
    default: return theme.up;
  }
};

const drawSlice = (i, s, row) => {
  const left = Math.max(xOf(s[SLICE.start]), gutter - 2), right = Math.min(xOf(s[SLICE.start] + s[SLICE.length]), width + 2);
  const w = Math.max(right - left - 0.5, 1.5);
  const dim = onlyCritical && !(s[SLICE.flags] & CRITICAL);
  paint.globalAlpha = dim ? 0.22 : 1;
  const radius = Math.min(4, w / 2);
  paint.beginPath();
  if (w > 3) paint.roundRect(left, row.y, w, row.h, radius); else paint.rect(left, row.y, w, row.h);
  if (s[SLICE.kind] === ZERO) {
    paint.strokeStyle = theme.zero;
    paint.lineWidth = 1;
    if (w > 6) { paint.setLineDash([3, 2]); paint.stroke(); paint.setLineDash([]); } else { paint.fillStyle = theme.zero; paint.fill(); }
  } else {
    paint.fillStyle = fillOf(s);
    paint.fill();
  }
  if (s[SLICE.flags] & FAILED) {
    paint.strokeStyle = theme.accent;
    paint.lineWidth = 2;
    paint.stroke();
    paint.beginPath();
    paint.moveTo(left, row.y + row.h);
    paint.lineTo(left + Math.min(w, row.h), row.y);
    paint.stroke();
  } else if (onlyCritical && !dim) {
    paint.strokeStyle = theme.accent;
    paint.lineWidth = 2;
    paint.stroke();
  }
  if (w > 24) {
    const text = clip(data.strings[s[SLICE.name]], w - 12);
    paint.fillStyle = s[SLICE.kind] === ZERO ? theme.muted : theme.ink;
    paint.textAlign = "left";
    if (row.h >= 16) paint.fillText(text, left + 6, row.y + row.h / 2 + 0.5);
  }
  paint.globalAlpha = 1;
};

const outline = (i, style, w) => {
  const s = slices[i], row = rows[s[SLICE.track]];
  const left = xOf(s[SLICE.start]), right = xOf(s[SLICE.start] + s[SLICE.length]);
  if (right < gutter || left > width) return;
  paint.strokeStyle = style;
  paint.lineWidth = w;
  paint.strokeRect(left - 1, row.y - 1, Math.max(right - left, 2) + 2, row.h + 2);
};

// arrow draws what slice b waited for.
const arrow = (a, b) => {
  const s = slices[a], e = slices[b], ra = rows[s[SLICE.track]], rb = rows[e[SLICE.track]];
  const x1 = xOf(s[SLICE.start] + s[SLICE.length]), x2 = xOf(e[SLICE.start]);
  const y1 = ra.y + ra.h / 2, y2 = rb.y + rb.h / 2, bend = Math.max(Math.abs(x2 - x1) / 2, 14);
  paint.strokeStyle = theme.text;
  paint.fillStyle = theme.text;
  paint.lineWidth = 1.4;
  paint.beginPath();
  paint.moveTo(x1, y1);
  paint.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  paint.stroke();
  paint.beginPath();
  paint.moveTo(x2, y2);
  paint.lineTo(x2 - 6, y2 - 3.5);
  paint.lineTo(x2 - 6, y2 + 3.5);
  paint.fill();
};

let followers = null; // slices that waited for each slice, made when first needed
const after = (i) => {
  if (!followers) {
    followers = slices.map(() => []);
    data.after.forEach((list, j) => list.forEach((k) => followers[k].push(j)));
  }
  return followers[i];
};

let pending = false;
const draw = () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; drawNow(); });
};
const drawNow = () => {
  paint.clearRect(0, 0, width, height);
  paint.font = FONT;
  paint.textBaseline = "middle";
  if (slices.length === 0) {
    paint.textAlign = "left";
    paint.fillStyle = theme.muted;
    paint.fillText("Nothing was launched or copied.", 2, AXIS);
    body.dataset.drawn = "0";
    return;
  }
  drawAxis();
  paint.save();
  paint.beginPath();
  paint.rect(gutter - 3, 0, width - gutter + 3, height);
  paint.clip();
  let drawn = 0;
  for (const row of rows) {
    paint.fillStyle = theme.faint;
    paint.fillRect(gutter, row.y + row.h, width - gutter - 8, 1);
    let lastX = -1e9;
    for (let i = firstVisible(row, from); i < row.last && slices[i][SLICE.start] < to; i++) {
      const s = slices[i];
      // What is less than a pixel beside something drawn is not seen.
      const right = xOf(s[SLICE.start] + s[SLICE.length]);
      if (right - lastX < 0.7) continue;
      lastX = Math.max(right, xOf(s[SLICE.start]) + 1);
      drawSlice(i, s, row);
      drawn++;
    }
  }
  const focus = chosen >= 0 ? chosen : hover;
  if (focus >= 0) {
    for (const a of data.after[focus]) arrow(a, focus);
    for (const b of after(focus)) arrow(focus, b);
  }
  if (hover >= 0) outline(hover, theme.text, 1.5);
  if (chosen >= 0) outline(chosen, theme.focus, 2.5);
  if (ranging) {
    paint.globalAlpha = 0.18;
    paint.fillStyle = theme.focus;
    paint.fillRect(Math.min(ranging.x0, ranging.x1), AXIS - 6, Math.abs(ranging.x1 - ranging.x0), height);
    paint.globalAlpha = 1;
  }
  paint.restore();
  paint.textAlign = "left";
  for (const g of groups) {
    paint.font = "600 " + FONT.replace("12px", "13px");
    paint.fillStyle = theme.text;
    paint.fillText(clip(g.name, width - 10), 2, g.y + GROUP / 2);
  }
  paint.font = FONT;
  paint.fillStyle = theme.muted;
  tracks.forEach((t, i) => paint.fillText(clip(t.label, gutter - 16), 10, rows[i].y + rows[i].h / 2));
  if (to - from < span * 0.999) {
    // Where the view lies in the whole.
    paint.fillStyle = theme.line;
    paint.fillRect(gutter, height - 4, inner(), 3);
    paint.fillStyle = theme.muted;
    paint.fillRect(gutter + from / span * inner(), height - 4, Math.max((to - from) / span * inner(), 3), 3);
  }
  body.dataset.drawn = String(drawn);
};
