// A subscription made on the account page, and messages delivered to the worker through the DevTools protocol.
import { base, connect, find, open, until } from "./browser.mjs";

await find(async (browser) => {
  const { context, page, errors } = await open(browser);
  await context.grantPermissions(["notifications"], { origin: base });
  // This browser has no push service of its own; what the page makes of a subscription is ours to test.
  await context.addInitScript((keys) => {
    const made = () => ({ toJSON: () => ({ endpoint: keys.endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth }, expirationTime: null }) });
    PushManager.prototype.getSubscription = async () => (localStorage.getItem("subscribed") ? made() : null);
    PushManager.prototype.subscribe = async (options) => {
      globalThis.subscribedWith = options;
      localStorage.setItem("subscribed", "yes");
      return made();
    };
    Object.defineProperty(Notification, "permission", { value: "granted" });
    Notification.requestPermission = async () => "granted";
  }, JSON.parse(process.env.SUBSCRIPTION));
  const session = await context.newCDPSession(page);
  const registrations = [];
  session.on("ServiceWorker.workerRegistrationUpdated", (event) => registrations.push(...event.registrations));
  await session.send("ServiceWorker.enable");
  await page.goto(`${base}/account`);
  await connect(page, "dave");
  await page.waitForSelector("[data-push=off]");
  await page.click("text=Notify me");
  await page.waitForSelector("[data-push=on]");
  await page.waitForFunction(() => navigator.serviceWorker.ready.then((one) => one.active?.state === "activated"));
  const options = await page.evaluate(() => globalThis.subscribedWith);
  await until(() => registrations.length > 0, "a registration of the worker");
  const notifications = () => page.evaluate(() => navigator.serviceWorker.ready.then((one) => one.getNotifications()).then((all) => all.map(({ title, body }) => ({ title, body }))));
  // The protocol does not say whether the worker got a message; like a push service, it is sent again until it has. One
  // that comes twice takes its own place.
  const deliver = (data, title) =>
    until(async () => {
      for (const registrationId of new Set(registrations.map((one) => one.registrationId))) await session.send("ServiceWorker.deliverPushMessage", { origin: base, registrationId, data });
      for (let turn = 0; turn < 100; turn += 1) {
        if ((await notifications()).some((one) => one.title === title)) return true;
        await page.waitForTimeout(100);
      }
      return false;
    }, title);
  const position = "chain1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
  await deliver(JSON.stringify({ type: "FundNow", data: { level: 3, ltv: 893, position } }), "Your lease is at high risk");
  await deliver(JSON.stringify({ type: "FullyLiquidated", data: { position } }), "Liquidated");
  await deliver("no JSON at all", "News about your account");
  const shown = await notifications();
  // The service knows that this browser is subscribed, and says so when the page is loaded again.
  await page.reload();
  await page.waitForSelector("[data-push=on]");
  await page.click("text=Stop notifications");
  await page.waitForSelector("[data-push=off]");
  return { options, shown, errors };
});
