// Signing in, what the first look costs, and that a person without a mouse gets everywhere.
import assert from "node:assert/strict";
import { test } from "node:test";
import { run, token, visit } from "./browser.js";

const stored = (visitor) => visitor.page.evaluate(() => sessionStorage.getItem("holdfast.token"));

test("a token that is pasted signs in, a bad one is refused in words", async (t) => {
  const visitor = await visit(t);
  await visitor.see("Sign in");
  await visitor.press("Sign in");
  await visitor.see("This is required.");
  await visitor.fill({ token: "abc" });
  await visitor.press("Sign in");
  await visitor.see("A token has three parts");
  const good = token("tamsin", "admin");
  await visitor.fill({ token: good.slice(0, -4) + (good.endsWith("AAAA") ? "BBBB" : "AAAA") });
  await visitor.press("Sign in");
  await visitor.see("signature", "main [role=alert]");
  assert.equal(await stored(visitor), null);
  await visitor.fill({ token: good });
  await visitor.press("Sign in");
  await visitor.see("Agentic PM Workbench");
  await visitor.see("tamsin", "header");
  await visitor.page.reload();
  await visitor.see("Agentic PM Workbench");
  await visitor.press("Sign out", "header");
  await visitor.see("Sign in");
  assert.equal(await stored(visitor), null);
});

test("a token in the address is taken from it at once", async (t) => {
  const visitor = await visit(t, { role: "admin" });
  assert.equal(new URL(visitor.page.url()).hash, "#/");
  for (const model of ["Agentic PM Workbench", "Personal OS", "Trip Cortex"]) await visitor.see(model);
});

test("a role sees only what it may use", async (t) => {
  const visitor = await visit(t, { role: "employee", subject: "emp-juniper-07" });
  await visitor.go("#/trip");
  await visitor.see("Two days in Veyra");
  await visitor.go("#/trip/bookings/emp-moss-11/01KKTR1P00000000000000BK09");
  await visitor.see("not yours to see");
  await visitor.go("#/trip/commands/booking.confirm");
  await visitor.see("There is no command booking.confirm that your role may run.");
});

test("the first paint takes at most 100 KB", async (t) => {
  const visitor = await visit(t);
  const network = await visitor.page.createCDPSession();
  let bytes = 0;
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  network.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await visitor.page.reload({ waitUntil: "networkidle0" });
  const paints = await visitor.page.evaluate(() => performance.getEntriesByName("first-contentful-paint").length);
  assert.equal(paints, 1);
  assert.ok(bytes > 1000 && bytes <= 100 * 1024, `${bytes} bytes`);
  t.diagnostic(`${bytes} bytes`);
});

test("with the keyboard alone: sign in, find the workbench, decide an escalation", async (t) => {
  const projectId = "1a97e24f-0002-4000-8000-00000000f0a2";
  const option = (name) => ({ option: name, pros: ["one"], cons: ["another"] });
  const asked = { projectId, title: "May the goat stay?", context: {}, options: [option("It stays"), option("It goes")] };
  await run("pm", "escalation.create", asked);
  const visitor = await visit(t);
  const { keyboard } = visitor;
  await visitor.see("Sign in");
  await keyboard.type(token("tamsin", "admin"));
  await keyboard.press("Enter");
  await visitor.see("Agentic PM Workbench");
  await keyboard.press("/");
  await visitor.until(() => document.activeElement.matches("dialog input"), "the search has no focus");
  await keyboard.type("workbench view");
  await keyboard.press("Enter");
  await visitor.see("May the goat stay?", "[aria-label=Escalations]");
  await visitor.tabTo("Decide: It goes");
  await keyboard.press("Enter");
  await visitor.gone("May the goat stay?", "[aria-label=Escalations]");
  assert.ok(await visitor.page.evaluate(() => document.activeElement !== document.body), "the focus is lost");
  await visitor.tabTo("Cancel it");
  await keyboard.press("Enter");
  await visitor.see("Cancel this action?", "dialog");
  await keyboard.press("Escape");
  await visitor.until(() => !document.querySelector("dialog"), "Escape does not close the dialog");
  assert.equal(await visitor.page.evaluate(() => document.activeElement.innerText), "Cancel it");
});
