// Language, theme and keyboard: what a person sets stays set, and everything can be reached without a pointer.
import { base, find, open, PAGES, settled, visit } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(base);
  await settled(page);
  // The languages come with the texts, after the page itself.
  await page.waitForFunction(() => document.querySelectorAll("#language-side option").length > 1);
  const offered = await page.locator("#language-side option").allTextContents();
  await page.selectOption("#language-side", "de");
  await page.waitForSelector("html[lang=de]");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent !== "Overview");
  const german = await page.textContent("main h1");
  // Words of the source language that are still on a page: in German, none of these sentences' words.
  const english = {};
  for (const path of PAGES) {
    await visit(page, path);
    await settled(page);
    // What people wrote into proposals is theirs.
    const words = await page.evaluate(() => (document.querySelectorAll("[data-proposal] > p").forEach((one) => one.remove()), document.body.innerText));
    english[path] = words.match(/\b(the|and|your|with|from|when|which|connect)\b/gi) ?? [];
  }
  await page.reload();
  await page.waitForSelector("html[lang=de]");
  await page.selectOption("#theme-side", "dark");
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.reload();
  await page.waitForSelector("main h1");
  const kept = await page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  await page.selectOption("#theme-side", "light");
  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.selectOption("#language-side", "en");
  await page.waitForSelector("html[lang=en]");
  // By keyboard alone: over the skip link, into the wallet dialog and back, along a chart.
  await page.goto(base);
  await settled(page);
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement?.className);
  await page.focus("button.connect");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  const inside = await page.evaluate(() => document.activeElement?.closest("dialog") !== null);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  const back = await page.waitForFunction(() => document.activeElement !== document.body && document.activeElement?.className).then((found) => found.jsonValue());
  await page.focus(".plot");
  await page.keyboard.press("ArrowLeft");
  const tip = await page.textContent(".plot .tip:not(:empty)");
  return { offered, german, english, dark, kept, light, first, inside, back, tip, errors };
});
