"use strict";
// The page of the local app. It builds elements by textContent alone: no text of a file ever becomes HTML.
const base = location.pathname.replace(/\/[^/]*$/, "");
const $ = (id) => document.getElementById(id);
const WORDS = { none: "", queued: "Waiting for another run to end.", running: "Running.", done: "Done.", failed: "It failed; the messages say why.",
  cancelled: "Cancelled. What is done is kept: Run resumes from there.", interrupted: "Interrupted. Run resumes where it stopped." };
const STOPPED = { cancelled: "Cancelled.", interrupted: "Interrupted before its end: start it again." };  // what is no fit begins anew
const NOISE = ["rate", "sd", "dispersion"];  // what a kind of noise may have
let current = null, reading = null, timer = null, saved = null, shown = 0;

function make(tag, text, more = {}) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [key, value] of Object.entries(more)) node[key] = value;
  return node;
}

// What the command line would say, as this page says it.
const PAGE_WORDS = [[/name the columns: --answer.*?or write a problem file\.?/, "choose above what the file is about, and give its columns their roles below."], [/'(?:[^'\n]*[\/\\])([^'\/\\]+\.\w+)'/g, "'$1'"], [/^'?\.?problem[\w.]*\.toml'?(?:, line \d+)?: /, ""], [/,? or pass mismatch='rescale'/, ", or add mismatch = \"rescale\" under [data] in the problem file below,"],
  [/pass mismatch='(\w+)'/g, "add mismatch = \"$1\" under [data] in the problem file below"], [/,? or give --answer[^.]*/g, ""], [/--answer "?[^".]*"?/g, "the questions above"],
  [/sumwise init\b[^.,]*/g, "Read again"], [/sumwise fit\b[^.,]*/g, "Run"], [/--resume|--restart|--replace/g, "Run"], [/--family/g, "the menu “What the file is about”"],
  [/add --(\w+)/g, "set $1"], [/run again with --debug to see where, and report it/g, "please report it with the messages below"]];
const inPageWords = (text) => PAGE_WORDS.reduce((words, [from, to]) => words.replace(from, to), text || "");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function say(problem) {
  const box = $("message");
  box.hidden = !problem;
  box.textContent = problem ? inPageWords(problem.error) + (problem.hint ? " " + capital(inPageWords(problem.hint)) : "") : "";
  if (problem) box.scrollIntoView({ block: "center" });
}

async function ask(path, options = {}) {
  let answer, body;
  try {
    answer = await fetch(base + path, options);
    body = await answer.json();
  } catch (error) {
    body = { error: "The app doesn't answer.", hint: "If it was stopped, start sumwise serve again and open the address that it prints: files, settings and results are kept, and a run that was under way goes on by itself or with Run." };
  }
  if (body.error) { say(body); throw new Error(body.error); }
  return body;
}
const post = (path, body = {}) => ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
const of = (name) => "/api/studies/" + encodeURIComponent(name);

async function home() {
  stopWatching();
  current = null;
  $("study").hidden = true; $("home").hidden = false;
  document.body.classList.remove("panes");
  document.title = "sumwise";
  const list = await ask("/api/studies");
  $("studies").replaceChildren(...list.map((study) => {
    const item = make("li"), button = make("button", "", { type: "button" });
    if (study.result.includes("report.html")) {
      button.append(make("img", undefined, { src: base + "/thumbnail/" + encodeURIComponent(study.name), alt: "", loading: "lazy", onerror() { this.remove(); } }));
    }
    button.append(make("strong", study.title || study.name), make("br"),
      make("span", [study.title ? study.name : "", study.method, WORDS[study.job.status]].filter(Boolean).join(" · ")));
    button.addEventListener("click", () => go(study.name));
    item.append(button);
    return item;
  }));
  $("no-studies").hidden = list.length > 0;
}

function go(name) { location.hash = name ? "#" + encodeURIComponent(name) : ""; }

async function open(name) {
  say(null);
  stopWatching();
  current = name;
  $("home").hidden = true; $("study").hidden = false;
  $("study-title").textContent = name;
  document.title = name + " – sumwise";
  for (const id of ["result", "reading", "settings", "private"]) $(id).hidden = true;
  const facts = await ask(of(name));  // at once: a run goes on, or has ended, while the file is read again
  if (name !== current) return;
  $("study-files").textContent = facts.files.length ? "Files: " + facts.files.join(", ") : "";
  $("run").disabled = !facts.files.length;
  showResult(facts);
  showJob(facts.job);
  releaseReady(facts);
  $("main").focus();
  if (!facts.files.length) return;
  for (const part of [$("columns"), $("checks"), $("sums")]) part.replaceChildren();  // of the study before
  $("seen").textContent = "Reading the file …";
  $("reading").hidden = false;
  const known = await ask(of(name) + "?reading=1").catch((error) => { $("seen").textContent = ""; throw error; });
  if (name !== current) return;
  if (known.reading) show(known.reading);
  else await recognise();
}

async function recognise(answers) {
  $("seen").textContent = "Reading the file …";
  $("reading").hidden = false;
  try {
    const read = await post(of(current) + "/suggest", { family: $("family").value, answers });
    say(null);
    show(read);
  }
  catch (error) { $("seen").textContent = ""; }
}

function show(found) {
  $("reading").hidden = false;
  readable(!found.not_recognised);
  showQuestions(found);
  if ((found.questions || []).length) return;
  if (!found.family && reading && reading.study === current) {  // saved: what was recognised stays on the page
    for (const key of ["not_used"]) found[key] = reading[key];
  }
  reading = { ...found, study: current };
  $("settings").hidden = Boolean(found.not_recognised);
  $("private").hidden = found.values.family !== "maxent";
  $("seen").textContent = "";
  const lines = [...(found.remarks || [])];
  for (const [column, why] of Object.entries(found.not_used || {})) lines.push("Not used: " + column + ": " + why);
  $("checks").replaceChildren(...lines.map((line) => make("li", line)));
  $("sums").replaceChildren(...(found.sums || []).map((line) => make("div", line)));
  showRows(found);
  $("roles").replaceChildren(...found.roles.flatMap((role) => [make("dt", role.name), make("dd", role.meaning)]));
  $("family").value = found.values.family || "";
  $("title").value = found.values.title || "";
  $("level").value = found.values.level ?? 0.95;
  $("seed").value = found.values.seed ?? 0;
  const methods = [{ name: "auto", meaning: "The method that suits the data; the report names it." }, ...found.methods];
  $("method").replaceChildren(...methods.map((m) => make("option", m.name, { value: m.name })));
  $("method").value = found.values.method || "auto";
  showMethod(methods);
  $("method").onchange = () => showMethod(methods);
  const noises = Object.keys(found.noise.kinds), said = found.values[found.noise.table] || {};
  $("noise-row").hidden = !noises.length;
  $("noise").replaceChildren(...noises.map((n) => make("option", n)));
  if (noises.length) $("noise").value = said.noise || noises[0];
  for (const key of NOISE) $(key).value = said[key] ?? "";
  showNoise();
  $("noise").onchange = showNoise;
  $("text").value = found.text || "";
  const names = ["", ...found.columns.map((c) => c.name)];
  $("count-label").replaceChildren(...names.map((n) => make("option", n || "none", { value: n })));
  $("edition-row").hidden = found.values.family !== "ecological";
  saved = JSON.stringify(values());  // what the problem file says now
  if (found.not_recognised) { say(found.not_recognised); saved = null; }
}

function showRows(found, roles = true) {
  const sheets = new Map();
  for (const column of found.columns || []) sheets.set(column.file, [...(sheets.get(column.file) || []), column]);
  $("columns").replaceChildren(...[...sheets].map(([file, columns]) => sheet(file, columns, roles)));
}

function showQuestions(found) {
  const open = found.questions || [];
  $("questions").hidden = !open.length;
  $("questions").replaceChildren();
  if (!open.length) return;
  for (const id of ["settings", "private"]) $(id).hidden = true;
  showRows(found, false);
  readable(false);
  $("seen").textContent = "The file leaves " + open.length + (open.length > 1 ? " questions" : " question") + " open.";
  for (const [k, question] of open.entries()) {
    const menu = make("select", undefined, { id: "question-" + k, multiple: question.several });
    menu.dataset.key = question.key;
    if (!question.several) menu.append(make("option", "choose an answer", { value: "" }));
    menu.append(...question.options.map((o) => make("option", o, { value: o })));
    $("questions").append(make("label", question.text, { htmlFor: menu.id }), menu);
  }
  const answer = make("button", "Answer", { type: "button" });
  answer.addEventListener("click", () => {
    const answers = { ...found.answers };
    for (const menu of $("questions").querySelectorAll("select")) {
      const chosen = [...menu.selectedOptions].map((o) => o.value).filter(Boolean);
      if (chosen.length) answers[menu.dataset.key] = menu.multiple ? chosen : chosen[0];
    }
    recognise(answers);
  });
  $("questions").append(answer);
}

function showMethod(methods) {
  $("method-meaning").textContent = (methods.find((m) => m.name === $("method").value) || {}).meaning || "";
}

function showNoise() {
  const wanted = (reading.noise.kinds[$("noise").value] || []);
  for (const key of NOISE) $(key + "-row").hidden = !wanted.includes(key);
}

// The first rows of a file as a spreadsheet: a column's role is the menu in its head, and its colour.
function sheet(file, columns, roles) {
  const box = make("div", undefined, { className: "scroll", tabIndex: 0 }), table = make("table"), head = make("tr"), body = make("tbody");
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "First rows of " + file);
  head.append(...columns.map((column) => roles ? columnHead(column) : plainHead(column)));
  for (let k = 0; k < Math.max(...columns.map((column) => column.first.length)); k += 1) {
    const row = make("tr");
    for (const column of columns) {
      const cell = make("td", column.first[k], { className: column.kind });
      cell.dataset.of = column.name;
      row.append(cell);
    }
    body.append(row);
  }
  const thead = make("thead");
  thead.append(head);
  table.append(make("caption", file + ": first rows." + (roles ? " The menu in a column's head says what it is." : "")), thead, body);
  box.append(table);
  for (const part of head.cells) paint(table, part.dataset.of, part.dataset.role);
  table.addEventListener("click", (event) => {  // a click on a column goes to its menu
    const cell = event.target.closest("td");
    if (cell) head.querySelectorAll("th")[cell.cellIndex].querySelector("select")?.focus();
  });
  return box;
}

function plainHead(column) {
  const head = make("th", undefined, { scope: "col" });
  head.append(make("span", column.name, { className: "name" }));
  return head;
}

function paint(table, name, role) {
  for (const cell of table.querySelectorAll("[data-of]")) if (cell.dataset.of === name) cell.dataset.role = role;
}

function columnHead(column) {
  const head = make("th", undefined, { scope: "col" }), menu = make("select");
  head.dataset.of = column.name;
  head.dataset.role = column.contest ? column.contest.split(" ")[0] : column.role;
  menu.dataset.column = column.name;
  menu.setAttribute("aria-label", "Role of " + column.name);
  menu.append(make("option", "not used", { value: "" }), ...reading.roles.map((r) => make("option", r.name, { value: r.key })));
  menu.value = column.role;
  const input = make("input", undefined,
    { value: (reading.values.names || {})[column.name] || "", placeholder: "shown as", maxLength: 100 });
  input.dataset.names = column.name;
  input.setAttribute("aria-label", "Name of " + column.name + " in the report");
  const named = () => { input.hidden = !reading.named.includes(menu.value || (column.contest || "").split(" ")[0]); };
  menu.addEventListener("change", () => { named(); paint(menu.closest("table"), column.name, menu.value); changed(); });
  named();
  head.append(make("span", column.name, { className: "name" }), column.contest ? make("span", column.contest, { className: "small" }) : menu, input);
  return head;
}

// A changed role is read at once: whether all adds up stands above the columns.
let pending = null;
function changed() {
  clearTimeout(pending);
  const of = current;
  pending = setTimeout(() => { if (of === current) save({ values: values(), contests: reading.contests }); }, 700);
}

function readable(good) {
  $("run").disabled = !good;
  $("sums").classList.toggle("bad", !good);
}

function values() {
  const chosen = {}, kept = reading.values.columns || {}, names = reading.columns.map((c) => c.name);
  for (const [key, value] of Object.entries(kept)) {  // words that are not columns, as the name of a rest
    if (!reading.roles.some((r) => r.key === key) || ![].concat(value).some((v) => names.includes(v))) chosen[key] = value;
  }
  const add = (key, column) => {
    const before = [].concat(chosen[key] ?? []);
    if (before.includes(column)) return;  // a column that joins two files stands in both
    const role = reading.roles.find((r) => r.key === key);
    chosen[key] = (role && role.several) || before.length ? [...before, column] : column;
  };
  for (const menu of $("columns").querySelectorAll("select")) {
    if (!menu.value) continue;
    const column = reading.columns.find((c) => c.name === menu.dataset.column);
    add(menu.value, column.name);
    if (menu.value === "categorical") add(reading.rest, column.name);  // a feature, as levels
    if (menu.value === column.role) for (const key of column.also) add(key, column.name);
  }
  const names_shown = { ...(reading.values.names || {}) };
  for (const input of $("columns").querySelectorAll("input[data-names]")) {
    delete names_shown[input.dataset.names];
    if (!input.hidden && input.value.trim()) names_shown[input.dataset.names] = input.value.trim();
  }
  const more = {}, { table, kinds } = reading.noise;
  if (Object.keys(kinds).length) {
    const said = more[table] = { ...(reading.values[table] || {}) };
    if (said.noise || $("noise").value !== Object.keys(kinds)[0]) said.noise = $("noise").value;
    for (const key of NOISE) {
      delete said[key];
      if (kinds[$("noise").value].includes(key) && $(key).value !== "") said[key] = Number($(key).value);
    }
  }
  return { ...reading.values, title: $("title").value, method: $("method").value, level: Number($("level").value),
    seed: Number($("seed").value), columns: chosen, names: names_shown, ...more };
}

async function save(body) {
  say(null);
  clearTimeout(pending);
  $("saved").textContent = $("sums").textContent = "Reading the data …";
  const found = await post(of(current) + "/problem", body).catch((error) => { $("sums").textContent = inPageWords(error.message); return null; });
  $("saved").textContent = found ? "Saved; the data can be read this way." : "Not saved.";
  readable(!!found);
  if (found) show(found);
  return found;
}

async function run() {
  clearTimeout(pending);
  const changed = reading && JSON.stringify(values()) !== saved;
  if (changed) { say(null); $("saved").textContent = "Reading the data …"; }
  const asked = { court: $("edition").checked && !$("edition-row").hidden };
  const job = await post(of(current) + "/run", changed ? { ...asked, values: values(), contests: reading.contests } : asked)
    .catch(() => { if (changed) $("saved").textContent = "Not saved."; });
  if (!job) return;
  if (job.reading) { $("saved").textContent = "Saved; the data can be read this way."; show(job.reading); }
  showJob(job);
}

function showJob(job) {
  const live = job.status === "running" || job.status === "queued";
  const known = (job.kind && job.kind !== "fit" && STOPPED[job.status]) || WORDS[job.status];
  shown += 1;
  const words = known + (live && job.lines && job.lines.length ? " " + job.lines[job.lines.length - 1] : "");
  if ($("status").textContent !== words) $("status").textContent = words;  // screen readers read what changes
  $("log").textContent = (job.lines || []).join("\n");
  firstNumbers(job.lines || [], live);
  const focused = document.activeElement;
  $("bar").hidden = !live; $("cancel").hidden = !live; $("run").hidden = live;
  if (focused === $(live ? "run" : "cancel")) $(live ? "cancel" : "run").focus();  // the button that was pressed is hidden now
  stopWatching();
  if (live) timer = setTimeout(watch, 1000);
}
// The table that a fit writes before its checks: from its heading to the next stage.
function firstNumbers(lines, live) {
  const start = lines.findIndex((line) => /estimate\s+[\d.]+% interval/.test(line));
  const from = start < 0 ? [] : lines.slice(start + 1), end = from.findIndex((line) => /^(compare|fit|write|check)/.test(line));
  const rows = (end < 0 ? from : from.slice(0, end)).map((line) => line.match(SHARE)).filter(Boolean);
  $("first").hidden = !live || !rows.length;
  if ($("first").hidden) return panes();
  $("result").hidden = true;  // of the run before
  const words = rows.map((row) => row.slice(1, 5).join("|")).join();
  if ($("first").dataset.shown === words) return panes();
  $("first").dataset.shown = words;
  const names = make("tr"), [, label, level] = lines[start].match(/^\s*(.*?)\s{2,}estimate\s+([\d.]+% interval)/);
  names.append(...[label, "estimate", level, ""].map((name) => make("th", name, { scope: "col" })));
  $("first-table").replaceChildren(names, ...rows.map(([, name, estimate, low, high]) => {
    const row = make("tr"), bar = make("td", undefined, { className: "bar" });
    const [at, from, to] = [estimate, low, high].map(parseFloat);
    const range = make("span", undefined, { className: "range" }), dot = make("span", undefined, { className: "dot" });
    range.style.left = from + "%"; range.style.width = (to - from) + "%"; dot.style.left = at + "%";
    const scale = make("span", undefined, { className: "scale" });
    scale.append(range, ...(estimate === "no finding" ? [] : [dot]));
    range.classList.toggle("open", estimate === "no finding");
    bar.append(scale);
    row.append(make("th", name, { scope: "row" }), make("td", estimate), make("td", low + " to " + high), bar);
    return row;
  }));
  panes();
}
const SHARE = /^\s*(\S.*?)\s{2,}([\d.]+%|no finding)\s+([\d.]+%) to ([\d.]+%)/;  // a line of that table
const panes = () => document.body.classList.toggle("panes", !$("first").hidden || !$("result").hidden);
function stopWatching() { clearTimeout(timer); timer = null; }

async function watch() {
  const name = current, before = shown;
  const job = await ask(of(name) + "/job").catch(() => null);
  if (!job || name !== current || before !== shown) return;  // a later answer, as that of Cancel, is shown already
  showJob(job);
  if (["done", "failed"].includes(job.status)) {
    const facts = await ask(of(name));
    showResult(facts);
    releaseReady(facts);
    if (job.kind === "release" && !$("released").hidden) $("released").focus();  // the button that was pressed is disabled now
    if (job.status === "failed") say({ error: (job.lines || []).slice(-1)[0] || "The run failed." });
    else if (!$("result").hidden && job.kind === "fit") {
      $("result-title").scrollIntoView();
      if ([$("run"), document.body].includes(document.activeElement)) $("result-title").focus({ preventScroll: true });
    }
  }
}

function showResult(facts) {
  const there = facts.result.length > 0;
  $("result").hidden = !there;
  panes();
  if (!there) return;
  const place = base + "/files/" + encodeURIComponent(facts.name) + "/" + facts.root;
  $("open-report").href = place + "report.html";
  $("print-report").href = place + "report.html#print";
  $("open-court").href = place + "court.html";
  $("court").hidden = !facts.result.includes("court.html");
  $("download-all").href = base + "/zip/" + encodeURIComponent(facts.name);
  $("downloads").replaceChildren(...facts.result.map((file) => {
    const item = make("li");
    item.append(make("a", file, { href: place + encodeURIComponent(file), download: file }));
    return item;
  }));
  $("report").src = place + "report.html";
}

function releaseReady(facts) {
  $("release-fields").disabled = !facts.tables; $("release").disabled = true; $("plan-text").textContent = "";
  const files = facts.released || [];
  $("released").hidden = !files.length;
  $("released-files").replaceChildren(...files.map((file) => {
    const item = make("li");
    item.append(make("a", file, { href: base + "/files/" + encodeURIComponent(facts.name) + "/private-tables/" + encodeURIComponent(file), download: file }));
    return item;
  }));
}
const releaseValues = () => ({ epsilon: Number($("epsilon").value), delta: Number($("delta").value), mechanism: $("mechanism").value,
  public_levels: $("public-levels").checked });

async function showPlan() {
  say(null);
  const plan = await post(of(current) + "/plan", releaseValues());
  const facts = plan.release || {}, { epsilon, delta, ...rest } = facts;
  const lines = Object.entries(rest).filter(([, v]) => typeof v !== "object").map(([k, v]) => k + ": " + v);
  const cost = "This release will spend epsilon " + epsilon + (delta ? " and delta " + delta : "") + " for good. Nothing has been spent yet.";
  const [low, high] = (facts.scales || []).map((scale) => Number(scale.toPrecision(4)));
  const noise = low === undefined ? [] : ["noise on every count: " + facts.mechanism + " of scale " + (low === high ? low : low + " to " + high)];
  $("plan-text").textContent = [cost, ...noise, ...lines].join("\n");
  $("release").disabled = false;
}

async function send(files) {
  say(null);
  let study = "";
  $("upload").hidden = false;
  try {
    for (const [i, file] of [...files].entries()) {
      $("upload").value = i / files.length;
      const answer = await ask("/api/upload/" + encodeURIComponent(file.name) + (study ? "?study=" + encodeURIComponent(study) : ""),
        { method: "PUT", body: file });
      study = answer.study;
    }
    go(study);
  } finally { $("upload").hidden = true; $("file").value = ""; }
}

function route() {
  const name = decodeURIComponent(location.hash.slice(1));
  (name ? open(name) : home()).catch(() => {});
}

$("go-home").addEventListener("click", () => go(""));
$("quit").addEventListener("click", async () => { await post("/api/quit"); document.body.replaceChildren(make("p", "The app has stopped. This tab can be closed.")); });
$("file").addEventListener("change", (event) => { if (event.target.files.length) send(event.target.files).catch(() => {}); });
for (const kind of ["dragover", "dragleave", "drop"]) {
  $("drop").addEventListener(kind, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files).catch(() => {});
  });
}
for (const button of document.querySelectorAll("[data-example]")) {
  button.addEventListener("click", () => post("/api/example/" + button.dataset.example).then((answer) => go(answer.study), () => {}));
}
$("recognise").addEventListener("click", () => recognise({}));
$("save").addEventListener("click", () => save({ values: values(), contests: reading.contests }));
$("save-text").addEventListener("click", () => save({ text: $("text").value }));
$("run").addEventListener("click", () => run().catch(() => {}));
$("cancel").addEventListener("click", () => post(of(current) + "/cancel").then(showJob).then(() => ask(of(current))).then(showResult, () => {}));
$("count").addEventListener("click", async () => showJob(await post(of(current) + "/tables",
  { file: reading.values.data.file, label: $("count-label").value, attributes: reading.columns.map((c) => c.name).filter((n) => n !== $("count-label").value) }).catch((e) => ({ status: "none" }))));
$("plan").addEventListener("click", () => showPlan().catch(() => {}));
$("release").addEventListener("click", async () => showJob(await post(of(current) + "/release", releaseValues())));
window.addEventListener("hashchange", route);
route();
