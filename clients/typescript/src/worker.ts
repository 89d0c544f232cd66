import { HoldfastError } from "./error.js";
import { Link, LinkClosed, type Frame } from "./link.js";
import { PollLink } from "./poll.js";
import type { CancelReason, Commit, Committed, Lease, Release, Work } from "./protocol.js";
import type { Endpoint } from "./rest.js";
import { Turn } from "./turn.js";

/** Returns the session's new state, or nothing to leave it as it was. One that throws gives the events back as failed. */
export type Handler<S> = (turn: Turn<S>) => S | void | Promise<S | void>;

export interface WorkerOptions<S> extends Endpoint {
  /** Which agents it serves. */
  agents: string[];
  handler: Handler<S>;
  /** The state of a session that has none; an empty object unless told. */
  initial?: () => S;
  /** Its name in the sessions that it has; a random one unless told. */
  name?: string;
  /** How many sessions it works on at once. */
  credit?: number;
  /** How long the server waits for a sign of life before it gives a session to another worker. */
  leaseMs?: number;
  /** How long events wait to be handed out again after a handler threw; twice as long each time in a row. */
  retryMs?: number;
  /** "http" asks for work by long polls, where WebSockets do not get through. */
  transport?: "ws" | "http";
  /** Handlers that threw, what the server refused, and connections that were lost; to the console unless told. */
  onError?(error: Error, session?: string): void;
}

/** How a worker reaches the server. */
export interface WorkerLink {
  readonly ready: boolean;
  call<Answer>(frame: Frame & { id: string }): Promise<Answer>;
  send(frame: Frame): void;
  close(): void;
  /** The worker can take one session more. */
  onFree?(): void;
}

type WorkerFrame<S> =
  | ({ t: "work" } & Work<S>)
  | ({ t: "cancel"; reason: CancelReason } & Lease)
  | { t: "hb"; lost: Lease[]; cancel?: ({ reason: CancelReason } & Lease)[] };

/**
 * Takes turns for sessions: it is given their events, and commits what the handler makes of them. It works from when it is
 * made until `stop`.
 *
 *     new Worker({ url, token, agents: ["guide"], handler: (turn) => turn.send("hello") });
 */
export class Worker<S = { [name: string]: unknown }> {
  readonly name: string;
  readonly #options: WorkerOptions<S>;
  readonly #link: WorkerLink;
  readonly #turns = new Map<string, Turn<S>>();
  readonly #failures = new Map<string, number>();
  readonly #heartbeat: ReturnType<typeof setInterval>;
  // Commits are known by this: two processes of one name must not be taken for each other.
  readonly #run = crypto.randomUUID();
  #running = 0;
  #calls = 0;
  #idle: (() => void) | undefined;

  constructor(options: WorkerOptions<S>) {
    this.#options = options;
    this.name = options.name ?? `w-${crypto.randomUUID()}`;
    const { url, token, agents, credit = 8, leaseMs = 30_000 } = options;
    const hello = { worker: this.name, agents, lease_ms: leaseMs };
    const common = {
      url,
      token,
      onFrame: (frame: Frame) => this.#receive(frame as WorkerFrame<S>),
      onError: (error: Error) => this.#report(error),
    };
    this.#link =
      options.transport === "http"
        ? new PollLink({ ...common, claim: hello, free: () => (this.#idle ? 0 : credit - this.#running) })
        : new Link({
            ...common,
            path: () => "/v1/work/ws",
            onOpen: () => this.#link.send({ t: "hello", ...hello, credit } as Frame),
          });
    this.#heartbeat = setInterval(() => this.#beat(), leaseMs / 3);
  }

  /** Takes no more work, finishes what it has, and closes: after `graceMs` in any case. */
  async stop(graceMs = 30_000): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#running === 0) this.#idle();
    });
    clearInterval(this.#heartbeat);
    this.#link.close();
  }

  #receive(frame: WorkerFrame<S>): void {
    if (frame.t === "work") void this.#work(frame);
    else if (frame.t === "cancel") this.#cancel(frame, frame.reason);
    else if (frame.t === "hb") {
      for (const lease of frame.lost) this.#cancel(lease, "lost");
      for (const lease of frame.cancel ?? []) this.#cancel(lease, lease.reason);
    }
  }

  #cancel({ session, epoch }: Lease, reason: CancelReason | "lost"): void {
    const turn = this.#turns.get(session);
    if (turn?.epoch === epoch) turn.cancel(reason);
  }

  #beat(): void {
    if (!this.#link.ready || this.#turns.size === 0) return;
    const leases = Array.from(this.#turns.values(), ({ session, epoch }) => ({ session, epoch }));
    this.#link.send({ t: "hb", leases } as Frame);
  }

  async #work(first: Work<S>): Promise<void> {
    this.#running++;
    for (let work: Work<S> | null = first; work; ) work = await this.#take(work);
    if (--this.#running === 0) this.#idle?.();
    this.#link.onFree?.();
  }

  // One turn of a session; the next that it has at once.
  async #take(work: Work<S>, rejected?: string): Promise<Work<S> | null> {
    const turn = new Turn<S>(work, this.#options.initial ?? (() => ({}) as S), rejected);
    if (this.#idle) return this.#giveBack(turn);
    // The same session again while we are in a turn of it: that one was taken from us.
    this.#turns.get(work.session)?.cancel("lost");
    this.#turns.set(work.session, turn);
    const next = await this.#finish(work, turn);
    if (this.#turns.get(work.session) === turn) this.#turns.delete(work.session);
    return next;
  }

  async #finish(work: Work<S>, turn: Turn<S>): Promise<Work<S> | null> {
    let state: Readonly<S>;
    try {
      state = (await this.#options.handler(turn)) ?? turn.state;
    } catch (error) {
      if (turn.cancelled !== "stop") return this.#giveBack(turn, turn.cancelled ? undefined : error);
      // The user wanted it to end: its events are done with, and the session stays as it was.
      state = turn.state;
      turn.effects.length = 0;
    }
    if (turn.cancelled === "lost") return null;
    try {
      const { next } = await this.#commit(turn, state);
      this.#failures.delete(turn.session);
      return next;
    } catch (error) {
      const refused = error as HoldfastError;
      if (refused.name !== "Rejected" || turn.rejected) return this.#giveBack(turn, error);
      return this.#take(work, String(refused.details.reason));
    }
  }

  #commit({ session, epoch, upto, effects, usage }: Turn<S>, checkpoint: Readonly<S>): Promise<Committed<S>> {
    const token = this.#id();
    const commit: Commit<S> = { session, epoch, upto, token, checkpoint, effects };
    if (usage) commit.usage = usage;
    if (this.#idle) commit.then = "release";
    return this.#link.call({ t: "commit", id: token, ...commit } as Frame & { id: string });
  }

  // The events will be handed out again; an error counts against them.
  async #giveBack({ session, epoch, cancelled }: Turn<S>, error?: unknown): Promise<null> {
    if (cancelled === "lost" || isOver(error)) return null;
    const release: Release = { session, epoch };
    if (error !== undefined) {
      const failures = this.#failures.get(session) ?? 0;
      this.#failures.set(session, failures + 1);
      release.error = String(error).slice(0, 1000);
      release.retry_after_ms = Math.min(60_000, (this.#options.retryMs ?? 1_000) * 2 ** failures);
      this.#report(error as Error, session);
    }
    try {
      await this.#link.call({ t: "release", id: this.#id(), ...release } as Frame & { id: string });
    } catch (refused) {
      if (!isOver(refused)) this.#report(refused as Error, session);
    }
    return null;
  }

  #id(): string {
    return `${this.#run}.${++this.#calls}`;
  }

  #report(error: Error, session?: string): void {
    if (this.#options.onError) this.#options.onError(error, session);
    else console.error(session ?? this.name, error);
  }
}

// The session is another worker's or no more, or nobody listens: nothing that we say about it counts.
const isOver = (error: unknown): boolean =>
  error instanceof LinkClosed || (error instanceof HoldfastError && (error.name === "Fenced" || error.status === 410));
