"use strict";
// The page of a review. Text is set by textContent alone, so no name or cell can be markup.

const AHEAD = 12;
const GRID = 24;
const pictures = document.body.dataset.pictures === "yes";
const at = (id) => document.getElementById(id);

let queue = "likely";
let ahead = [];            // items to come, each with its queue; the first one is on screen
let current = null;
let gridItems = null;      // null: one at a time
let unsaved = 0;
let chain = Promise.resolve();   // requests that change something go one after another
let filling = null;
const loaded = new Map();  // place -> Image, decoded before it is shown
const detailsOf = new Map();

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const told = await answer.json();
  if (!answer.ok) {
    const error = new Error(typeof told.detail === "string" ? told.detail : "The server refused.");
    error.status = answer.status;
    throw error;
  }
  return told;
}

function showTrouble(text) {
  at("trouble").textContent = text || "";
  at("trouble").hidden = !text;
}

function showProgress(told) {
  const parts = [`${told.n_decided} of ${told.n_items} decided and saved`,
    `yes ${told.yes}`, `no ${told.no}`, `unsure ${told.unsure}`];
  if (unsaved) parts.push(`${unsaved} on the way to the disk`);
  at("status").textContent = parts.join(" · ");
  at("status").dataset.saved = told.n_decided;
}

// Sends until the server says that it is on the disk; the id makes a second try harmless.
function change(path, body) {
  unsaved += 1;
  const sent = chain.then(async () => {
    for (;;) {
      try {
        const told = await ask(path, body);
        unsaved -= 1;
        showTrouble("");
        showProgress(told);
        return told;
      } catch (error) {
        if (error.status && error.status < 500) {
          unsaved -= 1;
          showTrouble(error.message);
          return null;
        }
        showTrouble(`Not saved yet, trying again: ${error.message}`);
        await new Promise((done) => setTimeout(done, 1500));
      }
    }
  });
  chain = sent;
  return sent;
}

function prefetch(item) {
  if (pictures && !loaded.has(item.place)) {
    const image = new Image();
    image.alt = item.name;
    image.src = `picture/${item.place}`;
    loaded.set(item.place, image);
    if (loaded.size > 200) loaded.delete(loaded.keys().next().value);
  }
}

function details(place) {
  if (!detailsOf.has(place)) {
    detailsOf.set(place, ask(`api/details/${place}`).catch(() => null));
    if (detailsOf.size > 200) detailsOf.delete(detailsOf.keys().next().value);
  }
  return detailsOf.get(place);
}

function cellTable(cells) {
  const table = make("table");
  for (const [name, value] of cells) {
    const row = table.insertRow();
    row.append(make("th", name), make("td", value));
  }
  return table;
}

function shownProbability(p) {
  if (p === null) return "cannot be judged";
  if (p > 0.999) return "probability above 0.999";
  return p < 0.001 ? "probability below 0.001" : `probability ${p.toFixed(3)}`;
}

function showItem(item, without) {
  current = item;
  const box = at("item");
  box.replaceChildren();
  delete box.dataset.place;
  at("beside").replaceChildren();
  for (const button of document.querySelectorAll("[data-answer]")) button.disabled = !item;
  if (!item) {
    box.append(make("p", without || "Nothing is left in this queue."));
    return;
  }
  box.dataset.place = item.place;
  box.append(make("p", item.name, "name"));
  const said = shownProbability(item.probability);
  box.append(make("p", item.is_labeled ? `${said}; labelled positive` : said, "probability"));
  if (pictures) {
    prefetch(item);
    box.append(loaded.get(item.place));
  } else if (item.cells) {
    box.append(cellTable(item.cells));
  } else {
    box.append(make("p", "This row has not been read yet; come back to it."));
  }
  details(item.place).then((told) => { if (current === item && told) showDetails(told); });
}

function showDetails(told) {
  const box = at("beside");
  box.replaceChildren();
  for (const [title, reasons] of [["Speaks for it", told.for], ["Speaks against it", told.against]]) {
    if (!reasons.length) continue;
    const list = make("ul");
    list.append(...reasons.map((reason) => make("li", reason)));
    box.append(make("h2", title), list);
  }
  if (!told.nearest.length) return;
  const near = make("div", undefined, pictures ? "near" : "near rows");
  for (const one of told.nearest) {
    const figure = make("figure");
    if (one.has_picture) {
      const image = new Image();
      image.alt = "";
      image.src = `neighbour/${one.sample}`;
      image.addEventListener("error", () => image.remove());
      figure.append(image);
    }
    figure.append(make("figcaption", one.has_picture ? one.name.split("/").pop() : one.name));
    if (one.cells.length) figure.append(cellTable(one.cells.slice(0, 12)));
    near.append(figure);
  }
  box.append(make("h2", "Most like it among the labelled positives"), near);
}

// Decided items are left out by the server once they are saved, and by `skip` before.
let sending = [];
async function fill() {
  if (filling) return filling;
  const asked = queue;
  const held = [...ahead.filter((item) => item.queue === asked).map((item) => item.place), ...sending];
  filling = ask(`api/queue/${asked}?count=${gridItems ? GRID : AHEAD}&skip=${held.join(",")}`);
  try {
    const told = await filling;
    if (asked === queue) {
      for (const item of told.items) ahead.push({ ...item, queue: asked });
      ahead.forEach(prefetch);
      if (ahead[1]) details(ahead[1].place);
    }
  } catch (error) {
    showTrouble(error.message);
  } finally {
    filling = null;
  }
}

function send(item, answer) {
  sending.push(item.place);
  const body = { id: newId(), place: item.place, answer, queue: item.queue, reviewer: reviewer() };
  change("api/decisions", body).then(() => {
    sending = sending.filter((place) => place !== item.place);
    askThreshold();
  });
}

function reviewer() {
  return at("reviewer").value.trim() || "unnamed";
}

async function decide(answer) {
  if (!current || !ahead.length || gridItems) return;
  performance.mark("key");
  const item = ahead.shift();
  send(item, answer);
  if (!ahead.length) await fill();
  showItem(ahead[0] || null);
  if (ahead[1]) details(ahead[1].place);
  if (ahead.length < AHEAD / 2) fill();
}

async function goBack() {
  const told = await change("api/undo", { id: newId(), reviewer: reviewer() });
  if (!told || !told.item) return;
  if (gridItems) leaveGrid();
  ahead = ahead.filter((item) => item.place !== told.item.place);
  ahead.unshift({ ...told.item, queue: told.queue });
  showItem(ahead[0]);
  askThreshold();
}

async function openQueue(name) {
  queue = name;
  ahead = [];
  for (const button of document.querySelectorAll(".queue")) {
    button.setAttribute("aria-pressed", String(button.dataset.queue === name));
  }
  if (!gridItems) showItem(null, "Loading.");   // a key pressed now is for no item
  if (filling) await filling.catch(() => null);
  await fill();
  if (queue !== name) return;   // another one was opened meanwhile
  if (gridItems) showGrid(); else showItem(ahead[0] || null);
}

function showGrid() {
  gridItems = ahead.splice(0, GRID);
  current = null;
  const grid = at("grid");
  grid.replaceChildren();
  for (const item of gridItems) {
    prefetch(item);
    const button = make("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.append(loaded.get(item.place), make("span", shownProbability(item.probability)));
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    });
    grid.append(button);
  }
  if (!gridItems.length) grid.append(make("p", "Nothing is left in this queue."));
  at("single").hidden = true;
  at("grid-part").hidden = false;
}

async function enterGrid() {
  gridItems = [];
  await fill();
  showGrid();
}

function leaveGrid() {
  ahead = [...gridItems, ...ahead];
  gridItems = null;
  at("single").hidden = false;
  at("grid-part").hidden = true;
  showItem(ahead[0] || null);
}

async function saveGrid() {
  const buttons = [...at("grid").querySelectorAll("button")];
  const items = gridItems;
  items.forEach((item, i) => {
    send(item, buttons[i].getAttribute("aria-pressed") === "true" ? "no" : "yes");
  });
  gridItems = [];
  await fill();
  showGrid();
}

function shownInterval(name, one) {
  if (!one) return "";
  const percent = (share) => `${(100 * share).toFixed(0)}%`;
  return `${name} ${percent(one.estimate)} (${percent(one.low)} to ${percent(one.high)})`;
}

let thresholdTimer = 0;
function askThreshold() {
  const value = Number(at("threshold").value);
  at("at").textContent = (1 / (1 + Math.exp(-value))).toFixed(2);
  clearTimeout(thresholdTimer);
  thresholdTimer = setTimeout(async () => {
    const told = await ask(`api/threshold?log_odds=${value}`).catch(() => null);
    if (!told) return;
    const count = (number) => Math.round(number).toLocaleString("en");
    at("sides").textContent =
      `Above: ${count(told.n_above)} samples, about ${count(told.expected_above)} hidden positives among them. ` +
      `Below: ${count(told.n_below)} samples, about ${count(told.expected_below)} hidden positives missed.`;
    at("audit").textContent = told.audit
      ? `From ${told.audit.n_decided} decision${told.audit.n_decided === 1 ? "" : "s"} of the random audit, 90% intervals: ` +
        [shownInterval("precision", told.audit.precision), shownInterval("recall", told.audit.recall),
          shownInterval("share of positives", told.audit.alpha)].filter(Boolean).join(", ") + "."
      : "The model's own probabilities; the random audit says how far they can be trusted.";
  }, 150);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "reviewer") return;
  const key = event.key.toLowerCase();
  const answers = { y: "yes", n: "no", u: "unsure" };
  if (key in answers) decide(answers[key]);
  else if (key === "b" || key === "backspace") goBack();
  else if (key === "g" && pictures) { if (gridItems) leaveGrid(); else enterGrid(); }
  else if (key === "enter" && gridItems && gridItems.length) saveGrid();
  else if (/^[1-4]$/.test(key)) {
    const button = document.querySelectorAll(".queue")[Number(key) - 1];
    if (!button.disabled) openQueue(button.dataset.queue);
  } else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll(".queue")) {
  button.addEventListener("click", () => openQueue(button.dataset.queue));
}
for (const button of document.querySelectorAll("[data-answer]")) {
  button.addEventListener("click", () => decide(button.dataset.answer));
}
at("back").addEventListener("click", goBack);
at("threshold").addEventListener("input", askThreshold);
if (pictures) {
  at("to-grid").addEventListener("click", enterGrid);
  at("to-single").addEventListener("click", leaveGrid);
  at("save-grid").addEventListener("click", saveGrid);
}
window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

const first = [...document.querySelectorAll(".queue")].find((button) => !button.disabled);
ask("api/progress").then(showProgress).catch((error) => showTrouble(error.message));
if (first) openQueue(first.dataset.queue); else showItem(null);
askThreshold();
