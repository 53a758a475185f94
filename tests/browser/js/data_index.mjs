// The data API's own page: searching, trying a route, copying it as curl, arriving at a route by its address.
import { base, find, open } from "./browser.mjs";

const SHOTS = process.env.SHOTS;

await find(async (browser) => {
  const { context, page, errors } = await open(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto(base);
  const all = await page.locator("details:visible").count();
  await page.fill("#search", "liquidat");
  const found = await page.locator("details:visible summary code").allTextContents();
  const tags = await page.locator("nav a:visible").allTextContents();
  await page.fill("#search", "no such thing");
  const nothing = await page.locator("#nothing").isVisible();
  await page.fill("#search", "");

  const entry = page.locator("[id='GET/api/liquidations']");
  await entry.locator("summary").click();
  await entry.locator("select[name=period]").selectOption("all");
  await entry.locator("button.go").click();
  await entry.locator(".told .good").waitFor();
  const told = await entry.locator(".told").textContent();
  const shown = await entry.locator("pre").textContent();
  await entry.locator("button.curl").click();
  await page.waitForFunction(() => navigator.clipboard.readText());
  const curl = await page.evaluate(() => navigator.clipboard.readText());
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/tried.png` });

  await page.goto(`${base}/#GET/api/earnings`);
  await page.reload();
  const arrived = await page.locator("details[open]").getAttribute("id");
  await page.locator("details[open] input[name=address]").fill("nobody");
  await page.locator("details[open] button.go").click();
  await page.locator("details[open] .told .bad").waitFor();
  const refused = await page.locator("details[open] pre").textContent();
  const narrow = await open(browser, { width: 400, theme: "dark" });
  await narrow.page.goto(base);
  const overflow = await narrow.page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  if (SHOTS) await narrow.page.screenshot({ path: `${SHOTS}/narrow.png` });
  await narrow.context.close();
  await context.close();
  // A refusal that was asked for is an error to the console too.
  return { all, found, tags, nothing, told, shown, curl, arrived, refused, overflow, errors: errors.filter((text) => !text.includes("400")) };
});
