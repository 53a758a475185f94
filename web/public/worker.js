// The service worker: shows the data API's notifications in the person's language, and opens the leases on a click.
const TEXTS = {
  "ltv-title": "Your lease needs attention",
  "liquidations-funding": "Lease {ticker} is at {percent} % loan to value. Adding funds keeps it safe.",
  "ltv-title-risk": "Your lease is at risk",
  "liquidations-funding-recommended": "Lease {ticker} is at {percent} % loan to value. Adding funds is recommended.",
  "ltv-title-high-risk": "Your lease is at high risk",
  "liquidations-fund-now": "Lease {ticker} is at {percent} % loan to value. Add funds now, or it may be liquidated.",
  "ltv-title-partial-liquidation": "Partly liquidated",
  "liquidations-partially-liquidated": "A part of lease {ticker} was sold to bring its debt down.",
  "ltv-title-full-liquidation": "Liquidated",
  "liquidations-fully-liquidated": "Lease {ticker} was liquidated.",
  "closed-title": "Closed",
  closed: "Lease {ticker} was closed.",
  "generic-title": "News about your account",
  generic: "Open the application to see what happened.",
};
const KINDS = {
  Funding: ["ltv-title", "liquidations-funding"],
  FundingRecommended: ["ltv-title-risk", "liquidations-funding-recommended"],
  FundNow: ["ltv-title-high-risk", "liquidations-fund-now"],
  PartiallyLiquidated: ["ltv-title-partial-liquidation", "liquidations-partially-liquidated"],
  FullyLiquidated: ["ltv-title-full-liquidation", "liquidations-fully-liquidated"],
  Closed: ["closed-title", "closed"],
};
// Where the page leaves the language, which a worker cannot see.
const NOTES = "leasehold-notes";
// A browser ends a worker that takes too long to show something; English in time is better than nothing.
const LONGEST_WAIT_MS = 5_000;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(show(event.data)));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openLeases());
});

async function show(data) {
  const { type, data: about = {} } = read(data);
  // Whatever came, something must be shown: browsers end the subscription of a silent worker.
  const [title, body] = KINDS[type] ?? ["generic-title", "generic"];
  const words = await texts();
  const position = typeof about.position === "string" ? about.position : "";
  const ticker = position.length > 16 ? `${position.slice(0, 8)}…${position.slice(-8)}` : position;
  const percent = Number.isFinite(about.ltv) ? String(about.ltv / 10) : "?";
  const fill = (key) => words[key].replace(/\{(ticker|percent)\}/g, (_, name) => ({ ticker, percent })[name]);
  await self.registration.showNotification(fill(title), { body: fill(body), icon: "/icon.svg", tag: `${type}-${position}` });
}

function read(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return {};
  }
}

async function texts() {
  try {
    const kept = await (await caches.open(NOTES)).match("/language");
    const answer = await fetch(`/api/locales/${kept ? await kept.text() : "en"}`, { signal: AbortSignal.timeout(LONGEST_WAIT_MS) });
    return { ...TEXTS, ...(answer.ok ? (await answer.json()).push : {}) };
  } catch {
    return TEXTS;
  }
}

async function openLeases() {
  const [open] = await self.clients.matchAll({ type: "window" });
  if (!open) return self.clients.openWindow("/leases");
  await open.navigate("/leases");
  return open.focus();
}
