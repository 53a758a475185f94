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

/** How long a fixed piece of work takes a page here and now, in milliseconds: the machine's pace. */
async function pace(browser) {
  const { context, page } = await open(browser);
  const taken = await page.evaluate(() => {
    const started = performance.now();
    let sum = 0;
    for (let index = 0; index < 30_000_000; index += 1) sum = (sum * 31 + index) | 0;
    return sum === 0.5 ? 0 : performance.now() - started;
  });
  await context.close();
  return taken;
}

await find(async (browser) => {
  const loads = [];
  const paces = [await pace(browser)];
  for (let turn = 0; turn < 3; turn += 1) {
    loads.push(await load(browser));
    paces.push(await pace(browser));
  }
  const soonest = loads.sort((one, other) => one.interactive - other.interactive)[0];
  return { ...soonest, pace: Math.max(...paces) };
});
