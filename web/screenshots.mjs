// Screenshots for the documentation, taken of a running stack: node screenshots.mjs http://127.0.0.1:8080
import { chromium } from "playwright-core";

const base = process.argv[2] ?? "http://127.0.0.1:8080";
const folder = new URL("../docs/images/", import.meta.url).pathname;
const SHOTS = [
  { path: "/", name: "overview", width: 1200, theme: "light" },
  { path: "/", name: "overview", width: 1200, theme: "dark" },
  { path: "/", name: "overview", width: 390, theme: "light" },
  { path: "/", name: "overview", width: 390, theme: "dark" },
  { path: "/leases", name: "leases", width: 1200, theme: "light", wallet: true },
  { path: "/leases", name: "leases", width: 390, theme: "dark", wallet: true },
  { path: "/swap", name: "swap", width: 1200, theme: "dark", wallet: true },
  { path: "/chain", name: "chain", width: 1200, theme: "light" },
];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const { path, name, width, theme, wallet } of SHOTS) {
  const page = await browser.newPage({ viewport: { width, height: 850 }, colorScheme: theme });
  await page.goto(base + path);
  if (wallet) {
    await page.click("text=Connect wallet");
    await page.click("dialog >> text=alice");
    await page.waitForSelector("button.connect.second");
  }
  if (path === "/leases") {
    const manage = page.locator("button:has-text('Manage')").first();
    await manage.waitFor({ timeout: 5_000 }).then(() => manage.click(), () => undefined);
  }
  if (path === "/swap") {
    await page.fill("#swap-amount", "10");
    await page.waitForSelector("ol.route", { timeout: 10_000 }).catch(() => undefined);
  }
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
  await page.screenshot({ path: `${folder}${name}-${width === 390 ? "phone" : "desktop"}-${theme}.png` });
  await page.close();
}
await browser.close();
