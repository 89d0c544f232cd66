// How the page looks: on a desk and on a phone, in light and dark, nothing sticks out and nobody is shut out.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { send, visit } from "./browser.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const lantern = "1a97e24f-0001-4000-8000-00000000f0a1";
// Address, and what is to be seen there when it is complete.
const places = {
  models: ["#/", "Trip Cortex"],
  workbench: ["#/pm", "Pick the pears early?"],
  project: [`#/pm/projects/${lantern}`, "What the last change did"],
  trips: ["#/trip?employeeId=emp-juniper-07", "travel-portal-rail"],
  booking: ["#/trip/bookings/emp-juniper-07/01KKTR1P00000000000000BK08", "Which flight?"],
  entity: [`#/pm/entities/Artefact?projectId=${lantern}`, "raid_log"],
  item: [`#/pm/entities/Artefact/item?projectId=${lantern}&type=raid_log`, "The tide table is printed late"],
  edit: [`#/pm/entities/Project/edit?id=${lantern}`, "Autonomy level"],
  pattern: [`#/pm/patterns/PM-A-04?projectId=${lantern}&run=1`, "Plan: one step"],
  search: ["#/trip/patterns/TRIP-A-01?text=business+class&threshold=0.01&run=1", "Similarity"],
  command: ["#/pm/commands/artefact.put", "Confidence"],
  live: ["#/pm/live?entity=Event", "Waiting for a change"],
  chat: ["#/chat", "You said: Is the tide table there?"],
};
await send("POST", "sessions/tamsin:echo:chat/events", { type: "user_message", payload: { text: "Is the tide table there?" } });

for (const [width, dark] of [[1280, false], [1280, true], [360, false], [360, true]]) {
  const manner = `${width}-${dark ? "dark" : "light"}`;
  test(`every view at ${manner}`, async (t) => {
    const visitor = await visit(t, { role: "admin", width, dark });
    const { page } = visitor;
    const wrong = [];
    for (const [name, [address, content]] of Object.entries(places)) {
      await visitor.go(address);
      await visitor.see(content);
      await visitor.until(() => !document.querySelector("[aria-busy=true], .bones"), "it still loads");
      if (process.env.HOLDFAST_SCREENSHOTS) await visitor.picture(`${name}-${manner}`);
      const { over, ground } = await page.evaluate(() => ({
        over: document.documentElement.scrollWidth - innerWidth,
        ground: Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]),
      }));
      if (over > 0) wrong.push(`${name} is ${over} pixels too wide`);
      assert.equal(ground < 128, dark, `${name} has the wrong ground`);
      // Each view by one manner of each kind: the rules see the same elements in the others.
      if ((width === 360) !== dark) continue;
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { violations } = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] });
        return violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
      });
      wrong.push(...found.map((text) => `${name}: ${text}`));
    }
    assert.deepEqual(wrong, []);
  });
}

test("the choice of a theme wins over the system's and stays", async (t) => {
  const visitor = await visit(t, { role: "admin", dark: false });
  const ground = () => visitor.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await visitor.press("Theme: auto", "header");
  await visitor.press("Theme: light", "header");
  await visitor.see("Theme: dark", "header");
  const dark = await ground();
  assert.notEqual(dark, light);
  await visitor.page.reload();
  await visitor.see("Trip Cortex");
  assert.equal(await ground(), dark);
});

test("on a phone the menu leads everywhere", async (t) => {
  const visitor = await visit(t, { role: "admin", width: 360 });
  await visitor.press("Menu", "header");
  await visitor.press("Workbench", "nav", "link");
  await visitor.see("Pick the pears early?");
  await visitor.until(() => getComputedStyle(document.getElementById("nav")).display === "none", "the menu stays open");
  await visitor.press("Menu", "header");
  await visitor.press("Sign out", "nav", "link");
  await visitor.see("Sign in");
});
