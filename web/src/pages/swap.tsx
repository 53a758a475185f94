import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, get, post } from "../api/client";
import type { Balance, Currency, Network, Unsigned } from "../api/types";
import { currencies, networks } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { baseUnits, short, units, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Show } from "../ui/parts";
import { choosing } from "../wallet/choosing";
import { review } from "../wallet/dialog";
import { account, addressOn } from "../wallet/wallet";

interface Route {
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
interface Status {
  state: string;
  transfer_sequence?: Record<string, { state?: string; src_chain_id?: string; dst_chain_id?: string }>[];
  error?: { message?: string } | null;
}

const config = new Resource<{ blacklist: string[]; swap_to_currency: string }>(() => get("/api/swap/config"), 300_000);

export function Swap() {
  const known = useResource(currencies);
  const own = useResource(networks);
  const rules = useResource(config);
  const [followed, follow] = useState<string | null>(null);
  const home = own.value?.find((network) => network.native);
  const all = useMemo(() => byDenom(known.value?.currencies ?? {}, rules.value?.blacklist ?? []), [known.value, rules.value]);
  return (
    <>
      <h1>{t("Swap")}</h1>
      <Card title="Swap">
        <Show of={known} lines={4}>{() => home && all.length > 1 && <Desk all={all} home={home} networks={own.value ?? []} wanted={rules.value?.swap_to_currency ?? ""} follow={follow} />}</Show>
      </Card>
      {followed && home && <Following key={followed} hash={followed} chain={home.chain_id} />}
    </>
  );
}

/** One currency for each denom of the home chain: protocols share them. */
function byDenom(all: Record<string, Currency>, blacklist: string[]): Currency[] {
  const found = new Map(Object.values(all).map((currency) => [currency.bank_symbol, currency]));
  return [...found.values()].filter((currency) => !blacklist.includes(currency.ticker)).sort((a, b) => a.ticker.localeCompare(b.ticker));
}

function Desk({ all, home, networks: known, wanted, follow }: { all: Currency[]; home: Network; networks: Network[]; wanted: string; follow: (hash: string) => void }) {
  const [source, setSource] = useState(all.find((one) => one.bank_symbol !== wanted)?.bank_symbol ?? "");
  const [target, setTarget] = useState(all.some((one) => one.bank_symbol === wanted) ? wanted : (all.at(-1)?.bank_symbol ?? ""));
  const [amount, setAmount] = useState("");
  const [route, setRoute] = useState<Route | null>(null);
  const [problem, setProblem] = useState("");
  const from = all.find((one) => one.bank_symbol === source);
  const to = all.find((one) => one.bank_symbol === target);
  const base = from ? baseUnits(amount, from.decimal_digits) : null;
  useEffect(() => {
    setRoute(null);
    setProblem(source === target ? "Choose two different currencies." : "");
    if (!base || source === target) return;
    let current = true;
    const asked = { source_asset_denom: source, source_asset_chain_id: home.chain_id, dest_asset_denom: target, dest_asset_chain_id: home.chain_id, amount_in: base };
    const timer = setTimeout(() => {
      post<Route>("/api/swap/route", asked).then(
        (found) => current && setRoute(found),
        (error: unknown) => current && setProblem(explained(error)),
      );
    }, 300);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [source, target, base]);
  const swap = async (event: Event) => {
    event.preventDefault();
    if (!account.value) {
      choosing.value = true;
      return;
    }
    if (!route || !from || !to) return;
    try {
      const unsigned = await messagesOf(route, known);
      review.value = { title: `Swap ${amount} ${from.ticker} for ${to.ticker}`, unsigned, done: (hash) => (setAmount(""), follow(hash)) };
    } catch (error) {
      setProblem(explained(error));
    }
  };
  const choice = (label: string, value: string, set: (denom: string) => void) => (
    <label>
      {label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {all.map((one) => (
          <option key={one.bank_symbol} value={one.bank_symbol}>{nameOf(one, all)}</option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <form class="grid" onSubmit={(event) => void swap(event)}>
        {choice("From", source, setSource)}
        {choice("To", target, setTarget)}
        <label>
          Amount
          <input id="swap-amount" inputMode="decimal" autocomplete="off" value={amount} onInput={(event) => setAmount(event.currentTarget.value)} />
        </label>
        <button disabled={!route}>{account.value ? "Swap" : "Connect to continue"}</button>
      </form>
      {account.value && from && <Held key={account.value.address + source} address={account.value.address} currency={from} />}
      {route && from && to && (
        <div role="status">
          <p>
            About <b>{units(route.amount_out, to.decimal_digits)} {to.ticker}</b>
            {route.usd_amount_out && <> ({usd(route.usd_amount_out)} for {usd(route.usd_amount_in)})</>}
          </p>
          <ol class="route" aria-label="Route">
            {route.operations.map((operation, index) => (
              <li key={index}>{step(operation)}</li>
            ))}
          </ol>
        </div>
      )}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </>
  );
}

function Held({ address, currency }: { address: string; currency: Currency }) {
  const resource = useMemo(() => new Resource<{ balances: Balance[] }>(() => get("/api/balances", { address })), [address]);
  const held = useResource(resource).value?.balances.find((one) => one.denom === currency.bank_symbol);
  return <p class="quiet">You have {units(held?.amount ?? "0", currency.decimal_digits)} {currency.ticker}</p>;
}

/** The ticker; where two denoms share it, with the network they came from. */
function nameOf(currency: Currency, all: Currency[]): string {
  const shared = all.filter((one) => one.ticker === currency.ticker).length > 1;
  return shared ? `${currency.ticker} (${currency.protocol?.split("-")[0]?.toLowerCase() ?? ""})` : currency.ticker;
}

/** A route's step in words. */
function step(operation: Record<string, unknown>): string {
  const transfer = operation.transfer as { from_chain_id?: string; to_chain_id?: string } | undefined;
  if (transfer) return `Transfer from ${transfer.from_chain_id ?? "?"} to ${transfer.to_chain_id ?? "?"}`;
  const swap = operation.swap as { swap_venue?: { name?: string }; swap_in?: { swap_venue?: { name?: string } } } | undefined;
  if (swap) return `Swap at ${swap.swap_venue?.name ?? swap.swap_in?.swap_venue?.name ?? "a venue"}`;
  return Object.keys(operation)[0] ?? "Step";
}

/** The one transaction this wallet signs; a route that needs others is refused. */
async function messagesOf(route: Route, known: Network[]): Promise<Unsigned> {
  const address_list = route.chain_ids.map((id) => {
    const network = known.find((one) => one.chain_id === id);
    if (!network) throw new Error(`The route passes ${id}, which this application does not know.`);
    return addressOn(network.prefix);
  });
  const { source_asset_denom, source_asset_chain_id, dest_asset_denom, dest_asset_chain_id, amount_in, amount_out, operations } = route;
  const body = { source_asset_denom, source_asset_chain_id, dest_asset_denom, dest_asset_chain_id, amount_in, amount_out, operations, address_list };
  const { txs } = await post<Messages>("/api/swap/messages", body);
  const [only] = txs;
  if (txs.length !== 1 || only?.cosmos_tx?.chain_id !== source_asset_chain_id) throw new Error("This route needs transactions on another chain. Choose another currency.");
  return { messages: only.cosmos_tx.msgs.map(({ msg, msg_type_url }) => ({ "@type": msg_type_url, ...members(msg) })), memo: "" };
}

/** A message's members; nanoseconds are more than a number holds, so they stay text. */
function members(text: string): Record<string, unknown> {
  return JSON.parse(text.replace(/("timeout_timestamp":\s*)(\d+)/, '$1"$2"')) as Record<string, unknown>;
}

const STATES: Record<string, string> = {
  STATE_SUBMITTED: "Sent; not in a block yet.",
  STATE_PENDING: "On its way.",
  STATE_COMPLETED_SUCCESS: "Arrived.",
  STATE_COMPLETED_ERROR: "Failed; what was sent is returned.",
  STATE_ABANDONED: "Lost sight of it. Look at your balances.",
};

function Following({ hash, chain }: { hash: string; chain: string }) {
  const resource = useMemo(() => new Resource<Status>(() => get(`/api/swap/status/${hash}`, { chain_id: chain }), 1_500), [hash, chain]);
  const state = useResource(resource);
  useEffect(() => {
    post("/api/swap/track", { chain_id: chain, tx_hash: hash }).catch((error: unknown) => console.warn("The provider does not follow the swap.", error));
  }, [hash, chain]);
  return (
    <Card title={`Swap ${short(hash)}`}>
      <Show of={state} lines={2}>
        {(value) => (
          <div role="status" data-state={value.state}>
            <p>{STATES[value.state] ?? value.state}</p>
            {value.error?.message && <p class="problem">{value.error.message}</p>}
            <ol class="route">
              {(value.transfer_sequence ?? []).flatMap((one) =>
                Object.values(one).map((leg, index) => (
                  <li key={`${leg.src_chain_id}-${leg.dst_chain_id}-${index}`}>
                    {leg.src_chain_id} → {leg.dst_chain_id} <span class="tag">{(leg.state ?? "").replace("TRANSFER_", "").toLowerCase()}</span>
                  </li>
                )),
              )}
            </ol>
          </div>
        )}
      </Show>
    </Card>
  );
}

function explained(error: unknown): string {
  if (error instanceof ApiError && error.code === "SWAP_ROUTE_FAILED") return "There is no route for this swap now. Try another amount or currency.";
  return error instanceof Error ? error.message : String(error);
}
