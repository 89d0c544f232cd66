// The frame: signing in, navigation, search, colours, and which view stands for which address.
import {h, words, toast, countdown, header, errorBox, href, once} from "./ui.js";
import {session, live} from "./api.js";
import {field} from "./forms.js";

const $ = (id) => document.getElementById(id);
const main = $("main");

// Views of their own for models that have one; loaded when they are looked at.
const kApps = {
  pm: {module: "./pm.js", label: "Workbench"},
  trip: {module: "./trip.js", label: "Trips"},
};

const kChat = "chat"; // with agents, of whichever application
const kAlarms = "alarms"; // of the server

function parse() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    parts: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

async function viewOf({parts: [name, part, ...rest], query}) {
  const views = await import("./views.js");
  if (!name) return [views.home, {}];
  const model = session.model(name);
  if (name === kChat && !model) return [(await import("./chat.js")).start, {rest: [part]}];
  if (name === kAlarms) return [(await import("./alarms.js")).start, {}];
  if (!model) return [views.missing, `There is no model ${name} that you may use.`];
  const context = {model, rest, query};
  const last = rest[1];
  if (part === "about" || (!part && !kApps[name])) return [views.overview, context];
  if (part === "entities") {
    if (!rest.length) return [views.entities, context];
    return [{item: views.item, new: views.create, edit: views.edit}[last] ?? views.entity, context];
  }
  if (part === "patterns") return [rest.length ? views.onePattern : views.patterns, context];
  if (part === "commands") return [rest.length ? views.command : views.commands, context];
  if (part === "live") return [views.feed, context];
  if (!kApps[name]) return [views.missing];
  const app = await import(kApps[name].module);
  return [(part ? app[part] : app.start) ?? views.missing, context];
}

let current = new AbortController();
async function show() {
  if (!session.token) return signIn();
  current.abort();
  current = new AbortController();
  const {signal} = current;
  const route = parse();
  nav(route);
  const root = h("div.view");
  try {
    const [view, context] = await viewOf(route);
    if (signal.aborted) return;
    await view(root, typeof context === "object" ? {...context, signal} : context);
  } catch (error) {
    if (error.name === "AbortError") return;
    root.append(errorBox(error.status === undefined ? {name: "Internal", message: error.message} : error));
    if (error.status === undefined) console.error(error);
  }
  if (signal.aborted) return;
  main.replaceChildren(root);
  scrollTo(0, 0);
  const title = root.querySelector("h1");
  document.title = (title ? title.textContent + " · " : "") + "holdfast";
  title?.focus({preventScroll: true});
  // The connection follows the model that is looked at.
  if (route.parts[0] && session.model(route.parts[0])) live(route.parts[0]);
}

function nav({parts: [name, part]}) {
  const link = (text, target, here) =>
    h("li", h("a", {href: target, "aria-current": here ? "page" : null}, text));
  const generic = ["entities", "patterns", "commands", "live"];
  $("nav").replaceChildren(
    h("ul", link("All models", "#/", !name)),
    ...session.models.flatMap((m) => [
      h("h2", m.title ?? m.name),
      h(
        "ul",
        link(kApps[m.name]?.label ?? "Overview", href([m.name]), m.name === name && !generic.includes(part)),
        m.name === name &&
          generic.map((g) => link(g === "live" ? "Live feed" : words(g), href([m.name, g]), part === g)),
      ),
    ]),
    h("h2", "Agents"),
    h("ul", link("Chat", href([kChat]), name === kChat)),
    h("h2", "Server"),
    h("ul", link("Alarms", href([kAlarms]), name === kAlarms), link("API reference", "docs"), link("OpenAPI document", "openapi.json")),
    h(
      "div.narrow",
      h("h2", `${session.subject} · ${session.role}`),
      h("ul", link("Sign out", "#signout")),
      h("button", {type: "button", onclick: () => $("theme").click()}, "Change theme"),
    ),
  );
  menu(false);
}

function menu(open) {
  $("nav").classList.toggle("open", open);
  $("menu").setAttribute("aria-expanded", open);
}

function frame() {
  const inside = Boolean(session.token);
  document.body.classList.toggle("inside", inside);
  for (const id of ["menu", "find", "nav", "who", "live"]) $(id).hidden = !inside;
  if (!inside) return;
  $("who").replaceChildren(
    h(
      "div.who-text",
      h("b", {title: session.subject}, session.subject),
      h(
        "span.soft",
        session.role || "no role",
        session.expires && [" · ", countdown(session.expires, "expires in", "expired")],
      ),
    ),
    h("button", {type: "button", onclick: () => session.end()}, "Sign out"),
  );
  $("live").hidden = true;
}

document.addEventListener("live", ({detail}) => {
  const badge = $("live");
  badge.hidden = detail.name === "off" || !session.token;
  badge.className = "live" + (detail.name === "live" ? " on" : detail.name === "waiting" ? " off" : "");
  badge.textContent = {live: "Live", waiting: "Reconnecting", connecting: "Connecting"}[detail.name] ?? "";
});

function signIn(problem) {
  current.abort();
  frame();
  document.title = "Sign in · holdfast";
  const token = field({name: "token", label: "Token", kind: "encrypted", required: true});
  token.element.querySelector(".hint").textContent =
    "A JSON Web Token of an issuer that this server knows. It stays in this tab.";
  const note = h(
    "div",
    {"aria-live": "polite"},
    problem ? (problem instanceof Error ? errorBox(problem) : h("div.note.warn", problem)) : null,
  );
  const button = h("button.main", {type: "submit"}, "Sign in");
  const form = h(
    "form",
    {
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        const text = token.read();
        if (text instanceof Error) token.input.focus();
        else once(button, () => enter(text.replace(/^Bearer\s+/i, "")));
      },
    },
    token.element,
    h("div.row", button),
  );
  main.replaceChildren(
    h(
      "div.view.signin",
      header("Sign in", {about: "Look into the applications that this server keeps, and work with them."}),
      note,
      h("section.panel", h("div.body", form)),
      h(
        "details",
        h("summary", "Where do I get a token?"),
        h("p", "On the machine of the server, for development:"),
        h("pre", "holdfast token --subject me --role admin"),
        h("p.soft", "Opening this page with #token=… at the end of the address signs in at once."),
      ),
    ),
  );
  token.input.focus();
}

async function enter(token) {
  try {
    await session.start(token);
  } catch (error) {
    if (error.status === undefined) error.name = "Unauthenticated";
    signIn(error);
    return;
  }
  frame();
  if (!location.hash || location.hash === "#") history.replaceState(null, "", "#/");
  await show();
}

session.onend = (why) => {
  session.subject = "";
  document.querySelector("dialog")?.remove();
  signIn(why);
  if (why) toast(why);
};

// Search: everything that has an address, by any part of its name.
function places() {
  const all = [
    ["All models", "#/", ""],
    ["Chat", href([kChat]), "Agents · view"],
    ["Alarms", href([kAlarms]), "Server · view"],
  ];
  for (const m of session.models) {
    const add = (text, parts, kind) =>
      all.push([text, href([m.name, ...parts]), `${m.title ?? m.name} · ${kind}`]);
    add(kApps[m.name]?.label ?? m.title ?? m.name, [], "view");
    add("Live feed", ["live"], "view");
    for (const e of m.entities ?? [])
      add([e.name, e.title].filter(Boolean).join(": "), ["entities", e.name], "entity");
    for (const p of m.patterns ?? [])
      add([p.id, p.title].filter(Boolean).join(": "), ["patterns", p.id], "pattern");
    for (const c of m.commands ?? [])
      add([c.name, c.title].filter(Boolean).join(": "), ["commands", c.name], "command");
  }
  return all;
}
function palette() {
  if (!session.token || document.querySelector("dialog[open]")) return;
  const all = places();
  let found = [],
    at = 0;
  const list = h("ul", {role: "listbox", id: "places", "aria-label": "Places"});
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Search entities, patterns and commands",
    "aria-controls": "places",
    "aria-expanded": "true",
    "aria-autocomplete": "list",
    placeholder: "Search entities, patterns, commands",
    autocomplete: "off",
    spellcheck: "false",
  });
  const mark = () => {
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", i === at));
    list.children[at]?.scrollIntoView({block: "nearest"});
    input.setAttribute("aria-activedescendant", found.length ? `place${at}` : "");
  };
  const draw = () => {
    const wanted = input.value.toLowerCase().split(/\s+/);
    found = all.filter((p) => wanted.every((w) => `${p[0]} ${p[2]}`.toLowerCase().includes(w))).slice(0, 50);
    at = 0;
    list.replaceChildren(
      ...(found.length
        ? found.map(([text, target, kind], i) =>
            h(
              "li",
              {role: "option", id: `place${i}`, onclick: () => open(target)},
              h("span", text),
              h("span", kind),
            ),
          )
        : [h("li", h("span.soft", "Nothing fits"))]),
    );
    mark();
  };
  const open = (target) => {
    dialog.close();
    location.hash = target;
  };
  input.addEventListener("input", draw);
  input.addEventListener("keydown", (e) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
    if (step && found.length) {
      e.preventDefault();
      at = (at + step + found.length) % found.length;
      mark();
    } else if (e.key === "Enter" && found[at]) {
      e.preventDefault();
      open(found[at][1]);
    }
  });
  const dialog = h(
    "dialog.palette",
    {
      "aria-label": "Search",
      onclose: () => dialog.remove(),
      onclick: (e) => e.target === dialog && dialog.close(),
    },
    input,
    list,
  );
  document.body.append(dialog);
  draw();
  dialog.showModal();
}

const kThemes = ["auto", "light", "dark"];
function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  const button = $("theme");
  button.textContent = `Theme: ${name}`;
  button.onclick = () => {
    const next = kThemes[(kThemes.indexOf(name) + 1) % 3];
    localStorage.setItem("holdfast.theme", next);
    theme(next);
  };
}

addEventListener("keydown", (e) => {
  const typing = e.target.closest?.("input, textarea, select, [contenteditable]");
  if (
    (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) ||
    (e.key === "k" && (e.ctrlKey || e.metaKey))
  ) {
    e.preventDefault();
    palette();
  } else if (e.key === "Escape") {
    menu(false);
  }
});
addEventListener("hashchange", () => {
  if (takeToken()) return;
  if (location.hash === "#signout") {
    history.replaceState(null, "", "#/");
    session.end();
  } else {
    show();
  }
});
$("find").onclick = palette;
$("menu").onclick = () => menu(!$("nav").classList.contains("open"));
document.querySelector(".skip").onclick = (e) => {
  e.preventDefault();
  main.focus();
};

// A token in the fragment is taken once and leaves the address bar and the history. #token=…&to=/chat says where to go.
function takeToken() {
  const query = new URLSearchParams(location.hash.slice(1));
  const given = query.get("token");
  if (!given || !location.hash.startsWith("#token=")) return false;
  history.replaceState(null, "", `#/${(query.get("to") ?? "").replace(/^\/+/, "")}`);
  enter(given);
  return true;
}

theme(
  kThemes.includes(localStorage.getItem("holdfast.theme")) ? localStorage.getItem("holdfast.theme") : "auto",
);
if (!takeToken()) {
  if (session.stored()) enter(session.stored());
  else signIn();
}
