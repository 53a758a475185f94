// Prices that move without a reload, and a page that recovers after the service restarts.
import { base, find, open, settled } from "./browser.mjs";

await find(async (browser) => {
  const { page } = await open(browser);
  let loads = 0;
  page.on("load", () => (loads += 1));
  await page.goto(base);
  await settled(page);
  const prices = () => page.locator(".prices").textContent();
  const first = await prices();
  await page.waitForFunction((was) => document.querySelector(".prices")?.textContent !== was, first);
  const moved = await prices();
  process.kill(Number(process.env.APP_API_PID), "SIGKILL");
  await page.waitForSelector("footer:has-text(\"can't be reached\")");
  const kept = await prices();
  await page.waitForSelector("footer:has-text('at block')");
  await page.waitForFunction((was) => document.querySelector(".prices")?.textContent !== was, kept);
  return { first, moved, kept, later: await prices(), loads };
});
