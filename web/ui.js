// The small parts that every view is made of. Nothing here knows the API.

// h("p.soft", {title: "x", onclick: f}, "text", node, [more], null)
export function h(spec, ...rest) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  const first = rest[0];
  const props = first && first.constructor === Object ? rest.shift() : {};
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...rest.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

// currentSprint, current_sprint -> Current sprint; projectId -> Project ID
export function words(name) {
  const spaced = String(name)
    .replace(/_/g, " ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return (spaced.charAt(0).toUpperCase() + spaced.slice(1)).replace(/\b(id|usd|raid|url|ttl|arn)\b/gi, (w) =>
    w.toUpperCase(),
  );
}

// The address of a view: #/pm/entities/Project?id=…
export function href(parts, query = {}) {
  const text = new URLSearchParams(
    Object.entries(query)
      .filter(([, v]) => v !== undefined && v !== null && v !== "")
      .map(([k, v]) => [k, typeof v === "object" ? JSON.stringify(v) : String(v)]),
  ).toString();
  return "#/" + parts.map(encodeURIComponent).join("/") + (text && "?" + text);
}

export function tag(text, tone = "") {
  return h("span.tag" + (tone && "." + tone), words(text));
}

const kTones = {
  good: [
    "active",
    "green",
    "confirmed",
    "ready",
    "closed",
    "executed",
    "completed",
    "on_track",
    "insert",
    "resolved",
  ],
  warn: [
    "amber",
    "paused",
    "pending",
    "warning",
    "half_open",
    "held",
    "medium",
    "at_risk",
    "cancelled",
    "user_selected",
  ],
  bad: ["red", "failed", "error", "critical", "open", "high", "delayed", "remove", "expired", "blocked"],
  info: ["info", "searching", "options_presented", "booking", "initiated", "modify", "processing", "decided"],
};
export function statusTag(status) {
  return tag(
    status ?? "none",
    Object.keys(kTones).find((tone) => kTones[tone].includes(status)),
  );
}

export const isInstant = (v) =>
  typeof v === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(v);

const kUnits = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];
const relative = new Intl.RelativeTimeFormat("en", {numeric: "auto"});
const absolute = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "short"});
function ago(instant) {
  const seconds = (Date.parse(instant) - Date.now()) / 1000;
  const [unit, size] = kUnits.find(([, size]) => Math.abs(seconds) >= size) ?? kUnits[3];
  return relative.format(Math.trunc(seconds / size), unit);
}
export function when(instant) {
  return instant ? h("time", {datetime: instant, title: instant, "data-ago": instant}, ago(instant)) : "";
}
export const clock = (instant) => absolute.format(new Date(instant));

// Text that counts down to an instant and then says `after`. One ticker serves all of them.
function left(instant) {
  const s = Math.ceil((Date.parse(instant) - Date.now()) / 1000);
  if (s <= 0) return null;
  const two = (n) => String(n).padStart(2, "0");
  return s >= 3600
    ? `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`
    : `${Math.floor(s / 60)}:${two(s % 60)}`;
}
export function countdown(instant, before, after) {
  const rest = left(instant);
  return h(
    "span.num",
    {"data-until": instant, "data-before": before, "data-after": after},
    rest ? `${before} ${rest}` : after,
  );
}
setInterval(() => {
  for (const e of document.querySelectorAll("[data-until]")) {
    const rest = left(e.dataset.until);
    const text = rest ? `${e.dataset.before} ${rest}` : e.dataset.after;
    if (e.textContent === text) continue;
    e.textContent = text;
    if (!rest) e.dispatchEvent(new CustomEvent("due", {bubbles: true}));
  }
}, 1000);
setInterval(() => {
  for (const e of document.querySelectorAll("[data-ago]")) e.textContent = ago(e.dataset.ago);
}, 20000);

export function toast(text) {
  const note = h("div.toast", text);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), 5000);
}

// For those who do not see the page change.
export function say(text) {
  document.getElementById("say").textContent = text;
}

// A list that grows at its top and forgets its end. `waiting` stands in it until the first line comes.
const kKept = 200;
export function logList(label, waiting) {
  const list = h("ul.list");
  const element = h("div", {role: "log", "aria-label": label}, list);
  const clear = (node) => {
    list.replaceChildren();
    waiting.remove();
    if (node) element.prepend((waiting = node));
  };
  clear(waiting);
  const add = (...content) => {
    waiting.remove();
    list.prepend(h("li.fresh", content));
    while (list.children.length > kKept) list.lastChild.remove();
  };
  return {element, add, clear};
}

export const bones = () => h("div.bones", {"aria-label": "Loading"}, h("i"), h("i"), h("i"));

export function empty(title, ...next) {
  return h(
    "div.empty",
    h("b", title),
    next.map((n) => (typeof n === "string" ? h("p", n) : n)),
  );
}

export function meter(share, label) {
  const fill = h("i");
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span.meter", h("span", {"aria-hidden": "true"}, fill), h("span.num", label));
}

// A titled box whose content is loaded, and loaded again without flicker: what is there stays until the new is.
export function panel(title, {actions = [], level = "h2", load} = {}) {
  const body = h("div.body");
  const heading = h(level, {tabindex: "-1"}, title);
  const notice = h("div.notice");
  const element = h(
    "section.panel",
    {"aria-label": title},
    h("header", heading, h("div.row", actions)),
    notice,
    body,
  );
  // What is told outlives the content: the change that made an action fail also makes the content load again.
  const tell = (...what) => notice.replaceChildren(...what);
  let turn = 0;
  // Who was somewhere in the old content is at the same place in the new, and what was unfolded stays so.
  const show = (...content) => {
    const unfolded = [...body.querySelectorAll("details")].map((d) => d.open);
    const at = body.contains(document.activeElement) ? document.activeElement : null;
    body.replaceChildren(...content.flat(Infinity).filter((c) => c != null && c !== false));
    const details = [...body.querySelectorAll("details")];
    if (details.length === unfolded.length) details.forEach((d, i) => (d.open = unfolded[i]));
    if (!at || body.contains(at)) return;
    const same = [...body.querySelectorAll(at.tagName)].find(
      (e) => e.name === at.name && e.textContent === at.textContent,
    );
    (same ?? heading).focus({preventScroll: true});
  };
  const reload = async () => {
    const mine = ++turn;
    body.setAttribute("aria-busy", "true");
    try {
      const content = await load();
      if (mine === turn) show(content);
    } catch (error) {
      if (mine === turn && error.name !== "AbortError")
        show(errorBox(error, {label: "Try again", run: reload}));
    } finally {
      if (mine === turn) body.removeAttribute("aria-busy");
    }
  };
  if (load) {
    show(bones());
    queueMicrotask(reload); // after the caller has the panel
  }
  return {element, body, show, reload, tell};
}

// Reads again soon after a change, and once for many.
export function soon(run, delay = 150) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, delay);
  };
}

const kPlain = {
  Unauthenticated: "You are not signed in, or the token is no longer good.",
  Forbidden: "Your role may not do this.",
  NotFound: "It is not there, or not yours to see.",
  AlreadyExists: "It exists already.",
  IllegalTransition: "It is in a state from which this is not possible.",
  VersionConflict: "Somebody changed it since you read it. Nothing was written.",
  Conflict: "Too many changes at once. Nothing was written; try again.",
  ValidationError: "Something in what was given is wrong.",
  SchemaInvalid: "The content does not have the form that it must have.",
  RuleViolation: "A rule does not allow this.",
  IdempotencyMismatch: "This key was already used for another request.",
  CircuitOpen: "The service behind this is resting after failures.",
  Throttled: "Too many requests.",
  NotConfigured: "The server is not set up for this.",
  Unavailable: "The store cannot be used at the moment.",
  Offline: "The server does not answer.",
};
export function errorBox(error, action) {
  const details = {...error.details};
  const lines = [];
  for (const v of details.violations ?? []) {
    lines.push(
      `${v.path}: ${v.message ?? v.rule}${v.got === undefined ? "" : `, got ${JSON.stringify(v.got)}`}`,
    );
  }
  if (details.allowed) {
    lines.push(
      details.allowed.length
        ? `From here it may become: ${details.allowed.map(words).join(", ")}`
        : "This state is final.",
    );
  }
  delete details.violations;
  delete details.allowed;
  const retry =
    error.retryAfter &&
    h(
      "p",
      countdown(
        new Date(Date.now() + error.retryAfter * 1000).toISOString(),
        "Try again in",
        "Try again now.",
      ),
    );
  return h(
    "div.note.bad",
    {role: "alert"},
    h("b", kPlain[error.name] ?? words(error.name)),
    error.message && h("p", error.message),
    lines.length > 0 &&
      h(
        "ul",
        lines.map((line) => h("li", line)),
      ),
    retry,
    Object.keys(details).length > 0 && facts(details),
    h(
      "p.small.soft",
      [error.name, error.status, error.requestId && `request ${error.requestId}`].filter(Boolean).join(" · "),
    ),
    action && h("div.row", h("button", {type: "button", onclick: action.run}, action.label)),
  );
}

export function warningsBox(warnings) {
  return (
    warnings?.length > 0 &&
    h(
      "div.note.warn",
      h("b", "Done, with a remark"),
      h(
        "ul",
        warnings.map((w) =>
          h("li", typeof w === "string" ? w : [w.path, w.message ?? w.rule].filter(Boolean).join(": ")),
        ),
      ),
    )
  );
}

// Any JSON value for a reader.
export function pretty(value) {
  if (value == null || value === "") return h("span.soft", "none");
  if (value === true || value === false) return value ? "yes" : "no";
  if (isInstant(value)) return h("time", {datetime: value, title: value}, clock(value));
  if (Array.isArray(value)) {
    if (!value.length) return h("span.soft", "empty");
    if (value.length > 16 && value.every((n) => typeof n === "number"))
      return h("span.soft", `${value.length} numbers`);
    return h(
      typeof value[0] === "object" ? "ul.boxes" : "ul",
      value.map((v) => h("li", pretty(v))),
    );
  }
  if (typeof value === "object") return Object.keys(value).length ? facts(value) : h("span.soft", "empty");
  return String(value);
}
// Whether a value needs the whole width: a map, or a list of maps.
const isDeep = (v) =>
  v && typeof v === "object" && Object.keys(v).length > 0 && (!Array.isArray(v) || typeof v[0] === "object");
// The server keeps maps by name; for a reader, what it is comes first and what is large comes last.
const kFirst = ["id", "name", "title", "option", "status", "overall_status", "status_summary", "summary"];
const rank = (name, v) => (isDeep(v) || /^ttl$/i.test(name) ? 99 : kFirst.indexOf(name) + 1 || 50);
const inOrder = (map) => Object.entries(map).sort((a, b) => rank(...a) - rank(...b));
export function facts(map) {
  return h(
    "dl.facts",
    inOrder(map).flatMap(([name, v]) => {
      const wide = isDeep(v) ? ".full" : "";
      return [h("dt" + wide, words(name)), h("dd" + wide, pretty(v))];
    }),
  );
}
export function raw(value, label = "Raw JSON") {
  return h("details", h("summary", label), h("pre", {tabindex: "0"}, JSON.stringify(value, null, 2)));
}

export const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

function cell(value) {
  if (value == null) return "";
  if (isInstant(value)) return when(value);
  if (/^([0-9a-f]{8}-[0-9a-f-]{27}|[0-9A-HJKMNP-TV-Z]{26})$/.test(value))
    return h("span.mono", `${value.slice(0, 8)}…${value.slice(-4)}`);
  if (Array.isArray(value)) return h("span.soft", count(value.length, "element", "elements"));
  if (typeof value === "object") return h("span.soft", count(Object.keys(value).length, "field", "fields"));
  return value === true ? "yes" : value === false ? "no" : String(value);
}
// Items as a table: the key first, then what tells most, last what is the same in all. `link(item)` makes the end of the
// key lead somewhere.
export function itemTable(items, {label, key = [], link, extra} = {}) {
  const seen = new Set(items.flatMap(Object.keys));
  const text = JSON.stringify;
  const same = (name) => items.length > 1 && items.every((i) => text(i[name]) === text(items[0][name]));
  const weight = Object.fromEntries(
    [...seen].map((n) => [n, (same(n) ? 100 : 0) + rank(n, items.find((i) => i[n] != null)?.[n])]),
  );
  const known = key.filter((n) => seen.has(n) && !same(n));
  const rest = [...seen].filter((n) => !known.includes(n)).sort((a, b) => weight[a] - weight[b]);
  const columns = [...known, ...rest].slice(0, 9);
  const linked = Math.max(0, known.length - 1);
  return h(
    "div.wide",
    {tabindex: "0", role: "region", "aria-label": label},
    h(
      "table",
      h(
        "thead",
        h(
          "tr",
          extra && h("th", {scope: "col"}, extra.title),
          columns.map((c) => h("th", {scope: "col"}, words(c))),
        ),
      ),
      h(
        "tbody",
        items.map((item, i) =>
          h(
            "tr",
            extra && h("td", extra.cell(i)),
            columns.map((c, n) => {
              const target = n === linked && link?.(item);
              const content = cell(item[c]);
              return h(
                "td",
                {title: typeof item[c] === "string" ? item[c] : null},
                target ? h("a", {href: target}, content || "open") : content,
              );
            }),
          ),
        ),
      ),
    ),
  );
}

// What changed between two JSON values, as sentences a person can read.
const nameOf = (v) => (v && typeof v === "object" ? (v.id ?? v.name ?? v.ticket_id ?? v.option) : undefined);
export function changes(before, after, path = []) {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const both = (check) => check(before) && check(after);
  if (both((v) => v && typeof v === "object" && !Array.isArray(v))) {
    return inOrder({...before, ...after}).flatMap(([k]) => changes(before[k], after[k], [...path, words(k)]));
  }
  if (both(Array.isArray)) {
    const label = (v, i) => String(nameOf(v) ?? (typeof v === "object" ? i + 1 : v));
    const old = new Map(before.map((v, i) => [label(v, i), v]));
    const now = new Map(after.map((v, i) => [label(v, i), v]));
    const deeper = (k) => (typeof (now.get(k) ?? old.get(k)) === "object" ? [...path, k] : path);
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((k) =>
      changes(old.get(k), now.get(k), deeper(k)),
    );
  }
  return [{path, before, after}];
}
function wordDiff(before, after) {
  const a = before.split(/(\s+)/),
    b = after.split(/(\s+)/);
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j)
      best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const out = [];
  const add = (kind, text) =>
    out.at(-1)?.kind === kind ? (out.at(-1).text += text) : out.push({kind, text});
  let i = 0,
    j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) (add("span", a[i++]), j++);
    else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) add("del", a[i++]);
    else add("ins", b[j++]);
  }
  // Of texts with little in common, a mixture is harder to read than both.
  const kept = out.filter((o) => o.kind === "span").reduce((sum, o) => sum + o.text.trim().length, 0);
  if (kept * 3 < Math.max(before.length, after.length)) return [h("del", before), " ", h("ins", after)];
  return out.map(({kind, text}) => h(kind, text));
}
export function diffList(before, after) {
  const all = changes(before, after);
  if (!all.length) return h("p.soft", "No difference.");
  const text = (v) =>
    Array.isArray(v)
      ? v.map(text).join(", ")
      : v && typeof v === "object"
        ? inOrder(v)
            .map(([k, x]) => `${words(k)}: ${text(x)}`)
            .join(" · ")
        : isInstant(v)
          ? clock(v)
          : String(v);
  // Several changes of one list stand under one name.
  const under = new Map();
  for (const change of all) {
    const name = change.path.join(" › ");
    under.set(name, [...(under.get(name) ?? []), change]);
  }
  const shown = ({before: old, after: now}) => {
    // Beyond some thousand words a comparison word by word would keep the page busy.
    const prose =
      typeof old === "string" &&
      typeof now === "string" &&
      old.length + now.length > 40 &&
      old.length + now.length < 40000 &&
      !isInstant(old);
    if (prose) return h("div", wordDiff(old, now));
    return h(
      "div",
      old !== undefined && h("del", text(old)),
      old !== undefined && now !== undefined && " ",
      now !== undefined && h("ins", text(now)),
    );
  };
  return h(
    "dl.facts",
    [...under].flatMap(([name, several]) => [h("dt", name), h("dd", several.map(shown))]),
  );
}

// Asks in a dialog; resolves to what `read` gives, or null when it was closed.
export function ask(title, content, {submit = "OK", danger = false, read = () => true} = {}) {
  return new Promise((resolve) => {
    const close = (value) => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    const form = h(
      "form",
      {
        method: "dialog",
        novalidate: true,
        onsubmit: (e) => {
          e.preventDefault();
          const value = read();
          if (value !== undefined) close(value);
        },
      },
      h("h2", title),
      content,
      h(
        "div.row.end",
        h("button", {type: "button", onclick: () => close(null)}, "Back"),
        h(danger ? "button.danger" : "button.main", {type: "submit"}, submit),
      ),
    );
    const dialog = h("dialog", {"aria-label": title, oncancel: () => close(null)}, form);
    document.body.append(dialog);
    dialog.showModal();
  });
}

export function header(title, {crumbs = [], about, actions = []} = {}) {
  return h(
    "div.head",
    h(
      "div",
      crumbs.length > 0 &&
        h(
          "p.crumbs",
          crumbs.flatMap(([text, href], i) => [i > 0 && " / ", h("a", {href}, text)]),
        ),
      h("h1", {tabindex: "-1"}, title),
      about && h("p.soft", about),
    ),
    actions.length > 0 && h("div.row", actions),
  );
}

// Runs work of a button unless it is running, so that a double click is one click. The button is not disabled: it
// would lose the focus.
export async function once(button, run) {
  if (button.ariaDisabled === "true") return;
  button.ariaDisabled = "true";
  try {
    await run();
  } finally {
    button.ariaDisabled = null;
  }
}
export function worker(spec, label, run) {
  const button = h(spec, {type: "button", onclick: () => once(button, run)}, label);
  return button;
}
