/** Push notifications of this browser about an account. */
import { ApiError, get } from "../api/client";
import { t } from "../text/text";

const WORKER = "/worker.js";

/** Why this browser can't be notified, or null when it can. */
export function obstacle(): string | null {
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) return t("This browser has no push notifications.");
  return Notification.permission === "denied" ? t("Notifications are blocked for this site. Allow them in the browser's settings.") : null;
}

/** Make sure that the worker is there; it shows what the data API sends. */
export async function worker(): Promise<ServiceWorkerRegistration> {
  await navigator.serviceWorker.register(WORKER, { scope: "/" });
  return navigator.serviceWorker.ready;
}

/** Whether this browser hears about an account, as the service knows it; a browser without a subscription does not. */
export async function subscribed(address: string): Promise<boolean> {
  try {
    const registration = await navigator.serviceWorker.getRegistration("/");
    const auth = (await registration?.pushManager.getSubscription())?.toJSON().keys?.["auth"];
    if (!auth) return false;
    return (await get<{ subscribed: boolean }>("/api/etl/subscriptions", { address, auth })).subscribed;
  } catch {
    // Unknown counts as off: pressing the button then tells the truth.
    return false;
  }
}

/** Begin or end to hear about an account: the service answers which of them it did. */
export async function toggle(address: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(t("Without your permission there are no notifications."));
  const { key } = await get<{ key: string }>("/api/etl/subscriptions/key");
  const { pushManager } = await worker();
  const subscription = (await pushManager.getSubscription()) ?? (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  const { endpoint, keys, expirationTime } = subscription.toJSON();
  const response = await fetch("/api/etl/subscribe", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ address, data: { endpoint, keys, expirationTime: expirationTime ?? null } }),
  });
  const said = await response.text();
  if (!response.ok) throw new ApiError(response.status, "ERROR", t("The service did not take the subscription. Try again later."));
  return said === "subscribed";
}
