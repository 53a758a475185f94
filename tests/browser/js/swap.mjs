// A swap: quoted, reviewed, signed and followed until it has arrived.
import { approve, base, connect, find, open } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(`${base}/swap`);
  await connect(page);
  await page.selectOption("select >> nth=0", { label: process.env.FROM });
  await page.selectOption("select >> nth=1", { label: process.env.TO });
  await page.fill("#swap-amount", "10");
  await page.waitForSelector("main [role=status] b");
  const quoted = await page.textContent("main [role=status] b");
  const steps = await page.locator("ol.route li").allTextContents();
  await page.click("form.grid button");
  const shown = await approve(page);
  await page.waitForSelector("[data-state=STATE_COMPLETED_SUCCESS]");
  return { quoted, steps, shown, errors };
});
