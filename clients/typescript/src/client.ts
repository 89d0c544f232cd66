import { cursorStore } from "#platform";
import { Link, type Frame } from "./link.js";
import type { CursorStore } from "./platform.js";
import type { Message, SessionState } from "./protocol.js";
import type { Endpoint } from "./rest.js";

export interface ClientOptions extends Endpoint {
  /** user:agent:thread */
  session: string;
  /** Each device has a cursor of its own and is told every message. */
  device?: string;
  /** Where this device keeps its cursor: localStorage in browsers, memory elsewhere, unless told. */
  store?: CursorStore;
  /** Called once for each message, in the order of `n`. */
  onMessage(message: Message): void;
  onState?(state: SessionState): void;
  /** A connection that was lost, told once for an outage, or one that is refused for good. */
  onError?(error: Error): void;
  /** How long what was shown may wait to be acknowledged together with what follows. */
  ackDelayMs?: number;
}

interface Ready extends Frame {
  n: number;
  ack: number;
}

/**
 * One device of one conversation. It connects when it is made, comes back when it is cut off, and shows each message once.
 *
 *     const chat = new Client({ url, token, session: "ann:guide:t1", onMessage: ({ content }) => console.log(content) });
 *     await chat.send("hello");
 */
export class Client {
  readonly #options: ClientOptions;
  readonly #store: CursorStore;
  readonly #key: string;
  readonly #link: Link;
  #cursor: number | undefined;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#store = options.store ?? cursorStore();
    this.#key = `${options.session}/${options.device ?? "default"}`;
    const { url, token, onError } = options;
    this.#link = new Link({
      url,
      token,
      path: () => this.#path(),
      onFrame: (frame) => this.#receive(frame),
      onError: (error) => onError?.(error),
    });
  }

  /** The number of the last message that was shown; undefined until the server or the store has said it. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** Settles when the message is stored, however often the connection is lost before. The same id is one message. */
  async send(text: string, id: string = crypto.randomUUID()): Promise<{ seq: number; duplicate: boolean }> {
    this.#acknowledge(); // one write for both
    const { seq, duplicate = false } = await this.#link.call<{ seq: number; duplicate?: boolean }>({ t: "user", id, text } as Frame & { id: string });
    return { seq, duplicate };
  }

  /** Asks the agent to stop the turn that it is in. */
  stop(): void {
    if (this.#link.ready) this.#link.send({ t: "stop" });
  }

  close(): void {
    this.#acknowledge();
    this.#link.close();
  }

  async #path(): Promise<string> {
    const { session, device } = this.#options;
    this.#cursor ??= await this.#store.load(this.#key);
    const query = new URLSearchParams({ session });
    if (device !== undefined) query.set("device", device);
    if (this.#cursor !== undefined) query.set("after", String(this.#cursor));
    return `/v1/connect?${query}`;
  }

  #receive(frame: Frame): void {
    if (frame.t === "msg" || frame.t === "skip") this.#advance(frame as Frame & Message);
    else if (frame.t === "ready") this.#begin(frame as Ready);
    else if (frame.t === "state") this.#options.onState?.((frame as Frame & { st: SessionState }).st);
  }

  #begin({ n, ack }: Ready): void {
    this.#cursor ??= ack;
    if (n < this.#cursor) {
      // We know messages that the server does not: it has another database now. What it has of this device counts.
      this.#cursor = ack;
      this.#link.reconnect();
    } else if (ack < this.#cursor) {
      this.#acknowledgeSoon();
    }
  }

  #advance(frame: Frame & Message): void {
    const expected = this.#cursor! + 1;
    if (frame.n > expected) return this.#link.reconnect();
    // One that comes again is not shown, but the server missed our acknowledgement.
    this.#acknowledgeSoon();
    if (frame.n < expected) return;
    this.#cursor = frame.n;
    if (frame.t === "msg") this.#options.onMessage(frame);
  }

  #acknowledgeSoon(): void {
    this.#ackTimer ??= setTimeout(() => this.#acknowledge(), this.#options.ackDelayMs ?? 5);
  }

  #acknowledge(): void {
    if (this.#ackTimer === undefined) return;
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    if (this.#cursor === undefined) return;
    this.#store.save(this.#key, this.#cursor);
    // While we are cut off there is nobody to tell: `ready` will show what the server knows.
    if (this.#link.ready) this.#link.send({ t: "ack", n: this.#cursor } as Frame);
  }
}
