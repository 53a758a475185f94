// Prices that move without a reload, and a page that recovers after the service restarts.
import { base, find, open, settled } from "./browser.mjs";

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
  const lost = sockets[0].waitForEvent("close");
  process.kill(Number(process.env.APP_API_PID), "SIGKILL");
  await lost;
  await page.waitForSelector(".side [data-live=reconnecting]");
  const kept = await prices();
  await page.waitForSelector(".side [data-live=connected]");
  // The first attempts may find nobody there yet; one of them hears prices again.
  for (const until = Date.now() + 30_000; Date.now() < until && !sockets.slice(1).some((one) => heard.has(one)); ) await page.waitForTimeout(50);
  await move(2.5);
  await page.waitForFunction((was) => document.querySelector(".prices")?.textContent !== was, kept);
  return { first, moved, kept, later: await prices(), loads, sent, resumed: sockets.slice(1).some((one) => heard.has(one)) };
});
