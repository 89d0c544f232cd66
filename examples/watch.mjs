// Prints what happens to the entities of a model: node --experimental-websocket watch.mjs MODEL ENTITY TOKEN [PORT]
const [, , model, entity, token, port = 8000] = process.argv;
const socket = new WebSocket(`ws://localhost:${port}/v1/${model}/ws`, ["holdfast", `bearer.${token}`]);
const send = (message) => socket.send(JSON.stringify(message));
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "hello") send({ type: "subscribe", id: "1", entity });
  if (message.type === "subscribed") console.log(`watching ${entity}`);
  if (message.type === "change") console.log(message.change, JSON.stringify(message.item));
};
