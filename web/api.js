// The server: who we are, REST, and one WebSocket for each model.
const base = new URL(".", document.baseURI);
const kStored = "holdfast.token";

export class ApiError extends Error {
  constructor(status, body, headers) {
    super(body?.message ?? "");
    this.name = body?.error ?? `HTTP ${status}`;
    this.status = status;
    this.details = body?.details;
    this.requestId = body?.requestId;
    this.retryAfter = Number(headers?.get("Retry-After") ?? body?.details?.retry_after) || 0;
  }
}

function decode(token) {
  const part = token.split(".")[1];
  if (!part || token.split(".").length !== 3)
    throw new Error("A token has three parts joined by dots; this one has not.");
  try {
    const bytes = Uint8Array.from(atob(part.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Error("The token cannot be read. Perhaps a part of it was not copied.");
  }
}

export const session = {
  token: null,
  subject: "",
  role: "",
  expires: null,
  models: [],
  onend: () => {},
  async start(token) {
    const claims = decode(token);
    this.token = token;
    try {
      this.models = (await get("v1/models")).models;
    } catch (error) {
      this.token = null;
      throw error;
    }
    this.subject = claims.sub ?? "";
    this.role = claims.role ?? "";
    this.tenant = claims.tenant ?? this.subject;
    this.expires = claims.exp ? new Date(claims.exp * 1000).toISOString() : null;
    sessionStorage.setItem(kStored, token);
  },
  end(why) {
    this.token = null;
    this.models = [];
    sessionStorage.removeItem(kStored);
    for (const live of lives.values()) live.close();
    lives.clear();
    this.onend(why);
  },
  stored: () => sessionStorage.getItem(kStored),
  model(name) {
    return this.models.find((m) => m.name === name);
  },
};

function address(path, query) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "")
      url.searchParams.set(name, typeof value === "object" ? JSON.stringify(value) : value);
  }
  return url;
}

export async function request(method, path, {query, body, headers, signal} = {}) {
  const url = address(path, query);
  let response;
  try {
    response = await fetch(url, {
      method,
      signal,
      cache: "no-store",
      headers: {
        Accept: "application/json",
        Authorization: `Bearer ${session.token}`,
        ...(body === undefined ? {} : {"Content-Type": "application/json"}),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, {error: "Offline", message: `${url.host} could not be reached.`});
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError(response.status, {error: "Internal", message: "The answer is not JSON."});
  }
  if (!response.ok) {
    const error = new ApiError(response.status, data, response.headers);
    if (response.status === 401 && session.subject)
      session.end("You were signed out: " + (error.message || "the token is no longer good."));
    throw error;
  }
  return {data, status: response.status, headers: response.headers};
}
export const get = async (path, query, signal) => (await request("GET", path, {query, signal})).data;
export const pattern = (model, id, query, signal) =>
  get(`v1/${model}/patterns/${encodeURIComponent(id)}`, query, signal);
export const entityPath = (model, entity) => `v1/${model}/entities/${encodeURIComponent(entity)}`;

export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const hex = Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export const run = (model, command, input, key = uuid()) =>
  request("POST", `v1/${model}/commands/${encodeURIComponent(command)}`, {
    body: input,
    headers: {"Idempotency-Key": key},
  });
export const commandOf = (model, name) => session.model(model)?.commands?.find((c) => c.name === name);
export const asAttributes = (list) =>
  (list ?? []).map((a) =>
    typeof a === "string" ? {name: a, kind: "S"} : {...a, kind: a.kind ?? a.type ?? "S"},
  );

// Of the values at hand those that the command takes. A function is asked with the input's declaration.
export function fit(command, values) {
  const given = {};
  for (const input of asAttributes(command.inputs)) {
    const value = typeof values[input.name] === "function" ? values[input.name](input) : values[input.name];
    if (value !== undefined && value !== null) given[input.name] = value;
  }
  return given;
}

export function openSocket(path, query) {
  const url = address(path, query);
  url.protocol = url.protocol.replace("http", "ws");
  return new WebSocket(url, ["holdfast", `bearer.${session.token}`]);
}
// Milliseconds to wait after so many failures, not the same for all who wait.
export const pauseAfter = (tries) => Math.min(30000, 500 * 2 ** tries) * (0.75 + Math.random() / 2);

// A connection that comes back by itself and goes on where it was.
class Live {
  constructor(model) {
    this.model = model;
    this.topics = new Map();
    this.next = 1;
    this.tries = 0;
    this.open();
  }
  open() {
    this.state("connecting");
    const socket = (this.socket = openSocket(`v1/${this.model}/ws`));
    let heard = Date.now();
    let greeted = false;
    const beat = setInterval(() => {
      if (Date.now() - heard > 60000) socket.close();
      else if (socket.readyState === 1) socket.send('{"type":"ping"}');
    }, 20000);
    socket.onmessage = ({data}) => {
      heard = Date.now();
      const message = JSON.parse(data);
      if (message.type === "hello") {
        greeted = true;
        this.tries = 0;
        this.connectionId = message.connectionId;
        this.state("live");
        for (const topic of this.topics.values()) this.subscribeNow(topic);
        return;
      }
      const topic = this.topics.get(message.id);
      if (topic && message.cursor) topic.cursor = message.cursor;
      if (topic) topic.handler(message);
      else if (message.type === "event")
        for (const t of this.topics.values())
          if (t.ask.event === message.name || t.ask.event === "*") t.handler(message);
    };
    socket.onclose = async () => {
      clearInterval(beat);
      if (this.closed) return;
      this.connectionId = null;
      const pause = pauseAfter(this.tries++);
      this.state("waiting", new Date(Date.now() + pause).toISOString());
      // A refused token looks like any other failure here; a plain request tells.
      if (!greeted) await get("v1/models").catch(() => {});
      if (!this.closed) this.timer = setTimeout(() => this.open(), pause);
    };
  }
  state(name, until) {
    this.status = {name, until};
    document.dispatchEvent(new CustomEvent("live", {detail: {model: this.model, name, until}}));
  }
  subscribeNow(topic) {
    if (topic.ask.event !== "*")
      this.socket.send(JSON.stringify({type: "subscribe", id: topic.id, ...topic.ask, cursor: topic.cursor}));
  }
  subscribe(ask, handler, signal) {
    const topic = {id: `s${this.next++}`, ask, handler};
    this.topics.set(topic.id, topic);
    if (this.status.name === "live") this.subscribeNow(topic);
    signal?.addEventListener("abort", () => {
      this.topics.delete(topic.id);
      if (this.socket.readyState === 1 && ask.event !== "*")
        this.socket.send(JSON.stringify({type: "unsubscribe", id: topic.id}));
    });
  }
  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
    this.state("off");
  }
}
const lives = new Map();
export function live(model) {
  for (const [name, other] of lives) {
    if (name === model) continue;
    other.close();
    lives.delete(name);
  }
  if (!lives.has(model)) lives.set(model, new Live(model));
  return lives.get(model);
}

// Calls `changed` whenever one of the entities may have changed: also after a gap, and when the subscription
// begins, since what was read before that may be out of date.
const kTellsOfChanges = ["subscribed", "change", "resync", "event"];
export function watch(model, topics, changed, signal) {
  for (const topic of topics) {
    live(model).subscribe(topic, (m) => kTellsOfChanges.includes(m.type) && changed(m), signal);
  }
}
