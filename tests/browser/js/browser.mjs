// What every script shares: the browser, a page that notes what goes wrong in it, and a finding printed at the end.
import { createRequire } from "node:module";

export const require = createRequire(`${process.env.WEB}/package.json`);
const { chromium } = require("playwright-core");
export const base = process.env.BASE;
export const PAGES = ["/", "/assets", "/earn", "/leases", "/swap", "/stake", "/governance", "/account", "/stats", "/chain"];
const SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];

/** Run one finding in a browser of its own and print it. */
export async function find(work) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: SWITCHES });
  try {
    console.log(JSON.stringify(await work(browser)));
  } finally {
    await browser.close();
  }
}

/** A page, and the list its errors go to. */
export async function open(browser, { width = 1200, theme = "light", ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 850 }, colorScheme: theme, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
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

export async function connect(page, name = "alice") {
  await page.click("text=Connect wallet");
  await page.click(`dialog >> text=${name}`);
  await page.waitForSelector("button.connect.second");
}

/** Sign what the review shows, and wait until the index has it. */
export async function approve(page) {
  await page.click("dialog >> text=Sign and send");
  await page.waitForSelector("dialog >> text=Done.");
  const shown = await page.textContent("dialog pre");
  await page.click("dialog >> .stack >> button:has-text('Close')");
  return shown;
}
