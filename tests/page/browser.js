// A holdfast with its demo world and a Chromium that looks at it. Everything ends with this process.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after } from "node:test";
import puppeteer from "puppeteer-core";
import { eventually, program, serve } from "../support/server.mjs";

export { eventually };

const scratch = mkdtempSync(join(tmpdir(), "holdfast-page-"));
const issuer = join(scratch, "issuer.pem");
export const token = (subject, role) =>
  execFileSync(program, ["token", "--issuer-key", issuer, "--subject", subject, "--role", role], { encoding: "utf8" }).trim();
const root = token("root", "admin");

export const endpoint = await serve("--demo", "--issuer-key", issuer, "--alarm=throttled-requests=0/8s", "--alarm-interval-ms=100");
const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
after(async () => {
  await browser.close();
  rmSync(scratch, { recursive: true });
});

// What another client does meanwhile.
export async function send(method, route, body, bearer = root) {
  const headers = { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" };
  const answer = await fetch(`${endpoint}/v1/${route}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${route}: ${text}`);
  return JSON.parse(text || "null");
}
export const run = async (model, command, input, bearer) =>
  (await send("POST", `${model}/commands/${command}`, input, bearer)).result;

// Pictures are taken where HOLDFAST_SCREENSHOTS names a directory; without, only of a page that a test got lost on.
const pictures = process.env.HOLDFAST_SCREENSHOTS ?? join(tmpdir(), "holdfast-screenshots");

// With HOLDFAST_WEB the files of that directory are looked at, not those in the program: a change needs no build.
async function useFiles(page, directory) {
  const kinds = { js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    const file = join(directory, basename(pathname));
    if (!pathname.startsWith("/web/") || !existsSync(file)) return request.continue();
    request.respond({ contentType: kinds[file.split(".").pop()], body: readFileSync(file) });
  });
}

// Somebody in front of the page. Controls are named as a screen reader names them; everything is waited for.
class Visitor {
  constructor(page, complaints) {
    this.page = page;
    this.complaints = complaints;
    this.keyboard = page.keyboard;
  }
  go(address) {
    return this.page.evaluate((hash) => (location.hash = hash), address);
  }
  text(within = "main") {
    return this.page.$$eval(within, (found) => found.map((e) => e.innerText).join("\n"));
  }
  async lost(what) {
    await this.picture("lost");
    assert.fail(`${what}. ${this.page.url()} (${join(pictures, "lost.png")}) shows:\n${(await this.text("main, dialog")).slice(0, 3000)}`);
  }
  async until(check, what, ...given) {
    try {
      return await this.page.waitForFunction(check, { polling: 50 }, ...given);
    } catch {
      await this.lost(what);
    }
  }
  see(text, within = "main") {
    const check = (t, w) => [...document.querySelectorAll(w)].some((e) => e.innerText.includes(t));
    return this.until(check, `no ${JSON.stringify(text)} in ${within}`, text, within);
  }
  gone(text, within = "main") {
    const check = (t, w) => [...document.querySelectorAll(w)].every((e) => !e.innerText.includes(t));
    return this.until(check, `${JSON.stringify(text)} stays in ${within}`, text, within);
  }
  async press(name, within = "main", role = "button") {
    try {
      await this.page.locator(`${within} ::-p-aria([name="${name}"][role="${role}"])`).click();
    } catch {
      await this.lost(`no ${role} ${JSON.stringify(name)} in ${within}`);
    }
  }
  async fill(values, within = "main") {
    for (const [name, value] of Object.entries(values)) await this.page.locator(`${within} [name="${name}"]`).fill(value);
  }
  async picture(name) {
    mkdirSync(pictures, { recursive: true });
    await this.page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  }
  // What is focused after pressing Tab until it has this name; on the way the focus is always to be seen.
  async tabTo(name) {
    for (let i = 0; i < 150; ++i) {
      await this.keyboard.press("Tab");
      const at = await this.page.evaluate(() => {
        const e = document.activeElement;
        const style = getComputedStyle(e);
        return { name: (e.ariaLabel ?? e.labels?.[0]?.innerText ?? e.innerText).trim(), seen: e === document.body || style.outlineStyle !== "none" };
      });
      assert.ok(at.seen, `the focus is not to be seen at ${at.name}`);
      if (at.name.startsWith(name)) return;
    }
    assert.fail(`Tab does not come to ${name}`);
  }
  // Nothing went wrong that nobody looked at: scripts, what the page's policy forbids, files that are not there.
  async leave() {
    if (!this.page.isClosed()) await this.page.browserContext().close();
    assert.deepEqual(this.complaints, []);
  }
}

// visit({role, subject, at, width, dark}): somebody who has signed in; without a role, who has not. With `link` they follow
// it, with `beside` in a further tab of another visitor's browser. Ends with the test `t`.
export async function visit(t, { role, subject = "tamsin", at = "#/", width = 1280, dark = false, link, beside } = {}) {
  const context = beside ? beside.page.browserContext() : await browser.createBrowserContext();
  const page = await context.newPage();
  const complaints = [];
  page.setDefaultTimeout(20000);
  page.on("pageerror", (error) => complaints.push(error.stack));
  // A refusal of the server is told in the console too; the tests look for it in the page.
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type()) && !/status of 4\d\d|503/.test(message.text())) complaints.push(message.text());
  });
  if (process.env.HOLDFAST_WEB) await useFiles(page, process.env.HOLDFAST_WEB);
  await page.setViewport({ width, height: width > 600 ? 900 : 740 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  const visitor = new Visitor(page, complaints);
  t.after(() => visitor.leave());
  if (link) {
    await page.goto(link);
    return visitor;
  }
  await page.goto(`${endpoint}/${role ? `#token=${token(subject, role)}` : ""}`);
  if (role) {
    await visitor.see("Models");
    if (at !== "#/") await visitor.go(at);
  }
  return visitor;
}
