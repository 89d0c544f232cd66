import { openSocket } from "#platform";
import { HoldfastError, isPassing } from "./error.js";
import type { Socket } from "./platform.js";
import type { Refusal } from "./protocol.js";
import { tokenOf, type Endpoint } from "./rest.js";

/** A pause before the next attempt: full jitter, so that those who were cut off together do not come back together. */
export const backOffMs = (attempt: number): number => Math.random() * Math.min(5_000, 100 * 2 ** attempt);

// A handshake that is refused this often in a row stays refused. The first may only be early: a new signing key is
// known to the server a second later.
const refusalsMost = 3;
const refusalPauseMs = 500;

export interface Frame {
  t: string;
  id?: string;
}

export interface LinkOptions extends Endpoint {
  /** Where to connect, asked anew at each attempt. */
  path(): string | Promise<string>;
  onOpen?(): void;
  onFrame(frame: Frame): void;
  onError(error: Error): void;
}

/** Nothing more is sent or answered here. */
export class LinkClosed extends Error {
  constructor(cause?: Error) {
    super(cause ? `closed: ${cause.message}` : "closed", { cause });
    this.name = "LinkClosed";
  }
}

interface Call {
  text: string;
  attempt: number;
  resolve(answer: Frame): void;
  reject(error: Error): void;
}

/**
 * A WebSocket that comes back when it is lost. Calls are sent again after that, with the same id, until they are answered:
 * the server knows them by it. The server's `ready` says that it listens; nothing but `onOpen` is sent before.
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #calls = new Map<string, Call>();
  #socket: Socket | undefined;
  #ready = false;
  #closed = false;
  #attempt = 0;
  #refusals = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
    void this.#connect();
  }

  get ready(): boolean {
    return this.#ready;
  }

  send(frame: Frame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  call<Answer>(frame: Frame & { id: string }): Promise<Answer> {
    const { id } = frame;
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new LinkClosed());
      const text = JSON.stringify(frame);
      this.#calls.set(id, { text, attempt: 0, resolve: resolve as (answer: Frame) => void, reject });
      if (this.#ready) this.#socket!.send(text);
    });
  }

  /** Gives the connection up for a new one. */
  reconnect(pauseMs = 0): void {
    this.#drop();
    if (!this.#closed) this.#timer = setTimeout(() => void this.#connect(), pauseMs + backOffMs(this.#attempt++));
  }

  /** Calls that have no answer fail. */
  close(cause?: Error): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#drop();
    for (const call of this.#calls.values()) call.reject(new LinkClosed(cause));
    this.#calls.clear();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined; // what it still says is not for us
    this.#ready = false;
    socket?.close();
  }

  async #connect(): Promise<void> {
    let token: string;
    let path: string;
    try {
      token = await tokenOf(this.#options);
      path = await this.#options.path();
    } catch (error) {
      return this.#lost(error as Error);
    }
    if (this.#closed) return;
    const url = new URL(path, this.#options.url);
    url.protocol = url.protocol.replace("http", "ws");
    const socket: Socket = openSocket(url.href, token, {
      onOpen: () => this.#socket === socket && this.#options.onOpen?.(),
      onText: (text) => this.#socket === socket && this.#receive(JSON.parse(text)),
      onClose: (why) => this.#socket === socket && this.#lost(why),
    });
    this.#socket = socket;
  }

  #lost(why: Error): void {
    this.#refusals = why instanceof HoldfastError && !why.passing ? this.#refusals + 1 : 0;
    const final = this.#refusals >= refusalsMost;
    // Of an outage we tell once.
    if (final || this.#attempt === 0) this.#options.onError(why);
    final ? this.close(why) : this.reconnect(this.#refusals > 0 ? refusalPauseMs : 0);
  }

  #receive(frame: Frame): void {
    const call = frame.id === undefined ? undefined : this.#calls.get(frame.id);
    if (call) this.#answer(call, frame as Frame & { id: string });
    else if (frame.t === "error") this.#options.onError(new HoldfastError(frame as Frame & Refusal));
    else {
      this.#options.onFrame(frame);
      // `onFrame` may have given this connection up.
      if (frame.t === "ready" && this.#socket) this.#listens(this.#socket);
    }
  }

  #listens(socket: Socket): void {
    this.#ready = true;
    this.#attempt = this.#refusals = 0;
    for (const { text } of this.#calls.values()) socket.send(text);
  }

  #answer(call: Call, frame: Frame & { id: string }): void {
    const refusal = frame as Frame & Refusal;
    if (frame.t === "error" && isPassing(refusal.status)) {
      const again = () => this.#ready && this.#calls.get(frame.id) === call && this.#socket!.send(call.text);
      setTimeout(again, backOffMs(call.attempt++));
      return;
    }
    this.#calls.delete(frame.id);
    if (frame.t === "error") call.reject(new HoldfastError(refusal));
    else if (frame.t === "fenced") call.reject(new HoldfastError({ ...refusal, status: 409, error: "Fenced" }));
    else call.resolve(frame);
  }
}
