// What Node.js and browsers do differently; "#platform" is one of platform.node and platform.browser.

/** A WebSocket that is open or about to be. */
export interface Socket {
  send(text: string): void;
  close(): void;
}

export interface SocketEvents {
  onOpen(): void;
  onText(text: string): void;
  /** Last, once. A HoldfastError when the server refused the handshake and we are let know. */
  onClose(why: Error): void;
}

export type OpenSocket = (url: string, token: string, events: SocketEvents) => Socket;

/** Where a device keeps how far it has shown a session's messages. */
export interface CursorStore {
  load(key: string): number | undefined | Promise<number | undefined>;
  save(key: string, n: number): void;
}
