// Prices that move without a reload, and a page that recovers after the service restarts.
import { base, find, open, settled, until } from "./browser.mjs";

await find(async (browser) => {
  const { page } = await open(browser);
  let loads = 0;
  const sockets = [];
  const sent = [];
  const heard = new Set();
  page.on("websocket", (socket) => {
    sockets.push(socket);
    socket.on("framesent", ({ payload }) => sockets.length > 1 && sent.push(JSON.parse(String(payload)).type));
    socket.on("framereceived", ({ payload }) => String(payload).includes("price") && heard.add(socket));
  });
  page.on("load", () => (loads += 1));
  await page.goto(base);
  await settled(page);
  await page.waitForSelector(".side [data-live=connected]");
  const prices = () => page.locator(".prices").textContent();
  // The market moves at its own pace; the test does not wait for it.
  const move = (usd) => fetch(`${process.env.CONTROL}/control/price`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ticker: "AKT", usd, settle: true }) });
  const first = await prices();
  await move(1.5);
  await page.waitForFunction((was) => document.querySelector(".prices")?.textContent !== was, first);
  const moved = await prices();
  // Watched for from before, so that a service that is soon back is not missed.
  const noticed = page.waitForSelector(".side [data-live=reconnecting]");
  process.kill(Number(process.env.APP_API_PID), "SIGKILL");
  await noticed;
  const kept = await prices();
  await page.waitForSelector(".side [data-live=connected]");
  // The first attempts may find nobody there yet; one of them hears prices again.
  const resumed = () => sockets.slice(1).some((one) => heard.has(one));
  await until(resumed, "prices on a later connection");
  await move(2.5);
  await page.waitForFunction((was) => document.querySelector(".prices")?.textContent !== was, kept);
  return { first, moved, kept, later: await prices(), loads, sent, resumed: resumed() };
});
