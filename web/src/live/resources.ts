/** Resources that are pushed: what they load over HTTP once is replaced by what the stream says. */
import type { Balance, EarnPosition, Lease, Leases, Prices } from "../api/types";
import type { Resource } from "../state/resource";
import { live, type LiveClient } from "./client";
import type { Message } from "./messages";

export type Listen<T> = (resource: Resource<T>) => () => void;
interface Positions {
  positions: EarnPosition[];
  total_deposited_usd: string | null;
}
const OVER = new Set(["closed", "liquidated"]);

export function livePrices(client: LiveClient = live): Listen<Prices> {
  return (resource) =>
    client.follow("prices", {}, (message) => {
      if (message.type !== "price_update") return;
      const entries = Object.entries(message.prices).map(([key, price_usd]) => [key, { key, symbol: key.split("@")[0] ?? key, price_usd }]);
      resource.put({ prices: Object.fromEntries(entries) as Prices["prices"] });
    });
}

export function liveBalances(address: string, client: LiveClient = live): Listen<{ balances: Balance[] }> {
  return (resource) =>
    client.follow("balances", { address }, (message) => {
      if (message.type !== "balance_update") return;
      resource.put({ balances: message.balances });
    });
}

export function livePositions(address: string, client: LiveClient = live): Listen<Positions> {
  return (resource) =>
    client.follow("earn", { address }, (message) => {
      if (message.type !== "earn_update") return;
      const { positions, total_deposited_usd } = message;
      resource.put({ positions, total_deposited_usd });
    });
}

export function liveLeases(address: string, client: LiveClient = live): Listen<Leases> {
  return (resource) => {
    let shown: Lease[] = [];
    return client.follow("leases", { address }, (message: Message) => {
      if (message.type === "resync_required") shown = [];
      if (message.type === "snapshot") {
        resource.put(answer(shown));
        shown = [];
      }
      if (message.type !== "lease_update") return;
      if (message.snapshot) shown.push(message.lease);
      else resource.put(answer(merged(resource.state.value.value?.leases ?? [], message.lease)));
    });
  };
}

/** A list with one lease as it is now; one that is over leaves it. */
export function merged(leases: Lease[], lease: Lease): Lease[] {
  const rest = leases.map((one) => (one.address === lease.address ? lease : one));
  const all = rest.includes(lease) ? rest : [...rest, lease];
  return all.filter((one) => one !== lease || !OVER.has(lease.status));
}

function answer(leases: Lease[]): Leases {
  const sum = (values: (string | null | undefined)[]) => String(values.reduce((total, one) => total + Number(one ?? 0), 0));
  return {
    leases,
    total_collateral_usd: sum(leases.map((one) => one.amount.amount_usd)),
    total_debt_usd: sum(leases.map((one) => one.debt?.total_usd)),
  };
}
