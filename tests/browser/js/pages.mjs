// Every page in a theme and a width: what the console says, what axe finds, whether anything is wider than the screen.
import { base, connect, find, open, PAGES, require, settled, visit } from "./browser.mjs";

const { AxeBuilder } = require("@axe-core/playwright");
const OWN = ["/assets", "/account", "/leases", "/earn", "/stake", "/governance"];
const SERIOUS = new Set(["serious", "critical"]);
const found = { visited: [], errors: [], violations: [], overflowing: [], problems: [] };

async function look(browser, theme, width, wallet) {
  const { context, page, errors } = await open(browser, { theme, width, wallet });
  for (const path of PAGES) {
    const where = `${path} ${theme} ${width}${wallet ? " connected" : ""}`;
    // The first round loads every page by its address, the others go the way a person does.
    if ((theme === "light" && width === 1200 && !wallet) || path === "/") await page.goto(base + path);
    else await visit(page, path);
    await settled(page);
    found.visited.push(where);
    found.problems.push(...(await page.locator("main [role=alert]:not(:empty)").allTextContents()).map((text) => `${where} ${text}`));
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.overflowing.push(where);
    // Contrast differs by theme, structure by width: two of the four cover both. With a wallet, only these differ.
    if ((theme === "light") !== (width === 1200) && (!wallet || OWN.includes(path))) await inspect(page, where);
  }
  if (wallet && theme === "light") await dialogs(page);
  found.errors.push(...errors);
  await context.close();
}

async function inspect(page, where) {
  const { violations } = await new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).analyze();
  for (const one of violations)
    if (SERIOUS.has(one.impact)) found.violations.push(`${where} ${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
}

/** What lies over the pages: the review of a transaction, the wallet's menu, the choice of a wallet. */
async function dialogs(page) {
  await visit(page, "/governance");
  await page.click("[data-proposal] button:has-text('Yes') >> nth=0");
  await page.waitForSelector("dialog .step");
  await inspect(page, "review");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.click("[data-account]");
  await page.waitForSelector("#wallet-menu:popover-open");
  await inspect(page, "wallet menu");
  await page.click("text=Disconnect");
  await page.click("button.connect");
  await page.waitForSelector("dialog[open]:has-text('Connect a wallet')");
  await inspect(page, "wallet dialog");
}

await find(async (browser) => {
  const { context, page } = await open(browser);
  await page.goto(base);
  const wallet = { kind: "devnet", name: "dave", address: await connect(page, "dave") };
  await context.close();
  const rounds = { light: [[1200, null], [390, null], [390, wallet]], dark: [[1200, null], [390, null], [1200, wallet]] };
  await Promise.all(Object.entries(rounds).map(async ([theme, views]) => { for (const [width, kept] of views) await look(browser, theme, width, kept); }));
  return found;
});
