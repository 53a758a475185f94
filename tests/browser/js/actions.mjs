// Lending, staking and voting through the test wallet, and the account's history of it.
import { approve, base, connect, find, open, perform, visit } from "./browser.mjs";

await find(async (browser) => {
  const { page, errors } = await open(browser);
  await page.goto(`${base}/earn`);
  await connect(page, "carol");
  await page.click(`[data-pool='${process.env.PROTOCOL}']`);
  const done = {};
  done.deposit = await perform(page, "deposit", "250");
  await page.waitForSelector("form[data-form=withdraw]");
  const receipts = await page.textContent(`[data-receipts='${process.env.PROTOCOL}']:not(:empty)`);
  done.withdraw = await perform(page, "withdraw", "100");
  await page.waitForFunction(([protocol, was]) => document.querySelector(`[data-receipts='${protocol}']`)?.textContent !== was, [process.env.PROTOCOL, receipts]);
  await visit(page, "/stake");
  await page.click("[data-delegate] >> nth=0");
  done.delegate = await perform(page, "delegate", "30");
  await page.waitForSelector("[data-staked='30000000']");
  await page.click("button:has-text('Undelegate')");
  // More than there is is refused before anything is built.
  await page.fill("form[data-form=undelegate] input", "31");
  await page.click("form[data-form=undelegate] button:not(.link)");
  const refused = await page.textContent("form[data-form=undelegate] [role=alert]:not(:empty)");
  done.undelegate = await perform(page, "undelegate", "10");
  await page.waitForSelector("[data-staked='20000000']");
  await visit(page, "/governance");
  await page.click("[data-proposal] button:has-text('Yes') >> nth=0");
  done.vote = await approve(page);
  await page.waitForSelector("[data-voted=true]");
  await visit(page, "/account");
  await page.waitForSelector("tr:has-text('Undelegated')");
  const history = await page.locator("[data-tx]").allTextContents();
  return { done, receipts, refused, history, errors };
});
