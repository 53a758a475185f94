// A swap: quoted, reviewed, signed and followed until it has arrived, and still known after a reload.
import { approve, base, connect, find, open } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(`${base}/swap`);
  await connect(page, "bob");
  await page.selectOption("#swap-from", { label: process.env.FROM });
  await page.selectOption("#swap-to", { label: process.env.TO });
  await page.fill("#swap-amount", "10");
  const quoted = await page.textContent("[data-out]");
  const steps = await page.locator("form ol.route li").allTextContents();
  await page.click("form.desk button:not(.link):not([type=button])");
  const shown = await approve(page);
  await page.waitForSelector("[data-state=STATE_COMPLETED_SUCCESS]");
  await page.reload();
  await page.waitForSelector("[data-state=STATE_COMPLETED_SUCCESS]");
  return { quoted, steps, shown, errors };
});
