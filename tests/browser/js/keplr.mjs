// An extension wallet: its interface stands on the page, its keys and its signatures are cosmjs's, outside of it.
import { base, approve, find, open, perform, require, visit } from "./browser.mjs";

const { Secp256k1HdWallet } = require("@cosmjs/amino");

await find(async (browser) => {
  const { context, page, errors } = await open(browser);
  const wallet = await Secp256k1HdWallet.fromMnemonic(process.env.MNEMONIC, { prefix: "chain" });
  const [own] = await wallet.getAccounts();
  const asked = [];
  let refuse = false;
  await context.exposeFunction("keplrSigns", async (signer, document) => {
    if (refuse) throw new Error("Request rejected");
    asked.push(document.msgs.map((message) => message.type));
    return wallet.signAmino(signer, document);
  });
  await context.addInitScript(
    ([address, key]) => {
      const account = { address, algo: "secp256k1", pubkey: new Uint8Array(key) };
      const calls = (globalThis.keplrCalls = []);
      globalThis.keplr = {
        experimentalSuggestChain: async (chain) => void calls.push(["suggest", chain.chainId, chain.bech32Config.bech32PrefixAccAddr, chain.feeCurrencies[0].coinMinimalDenom]),
        enable: async (id) => void calls.push(["enable", id]),
        getKey: async () => ({ name: "Erin's extension", bech32Address: address }),
        getOfflineSignerOnlyAmino: () => ({ getAccounts: async () => [account], signAmino: (signer, document) => globalThis.keplrSigns(signer, document) }),
      };
    },
    [own.address, [...own.pubkey]],
  );
  await page.goto(`${base}/stake`);
  await page.click("button.connect");
  await page.click("dialog button:has-text('Keplr')");
  const address = await page.getAttribute("[data-account]", "data-account");
  const calls = await page.evaluate(() => globalThis.keplrCalls);
  await page.click("[data-delegate] >> nth=0");
  refuse = true;
  await page.fill("form[data-form=delegate] input", "5");
  await page.click("form[data-form=delegate] button:not(.link)");
  await page.click("dialog [data-sign]");
  const declined = await page.textContent("dialog [role=alert]");
  refuse = false;
  const delegated = await approve(page);
  await page.waitForSelector("[data-staked='5000000']");
  // After a reload the account is there at once, and the extension is asked again only to sign.
  await page.reload();
  await page.waitForSelector("[data-account]");
  await visit(page, "/earn");
  await page.click(`[data-pool='${process.env.PROTOCOL}']`);
  const deposited = await perform(page, "deposit", "12");
  return { address, expected: own.address, calls, declined, delegated, deposited, asked, errors };
});
