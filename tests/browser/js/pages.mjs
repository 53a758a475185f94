// Every page in a theme and a width: what the console says, what axe finds, whether anything is wider than the screen.
import { base, find, open, PAGES, require, settled } from "./browser.mjs";

const { AxeBuilder } = require("@axe-core/playwright");
const SERIOUS = new Set(["serious", "critical"]);

await find(async (browser) => {
  const found = { visited: [], errors: [], violations: [], overflowing: [], problems: [] };
  const look = async (theme) => {
    for (const width of [1200, 390]) {
      const { context, page, errors } = await open(browser, { theme, width });
      for (const path of PAGES) {
        const where = `${path} ${theme} ${width}`;
        // The first round loads every page by its address, the others go the way a person does.
        if ((theme === "light" && width === 1200) || path === "/") await page.goto(base + path);
        else await page.click(`nav a[href='${path}']`);
        await page.waitForSelector(`nav a[href='${path}'][aria-current]`);
        await settled(page);
        found.visited.push(where);
        found.problems.push(...(await page.locator("main [role=alert]:not(:empty)").allTextContents()).map((text) => `${where} ${text}`));
        if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.overflowing.push(where);
        // Contrast differs by theme, structure by width: these two cover both.
        if ((theme === "light") !== (width === 1200)) continue;
        const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
        for (const one of violations)
          if (SERIOUS.has(one.impact)) found.violations.push(`${where} ${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
      }
      found.errors.push(...errors);
      await context.close();
    }
  };
  await Promise.all([look("light"), look("dark")]);
  return found;
});
