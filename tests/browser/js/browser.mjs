// What every script shares: the browser, a page that notes what goes wrong in it, and a finding printed at the end.
import { createRequire } from "node:module";

export const require = createRequire(`${process.env.WEB}/package.json`);
const { chromium } = require("playwright-core");
export const base = process.env.BASE;
// Nothing here is about speed: a machine that is slow and busy with other things gets there too.
export const PATIENCE_MS = 240_000;
export const PAGES = ["/", "/assets", "/account", "/leases", "/earn", "/swap", "/stake", "/governance", "/stats", "/chain"];

/** Run one finding in contexts of its own of the shared browser, and print it. */
export async function find(work) {
  const browser = await chromium.connect(process.env.BROWSER);
  try {
    console.log(JSON.stringify(await work(browser)));
  } finally {
    await browser.close();
  }
}

/** A page, and the list its errors go to; `wallet` is an account that was connected on an earlier visit. */
export async function open(browser, { width = 1200, theme = "light", wallet = null, ...more } = {}) {
  // Without motion nothing is ever looked at half faded in.
  const context = await browser.newContext({ viewport: { width, height: 850 }, colorScheme: theme, reducedMotion: "reduce", locale: "en-US", ...more });
  if (wallet) await context.addInitScript((kept) => localStorage.setItem("wallet", JSON.stringify(kept)), wallet);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(`${page.url()} ${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => errors.push(`${page.url()} ${error.message}`));
  return { context, page, errors };
}

/** Wait until nothing on the page is a placeholder any more. */
export async function settled(page) {
  await page.waitForSelector("main h1");
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
}

/** Go to a page the way a person does: by the column, the tabs, or the sheet behind "More". */
export async function visit(page, path) {
  const ways = page.locator(`nav a[href='${path}']:visible`);
  if ((await ways.count()) === 0) await page.click(".tabs button");
  await ways.first().click();
  await page.waitForFunction((wanted) => location.pathname === wanted, path);
  await page.waitForSelector("dialog.sheet", { state: "detached" });
}

/** Wait until a condition holds that is not the page's; each look may itself take a while. */
export async function until(condition, what) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) if (await condition()) return;
  throw new Error(`in vain: ${what}`);
}

export async function connect(page, name = "alice") {
  await page.click("button.connect");
  await page.click(`dialog button:has-text('${name}')`);
  await page.waitForSelector("dialog", { state: "detached" });
  return page.getAttribute("[data-account]", "data-account");
}

/** Sign what the review shows, and wait until the index has it; returns what was shown. */
export async function approve(page) {
  const words = await page.textContent("dialog .step");
  const message = JSON.parse(await page.textContent("dialog pre"));
  await page.click("dialog [data-sign]");
  await page.click("dialog [data-done]");
  await page.waitForSelector("dialog", { state: "detached" });
  return { words, message };
}

/** Fill in one of the forms that end in a transaction, and sign it. */
export async function perform(page, form, amount) {
  await page.fill(`form[data-form='${form}'] input`, amount);
  await page.click(`form[data-form='${form}'] button:not(.link)`);
  return approve(page);
}
