import { HoldfastError } from "./error.js";
import type { Delivery, EffectStatus, Event, Json, Policy, SessionState, TimerStatus } from "./protocol.js";

export interface Endpoint {
  /** Of the server: http://127.0.0.1:8000 */
  url: string;
  /** A bearer token; a function is asked for one whenever it is needed, and may give a fresh one. */
  token: string | (() => string | Promise<string>);
}

export const tokenOf = ({ token }: Endpoint): string | Promise<string> => (typeof token === "string" ? token : token());

export async function request<T>(endpoint: Endpoint, method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Authorization: `Bearer ${await tokenOf(endpoint)}` };
  const init: RequestInit = { method, headers };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const answer = await fetch(new URL(path, endpoint.url), init);
  const text = await answer.text();
  if (!answer.ok) throw HoldfastError.of(answer.status, text);
  return JSON.parse(text || "null");
}

/** `next` is the `after` of the page that follows. */
export interface Page<T, After = number> {
  items: T[];
  next: After | null;
}
export interface PageOptions {
  after?: number | undefined;
  limit?: number | undefined;
}

export interface SessionView {
  session_key: string;
  state: SessionState;
  reason?: string;
  last_seq: number;
  event_seq: number;
  checkpoint_id: string | null;
  last_n: number;
  epoch: number;
  owner: string | null;
  lease_until: string | null;
  consecutive_autonomous_msgs: number;
  last_autonomous_at: string | null;
  updated_at: string;
}
export interface EventView {
  id: string;
  session_key: string;
  seq: number;
  type: Event["type"];
  payload: { [name: string]: Json };
  created_at: string;
}
export interface MessageView {
  n: number;
  id: string;
  seq: number;
  i: number;
  content: string;
  auto: boolean;
  delivery: Delivery;
  created_at: string;
}
export interface EffectView {
  id: string;
  session_key: string;
  checkpoint_id: string;
  type: "send_message" | "schedule_timer" | "cancel_timer" | "webhook";
  payload: { [name: string]: Json };
  dedupe_key: string;
  status: EffectStatus;
  outcome?: string;
  n?: number;
  delivery?: Delivery;
  created_at: string;
  updated_at: string;
  attempt_count: number;
  last_attempt_at?: string;
}
export interface TimerView {
  id: string;
  session_key: string;
  timer_id: string;
  fire_at: string;
  payload?: Json;
  status: TimerStatus;
  keep: boolean;
  created_at: string;
  updated_at: string;
}
export interface CheckpointView<S> {
  id: string;
  state: S;
  metadata: { event_seq: number; consecutive_autonomous_msgs: number; last_autonomous_at: string | null };
  decisions: Json[];
  created_at: string;
  skipped?: boolean;
}
export interface Autonomy {
  enabled: boolean;
  by: string | null;
  at: string | null;
  forced_off: boolean;
}
export interface DeadLetter {
  id: string;
  session_key: string;
  effect_id: string;
  reason: string;
  created_at: string;
}

/** What there is to see and to steer, over plain HTTP. What is refused is thrown as a HoldfastError. */
export class Rest {
  constructor(private readonly endpoint: Endpoint) {}

  append(session: string, text: string, id?: string): Promise<{ seq: number; id: string; duplicate: boolean }> {
    return this.#session("POST", session, "/events", { ...(id && { id }), type: "user_message", payload: { text } });
  }
  session(session: string): Promise<SessionView> {
    return this.#session("GET", session, "");
  }
  events(session: string, { after, limit }: PageOptions = {}): Promise<Page<EventView>> {
    return this.#session("GET", session, `/events${query({ after, limit })}`);
  }
  messages(session: string, { after, limit }: PageOptions = {}): Promise<Page<MessageView>> {
    return this.#session("GET", session, `/messages${query({ after, limit })}`);
  }
  /** In the order of their positions; `checkpoint` is a seq. */
  async effects(session: string, only: { status?: EffectStatus; checkpoint?: number } = {}): Promise<EffectView[]> {
    return (await this.#session<Page<EffectView>>("GET", session, `/effects${query(only)}`)).items;
  }
  async timers(session: string, only: { status?: TimerStatus } = {}): Promise<TimerView[]> {
    return (await this.#session<Page<TimerView>>("GET", session, `/timers${query(only)}`)).items;
  }
  checkpoint<S = { [name: string]: Json }>(session: string, seq: number | "latest" = "latest"): Promise<CheckpointView<S>> {
    return this.#session("GET", session, `/checkpoints/${seq}`);
  }
  pause(session: string): Promise<SessionView> {
    return this.#session("POST", session, "/pause");
  }
  resume(session: string): Promise<SessionView> {
    return this.#session("POST", session, "/resume");
  }
  /** Asks the running turn to stop. */
  cancel(session: string): Promise<void> {
    return this.#session("POST", session, "/cancel");
  }
  /** One timer, or all that are pending. */
  cancelTimers(session: string, timerId?: string): Promise<{ cancelled: number }> {
    return this.#session("DELETE", session, timerId === undefined ? "/timers" : `/timers/${encodeURIComponent(timerId)}`);
  }
  delete(session: string): Promise<{ state: SessionState }> {
    return this.#session("DELETE", session, "");
  }

  /** With a change: what it leaves out gets its default. */
  policy(agent: string, change?: Partial<Policy>): Promise<Policy> {
    return this.#do(change ? "PUT" : "GET", `agents/${encodeURIComponent(agent)}/policy`, change);
  }
  autonomy(enabled?: boolean): Promise<Autonomy> {
    return enabled === undefined ? this.#do("GET", "agents/autonomy") : this.#do("PUT", "agents/autonomy", { enabled });
  }
  deadLetters(page: { after?: string; limit?: number } = {}): Promise<Page<DeadLetter, string>> {
    return this.#do("GET", `dead-letters${query(page)}`);
  }
  redrive(deadLetter: string): Promise<void> {
    return this.#do("POST", `dead-letters/${encodeURIComponent(deadLetter)}/redrive`);
  }

  #session<T>(method: string, session: string, rest: string, body?: unknown): Promise<T> {
    return this.#do(method, `sessions/${encodeURIComponent(session)}${rest}`, body);
  }
  #do<T>(method: string, path: string, body?: unknown): Promise<T> {
    return request(this.endpoint, method, `/v1/${path}`, body);
  }
}

const query = (parameters: { [name: string]: string | number | undefined }): string => {
  const given = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`));
  return given.length ? `?${given.join("&")}` : "";
};
