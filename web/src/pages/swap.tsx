import { useState } from "preact/hooks";
import { post } from "../api/client";
import { explain } from "../api/explain";
import { get } from "../api/client";
import type { Currency, Network } from "../api/types";
import { currencies, networks } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { shortName } from "../ui/coin";
import { AmountField } from "../ui/form";
import { amountOf, baseUnits, percent, usd } from "../ui/format";
import { Icon } from "../ui/icons";
import { Card, Facts, Show, Title } from "../ui/parts";
import { choosing } from "../wallet/choosing";
import { review } from "../wallet/review";
import { account } from "../wallet/wallet";
import { Held } from "./earn";
import { followSwap, Followed } from "./followed-swaps";
import { messagesOf, step, useRoute } from "./swap-route";

const config = new Resource<{ blacklist: string[]; swap_to_currency: string }>(() => get("/api/swap/config"), 300_000);

export function Swap() {
  const known = useResource(currencies);
  const own = useResource(networks);
  const rules = useResource(config);
  const home = own.value?.find((network) => network.native);
  const all = byDenom(known.value?.currencies ?? {}, rules.value?.blacklist ?? []);
  return (
    <>
      <Title text={t("Swap")} about={t("From one currency to another, over the chains that trade them.")} />
      <div class="columns">
        <Card>
          <Show of={known} lines={8}>{() => home && all.length > 1 && <Desk all={all} home={home} networks={own.value ?? []} wanted={rules.value?.swap_to_currency ?? ""} />}</Show>
        </Card>
        {home && <Followed chain={home.chain_id} />}
      </div>
    </>
  );
}

/** One currency for each denom of the home chain: protocols share them. */
function byDenom(all: Record<string, Currency>, blacklist: string[]): Currency[] {
  const found = new Map(Object.values(all).map((currency) => [currency.bank_symbol, currency]));
  return [...found.values()].filter((currency) => !blacklist.includes(currency.ticker)).sort((a, b) => a.ticker.localeCompare(b.ticker));
}

function Desk({ all, home, networks: known, wanted }: { all: Currency[]; home: Network; networks: Network[]; wanted: string }) {
  const first = all.find((one) => one.ticker === "USDC_NOBLE" && one.bank_symbol !== wanted) ?? all.find((one) => one.bank_symbol !== wanted);
  const [source, setSource] = useState(first?.bank_symbol ?? "");
  const [target, setTarget] = useState((all.find((one) => one.bank_symbol === wanted || one.ticker === wanted) ?? all.at(-1))?.bank_symbol ?? "");
  const [amount, setAmount] = useState("");
  const [refused, setRefused] = useState("");
  const from = all.find((one) => one.bank_symbol === source);
  const to = all.find((one) => one.bank_symbol === target);
  const base = from ? baseUnits(amount, from.decimal_digits) : null;
  const { route, problem } = useRoute(home.chain_id, source, target, base);
  const swap = async (event: Event) => {
    event.preventDefault();
    setRefused("");
    if (!account.value) {
      choosing.value = true;
      return;
    }
    if (!route || !from || !to) return;
    try {
      const title = t("Swap {amount} {from} for {to}", { amount, from: shortName(from.ticker), to: shortName(to.ticker) });
      review.value = {
        title,
        unsigned: await messagesOf(route, known),
        done: (hash) => {
          setAmount("");
          followSwap({ hash, title });
          post("/api/swap/track", { chain_id: home.chain_id, tx_hash: hash }).catch((error: unknown) => console.warn("The provider does not follow the swap.", error));
        },
      };
    } catch (error) {
      setRefused(explain(error));
    }
  };
  const choice = (id: string, label: string, value: string, set: (denom: string) => void) => (
    <label class="field">
      <span>{label}</span>
      <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
        {all.map((one) => (
          <option key={one.bank_symbol} value={one.bank_symbol} data-ticker={one.ticker}>{nameOf(one, all)}</option>
        ))}
      </select>
    </label>
  );
  const said = refused || problem;
  return (
    <form class="desk" onSubmit={(event) => void swap(event)}>
      {choice("swap-from", t("From"), source, setSource)}
      <Held address={account.value?.address} denom={source}>
        {(held) => <AmountField id="swap-amount" label={t("Amount")} unit={shortName(from?.ticker ?? "")} value={amount} set={setAmount} decimals={from?.decimal_digits ?? 6} held={held} invalid={said !== ""} />}
      </Held>
      <div class="flip">
        <button type="button" class="second" aria-label={t("Swap the two currencies")} onClick={() => (setSource(target), setTarget(source), setAmount(""))}>
          <Icon name="flip" size={16} />
        </button>
      </div>
      {choice("swap-to", t("To"), target, setTarget)}
      <div role="status" class="desk">
        <Facts
          rows={[
            [t("You get about"), route && to ? <b data-out="">{`${amountOf(route.amount_out, to.decimal_digits)} ${shortName(to.ticker)}`}</b> : "–"],
            [t("Worth"), route?.usd_amount_out ? usd(route.usd_amount_out) : "–"],
            [t("Cost of the way"), route?.usd_amount_in && route.usd_amount_out ? percent((1 - Number(route.usd_amount_out) / Number(route.usd_amount_in)) * 100) : "–"],
          ]}
        />
        {route && (
          <ol class="route" aria-label={t("Route")}>
            {route.operations.map((operation, index) => (
              <li key={index}>{step(operation)}</li>
            ))}
          </ol>
        )}
      </div>
      <button disabled={!route}>{account.value ? t("Swap") : t("Connect to continue")}</button>
      {said && <p class="problem" role="alert" id="swap-amount-problem">{said}</p>}
    </form>
  );
}

/** The short name; where two denoms share it, with the network they came from. */
function nameOf(currency: Currency, all: Currency[]): string {
  const name = shortName(currency.ticker);
  const shared = all.filter((one) => one.ticker === currency.ticker).length > 1;
  return shared ? `${name} (${currency.protocol?.split("-")[0]?.toLowerCase() ?? ""})` : name;
}
