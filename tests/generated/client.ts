// What a program writes with the types that openapi-typescript makes of the document. Compiled, never run.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const api = createClient<paths>({ baseUrl: "http://localhost:8000", headers: { Authorization: "Bearer …" } });

export async function projects(): Promise<string[]> {
  const made = await api.POST("/v1/pm/commands/project.create", {
    params: { header: { "Idempotency-Key": "k-1" } },
    body: { name: "Lantern Quay", source: "jira", sourceProjectKey: "LQ", autonomyLevel: "artefact" },
  });
  if (made.error) {
    if (made.error.error === "AlreadyExists") return [made.error.message];
    throw new Error(made.error.message);
  }
  const project: components["schemas"]["PmProject"] = made.data.result;
  const status: "active" | "paused" | "archived" = project.status;
  const query = { id: project.id };
  await api.PATCH("/v1/pm/entities/Project", { params: { query }, body: { status: "paused", description: null } });
  // @ts-expect-error: no such status
  await api.PATCH("/v1/pm/entities/Project", { params: { query }, body: { status: "asleep" } });
  // @ts-expect-error: a required field is missing
  await api.POST("/v1/pm/entities/Project", { body: { name: "Nameless" } });
  // @ts-expect-error: the model computes it
  const changes: components["schemas"]["PmProjectChanges"] = { updatedAt: "2026-02-04T10:30:00Z" };
  await api.PATCH("/v1/pm/entities/Project", { params: { query }, body: changes });
  const page = await api.GET("/v1/pm/patterns/PM-A-13", { params: { query: { limit: 10 } } });
  return [status, ...(page.data?.items.map((one) => one.name) ?? []), page.data?.cursor ?? ""];
}
