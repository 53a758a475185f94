/** What several pages look at: fetched once, kept fresh, pushed where the service pushes. */
import { get } from "../api/client";
import type { Asset, Balance, Currencies, EarnStats, Market, Network, NodeStatus, Pool, Prices, Protocol } from "../api/types";
import { liveBalances, livePrices } from "../live/resources";
import { t } from "../text/text";
import { keyed, Resource } from "./resource";

export const prices = new Resource<Prices>(() => get("/api/prices"), 20_000, livePrices());
export const assets = new Resource<{ assets: Asset[] }>(() => get("/api/assets"), 60_000);
export const pools = new Resource<Pool[]>(() => get("/api/earn/pools"), 20_000);
export const earnStats = new Resource<EarnStats>(() => get("/api/earn/stats"), 30_000);
export const currencies = new Resource<Currencies>(() => get("/api/currencies"), 300_000);
export const protocols = new Resource<{ protocols: Protocol[] }>(() => get("/api/protocols/gated"), 300_000);
export const networks = new Resource<Network[]>(() => get("/api/config/networks"), 300_000);
export const nodeStatus = new Resource<NodeStatus>(() => get("/api/node/status"), 5_000);

export const markets = new Resource<Market[]>(() => get("/api/etl/lease-markets"), 60_000);
/** Figures of the data API, a name for each group. */
export type Batch = Record<string, Record<string, string> | null>;
export const overviewFigures = new Resource<Batch>(() => get("/api/etl/batch/stats-overview"), 60_000);
export const loanFigures = new Resource<Batch>(() => get("/api/etl/batch/loans-stats"), 60_000);

/** What an account holds, followed while it is shown. */
export function balancesOf(address: string): Resource<{ balances: Balance[] }> {
  return keyed(`balances ${address}`, () => new Resource(() => get("/api/balances", { address }), 15_000, liveBalances(address)));
}

/** The chain this service is the backend of. */
export async function home(): Promise<Network> {
  const known = networks.state.value.value ?? (await get<Network[]>("/api/config/networks"));
  const own = known.find((network) => network.native);
  if (!own) throw new Error(t("The service names no home network."));
  return own;
}
