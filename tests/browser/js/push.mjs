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
  const registrationId = registrations.at(-1).registrationId;
  const deliver = (data) => session.send("ServiceWorker.deliverPushMessage", { origin: base, registrationId, data });
  const position = "chain1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq";
  await deliver(JSON.stringify({ type: "FundNow", data: { level: 3, ltv: 893, position } }));
  await deliver(JSON.stringify({ type: "FullyLiquidated", data: { position } }));
  await deliver("no JSON at all");
  const notifications = () => page.evaluate(() => navigator.serviceWorker.ready.then((one) => one.getNotifications()).then((all) => all.map(({ title, body }) => ({ title, body }))));
  await until(async () => (await notifications()).length >= 3, "three notifications");
  const shown = await notifications();
  // The service knows that this browser is subscribed, and says so when the page is loaded again.
  await page.reload();
  await page.waitForSelector("[data-push=on]");
  await page.click("text=Stop notifications");
  await page.waitForSelector("[data-push=off]");
  return { options, shown, errors };
});
