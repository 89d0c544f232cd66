// Starts one holdfast in memory for a test file, and the clients that the tests use.
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

const program = fileURLToPath(new URL("../../../build/release/holdfast", import.meta.url));

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket.end() && true));
    socket.on("error", () => resolve(false));
  });

const port = await freePort();
const server = spawn(program, ["serve", "--in-memory", "--port", String(port), "--log-level", "warning"], { stdio: ["ignore", "ignore", "ignore"] });
for (let tries = 0; !(await answers(port)); ++tries) {
  if (tries > 1000 || server.exitCode !== null) throw new Error("holdfast did not start");
  await new Promise((resolve) => setTimeout(resolve, 10));
}

export const client = new DynamoDBClient({
  endpoint: `http://127.0.0.1:${port}`,
  region: "us-east-1",
  credentials: { accessKeyId: "x", secretAccessKey: "x" },
  maxAttempts: 1,
});
export const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

process.on("exit", () => server.kill());
server.unref();
