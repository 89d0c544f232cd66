// A conversation with an agent, and beside it what became of every event, effect and timer.
import {h, tag, words, panel, empty, header, countdown, errorBox, worker, soon, count} from "./ui.js";
import {session, get, request, openSocket, pauseAfter, uuid} from "./api.js";

const kAgent = "echo";
const kShown = 200; // the newest of a long conversation
const kUnheard = 10000; // milliseconds without an answer after which a connection is taken for dead

const kWhy = {
  disabled: "autonomy is switched off",
  superseded: "you had spoken meanwhile",
  cap: "too many on its own in a row",
  cooldown: "too soon after its last one",
  cancelled: "you spoke first",
  unknown: "it may have been shown, and is not sent twice",
};
const kTones = {
  delivered: "good",
  completed: "good",
  fired: "good",
  pending: "warn",
  cancelled: "warn",
  suppressed: "bad",
  failed: "bad",
};

const hours = new Intl.DateTimeFormat("en-GB", {timeStyle: "medium"});
const clock = (at) => h("time", {datetime: new Date(at).toISOString()}, hours.format(at));

// The names of a device and of its cursors: those of this browser, whichever tab.
const kDevice = "holdfast.device";
function device() {
  if (!localStorage.getItem(kDevice)) localStorage.setItem(kDevice, uuid());
  return localStorage.getItem(kDevice);
}

// --- the timeline ---

// What became of a timer that the effect has set: [status, why]. A timer that is set anew forgets what it was before; the
// events tell.
function fate(effect, seq, i, {events, timers}) {
  if (effect.status === "failed") return ["suppressed", kWhy[effect.outcome] ?? effect.outcome];
  if (events.some((e) => e.id === `t:${seq}.${i}`)) return ["fired"];
  const row = timers.find((t) => t.id === effect.id);
  if (row?.status === "pending") return ["pending"];
  const spoke = events.some((e) => e.seq > seq && e.type === "user_message");
  return ["cancelled", spoke ? kWhy.cancelled : row ? "somebody asked for it" : "it was set anew"];
}

function effectLine(effect, read, cursor) {
  const [seq, i] = effect.id.split("/").slice(-2).map(Number);
  const {timer_id: timer, fire_at: due, content, url} = effect.payload ?? {};
  const line = {
    at: Date.parse(effect.created_at) + 0.5,
    name: `Effect ${seq}/${i}`,
    what: words(effect.type),
  };
  if (effect.type === "schedule_timer") {
    [line.status, line.why] = fate(effect, seq, i, read);
    const when = clock(Date.parse(due));
    const left = line.status === "pending" && [", ", countdown(due, "in", "which is now")];
    return {...line, name: `Timer ${timer}`, what: ["Set for ", when, left]};
  }
  const refused =
    effect.status === "failed" && effect.type === "send_message" && effect.outcome !== "unknown";
  line.status = refused ? "suppressed" : effect.n <= cursor ? "delivered" : effect.status;
  line.why = effect.status === "failed" ? (kWhy[effect.outcome] ?? effect.outcome) : null;
  if (effect.n) line.name = `Message ${effect.n}`;
  if (effect.type === "send_message") line.what = content;
  else if (timer ?? url) line.what += ` ${timer ?? url}`;
  return line;
}

function timeline(read, cursor) {
  const first = read.events[0]?.seq ?? 0;
  const lines = [
    ...read.events.map((e) => ({
      at: Date.parse(e.created_at),
      name: `Event ${e.seq}`,
      what: [
        words(e.type),
        e.payload.text !== undefined && `: ${e.payload.text}`,
        e.payload.timer_id && ` ${e.payload.timer_id}`,
      ],
    })),
    ...read.effects
      .filter((e) => Number(e.id.split("/").at(-2)) >= first)
      .map((e) => effectLine(e, read, cursor)),
  ];
  return lines
    .sort((a, b) => a.at - b.at)
    .map(({at, name, what, status, why}) =>
      h(
        "li",
        h("div.row", h("span.small.soft", clock(at)), h("b", name), status && tag(status, kTones[status])),
        h("div", what),
        why && h("p.small.soft", `Because ${why}.`),
      ),
    );
}

// --- the conversation ---

// Lines in the order of the events that they are or answer, each once, by the ID of its event or message.
function conversation(agent) {
  const lines = new Map();
  const list = h("ol.said");
  const element = h("div.talk", {role: "log", "aria-label": "Messages", tabindex: "0"}, list);
  let last = 0; // the place of the newest message
  const put = (id, place, make) => {
    const line = lines.get(id) ?? {element: make()};
    if (line.place === place) return line;
    line.place = place;
    lines.set(id, line);
    const later = [...lines.values()]
      .filter((other) => other.place > place)
      .sort((a, b) => a.place - b.place);
    list.insertBefore(line.element, later[0]?.element ?? null);
    toEnd(element);
    return line;
  };
  return {
    element,
    // In the order of their numbers, also those that were held back for a while.
    message({id, auto, content}, at) {
      last = Math.max(last + 1e-6, Number(id.split("/").at(-2)) + 0.5);
      const mark = auto && tag("autonomous", "info");
      put(id, last, () =>
        h(auto ? "li.auto" : "li", h("div.row.small.soft", agent, clock(at), mark), content),
      );
    },
    // Last, while the server has not said which event they are.
    words(id, text, seq = Infinity, at = null) {
      const line = put(id, seq, () => h("li.you", h("div.row.small.soft", "You", h("span")), text));
      const when = at ? clock(at) : seq === Infinity ? "sending" : "";
      line.element.querySelector("span").replaceChildren(when);
    },
    remove(id) {
      lines.get(id)?.element.remove();
      lines.delete(id);
    },
    clear() {
      lines.clear();
      list.replaceChildren();
      last = 0;
    },
  };
}
const toEnd = (region) => (region.scrollTop = region.scrollHeight);

// A connection as docs/agents.md has it: it shows n = cursor + 1, drops what it has, and asks again from its cursor when a
// number is missing. What was said and not confirmed is said again under the same ID.
class Connection {
  constructor(key, on, signal) {
    Object.assign(this, {key, on, signal, tries: 0, unheard: new Map()});
    this.stored = `holdfast.cursor.${key}`;
    this.cursor = Number(localStorage.getItem(this.stored)) || 0;
    signal.addEventListener("abort", () => this.socket?.close());
    this.open();
  }
  async open() {
    this.on.state("connecting");
    try {
      await this.on.before(this);
      if (this.signal.aborted) return;
      const query = {session: this.key, device: device(), after: this.cursor};
      this.socket = openSocket("v1/connect", query);
    } catch {
      return this.again();
    }
    this.socket.onmessage = ({data}) => this.hear(JSON.parse(data));
    this.socket.onclose = () => this.again();
  }
  again() {
    this.ready = false;
    if (this.signal.aborted) return;
    this.on.state("waiting");
    const timer = setTimeout(() => this.open(), pauseAfter(this.tries++));
    this.signal.addEventListener("abort", () => clearTimeout(timer));
  }
  hear(frame) {
    if (frame.t === "ready") {
      this.ready = true;
      this.tries = 0;
      this.on.state("live");
      for (const id of this.unheard.keys()) this.say(id);
    } else if (frame.t === "msg" || frame.t === "skip") {
      if (frame.n > this.cursor + 1) return this.socket.close();
      if (frame.n === this.cursor + 1) {
        this.move(frame.n);
        if (frame.t === "msg") this.on.message(frame);
      }
      this.send({t: "ack", n: this.cursor});
    } else if (frame.t === "ok" || frame.t === "error") {
      const text = this.unheard.get(frame.id)?.text;
      this.unheard.delete(frame.id);
      this.on[frame.t](frame, text);
    } else if (frame.t === "state") {
      this.on.changed();
    }
  }
  move(n) {
    this.cursor = n;
    localStorage.setItem(this.stored, n);
  }
  send(frame) {
    this.socket.send(JSON.stringify(frame));
  }
  speak(id, text) {
    this.unheard.set(id, {text, since: Date.now()});
    if (this.ready) this.say(id);
  }
  say(id) {
    const words = this.unheard.get(id);
    words.since = Date.now();
    this.send({t: "user", id, text: words.text});
  }
  // A connection that died without a word is noticed by what it does not answer.
  check() {
    const late = [...this.unheard.values()].some((words) => Date.now() - words.since > kUnheard);
    if (this.ready && late) this.socket.close();
  }
}

const kLink = {connecting: ["", "Connecting"], live: [" on", "Connected"], waiting: [" off", "Reconnecting"]};
const kNew = {state: "new", last_seq: 0, event_seq: 0, last_n: 0};

export async function start(root, {rest: [given], signal}) {
  const key = given ?? `${session.tenant}:${kAgent}:chat`;
  const agent = key.split(":")[1] ?? key;
  const path = `v1/sessions/${encodeURIComponent(key)}`;
  let now = kNew;
  let pending = [];

  const talk = conversation(agent);
  const happened = h("ol.list");
  const track = h("div.talk", {role: "region", "aria-label": "What happened", tabindex: "0"}, happened);
  const link = h("span.live", {role: "status"});
  const next = h("p.small.soft");
  const input = h("input", {type: "text", name: "text", id: "say", autocomplete: "off", maxlength: "4000"});
  const pause = worker("button", "Pause", async () => {
    await attempt(() => request("POST", `${path}/${now.state === "active" ? "pause" : "resume"}`)).catch(
      () => {},
    );
    refresh();
  });
  const box = panel("Conversation", {actions: [link]});
  const speak = (event) => {
    event.preventDefault();
    const text = input.value.trim();
    input.value = "";
    if (!text) return;
    const id = uuid();
    talk.words(id, text);
    connection.speak(id, text);
  };
  box.show(
    talk.element,
    next,
    h(
      "form.inline",
      {onsubmit: speak},
      h("div.fields", h("div.field", h("label", {for: "say"}, "Message"), input)),
      h("div.row", h("button.main", {type: "submit"}, "Send")),
    ),
  );
  const beside = panel("Timeline");
  beside.show(track);
  root.append(
    header("Chat", {about: `With the agent ${agent}, as ${key}`, actions: [pause]}),
    h("div.columns", box.element, beside.element),
  );

  const attempt = async (run) => {
    try {
      await run();
      box.tell();
    } catch (error) {
      if (!["AbortError", "Offline"].includes(error.name)) box.tell(errorBox(error));
      throw error;
    }
  };

  // A session begins with its first event.
  const look = () =>
    get(path, {}, signal).catch((error) => (error.status === 404 ? kNew : Promise.reject(error)));
  const items = async (part, query) => (await get(`${path}/${part}`, query, signal)).items;
  let turn = 0;
  async function read() {
    const mine = ++turn;
    const seen = await look();
    const newest = {after: Math.max(0, seen.last_seq - kShown), limit: kShown};
    const [events, effects, timers] = await Promise.all([
      items("events", newest),
      items("effects"),
      items("timers"),
    ]);
    if (mine !== turn) return;
    now = seen;
    pending = timers.filter((t) => t.status === "pending");
    for (const e of events)
      if (e.type === "user_message") talk.words(e.id, e.payload.text, e.seq, Date.parse(e.created_at));
    const follows = track.scrollHeight - track.scrollTop - track.clientHeight < 40;
    const lines = timeline({events, effects, timers}, connection.cursor);
    happened.replaceChildren(
      ...(lines.length ? lines : [h("li", empty("Nothing happened yet", `Say something to ${agent}.`))]),
    );
    if (follows) toEnd(track);
    pause.hidden = !["active", "paused", "blocked"].includes(now.state);
    pause.textContent = now.state === "active" ? "Pause" : "Resume";
    const open = now.last_seq - now.event_seq;
    const state = now.state === "active" || now.state === "new" ? "" : `The conversation is ${now.state}. `;
    const left = open > 0 ? `${agent} has ${count(open, "event", "events")} to look at. ` : "";
    next.replaceChildren(
      state + left,
      ...pending.map((t) =>
        countdown(t.fire_at, `${words(t.timer_id)}, unless you write, in`, `${words(t.timer_id)} is due`),
      ),
    );
  }
  const refresh = soon(() => attempt(read).catch(() => {}), 50);

  const connection = new Connection(
    key,
    {
      state(name) {
        link.className = "live" + kLink[name][0];
        link.textContent = kLink[name][1];
      },
      // Before each connection: what there is, and at first what was shown before.
      before: (it) =>
        attempt(async () => {
          const {last_n: last} = await look();
          if (last < it.cursor) {
            // The server has lost its memory: this is another conversation under the same name.
            talk.clear();
            it.move(0);
          }
          const after = Math.max(0, it.cursor - kShown);
          const shown = it.recalled ? [] : await items("messages", {after, limit: kShown});
          it.recalled = true;
          await read();
          for (const m of shown) if (m.n <= it.cursor) talk.message(m, Date.parse(m.created_at));
        }),
      message(frame) {
        talk.message(frame, frame.at);
        refresh();
      },
      ok(frame, text) {
        talk.words(frame.id, text, frame.seq);
        refresh();
      },
      changed: refresh,
      error(frame, text) {
        talk.remove(frame.id);
        input.value ||= text ?? "";
        box.tell(errorBox({...frame, name: frame.error}));
      },
    },
    signal,
  );
  // While a timer runs, others may cancel it, or it fires and nothing is said.
  const beat = setInterval(async () => {
    connection.check();
    if (!pending.length || document.hidden || !connection.ready) return;
    const seen = await look().catch(() => now);
    if (JSON.stringify(seen) !== JSON.stringify(now)) refresh();
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(beat));
}
