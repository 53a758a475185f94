// What the first load weighs on the wire, and how soon a person can use it: the soonest of three, for machines hiccup.
import { base, find, open } from "./browser.mjs";

async function load(browser) {
  const { context, page } = await open(browser);
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const sizes = {};
  const urls = {};
  session.on("Network.responseReceived", ({ requestId, response }) => (urls[requestId] = response.url));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => (sizes[urls[requestId]] = encodedDataLength));
  const started = Date.now();
  await page.goto(base);
  await page.waitForSelector("main h1");
  const interactive = Date.now() - started;
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
  const complete = Date.now() - started;
  const font = await page.evaluate(() => document.fonts.ready.then(() => document.fonts.check("16px Inter")));
  const own = Object.entries(sizes).filter(([url]) => url.startsWith(base) && !url.includes("/api/"));
  await context.close();
  return { interactive, complete, font, bytes: own.reduce((sum, [, size]) => sum + size, 0), files: Object.fromEntries(own) };
}

await find(async (browser) => {
  const loads = [await load(browser), await load(browser), await load(browser)];
  return loads.sort((one, other) => one.interactive - other.interactive)[0];
});
