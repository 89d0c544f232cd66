// The PM workbench: what the agent did, what it asks, what it holds back, and what it keeps up to date.
import {
  h,
  tag,
  words,
  when,
  countdown,
  statusTag,
  panel,
  empty,
  header,
  facts,
  raw,
  diffList,
  errorBox,
  ask,
  toast,
  soon,
  worker,
  href,
  say,
} from "./ui.js";
import {pattern, run, fit, commandOf, watch, entityPath, get} from "./api.js";
import {field} from "./forms.js";

const M = "pm";
const projectHref = (id) => href([M, "projects", id]);
const all = async (id, query, signal) => (await pattern(M, id, query, signal)).items;

const kArtefacts = ["delivery_state", "raid_log", "backlog_summary", "decision_log"];
const byType = (a, b) => kArtefacts.indexOf(a.type) - kArtefacts.indexOf(b.type);

async function allProjects(signal) {
  const lists = await Promise.all(
    ["active", "paused", "archived"].map((status) => all("PM-A-17", {status}, signal)),
  );
  return lists.flat();
}

// Runs a command and says in words how it went.
async function act(box, name, values, done) {
  box.tell();
  try {
    await run(M, name, fit(commandOf(M, name), values));
    toast(done);
    return true;
  } catch (error) {
    box.tell(errorBox(error));
    return false;
  }
}

function eventLine(event, names, seen) {
  const id = event.eventId ?? event.id ?? event.createdAt + event.summary;
  const fresh = seen.size > 0 && !seen.has(id);
  return [
    id,
    h(
      "li" + (fresh ? ".fresh" : ""),
      h("div.row", event.severity !== "info" && statusTag(event.severity), h("span", event.summary)),
      h(
        "p.small.soft",
        words(event.eventType),
        " · ",
        names &&
          (event.projectId
            ? [h("a", {href: projectHref(event.projectId)}, names.get(event.projectId) ?? "a project"), " · "]
            : "the workbench · "),
        when(event.createdAt),
      ),
    ),
  ];
}
function eventsPanel(title, read, names) {
  let seen = new Set();
  const box = panel(title, {
    load: async () => {
      const events = await read();
      if (!events.length)
        return empty("Nothing happened yet", "Events of the last 30 days appear here as they come in.");
      const lines = events.map((e) => eventLine(e, names?.(), seen));
      if (seen.size && !seen.has(lines[0][0])) say(events[0].summary);
      seen = new Set(lines.map(([id]) => id));
      return h(
        "ul.list",
        lines.map(([, li]) => li),
      );
    },
  });
  return box;
}

const drafts = new Map();
function escalation(e, names, box) {
  const decide = commandOf(M, "escalation.decide");
  const notes = field({name: "userNotes", label: "Notes", kind: "S"}, drafts.get(e.id));
  notes.input.addEventListener("input", () => drafts.set(e.id, notes.input.value));
  const record = field(
    {name: "recordInDecisionLog", label: "Record it in the decision log", kind: "BOOL", required: true},
    false,
  );
  const options = h(
    "div.cards",
    (e.options ?? []).map((o) =>
      h(
        "div.card" + (o.option === e.agentRecommendation ? ".best" : ""),
        h("div.row", h("h3", o.option), o.option === e.agentRecommendation && tag("recommended", "good")),
        h(
          "ul.plain.small",
          (o.pros ?? []).map((p) => h("li", "For: ", p)),
          (o.cons ?? []).map((p) => h("li", "Against: ", p)),
        ),
        e.status === "pending" &&
          decide &&
          h(
            "div.row",
            worker("button", `Decide: ${o.option}`, async () => {
              const values = {
                projectId: e.projectId,
                id: e.id,
                userDecision: o.option,
                userNotes: notes.read() || undefined,
                recordInDecisionLog: record.read(),
              };
              if (await act(box, "escalation.decide", values, `Decided: ${o.option}`)) {
                drafts.delete(e.id);
                box.reload();
              }
            }),
          ),
      ),
    ),
  );
  return h(
    "li",
    h("div.row", h("h3", e.title), e.status !== "pending" && statusTag(e.status)),
    h(
      "p.small.soft",
      names && [h("a", {href: projectHref(e.projectId)}, names.get(e.projectId) ?? "a project"), " · "],
      "asked ",
      when(e.createdAt),
    ),
    e.agentRationale && h("p", e.agentRationale),
    e.context && Object.keys(e.context).length > 0 && h("details", h("summary", "Context"), facts(e.context)),
    e.userDecision ? h("p", "Decided: ", h("b", e.userDecision), e.userNotes && `. ${e.userNotes}`) : options,
    e.status === "pending" &&
      decide &&
      h(
        "details",
        {open: drafts.has(e.id)},
        h("summary", "Notes"),
        notes.element,
        decide.inputs?.some((i) => i.name === "recordInDecisionLog") && record.element,
      ),
  );
}

function held(action, names, box) {
  const due = Date.parse(action.heldUntil) <= Date.now();
  const {projectId, createdAt, id} = action;
  const key = {projectId, actionKey: {createdAt, id}};
  const doubts = Object.entries(action.confidence ?? {})
    .filter(([, sure]) => !sure)
    .map(([name]) => words(name).toLowerCase());
  return h(
    "li",
    h("div.row", tag(action.actionType, "info"), h("b", countdown(action.heldUntil, "goes in", "due now"))),
    h("p", action.description),
    h(
      "p.small.soft",
      names && [
        h("a", {href: projectHref(action.projectId)}, names.get(action.projectId) ?? "a project"),
        " · ",
      ],
      "proposed ",
      when(action.createdAt),
      doubts.length > 0 && ` · held for lack of ${doubts.join(", ")}`,
    ),
    h(
      "div.row",
      commandOf(M, "action.release") &&
        worker(due ? "button.main" : "button", due ? "Release" : "Release now", async () => {
          if (
            !due &&
            !(await ask(
              "Release it before its time?",
              h(
                "p",
                `${action.description}. It would wait until ${new Date(action.heldUntil).toLocaleTimeString()}.`,
              ),
              {submit: "Release now"},
            ))
          )
            return;
          if (await act(box, "action.release", {...key, force: due ? undefined : true}, "Released"))
            box.reload();
        }),
      commandOf(M, "action.cancel") &&
        worker("button.danger", "Cancel it", async () => {
          const reason = field({name: "reason", kind: "S", required: true});
          const text = await ask("Cancel this action?", [h("p", action.description), reason.element], {
            submit: "Cancel the action",
            danger: true,
            read: () => (reason.read() instanceof Error ? undefined : reason.read()),
          });
          if (text && (await act(box, "action.cancel", {...key, reason: text}, "Cancelled"))) box.reload();
        }),
    ),
  );
}
const holdList = (actions, names, box) =>
  actions.length
    ? h(
        "ul.list",
        {ondue: box.reload},
        actions.sort((a, b) => (a.heldUntil < b.heldUntil ? -1 : 1)).map((a) => held(a, names, box)),
      )
    : empty("Nothing is held back", "Mails and tracker updates of the agent wait here before they go out.");

export async function start(root, {signal}) {
  const projects = await allProjects(signal);
  const names = new Map(projects.map((p) => [p.id, p.name]));
  const list = panel("Projects", {
    load: async () => {
      const now = await allProjects(signal);
      for (const p of now) names.set(p.id, p.name);
      if (!now.length)
        return empty(
          "No projects yet",
          "Create the first one.",
          h("a", {href: href([M, "commands", "project.create"])}, "Create a project"),
        );
      return h(
        "div.cards",
        now.map((p) =>
          h(
            "a.card",
            {href: projectHref(p.id)},
            h("div.row", h("h3", p.name), p.status !== "active" && statusTag(p.status)),
            p.description && h("p.soft.small", p.description),
            h("p.small.soft", `${p.sourceProjectKey} in ${words(p.source)} · autonomy: ${p.autonomyLevel}`),
          ),
        ),
      );
    },
  });
  const inbox = panel("Escalations", {
    load: async () => {
      const pending = await all("PM-A-12", {}, signal);
      return pending.length
        ? h(
            "ul.list",
            pending.map((e) => escalation(e, names, inbox)),
          )
        : empty("Nothing to decide", "When the agent may not decide by itself, it asks here.");
    },
  });
  const queue = panel("Hold queue", {
    load: async () => {
      const lists = await Promise.all(
        [...names.keys()].map((projectId) => all("PM-A-19", {projectId}, signal)),
      );
      return holdList(lists.flat(), names, queue);
    },
  });
  const feed = eventsPanel(
    "Activity",
    () => all("PM-A-05", {}, signal),
    () => names,
  );
  root.append(
    header("Workbench", {
      about: "What the agent did, asks and holds back, in all projects.",
      actions: [
        commandOf(M, "project.create") &&
          h("a.button", {href: href([M, "commands", "project.create"])}, "New project"),
      ].filter(Boolean),
    }),
    list.element,
    h("div.columns", h("div.stack", inbox.element, queue.element), feed.element),
  );
  const on = (entities, box) =>
    watch(
      M,
      entities.map((entity) => ({entity})),
      soon(box.reload),
      signal,
    );
  on(["Event", "GlobalEventRef"], feed);
  on(["Escalation"], inbox);
  on(["AgentAction"], queue);
  on(["Project"], list);
}

function artefact(a, box) {
  const place = h("div.stack");
  const undo = commandOf(M, "artefact.undo");
  place.append(
    h(
      "div.row",
      h("span.soft", `Version ${a.version}, changed `, when(a.updatedAt)),
      a.content?.overall_status && statusTag(a.content.overall_status),
    ),
    ...(a.previousVersion
      ? [
          h(
            "div.row",
            h("h3", "What the last change did"),
            h("span.grow"),
            undo &&
              worker("button", "Undo", async () => {
                if (
                  !(await ask(
                    "Take the last change back?",
                    h(
                      "p",
                      `${words(a.type)} becomes again what it was before version ${a.version}. One step can be undone.`,
                    ),
                    {submit: "Undo"},
                  ))
                )
                  return;
                if (
                  await act(
                    box,
                    "artefact.undo",
                    {projectId: a.projectId, type: a.type, expectedVersion: a.version},
                    "Undone",
                  )
                )
                  box.reload();
              }),
          ),
          diffList(a.previousVersion, a.content),
        ]
      : [h("p.soft.small", "There is no earlier version to compare with or go back to.")]),
    h("h3", "As it stands"),
    facts(a.content ?? {}),
    raw(a.content),
  );
  return place;
}

export async function projects(root, {model, rest: [id], query, signal}) {
  const {item: project} = await get(entityPath(M, "Project"), {id}, signal);
  const moves = model.entities.find((e) => e.name === "Project").machine?.moves[project.status] ?? [];
  const verbs = {active: "Activate", paused: "Pause", archived: "Archive"};
  const place = h("div");
  const top = {tell: (...what) => place.replaceChildren(...what)};
  root.append(
    header(project.name, {
      about: project.description,
      crumbs: [["Workbench", href([M])]],
      actions: [
        statusTag(project.status),
        ...(commandOf(M, "project.setStatus")
          ? moves.map((to) =>
              worker("button", verbs[to], async () => {
                if (await act(top, "project.setStatus", {id, to}, `Now ${to}`))
                  dispatchEvent(new HashChangeEvent("hashchange"));
              }),
            )
          : []),
        h("a.button", {href: href([M, "entities", "Project", "item"], {id})}, "All fields"),
      ],
    }),
    place,
  );
  let type = query.type;
  const box = panel("Artefacts", {
    load: async () => {
      const artefacts = (await all("PM-A-02", {projectId: id}, signal)).sort(byType);
      if (!artefacts.length)
        return empty(
          "No artefacts yet",
          "The agent writes the delivery state, the RAID log, the backlog summary and the decision log.",
          commandOf(M, "artefact.put") &&
            h("a", {href: href([M, "commands", "artefact.put"], {projectId: id})}, "Write one"),
        );
      const chosen = artefacts.find((a) => a.type === type) ?? artefacts[0];
      return [
        h(
          "div.row",
          {role: "group", "aria-label": "Artefact"},
          artefacts.map((a) =>
            h(
              "button",
              {
                type: "button",
                "aria-pressed": a === chosen ? "true" : "false",
                onclick: async () => {
                  type = a.type;
                  await box.reload();
                  box.body.querySelector("[aria-pressed=true]")?.focus();
                },
              },
              words(a.type),
            ),
          ),
        ),
        artefact(chosen, box),
      ];
    },
  });
  const queue = panel("Hold queue", {
    load: async () => holdList(await all("PM-A-19", {projectId: id}, signal), null, queue),
  });
  const asked = panel("Escalations", {
    load: async () => {
      const list = (await all("PM-A-06", {projectId: id}, signal)).sort(
        (a, b) =>
          (a.status === "pending" ? 0 : 1) - (b.status === "pending" ? 0 : 1) ||
          (a.createdAt < b.createdAt ? 1 : -1),
      );
      return list.length
        ? h(
            "ul.list",
            list.map((e) => escalation(e, null, asked)),
          )
        : empty("Nothing was asked", "Decisions that the agent leaves to you appear here.");
    },
  });
  const feed = eventsPanel("Events", () => all("PM-A-04", {projectId: id}, signal));
  root.append(h("div.columns", box.element, h("div.stack", queue.element, asked.element, feed.element)));
  const on = (entity, target) =>
    watch(M, [{entity, partition: {projectId: id}}], soon(target.reload), signal);
  on("Artefact", box);
  on("AgentAction", queue);
  on("Escalation", asked);
  on("Event", feed);
}
