// What every model has: entities, patterns, commands and a live feed.
import {
  h,
  words,
  tag,
  when,
  panel,
  soon,
  empty,
  header,
  itemTable,
  facts,
  raw,
  meter,
  statusTag,
  errorBox,
  warningsBox,
  ask,
  toast,
  countdown,
  href,
  worker,
  count,
  logList,
} from "./ui.js";
import {form, field} from "./forms.js";
import {
  session,
  request,
  get,
  pattern,
  run,
  live,
  watch,
  uuid,
  entityPath,
  asAttributes,
} from "./api.js";

const go = (...target) => (location.hash = href(...target));
const keyOf = (entity, item) =>
  Object.fromEntries((entity.key ?? []).filter((k) => item[k] != null).map((k) => [k, item[k]]));
const itemHref = (model, entity, item) =>
  href([model.name, "entities", entity.name, "item"], keyOf(entity, item));
const attributesOf = (entity) => asAttributes(entity.attributes);

// Attributes for a form, without those that the server computes. A state offers only where it may go from `from`.
function writable(e, from) {
  const {field: state, initial, moves} = e.machine ?? {};
  return attributesOf(e)
    .filter((a) => !a.readOnly)
    .map((a) =>
      a.name !== state ? a : {...a, choices: from ? [from, ...(moves[from] ?? [])] : [initial].flat()},
    );
}

// Which entity an item is: the one that it names, else the only one that has all its fields and whose needs it meets.
function entityOf(model, item) {
  const named = model.entities.find((e) => e.name === item.EntityType);
  if (named) return named;
  const fits = (e) =>
    attributesOf(e).every((a) => !a.required || a.kind === "vector" || item[a.name] != null) &&
    Object.keys(item).every((name) => e.attributes.some((a) => a.name === name));
  const fitting = model.entities.filter(fits);
  return fitting.length === 1 ? fitting[0] : null;
}

export function home(root) {
  root.append(
    header("Models", {about: "The applications that this server keeps. Press / to search all of them."}),
  );
  if (!session.models.length) {
    root.append(
      empty(
        "No models for your role",
        "Start the server with --models, or sign in with a role that a model knows.",
      ),
    );
    return;
  }
  root.append(
    h(
      "ul.cards",
      session.models.map((m) =>
        h(
          "li",
          h(
            "a.card",
            {href: href([m.name])},
            h("h2", m.title ?? m.name),
            h("p.soft", counts(m)),
            h("p.small.soft.mono", `${m.name} v${m.version ?? 1}`),
          ),
        ),
      ),
    ),
  );
}
const counts = (m) =>
  [
    count(m.entities.length, "entity", "entities"),
    count(m.patterns.length, "pattern", "patterns"),
    count(m.commands.length, "command", "commands"),
  ].join(", ");

export function overview(root, {model}) {
  root.append(header(model.title ?? model.name, {about: counts(model), crumbs: [["Models", "#/"]]}));
  root.append(
    h(
      "div.cards",
      [
        ["entities", "Entities", "Browse, create and change items"],
        ["patterns", "Patterns", "Ask by ID, with the plan"],
        ["commands", "Commands", "Run what changes several items at once"],
        ["live", "Live feed", "Watch changes as they are committed"],
      ].map(([part, title, about]) =>
        h("a.card", {href: href([model.name, part])}, h("h2", title), h("p.soft", about)),
      ),
    ),
  );
}

function listing(root, model, title, items, line) {
  root.append(
    header(title, {
      crumbs: [[model.title ?? model.name, href([model.name])]],
      about: `${items.length} that you may use`,
    }),
  );
  const rows = h("ul.list");
  const search = field({name: "filter", label: `Filter ${title.toLowerCase()}`, kind: "S"});
  const draw = () => {
    const words = search.input.value.toLowerCase().split(/\s+/);
    const fitting = items.filter((i) =>
      words.every((w) => `${i.id} ${i.name} ${i.title}`.toLowerCase().includes(w)),
    );
    rows.replaceChildren(
      ...(fitting.length ? fitting.map(line) : [empty("Nothing fits", "Try fewer letters.")]),
    );
  };
  search.input.addEventListener("input", draw);
  draw();
  const box = panel(title);
  box.element.querySelector("header").remove();
  box.show(search.element, rows);
  root.append(box.element);
}
const line = (target, title, id, about, ...tags) =>
  h(
    "li",
    h("div.row", h("a", {href: target}, title), h("span.small.soft.mono", id), tags),
    about && h("p.soft", about),
  );

export function entities(root, {model}) {
  listing(root, model, "Entities", model.entities ?? [], (e) =>
    line(
      href([model.name, "entities", e.name]),
      e.name,
      e.id,
      e.title,
      e.appendOnly && tag("append only"),
      e.commandOnly && tag("by commands"),
      e.machine && tag("states", "info"),
    ),
  );
}
export function patterns(root, {model}) {
  listing(root, model, "Patterns", model.patterns ?? [], (p) =>
    line(href([model.name, "patterns", p.id]), p.id, "", p.title, p.writes && tag("writes", "warn")),
  );
}
export function commands(root, {model}) {
  listing(root, model, "Commands", model.commands ?? [], (c) =>
    line(href([model.name, "commands", c.name]), c.name, c.id, c.title),
  );
}

// Shows pages one after the other: `read(cursor)` answers {items, cursor}.
function pages(box, read, draw) {
  let all = [];
  const more = async (cursor) => {
    const page = await read(cursor);
    all = all.concat(page.items ?? []);
    return [
      draw(all, page),
      h(
        "div.row",
        h("span.soft.small", `${all.length} shown${page.cursor ? "" : ", no more"}`),
        page.cursor &&
          worker("button", "Next page", async () => {
            box.tell();
            try {
              box.show(await more(page.cursor));
            } catch (error) {
              if (error.name !== "AbortError") box.tell(errorBox(error));
            }
          }),
      ),
    ];
  };
  return more();
}

export function entity(root, {model, rest: [name], query, signal}) {
  const e = model.entities?.find((x) => x.name === name);
  if (!e) return missing(root, `There is no entity ${name} that you may read.`);
  const mayWrite = !e.commandOnly || session.role === "admin";
  root.append(
    header(e.name, {
      about: e.title,
      crumbs: [
        [model.title, href([model.name])],
        ["Entities", href([model.name, "entities"])],
      ],
      actions: [
        h("a.button", {href: href([model.name, "live"], {entity: e.name})}, "Watch"),
        mayWrite &&
          h("a.button.main", {href: href([model.name, "entities", e.name, "new"], query)}, "Create"),
      ].filter(Boolean),
    }),
  );
  // Attributes by which items are found: the key's, and those of indexes where the server names them.
  const names = [...new Set([...e.key, ...(e.partitions?.flat() ?? [e.machine?.field])])];
  const by = attributesOf(e)
    .filter((a) => names.includes(a.name))
    .map((a) => ({...a, required: false, made: false, default: undefined}));
  const ask = panel("Find");
  ask.show(
    form(by, {
      values: query,
      submit: "Show",
      onSubmit: (input) => go([model.name, "entities", e.name], {...input, show: 1}),
      note:
        by.length > 0 &&
        h(
          "p.soft",
          `Items are kept together by ${(e.partitions ?? [e.key.slice(0, 1)])
            .map((p) => p.map(words).join(" and ") || "nothing but the entity")
            .join(", or by ")}. The whole key gives one item.`,
        ),
    }).element,
  );
  root.append(ask.element);
  const {show, ...found} = query;
  const asked = show || Object.keys(found).length || !by.length || e.partitions?.some((p) => !p.length);
  const box = panel("Items", {
    load: asked
      ? () =>
          pages(
            box,
            async (cursor) => {
              const answer = await get(entityPath(model.name, e.name), {...found, cursor}, signal);
              return answer.item ? {items: [answer.item]} : answer;
            },
            (items) =>
              items.length
                ? itemTable(items, {label: e.name, key: e.key, link: (i) => itemHref(model, e, i)})
                : empty(
                    "Nothing here",
                    mayWrite
                      ? "Create the first one, or look for another value."
                      : "Commands write these; run one, or look for another value.",
                  ),
          )
      : undefined,
  });
  if (!asked)
    box.show(
      empty(
        "Say where to look",
        `Fill in ${words(e.key?.[0] ?? "").toLowerCase()} above, or ask a pattern that returns ${e.name}.`,
        h("a", {href: href([model.name, "patterns"])}, "Patterns"),
      ),
    );
  root.append(box.element);
}

function crumbsOf(model, e) {
  return [
    [model.title, href([model.name])],
    ["Entities", href([model.name, "entities"])],
    [e.name, href([model.name, "entities", e.name])],
  ];
}
const versionHeader = (e, item) =>
  e.version && item[e.version] !== undefined ? {"If-Match": String(item[e.version])} : {};

export async function item(root, {model, rest: [name], query, signal}) {
  const e = model.entities.find((x) => x.name === name);
  const box = panel("Fields", {
    load: async () => {
      const {item} = await get(entityPath(model.name, name), query, signal);
      if (!item) return empty("This is not a whole key", "Go back and choose an item.");
      const mayWrite = !e.appendOnly && (!e.commandOnly || session.role === "admin");
      actions.replaceChildren(
        ...(mayWrite
          ? [
              h("a.button", {href: href([model.name, "entities", name, "edit"], query)}, "Edit"),
              h("button.danger", {type: "button", onclick: () => remove(item)}, "Delete"),
            ]
          : []),
      );
      return [
        facts(
          Object.fromEntries(
            attributesOf(e)
              .map((a) => a.name)
              .concat(Object.keys(item))
              .filter((n) => item[n] !== undefined)
              .map((n) => [n, item[n]]),
          ),
        ),
        raw(item),
      ];
    },
  });
  const remove = async (old) => {
    if (
      !(await ask(`Delete this ${name}?`, h("p", "It cannot be brought back."), {
        submit: "Delete",
        danger: true,
      }))
    )
      return;
    try {
      await request("DELETE", entityPath(model.name, name), {query, headers: versionHeader(e, old)});
      toast(`${name} deleted`);
      go([model.name, "entities", name], e.key?.length > 1 ? {[e.key[0]]: query[e.key[0]]} : {});
    } catch (error) {
      const again = () => {
        box.tell();
        box.reload();
      };
      box.tell(errorBox(error, {label: "Reload", run: again}));
    }
  };
  const actions = h("div.row");
  root.append(
    header(Object.values(query).at(-1) ?? name, {
      about: e.title,
      crumbs: crumbsOf(model, e),
      actions: [actions],
    }),
    box.element,
  );
  const partition = Object.fromEntries(
    attributesOf(e)
      .filter((a) => query[a.name] !== undefined)
      .map((a) => [a.name, a.kind === "N" || a.kind === "epoch" ? Number(query[a.name]) : query[a.name]]),
  );
  watch(model.name, [{entity: name, partition}], soon(box.reload), signal);
}

export function create(root, {model, rest: [name], query}) {
  const e = model.entities.find((x) => x.name === name);
  root.append(header(`New ${name}`, {about: e.title, crumbs: crumbsOf(model, e)}));
  const box = panel("Attributes");
  box.show(
    form(writable(e), {
      values: query,
      submit: "Create",
      onSubmit: async (input) => {
        const {data} = await request("POST", entityPath(model.name, name), {body: input});
        toast(
          data.warnings?.length
            ? `${name} created, with a remark: ${data.warnings.map((w) => w.message ?? w).join("; ")}`
            : `${name} created`,
        );
        location.hash = itemHref(model, e, data.item);
      },
    }).element,
  );
  root.append(box.element);
}

export function edit(root, {model, rest: [name], query, signal}) {
  const e = model.entities.find((x) => x.name === name);
  root.append(
    header(`Edit ${name}`, {
      about: Object.values(query).join(" · "),
      crumbs: [...crumbsOf(model, e), ["Item", href([model.name, "entities", name, "item"], query)]],
    }),
  );
  const box = panel("Attributes", {
    load: async () => {
      const {item} = await get(entityPath(model.name, name), query, signal);
      const changeable = writable(e, item[e.machine?.field])
        .filter((a) => !a.immutable && !e.key.includes(a.name) && a.name !== e.version)
        .map((a) => ({
          ...a,
          required: a.required && a.kind !== "encrypted",
          made: false,
          default: undefined,
        }));
      return form(changeable, {
        values: item,
        submit: "Save",
        onSubmit: async (input) => {
          // Only what was changed is sent, so that an edit never writes back what others changed beside it.
          const changes = {};
          for (const a of changeable) {
            const now = input[a.name];
            if (now === undefined && item[a.name] != null && a.kind !== "encrypted") changes[a.name] = null;
            else if (now !== undefined && JSON.stringify(now) !== JSON.stringify(item[a.name]))
              changes[a.name] = now;
          }
          if (!Object.keys(changes).length) return h("p.soft", "Nothing was changed.");
          try {
            await request("PATCH", entityPath(model.name, name), {
              query,
              body: changes,
              headers: versionHeader(e, item),
            });
          } catch (error) {
            if (error.name === "VersionConflict") error.action = {label: "Reload", run: box.reload};
            throw error;
          }
          toast("Saved");
          go([model.name, "entities", name, "item"], query);
        },
      }).element;
    },
  });
  root.append(box.element);
}

const similarityOf = (answer, i) => answer.similarities?.[i]?.similarity ?? answer.similarities?.[i];

export function planBox(plan) {
  return h(
    "details",
    {open: true},
    h("summary", plan.length === 1 ? "Plan: one step" : `Plan: ${plan.length} steps`),
    h(
      "ol.plain",
      plan.map((step) => h("li", typeof step === "string" ? step : facts(step))),
    ),
  );
}

export function onePattern(root, {model, rest: [id], query, signal}) {
  const p = model.patterns?.find((x) => x.id === id);
  if (!p) return missing(root, `There is no pattern ${id} that you may ask.`);
  root.append(
    header(p.id, {
      about: p.title,
      crumbs: [
        [model.title, href([model.name])],
        ["Patterns", href([model.name, "patterns"])],
      ],
    }),
  );
  const {run: asked, limit, explain, ...given} = query;
  const params = asAttributes(p.params);
  const settings = [
    {name: "limit", kind: "N", label: "Items a page", default: 50, min: 1, max: 1000},
    {name: "explain", kind: "BOOL", label: "Show the plan", default: true},
  ];
  const values = {...query, explain: explain !== "false"};
  const box = panel("Parameters");
  box.show(
    form([...params, ...(p.writes ? [] : settings)], {
      values,
      submit: p.writes ? "Show the plan" : "Ask",
      note:
        p.writes &&
        h(
          "div.note.warn",
          "This pattern writes. Here its plan is shown; to write, use a command or an entity.",
        ),
      onSubmit: (input) => {
        const target = href([model.name, "patterns", id], {...input, run: uuid().slice(0, 4)});
        location.hash = target;
      },
    }).element,
  );
  root.append(box.element);
  if (!asked && params.some((a) => a.required && a.default === undefined)) {
    root.append(empty("Not asked yet", "Fill in the parameters and press Ask."));
    return;
  }
  if (!asked && params.length) return;
  const result = panel("Result", {
    load: () =>
      pages(
        result,
        (cursor) =>
          pattern(
            model.name,
            id,
            {...given, limit, cursor, explain: p.writes || explain !== "false" ? "true" : undefined},
            signal,
          ),
        (items, answer) => {
          const returned = items.length > 0 && entityOf(model, items[0]);
          const link = (item) => {
            const e = entityOf(model, item);
            return e && itemHref(model, e, item);
          };
          const parts = Object.entries(answer.parts ?? {}).map(([name, part]) => {
            const inside = part.items ?? part;
            return [
              h("h3", words(name)),
              inside.length ? itemTable(inside, {label: name, link}) : h("p.soft", "none"),
            ];
          });
          const table = items.length
            ? itemTable(items, {
                label: `Result of ${id}`,
                key: returned?.key,
                link,
                extra: answer.similarities?.length && {
                  title: "Similarity",
                  cell: (i) =>
                    similarityOf(answer, i) === undefined
                      ? ""
                      : meter(similarityOf(answer, i), similarityOf(answer, i).toFixed(3)),
                },
              })
            : !answer.parts &&
              !p.writes &&
              empty(
                "Nothing found",
                answer.similarities
                  ? "Nothing is near enough. Try a lower threshold."
                  : "The question is right, but no item fits it.",
              );
          return h(
            "div.stack",
            table,
            parts,
            answer.plan && planBox([answer.plan].flat()),
            items.length > 0 && raw(items),
          );
        },
      ),
  });
  root.append(result.element);
}

export function command(root, {model, rest: [name], query}) {
  const c = model.commands?.find((x) => x.name === name);
  if (!c) return missing(root, `There is no command ${name} that your role may run.`);
  root.append(
    header(c.name, {
      about: c.title,
      crumbs: [
        [model.title, href([model.name])],
        ["Commands", href([model.name, "commands"])],
      ],
    }),
  );
  const key = field(
    {
      name: "idempotency-key",
      label: "Idempotency key",
      kind: "S",
      description:
        "The same key with the same input within ten minutes gives the first answer again and writes nothing",
    },
    uuid(),
  );
  const values = Object.fromEntries(
    Object.entries(query).map(([k, v]) => {
      const a = asAttributes(c.inputs).find((x) => x.name === k);
      try {
        return [k, a && /^(M|L|Any)/.test(a.kind) ? JSON.parse(v) : v];
      } catch {
        return [k, v];
      }
    }),
  );
  let used = "";
  const f = form(c.inputs, {
    values,
    submit: "Run",
    extra: h("details", h("summary", "Options"), key.element),
    onSubmit: async (input) => {
      // A key that had its answer is not used for another input; one whose answer got lost is, so that nothing runs twice.
      const body = JSON.stringify(input);
      if (used && used !== body) key.input.value = uuid();
      used = "";
      let answer;
      try {
        answer = await run(model.name, name, input, key.input.value);
      } catch (error) {
        if (error.status > 0 && error.status < 500) key.input.value = uuid();
        throw error;
      }
      used = body;
      const {result, warnings, emitted} = answer.data;
      const replayed = answer.headers.get("Idempotency-Replayed") === "true";
      return [
        h(
          "div.note.good",
          h(
            "b",
            replayed
              ? "Answered from before; nothing was written again"
              : answer.status === 201
                ? "Created"
                : "Done",
          ),
        ),
        warningsBox(warnings),
        result && facts(result),
        emitted?.length > 0 &&
          h(
            "div.stack",
            h("h3", "Told to subscribers"),
            emitted.map((m) => h("div", tag(m.name, "info"), facts(m.body ?? {}))),
          ),
        raw(answer.data),
      ];
    },
  });
  const box = panel("Input");
  box.show(f.element);
  root.append(box.element);
}

export function feed(root, {model, query, signal}) {
  root.append(
    header("Live feed", {
      about: "Changes in the order of their commits, once they are durable.",
      crumbs: [[model.title, href([model.name])]],
    }),
  );
  const box = panel("What to watch");
  const event = "An event…";
  const choice = [
    {
      name: "entity",
      kind: "S",
      required: true,
      choices: [...(model.entities ?? []).map((e) => e.name), event],
    },
    {
      name: "event",
      label: "Name of the event",
      kind: "S",
      description: "Only for events, such as policy_status",
    },
    {
      name: "partition",
      label: "Only where",
      kind: "M",
      description: 'Optional: attributes that must be equal, as in {"status": "pending"}',
    },
  ];
  const log = logList("Changes", empty("Nothing is watched yet", "Choose an entity and press Watch."));
  const state = h("p.soft", {role: "status"});
  let stop = new AbortController();
  signal.addEventListener("abort", () => stop.abort());
  const start = (input) => {
    stop.abort();
    stop = new AbortController();
    const what =
      input.entity === event
        ? {event: input.event ?? ""}
        : {entity: input.entity, partition: input.partition};
    const e = model.entities?.find((x) => x.name === input.entity);
    log.clear(empty("Waiting for a change", "Change something in another window, and it appears here."));
    live(model.name).subscribe(
      what,
      (m) => {
        if (m.type === "change") {
          log.add(
            h(
              "div.row",
              statusTag(m.change),
              m.expired && tag("expired", "warn"),
              e
                ? h(
                    "a",
                    {href: itemHref(model, e, m.item)},
                    Object.values(keyOf(e, m.item)).join(" · ") || e.name,
                  )
                : m.entity,
              when(new Date().toISOString()),
            ),
            raw(m.item, "Item"),
          );
        } else if (m.type === "event") {
          log.add(h("div.row", tag(m.name, "info"), when(new Date().toISOString())), facts(m.body ?? {}));
        } else if (m.type === "resync") {
          log.add(
            h(
              "div.note.warn",
              h("b", "Some changes were missed"),
              h(
                "p",
                "The feed was away for too long to go on where it was. Read the data again; from here on it is complete.",
              ),
            ),
          );
        } else if (m.type === "error") {
          log.add(errorBox({name: m.error, message: m.message}));
        }
      },
      stop.signal,
    );
  };
  const told = ({detail}) => {
    if (detail.model !== model.name) return;
    state.replaceChildren(
      ...(detail.name === "live"
        ? ["Connected"]
        : detail.name === "waiting"
          ? ["Not connected. ", countdown(detail.until, "Trying again in", "Trying again")]
          : ["Connecting"]),
    );
  };
  document.addEventListener("live", told, {signal});
  told({detail: {model: model.name, ...live(model.name).status}});
  box.show(form(choice, {values: query, submit: "Watch", onSubmit: start}).element);
  const shown = panel("Changes", {
    actions: [state, h("button", {type: "button", onclick: () => log.clear()}, "Clear")],
  });
  shown.show(log.element);
  root.append(box.element, shown.element);
  if (query.entity) start(query);
}

export function missing(root, text) {
  root.append(
    header("Not found"),
    empty(text ?? "There is no such page", h("a", {href: "#/"}, "To the models")),
  );
}
