// A lease opened, repaid in part, closed in part, given a stop loss and closed, through the test wallet.
import { approve, base, connect, find, open, perform } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(`${base}/leases`);
  await connect(page, "alice");
  await page.selectOption("#protocol", process.env.PROTOCOL);
  await page.fill("#downpayment", "100");
  await page.waitForSelector("[data-quote=here]");
  const quote = await page.textContent("[data-quote=here]");
  const most = await page.getAttribute("#leverage", "data-most");
  await page.click("form.columns button:not(.link)");
  const opened = await approve(page);
  const lease = page.locator("[data-lease]").first();
  await page.waitForSelector("[data-lease][data-status=opened]");
  const address = await lease.getAttribute("data-lease");
  await lease.locator("[data-liquidation]").waitFor();
  // Profit and loss come with the index, a moment after the chain's own figures.
  await page.waitForFunction(() => /\d/.test(document.querySelector("[data-lease] [data-pnl]")?.textContent ?? ""));
  const text = (part) => lease.locator(`[${part}]`).textContent();
  const figure = (words) => Number(words.replace(/[^\d.]/g, ""));
  const below = (part, bound) => page.waitForFunction(([part, bound]) => Number(document.querySelector(`[data-lease] [${part}]`)?.textContent?.replace(/[^\d.]/g, "") || NaN) < bound, [part, bound]);
  const shown = { debt: await text("data-debt"), price: await text("data-live-price"), liquidation: await text("data-liquidation"), pnl: await text("data-pnl") };
  await lease.locator("button:has-text('Manage')").click();
  const repaid = await perform(page, "repay", "20");
  // Interest moves the debt too; a repayment moves it by far more than cents.
  await below("data-debt", figure(shown.debt) - 10);
  const after = await text("data-debt");
  await page.waitForSelector("[data-event=repay]");
  const held = await text("data-position");
  const parted = await perform(page, "close-part", "5");
  // A part that is closed is sold first: the lease takes orders again when the exchange has answered, and then it is
  // smaller by that part.
  await below("data-position", figure(held) - 4.9);
  await page.waitForSelector("[data-lease][data-status=opened] form[data-form='stop-loss']");
  const policy = await perform(page, "stop-loss", "85");
  await page.waitForSelector("label:has-text('now 85.00%')");
  await page.click("button:has-text('Close all')");
  const closed = await approve(page);
  await page.waitForFunction(() => !/^(opened|closing)$/.test(document.querySelector("[data-lease]")?.dataset.status ?? ""));
  return { address, quote, most, opened, shown, after, repaid, parted, policy, closed, errors };
});
