/** Tools for agents in the browser: they read and navigate, they never sign or send. */
import { effect } from "@preact/signals";
import { get } from "../api/client";
import type { Balance, Leases, Pool, Prices, StakingPositions } from "../api/types";
import { live } from "../live/client";
import { go } from "../state/router";
import { pools, prices } from "../state/shared";
import { choosing } from "../wallet/choosing";
import { account } from "../wallet/wallet";

interface Client {
  requestUserInteraction?<T>(ask: () => Promise<T>): Promise<T>;
}
export interface Tool {
  name: string;
  title: string;
  description: string;
  inputSchema: object;
  annotations?: { readOnlyHint: true };
  execute(input: Record<string, unknown>, client?: Client): Promise<unknown>;
}
interface ModelContext {
  registerTool?(tool: Tool, options?: { signal: AbortSignal }): unknown;
}

/** Pages by the names agents know them by. */
const ROUTES: Record<string, string> = {
  home: "/",
  positions: "/leases",
  assets: "/assets",
  earn: "/earn",
  swap: "/swap",
  stake: "/stake",
  activities: "/account",
  vote: "/governance",
  stats: "/stats",
};
const NOTHING = { type: "object", properties: {}, additionalProperties: false };

/** A tool that only reads; without a connected wallet its answer has no address and nothing in it. */
function reading(name: string, title: string, description: string, read: (address: string | null) => Promise<object>): Tool {
  return {
    name,
    title,
    description,
    inputSchema: NOTHING,
    annotations: { readOnlyHint: true },
    execute: () => read(account.value?.address ?? null),
  };
}

const now = (address: string | null) => (address ? new Date().toISOString() : null);
const sum = (values: (string | null | undefined)[]) => String(values.reduce((total, value) => total + Number(value ?? 0), 0));
const fresh = async <T>(kept: { state: { value: { value?: T } } }, path: string): Promise<T> => kept.state.value.value ?? (await get<T>(path));

export const TOOLS: Tool[] = [
  reading("get_connected_wallet", "Get connected wallet", "Whether a wallet is connected, its address, and how the live connection is.", async (address) => ({
    connected: address !== null,
    address,
    ws_state: live.status.value,
  })),
  reading("get_balances", "Get token balances", "Balances of the connected wallet and their worth in USD.", async (address) => {
    const found = address ? await get<{ balances: Balance[]; total_value_usd: string | null }>("/api/balances", { address }) : null;
    return { address, total_value_usd: found?.total_value_usd ?? null, balances: found?.balances ?? [], last_updated: now(address) };
  }),
  reading("get_open_leases", "Get open leverage positions", "Leases of the connected wallet that are open or opening.", async (owner) => {
    const found = owner ? await get<Leases>("/api/leases", { address: owner }) : null;
    const leases = (found?.leases ?? []).filter((lease) => lease.status === "opened" || lease.status === "opening");
    return {
      owner,
      count: leases.length,
      total_pnl: sum(leases.map((lease) => lease.pnl?.amount)),
      total_collateral_usd: found?.total_collateral_usd ?? "0",
      leases,
      last_updated: now(owner),
    };
  }),
  reading("get_earn_positions", "Get liquidity pool positions", "Deposits of the connected wallet, and the pools there are.", async (address) => {
    const found = address ? await get<{ positions: object[]; total_deposited_usd: string | null }>("/api/earn/positions", { address }) : null;
    const all = await fresh<Pool[]>(pools, "/api/earn/pools");
    return {
      address,
      total_deposited_usd: found?.total_deposited_usd ?? null,
      positions: found?.positions ?? [],
      pools: all.map(({ protocol, apy, lpp_address }) => ({ protocol, apy, lpp_address })),
      last_updated: now(address),
    };
  }),
  reading("get_staking_delegations", "Get staking delegations", "Delegations, unbonding stake and rewards of the connected wallet.", async (address) => {
    const found = address ? await get<StakingPositions>("/api/staking/positions", { address }) : null;
    return { delegations: [], unbonding: [], rewards: [], total_staked: "0", total_rewards: "0", ...found, address, last_updated: now(address) };
  }),
  reading("get_prices", "Get oracle prices", "The latest price of every currency.", async () => {
    const found = await fresh<Prices>(prices, "/api/prices");
    const rows = Object.entries(found.prices).map(([key, { price_usd, symbol }]) => [key, { price: price_usd, symbol }]);
    return { prices: Object.fromEntries(rows), last_updated: new Date().toISOString() };
  }),
  {
    name: "connect_wallet",
    title: "Connect wallet",
    description: "Opens the dialog in which the person chooses a wallet, and waits until they have chosen or closed it.",
    inputSchema: { type: "object", properties: { mechanism: { type: "string", enum: ["keplr"] } }, additionalProperties: false },
    execute: async ({ mechanism }, client) => {
      if (mechanism !== undefined && mechanism !== "keplr") throw new Error(`There is no wallet ${String(mechanism)} here.`);
      await (client?.requestUserInteraction ? client.requestUserInteraction(chosen) : chosen());
      return { connected: account.value !== null, address: account.value?.address ?? null, mechanism: account.value ? "extension" : null };
    },
  },
  {
    name: "navigate",
    title: "Navigate to a page",
    description: "Shows a page of the application.",
    inputSchema: { type: "object", properties: { route: { type: "string", enum: Object.keys(ROUTES) } }, required: ["route"], additionalProperties: false },
    execute: async ({ route }) => {
      const path = typeof route === "string" && Object.hasOwn(ROUTES, route) ? ROUTES[route] : undefined;
      if (path === undefined) throw new Error(`There is no page ${String(route)}.`);
      go(path);
      return { navigated_to: route };
    },
  },
];

/** Open the wallet dialog; settles when it is closed again, by a choice or without one. */
function chosen(): Promise<void> {
  choosing.value = true;
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (choosing.value) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

let registered: AbortController | null = null;

/** Offer the tools where the browser can take them; a second call replaces the first's. */
export function registerTools(): void {
  const context = (navigator as { modelContext?: ModelContext }).modelContext;
  if (!context?.registerTool) return;
  registered?.abort();
  registered = new AbortController();
  for (const tool of TOOLS)
    try {
      context.registerTool(tool, { signal: registered.signal });
    } catch (error) {
      console.warn(`The tool ${tool.name} could not be registered.`, error);
    }
}
