/** A swap's route and the one transaction this wallet signs for it. */
import { useEffect, useState } from "preact/hooks";
import { post } from "../api/client";
import { explain } from "../api/explain";
import type { Network, Unsigned } from "../api/types";
import { t } from "../text/text";
import { addressesOn } from "../wallet/wallet";

export interface Route {
  amount_in: string;
  amount_out: string;
  usd_amount_in?: string;
  usd_amount_out?: string;
  source_asset_denom: string;
  source_asset_chain_id: string;
  dest_asset_denom: string;
  dest_asset_chain_id: string;
  chain_ids: string[];
  operations: Record<string, unknown>[];
}
interface Messages {
  txs: { cosmos_tx?: { chain_id: string; msgs: { msg: string; msg_type_url: string }[] } }[];
}
const PAUSE_MS = 300;

/** The route of what is typed, a moment after the last key. */
export function useRoute(chain: string, source: string, target: string, base: string | null): { route: Route | null; problem: string } {
  const [route, setRoute] = useState<Route | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    setRoute(null);
    setProblem(source === target ? t("Choose two different currencies.") : "");
    if (!base || source === target) return;
    let current = true;
    const asked = { source_asset_denom: source, source_asset_chain_id: chain, dest_asset_denom: target, dest_asset_chain_id: chain, amount_in: base };
    const timer = setTimeout(() => {
      post<Route>("/api/swap/route", asked).then(
        (found) => current && setRoute(found),
        (error: unknown) => current && setProblem(explain(error)),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [chain, source, target, base]);
  return { route, problem };
}

/** A route's step in words. */
export function step(operation: Record<string, unknown>): string {
  const transfer = operation.transfer as { from_chain_id?: string; to_chain_id?: string } | undefined;
  if (transfer) return t("Transfer from {from} to {to}", { from: transfer.from_chain_id ?? "?", to: transfer.to_chain_id ?? "?" });
  const swap = operation.swap as { swap_venue?: { name?: string }; swap_in?: { swap_venue?: { name?: string } } } | undefined;
  if (swap) return t("Swap at {venue}", { venue: swap.swap_venue?.name ?? swap.swap_in?.swap_venue?.name ?? "?" });
  return Object.keys(operation)[0] ?? "?";
}

/** The one transaction this wallet signs; a route that needs others is refused. */
export async function messagesOf(route: Route, known: Network[]): Promise<Unsigned> {
  const prefixes = route.chain_ids.map((id) => {
    const network = known.find((one) => one.chain_id === id);
    if (!network) throw new Error(t("The route passes {chain}, which this application does not know.", { chain: id }));
    return network.prefix;
  });
  const address_list = await addressesOn(prefixes);
  const { source_asset_denom, source_asset_chain_id, dest_asset_denom, dest_asset_chain_id, amount_in, amount_out, operations } = route;
  const body = { source_asset_denom, source_asset_chain_id, dest_asset_denom, dest_asset_chain_id, amount_in, amount_out, operations, address_list };
  const { txs } = await post<Messages>("/api/swap/messages", body);
  const [only] = txs;
  if (txs.length !== 1 || only?.cosmos_tx?.chain_id !== source_asset_chain_id) throw new Error(t("This route needs transactions on another chain. Choose another currency."));
  return { messages: only.cosmos_tx.msgs.map(({ msg, msg_type_url }) => ({ "@type": msg_type_url, ...members(msg) })), memo: "" };
}

/** A message's members; nanoseconds are more than a number holds, so they stay text. */
function members(text: string): Record<string, unknown> {
  return JSON.parse(text.replace(/("timeout_timestamp":\s*)(\d+)/, '$1"$2"')) as Record<string, unknown>;
}
