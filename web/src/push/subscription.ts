/** Push notifications of this browser about an account. */
import { ApiError, get } from "../api/client";

const WORKER = "/worker.js";

/** Why this browser can't be notified, or null when it can. */
export function obstacle(): string | null {
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) return "This browser has no push notifications.";
  return Notification.permission === "denied" ? "Notifications are blocked for this site. Allow them in the browser's settings." : null;
}

/** Make sure that the worker is there; it shows what the data API sends. */
export async function worker(): Promise<ServiceWorkerRegistration> {
  await navigator.serviceWorker.register(WORKER, { scope: "/" });
  return navigator.serviceWorker.ready;
}

/** Whether this browser hears about an account is told by the toggle: the service answers what it did. */
export async function toggle(address: string): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("Without your permission there are no notifications.");
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
  if (!response.ok) throw new ApiError(response.status, "ERROR", "The service did not take the subscription. Try again later.");
  return said === "subscribed";
}
