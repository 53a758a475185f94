// The tools an agent in the browser finds, called one after another; every request that changes something is noted.
import { base, find, open, settled } from "./browser.mjs";

await find(async (browser) => {
  const { context, page, errors } = await open(browser);
  await context.addInitScript(() => {
    globalThis.tools = {};
    Object.defineProperty(navigator, "modelContext", { value: { registerTool: (tool) => (globalThis.tools[tool.name] = tool) } });
  });
  const written = [];
  page.on("request", (request) => request.method() !== "GET" && written.push(`${request.method()} ${request.url()} ${request.postData() ?? ""}`));
  await page.goto(base);
  await settled(page);
  const call = (name, input = {}) =>
    page.evaluate(([name, input]) => globalThis.tools[name].execute(input).catch((error) => ({ refused: String(error) })), [name, input]);
  const tools = await page.evaluate(() =>
    Object.values(globalThis.tools).map(({ name, title, description, inputSchema, annotations }) => ({ name, title, description, inputSchema, annotations })),
  );
  await page.waitForSelector(".side [data-live=connected]");
  const alone = await call("get_connected_wallet");
  const balancesAlone = await call("get_balances");
  const opening = page.evaluate(() => globalThis.tools.connect_wallet.execute({}).catch(() => null));
  await page.waitForSelector("dialog:has-text('Connect a wallet')");
  const dialog = true;
  await page.keyboard.press("Escape");
  await opening;
  await page.waitForSelector("dialog", { state: "detached" });
  const chosen = page.evaluate(() => globalThis.tools.connect_wallet.execute({ mechanism: "keplr" }));
  await page.click("dialog button:has-text('dave')");
  const connected = await chosen;
  // Connecting reads the chain through its RPC, which is posted to; from here on only the tools act.
  written.length = 0;
  const calls = {};
  for (const name of ["get_connected_wallet", "get_balances", "get_open_leases", "get_earn_positions", "get_staking_delegations", "get_prices"]) calls[name] = await call(name);
  const navigated = await call("navigate", { route: "stake" });
  await page.waitForSelector("h1:has-text('Stake')");
  const astray = await call("navigate", { route: "nowhere" });
  return { tools, alone, balancesAlone, dialog, connected, calls, navigated, astray, path: new URL(page.url()).pathname, written, errors };
});
