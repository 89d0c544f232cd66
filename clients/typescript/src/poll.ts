import { HoldfastError } from "./error.js";
import { backOffMs, LinkClosed, type Frame } from "./link.js";
import { request, type Endpoint } from "./rest.js";
import type { WorkerLink } from "./worker.js";

export interface PollOptions extends Endpoint {
  /** Who asks for work, and what for. */
  claim: { worker: string; agents: string[]; lease_ms: number };
  /** How many sessions more the worker can take. */
  free(): number;
  onFrame(frame: Frame): void;
  onError(error: Error): void;
}

/** A worker's way to the server over plain requests: one long poll, and a request for each commit. */
export class PollLink implements WorkerLink {
  readonly #options: PollOptions;
  readonly #end = new AbortController();
  #wake: (() => void) | undefined;
  #beating = false;

  constructor(options: PollOptions) {
    this.#options = options;
    // It ends when it is closed, or when the server refuses to give work to us at all.
    this.#poll().catch(this.#report);
  }

  /** For a heartbeat: one at a time is enough, however long an outage. */
  get ready(): boolean {
    return !this.#beating;
  }

  call<Answer>({ t, id: _, ...body }: Frame & { id: string }): Promise<Answer> {
    return this.#post(t, body);
  }

  /** Heartbeats are all that is sent without being called. */
  send({ t: _, ...body }: Frame): void {
    this.#beating = true;
    this.#post<object>("heartbeat", body)
      .then((answer) => this.#options.onFrame({ t: "hb", ...answer }), this.#report)
      .finally(() => (this.#beating = false));
  }

  onFree(): void {
    this.#wake?.();
  }

  close(): void {
    this.#end.abort();
    this.#wake?.();
  }

  readonly #report = (error: Error): void => {
    if (!(error instanceof LinkClosed)) this.#options.onError(error);
  };

  async #poll(): Promise<void> {
    while (!this.#end.signal.aborted) {
      const max = Math.min(64, this.#options.free());
      if (max < 1) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      // Asked again after a lost answer, the server knows `req` and gives the same work.
      const claim = { ...this.#options.claim, req: crypto.randomUUID(), max, wait_ms: 20_000 };
      const { work } = await this.#post<{ work: object[] }>("claim", claim);
      for (const one of work) this.#options.onFrame({ t: "work", ...one });
    }
  }

  async #post<Answer>(what: string, body: object): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await request<Answer>(this.#options, "POST", `/v1/work/${what}`, body, this.#end.signal);
      } catch (error) {
        if (this.#end.signal.aborted) throw new LinkClosed();
        if (error instanceof HoldfastError && !error.passing) throw error;
        if (attempt === 0) this.#options.onError(error as Error);
        await new Promise((resolve) => setTimeout(resolve, backOffMs(attempt)));
      }
    }
  }
}
