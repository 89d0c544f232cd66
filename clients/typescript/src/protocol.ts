// What goes over the wire, as both sides spell it.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export type Delivery = "at_least_once" | "at_most_once";
export type CancelReason = "user_message" | "pause" | "delete" | "stop";
export type SessionState = "active" | "paused" | "blocked" | "archived" | "deleting" | "deleted";
export type EffectStatus = "pending" | "executing" | "completed" | "failed";
export type TimerStatus = "pending" | "promoted" | "cancelled";
export type OnRefusal = "suppress" | "hold" | "reject";

/** What happened to a session, as a worker is given it. */
export type Event = { seq: number; id: string; at: number; origin: "user" | "auto" } & (
  | { type: "user_message"; payload: { text: string } }
  | { type: "timer"; payload: { timer_id: string; payload?: Json } }
  | { type: "tool_result"; payload: { tool_id: string; payload: Json } }
);

export type Effect =
  | { type: "send_message"; content: string; delivery?: Delivery }
  | { type: "schedule_timer"; timer_id: string; delay_ms?: number; fire_at?: number | string; payload?: Json; keep?: boolean }
  | { type: "cancel_timer"; timer_id: string }
  | { type: "webhook"; url: string; body?: Json };

/** What an agent's sessions may do, and how its workers are treated. */
export interface Policy {
  cap: number;
  cooldown_ms: number;
  on_cap: OnRefusal;
  on_cooldown: OnRefusal;
  on_superseded: OnRefusal;
  allow_equal: boolean;
  debounce_ms: number;
  interrupt: "enqueue" | "interrupt" | "merge";
  turn_max_ms: number;
  on_poison: "block" | "skip";
  schema: string;
}

export interface Lease {
  session: string;
  epoch: number;
}

/** One session in a worker's hands. The epoch proves whose it is. */
export interface Work<S> extends Lease {
  lease_until: number;
  checkpoint: { seq: number; data: S } | null;
  events: Event[];
  state: { auto_n: number; auto_at: number | null; n_tail: number };
  policy: Policy;
}

export interface Commit<S> extends Lease {
  upto: number;
  token: string;
  checkpoint: S;
  effects: Effect[];
  usage?: { [name: string]: number };
  then?: "next" | "release";
}

export interface Committed<S> {
  seq: number;
  messages: number[];
  suppressed: { i: number; reason: string }[];
  next: Work<S> | null;
}

export interface Release extends Lease {
  error?: string;
  retry_after_ms?: number;
}

/** A message of the agent. `n` counts a session's messages from 1 without a gap. */
export interface Message {
  n: number;
  id: string;
  content: string;
  auto: boolean;
  at: number;
}

export interface Refusal {
  status: number;
  error: string;
  message: string;
  requestId?: string;
  details?: { [name: string]: Json };
}
