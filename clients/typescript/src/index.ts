// Agents on holdfast: see README.md.
export { Client, type ClientOptions } from "./client.js";
export { HoldfastError } from "./error.js";
export { LinkClosed } from "./link.js";
export type { CursorStore } from "./platform.js";
export type * from "./protocol.js";
export { Rest } from "./rest.js";
export type * from "./rest.js";
export { Turn, type TimerOptions } from "./turn.js";
export { Worker, type Handler, type WorkerOptions } from "./worker.js";
