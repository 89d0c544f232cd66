import type { Json, Refusal } from "./protocol.js";

/** The server said no: `name` is its word for why ("Fenced", "NotFound", …). */
export class HoldfastError extends Error {
  readonly status: number;
  readonly details: { [name: string]: Json };
  readonly requestId: string | undefined;

  constructor({ status, error, message, details, requestId }: Refusal) {
    super(message);
    this.name = error;
    this.status = status;
    this.details = details ?? {};
    this.requestId = requestId;
  }

  /** Made of what an HTTP answer says; a proxy's answer may say nothing that we know. */
  static of(status: number, body: string): HoldfastError {
    let said: Partial<Refusal> = {};
    try {
      said = JSON.parse(body) ?? {};
    } catch {}
    return new HoldfastError({ error: `Http${status}`, message: body || `HTTP ${status}`, ...said, status });
  }

  /** The same again, later, may do. */
  get passing(): boolean {
    return isPassing(this.status);
  }
}

export const isPassing = (status: number): boolean => status >= 500 || status === 429 || status === 408;
