// A lease opened, repaid in part, closed in part and closed, through the test wallet.
import { approve, base, connect, find, open } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(`${base}/leases`);
  await connect(page);
  await page.selectOption("select >> nth=0", process.env.PROTOCOL);
  await page.fill("#downpayment", "100");
  const quote = await page.textContent("main p[role=status]");
  await page.click("form.grid button");
  const opened = await approve(page);
  const row = page.locator("tr:has([data-lease])");
  await row.locator("text=opened").waitFor();
  const address = await page.getAttribute("[data-lease]", "data-lease");
  const debt = () => page.locator("tr:has([data-lease]) td[data-title=Debt]").textContent();
  const before = await debt();
  await row.locator("button:has-text('Manage')").click();
  await page.fill("#amount-Repay", "20");
  await page.click("button:has-text('Repay')");
  const repaid = await approve(page);
  await page.waitForFunction((was) => document.querySelector("tr:has([data-lease]) td[data-title=Debt]")?.textContent !== was, before);
  const after = await debt();
  await page.waitForSelector("[data-event=repay]");
  await page.fill("#amount-Stop-loss-above", "85");
  await page.click("button:has-text('Set stop loss')");
  const policy = await approve(page);
  await page.waitForSelector("label:has-text('now 85 %')");
  await page.click("button:has-text('Close all')");
  const closed = await approve(page);
  await page.waitForFunction(() => !/opened|closing/.test(document.querySelector("tr:has([data-lease])")?.textContent ?? ""));
  const whole = await page.evaluate(() => { const nav = document.querySelector("nav"); return nav.scrollWidth <= nav.clientWidth; });
  return { address, quote, opened, repaid, policy, closed, before, after, whole, errors };
});
