import type { CancelReason, Delivery, Effect, Event, Json, Policy, Work } from "./protocol.js";

export type TimerOptions = ({ delayMs: number; fireAt?: never } | { fireAt: Date | number; delayMs?: never }) & {
  /** Comes with the event that the timer becomes. */
  payload?: Json;
  /** Stays when the user says something. */
  keep?: boolean;
};

/**
 * What a handler is given: the session's state, the events to take in, and the effects that it may have. All of it is
 * committed together with the state that the handler returns, or not at all.
 */
export class Turn<S> {
  readonly session: string;
  readonly epoch: number;
  readonly events: readonly Event[];
  /** As the last turn left it. Return a new one; nothing that is changed in here is certain to be kept or dropped. */
  readonly state: Readonly<S>;
  /** How the session stands: autonomous messages in a row, when the last was, and how many messages there are. */
  readonly counters: Readonly<Work<S>["state"]>;
  readonly policy: Readonly<Policy>;
  /** Why the server refused what this handler did with the same events a moment ago (a policy of `reject`). */
  readonly rejected: string | undefined;
  readonly effects: Effect[] = [];
  /** The last event that is taken in. Fewer than all may be: the others come again in the next turn. */
  upto: number;
  /** What the turn cost, for the session's record. */
  usage: { [name: string]: number } | undefined;

  #cancelled: CancelReason | "lost" | undefined;
  #controller: AbortController | undefined;

  constructor(work: Work<S>, initial: () => S, rejected?: string) {
    this.session = work.session;
    this.epoch = work.epoch;
    this.events = work.events;
    this.state = work.checkpoint ? work.checkpoint.data : initial();
    this.counters = work.state;
    this.policy = work.policy;
    this.upto = work.events.at(-1)!.seq;
    this.rejected = rejected;
  }

  /** Why the turn should end now: the session is another's ("lost"), or somebody asked. */
  get cancelled(): CancelReason | "lost" | undefined {
    return this.#cancelled;
  }

  /** Aborted when the turn should end. */
  get signal(): AbortSignal {
    // Few handlers look at it, and one costs more than the rest of a turn.
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled) this.cancel(this.#cancelled);
    }
    return this.#controller.signal;
  }

  send(content: string, options?: { delivery: Delivery }): void {
    this.effects.push({ type: "send_message", content, ...options });
  }

  /** Replaces the pending timer of this id. It becomes an event, unless the user speaks first. */
  scheduleTimer(id: string, { delayMs, fireAt, payload, keep }: TimerOptions): void {
    const when = delayMs === undefined ? { fire_at: Number(fireAt) } : { delay_ms: delayMs };
    this.effects.push({ type: "schedule_timer", timer_id: id, ...when, ...(payload !== undefined && { payload }), ...(keep && { keep }) });
  }

  cancelTimer(id: string): void {
    this.effects.push({ type: "cancel_timer", timer_id: id });
  }

  /** The server posts the body, again and again until it is taken; the answer becomes an event. */
  webhook(url: string, body?: Json): void {
    this.effects.push({ type: "webhook", url, ...(body !== undefined && { body }) });
  }

  /** @internal */
  cancel(reason: CancelReason | "lost"): void {
    this.#cancelled = reason;
    this.#controller?.abort(new DOMException(reason, "AbortError"));
  }
}
