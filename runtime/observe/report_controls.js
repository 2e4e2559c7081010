// What the timeline says about a slice, and what it does when the reader
// points, types or clicks. The other half of the script is report_timeline.js,
// whose names are used here.

// ---- what a slice is ---------------------------------------------------
const facts = (i) => {
  const s = slices[i], track = tracks[s[SLICE.track]], list = [];
  const kernel = s[SLICE.kind] === KERNEL;
  list.push(["Device", data.devices[track.device] + " · " + track.label]);
  if (kernel) {
    list.push(["Kernel", data.strings[s[SLICE.what]]], ["Work-items", count(s[SLICE.amount])]);
    if (s[SLICE.range]) list.push(["Range", data.strings[s[SLICE.range]]]);
  } else {
    list.push(["Way", data.strings[s[SLICE.what]]], ["Bytes", bytes(s[SLICE.amount])]);
    if (s[SLICE.kind] !== ZERO && s[SLICE.length] > 1) list.push(["Rate", bytes(s[SLICE.amount] / s[SLICE.length] * 1e9) + "/s"]);
  }
  list.push(["Took", time(s[SLICE.length])], ["Began", "at " + time(s[SLICE.start])]);
  if (s[SLICE.waited] > 0) list.push(["Waited", time(s[SLICE.waited])]);
  list.push(["Waits for", data.after[i].length], ["Followed by", after(i).length]);
  if (s[SLICE.flags] & CRITICAL) list.push(["Critical path", "yes"]);
  if (s[SLICE.flags] & FAILED) list.push(["Error", data.strings[s[SLICE.error]], "bad"]);
  return list;
};
const describe = (into, i) => {
  const s = slices[i], title = document.createElement("strong"), list = document.createElement("div");
  title.textContent = (s[SLICE.kind] === KERNEL ? "" : KINDS[s[SLICE.kind]] + ": ") + data.strings[s[SLICE.name]];
  list.className = "facts";
  for (const [key, value, style] of facts(i)) {
    const line = document.createElement("div"), k = document.createElement("b"), v = document.createElement("span");
    k.textContent = key;
    v.textContent = String(value);
    if (style) v.className = style;
    line.append(k, v);
    list.append(line);
  }
  into.replaceChildren(title, list);
};

// ---- pointer -----------------------------------------------------------
const tip = byID("tip"), detail = byID("detail");
const hit = (x, yy) => {
  const t = rows.findIndex((r) => yy >= r.y - 1 && yy <= r.y + r.h + 1);
  if (t < 0 || x < gutter - 2) return -1;
  const row = rows[t], slack = 2;
  const i = firstVisible(row, timeAt(x - slack));
  if (i < row.last && slices[i][SLICE.start] <= timeAt(x + slack)) return i;
  return -1;
};
const choose = (i) => {
  chosen = i;
  detail.hidden = i < 0;
  if (i >= 0) {
    describe(detail, i);
    const s = slices[i], a = s[SLICE.start], b = a + s[SLICE.length];
    if (b <= from || a >= to) show((a + b - (to - from)) / 2, (a + b + (to - from)) / 2);
  } else {
    detail.replaceChildren();
  }
  draw();
};
const place = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
const showTip = (i, e) => {
  tip.hidden = i < 0;
  if (i < 0) return;
  describe(tip, i);
  const w = tip.offsetWidth, h = tip.offsetHeight;
  const left = e.clientX + 16 + w > innerWidth ? e.clientX - 16 - w : e.clientX + 16;
  const top = e.clientY + 16 + h > innerHeight ? e.clientY - 12 - h : e.clientY + 16;
  tip.style.transform = "translate(" + Math.max(left, 4) + "px," + Math.max(top, 4) + "px)";
};
let drag = null;
canvas.addEventListener("pointerdown", (e) => {
  if (e.button !== 0) return;
  const [x] = place(e);
  canvas.setPointerCapture(e.pointerId);
  drag = { x, from, to, moved: false };
  if (e.shiftKey && x >= gutter) ranging = { x0: x, x1: x };
  showTip(-1);
});
canvas.addEventListener("pointermove", (e) => {
  const [x, yy] = place(e);
  if (!drag) {
    const i = hit(x, yy);
    if (i !== hover) { hover = i; draw(); }
    showTip(i, e);
    return;
  }
  drag.moved = drag.moved || Math.abs(x - drag.x) > 3;
  if (ranging) {
    ranging.x1 = x;
    draw();
  } else if (drag.moved) {
    const d = (x - drag.x) / inner() * (drag.to - drag.from);
    show(drag.from - d, drag.to - d);
  }
});
const release = (e) => {
  if (!drag) return;
  const [x, yy] = place(e), was = drag, range = ranging;
  drag = ranging = null;
  if (range && was.moved) show(timeAt(Math.max(Math.min(range.x0, range.x1), gutter)), timeAt(Math.max(range.x0, range.x1)));
  else if (!was.moved && e.type === "pointerup") choose(hit(x, yy));
  draw();
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => { hover = -1; showTip(-1); draw(); });
canvas.addEventListener("dblclick", () => show(0, span));
canvas.addEventListener("wheel", (e) => {
  const whole = to - from >= span * 0.999;
  // The page scrolls on where there is nothing to zoom out.
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
    if (whole) return;
    e.preventDefault();
    const d = e.deltaX / inner() * (to - from);
    show(from + d, to + d);
    return;
  }
  if (e.deltaY > 0 && whole) return;
  e.preventDefault();
  const unit = e.deltaMode === 1 ? 30 : 1;
  zoom(Math.exp(Math.max(Math.min(e.deltaY * unit, 300), -300) / 400), timeAt(Math.max(place(e)[0], gutter)));
}, { passive: false });

// ---- keyboard ----------------------------------------------------------
const middle = (i) => slices[i][SLICE.start] + slices[i][SLICE.length] / 2;
const neighbor = (step) => {
  for (let t = slices[chosen][SLICE.track] + step; t >= 0 && t < rows.length; t += step) {
    const row = rows[t];
    if (row.first === row.last) continue;
    let i = Math.min(firstVisible(row, middle(chosen)), row.last - 1);
    if (i > row.first && Math.abs(middle(i - 1) - middle(chosen)) < Math.abs(middle(i) - middle(chosen))) i--;
    return i;
  }
  return chosen;
};
box.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  const center = chosen >= 0 ? Math.min(Math.max(middle(chosen), from), to) : (from + to) / 2, w = to - from;
  const sameRow = (i) => i >= 0 && i < slices.length && slices[i][SLICE.track] === slices[chosen][SLICE.track];
  switch (e.key) {
    case "ArrowRight": case "ArrowLeft": case "ArrowUp": case "ArrowDown":
      if (slices.length === 0) return;
      if (chosen < 0) {
        const row = rows.find((r) => r.first < r.last);
        choose(Math.min(firstVisible(row, from), row.last - 1));
      } else if (e.key === "ArrowRight") { if (sameRow(chosen + 1)) choose(chosen + 1); }
      else if (e.key === "ArrowLeft") { if (sameRow(chosen - 1)) choose(chosen - 1); }
      else choose(neighbor(e.key === "ArrowDown" ? 1 : -1));
      break;
    case "+": case "=": zoom(0.6, center); break;
    case "-": case "_": zoom(1 / 0.6, center); break;
    case "a": case "A": show(from - w / 4, to - w / 4); break;
    case "d": case "D": show(from + w / 4, to + w / 4); break;
    case "0": case "Home": show(0, span); break;
    case "Escape": choose(-1); break;
    default: return;
  }
  e.preventDefault();
});

// ---- buttons and theme -------------------------------------------------
byID("tools").hidden = false;
byID("zoom-in").addEventListener("click", () => zoom(0.6, (from + to) / 2));
byID("zoom-out").addEventListener("click", () => zoom(1 / 0.6, (from + to) / 2));
byID("zoom-all").addEventListener("click", () => show(0, span));
byID("critical").addEventListener("click", (e) => {
  onlyCritical = !onlyCritical;
  e.currentTarget.setAttribute("aria-pressed", String(onlyCritical));
  draw();
});
const system = matchMedia("(prefers-color-scheme: dark)"), themeButton = byID("theme");
let wanted = location.hash === "#dark" ? "dark" : location.hash === "#light" ? "light" : "";
const applyTheme = () => {
  document.documentElement.style.colorScheme = wanted || "light dark";
  const dark = wanted ? wanted === "dark" : system.matches;
  themeButton.textContent = dark ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", "Switch to " + (dark ? "light" : "dark") + " colors");
  body.dataset.theme = dark ? "dark" : "light";
  readTheme();
  draw();
};
themeButton.hidden = false;
themeButton.addEventListener("click", () => { wanted = body.dataset.theme === "dark" ? "light" : "dark"; applyTheme(); });
system.addEventListener("change", applyTheme);
addEventListener("hashchange", () => { wanted = location.hash === "#dark" ? "dark" : location.hash === "#light" ? "light" : wanted; applyTheme(); });
addEventListener("resize", resize);
readTheme();
applyTheme();
resize();
drawNow();
body.dataset.slices = String(slices.length);
body.dataset.ready = "1";
