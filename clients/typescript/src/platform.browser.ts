import type { CursorStore, OpenSocket } from "./platform.js";

export const openSocket: OpenSocket = (url, token, events) => {
  const socket = new WebSocket(url, ["holdfast", `bearer.${token}`]);
  socket.onopen = () => events.onOpen();
  socket.onmessage = ({ data }) => events.onText(data);
  socket.onclose = ({ code, reason }) => events.onClose(new Error(`closed: ${code} ${reason}`));
  return socket;
};

export const cursorStore = (): CursorStore => ({
  load(key) {
    const stored = localStorage.getItem(`holdfast:${key}`);
    return stored === null ? undefined : Number(stored);
  },
  save: (key, n) => localStorage.setItem(`holdfast:${key}`, String(n)),
});
