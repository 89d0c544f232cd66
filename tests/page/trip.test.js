// SC-TRIP in the page: a booking through its ten steps with a human choice, circuits, and what the policies say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, visit } from "./browser.js";

const steps = (visitor) => visitor.page.$$eval(".steps li.done", (done) => done.length);
const reaches = (visitor, count) =>
  visitor.until((n) => document.querySelectorAll(".steps li.done").length === n, `not at step ${count}`, count);

test("SC-TRIP: ten steps, the choice by the employee, the rest by the orchestrator", async (t) => {
  const employeeId = "emp-page-1";
  const employee = await visit(t, { role: "employee", subject: employeeId, at: "#/trip" });
  await employee.see("No bookings yet");
  await employee.see("Live", "header");
  await employee.fill({ userRequest: "A seat to Port Alder for the lighthouse fair, please" });
  await employee.press("Ask for it");
  await reaches(employee, 2);
  await employee.see("The orchestrator takes the next step");

  const orchestrator = await visit(t, { role: "orchestrator", subject: "workflow", at: `#/trip?employeeId=${employeeId}` });
  await orchestrator.press("A seat to Port Alder for the lighthouse fair, please", "main", "link");
  for (const [label, done] of [["Retrieve the policies", 3], ["Attach the plan", 4], ["Validate the plan", 5], ["Hand in the flights", 7]]) {
    await orchestrator.press(label, "[aria-label=Progress]");
    await reaches(orchestrator, done);
    await reaches(employee, done);
  }
  // The employee is told through the connection that asked, and chooses.
  await employee.see("Booking progress", '[aria-label="Messages to this page"]');
  await employee.see("Which flight?");
  assert.equal(await employee.page.$$eval(".price", (prices) => prices.length), 3);
  await employee.press("Choose BJ 12");
  await reaches(employee, 8);
  await reaches(orchestrator, 8);
  await orchestrator.press("Begin booking", "[aria-label=Progress]");
  await reaches(orchestrator, 9);
  await orchestrator.page.locator("details:has([name=confirmationNumber]) summary").click();
  await orchestrator.fill({ confirmationNumber: "SKL-0427" });
  await orchestrator.press("Confirm", "[aria-label=Progress]");
  await employee.see("Booked: SKL-0427");
  await reaches(employee, 10);
  assert.equal(await steps(orchestrator), 10);
  await employee.see("Borealis Jet BJ 12", ".note.good");
  const { items } = await send("GET", `trip/patterns/TRIP-A-15?employeeId=${employeeId}`);
  assert.equal(items[0].status, "confirmed");
  assert.equal(items[0].selectedOption.flightNumber, "BJ 12");
  for (const event of ["Policy retrieval", "Reasoning", "Plan validation", "Flight search", "User selection", "Booking completion"])
    await employee.see(event, '[aria-label="Audit trail"]');
});

test("SC-TRIP: a second request of an employee with a booking under way is refused in words", async (t) => {
  const visitor = await visit(t, { role: "employee", subject: "emp-moss-11", at: "#/trip" });
  await visitor.fill({ userRequest: "Another pier" });
  await visitor.press("Ask for it");
  await visitor.see("Active booking exists", "main [role=alert]");
});

test("SC-TRIP: five failures open a circuit, which then says when it may be tried", async (t) => {
  const visitor = await visit(t, { role: "orchestrator", subject: "workflow", at: "#/trip" });
  const booking = "[aria-label=Circuits] li:nth-child(2)";
  await visitor.see("travel-portal-booking", booking);
  for (let failures = 1; failures <= 5; ++failures) {
    await visitor.press("Failure", booking);
    await visitor.see(failures === 1 ? "1 failure in a row" : `${failures} failures in a row`, booking);
  }
  await visitor.see("Open", booking);
  await visitor.see("tries again in", booking);
  await visitor.press("Allow", booking);
  await visitor.see("The service behind this is resting after failures.");
  const { items } = await send("GET", "trip/patterns/TRIP-A-19?circuitId=travel-portal-booking");
  assert.equal(items[0].state, "open");
});

test("SC-TRIP: the policies answer a question, the nearest passage first, with its score", async (t) => {
  const visitor = await visit(t, { role: "employee", subject: "emp-page-2", at: "#/trip" });
  const policies = '[aria-label="What do the policies say?"]';
  await visitor.fill({ text: "may I fly business class", threshold: "0.01" }, policies);
  await visitor.press("Search", policies);
  await visitor.see("Business class is allowed", policies);
  const scores = await visitor.page.$$eval(`${policies} .meter .num`, (found) => found.map((e) => Number(e.textContent)));
  assert.ok(scores.length > 1 && scores.every((s) => s > 0 && s <= 1), scores);
  assert.deepEqual(scores, scores.toSorted((a, b) => b - a));
  await visitor.fill({ text: "zzz qqq", threshold: "0.9" }, policies);
  await visitor.press("Search", policies);
  await visitor.see("Nothing is near enough", policies);
});
