// Screenshots for the documentation, taken of a running stack: node screenshots.mjs http://127.0.0.1:8080
// What an account has to show is best made before: a few leases, a deposit and a delegation of "alice".
import { chromium } from "playwright-core";

const base = process.argv[2] ?? "http://127.0.0.1:8080";
const folder = new URL("../docs/images/", import.meta.url).pathname;
const DESKTOP = 1280;
const PHONE = 390;
const SHOTS = [
  { path: "/", name: "overview", width: DESKTOP, theme: "light", wallet: true },
  { path: "/", name: "overview", width: DESKTOP, theme: "dark", wallet: true },
  { path: "/", name: "overview", width: PHONE, theme: "dark" },
  { path: "/leases", name: "leases", width: DESKTOP, theme: "light", wallet: true },
  { path: "/leases", name: "leases", width: PHONE, theme: "light", wallet: true },
  { path: "/leases", name: "review", width: DESKTOP, theme: "dark", wallet: true },
  { path: "/assets", name: "assets", width: DESKTOP, theme: "dark", wallet: true },
  { path: "/swap", name: "swap", width: DESKTOP, theme: "light", wallet: true },
  { path: "/governance", name: "governance", width: PHONE, theme: "dark", wallet: true },
  { path: "/stats", name: "stats", width: DESKTOP, theme: "dark" },
  { path: "/chain", name: "chain", width: DESKTOP, theme: "light" },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const { path, name, width, theme, wallet } of SHOTS) {
  const page = await browser.newPage({ viewport: { width, height: 850 }, colorScheme: theme, locale: "en-US" });
  await page.goto(base + path);
  if (wallet) {
    await page.click("button.connect");
    await page.click("dialog button:has-text('alice')");
    await page.waitForSelector("[data-account]");
  }
  if (name === "leases" || name === "review") {
    await page.fill("#downpayment", "500");
    await page.waitForSelector("[data-quote=here]");
    await page.waitForSelector("[data-lease] [data-liquidation]", { timeout: 10_000 }).catch(() => undefined);
  }
  if (name === "review") {
    await page.click("form.columns button:not(.link)");
    await page.waitForSelector("dialog .step");
  }
  if (name === "swap") {
    await page.fill("#swap-amount", "250");
    await page.waitForSelector("form ol.route", { timeout: 10_000 }).catch(() => undefined);
  }
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${folder}${name}-${width === PHONE ? "phone" : "desktop"}-${theme}.png` });
  await page.close();
}
await browser.close();
