/** Opening a lease: market, down payment and leverage, quoted as they are typed. */
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../api/client";
import { explain } from "../api/explain";
import type { Protocol } from "../api/types";
import { currencies, prices } from "../state/shared";
import { keyed, Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { protocolName, shortName, side } from "../ui/coin";
import { AmountField, build } from "../ui/form";
import { amountOf, baseUnits, percent, usd } from "../ui/format";
import { Facts, Segments } from "../ui/parts";
import { account } from "../wallet/wallet";
import { Held } from "./earn";

interface Quote {
  borrow_ticker: string;
  borrow_amount: string;
  annual_interest_rate: number;
  estimated_liquidation_price: string | null;
}
type Listed = { currencies: { ticker: string; group?: string }[] };

// The most a protocol lends per down payment, permille; the slider goes up to it.
const MOST_LTD = 1500;
const QUOTE_PAUSE_MS = 250;
const listOf = (protocol: string) => keyed(`listed ${protocol}`, () => new Resource<Listed>(() => get(`/api/protocols/${protocol}/currencies`), 60_000));

export function OpenDesk({ all, done }: { all: Protocol[]; done: () => void }) {
  const [direction, setDirection] = useState<"long" | "short">("long");
  const offered = all.filter((one) => one.position_type.toLowerCase() === direction);
  const [protocol, setProtocol] = useState("");
  const spec = offered.find((one) => one.protocol === protocol) ?? offered.find((one) => one.network === "Osmosis") ?? offered[0];
  const name = spec?.protocol ?? "";
  const known = useResource(currencies).value?.currencies;
  const live = useResource(prices).value?.prices;
  const list = useResource(listOf(name)).value?.currencies ?? [];
  const leased = list.filter((currency) => currency.group === "lease" || currency.group === undefined);
  const [asset, setAsset] = useState("");
  const [amount, setAmount] = useState("");
  const [ltd, setLtd] = useState(MOST_LTD);
  const chosen = leased.find((one) => one.ticker === asset)?.ticker ?? leased.find((one) => one.ticker === "ATOM")?.ticker ?? leased[0]?.ticker ?? "";
  const lpn = spec?.lpn ?? "";
  const currency = known?.[`${lpn}@${name}`];
  const decimals = currency?.decimal_digits ?? 6;
  const base = baseUnits(amount, decimals);
  const body = { protocol: name, downpayment_ticker: lpn, downpayment_amount: base ?? "", lease_currency: chosen, ...(ltd < MOST_LTD ? { max_ltd: ltd } : {}) };
  const { quote, problem, setProblem } = useQuote(body, base !== null && chosen !== "");
  const open = async (event: Event) => {
    event.preventDefault();
    setProblem(await build({ title: t("Lease {asset} with {amount} {currency} down", { asset: shortName(chosen), amount, currency: shortName(lpn) }), path: "/api/leases/open", body }, () => (setAmount(""), done())));
  };
  // A short position gains when the borrowed currency falls, so that is the price to watch.
  const watched = direction === "short" ? lpn : chosen;
  const price = live?.[`${watched}@${name}`]?.price_usd;
  return (
    <form class="columns" onSubmit={(event) => void open(event)}>
      <div class="desk">
        <Segments label={t("Direction")} value={direction} choose={setDirection} options={[["long", side("long")], ["short", side("short")]]} />
        <div class="pair">
          <label class="field">
            <span>{t("Market")}</span>
            <select id="protocol" value={name} onChange={(event) => setProtocol(event.currentTarget.value)}>
              {offered.map((one) => (
                <option key={one.protocol} value={one.protocol}>{protocolName(one.protocol)}</option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>{t("Asset")}</span>
            <select id="asset" value={chosen} onChange={(event) => setAsset(event.currentTarget.value)}>
              {leased.map((one) => (
                <option key={one.ticker} value={one.ticker}>{shortName(one.ticker)}</option>
              ))}
            </select>
          </label>
        </div>
        <Held address={account.value?.address} denom={currency?.bank_symbol ?? ""}>
          {(held) => <AmountField id="downpayment" label={t("Down payment")} unit={shortName(lpn)} value={amount} set={setAmount} decimals={decimals} held={held} />}
        </Held>
        <label class="field">
          <span>
            {t("Leverage")} <b class="number">{(1 + ltd / 1000).toFixed(2)}×</b>
          </span>
          <input id="leverage" type="range" min={250} max={MOST_LTD} step={50} value={ltd} aria-valuetext={`${(1 + ltd / 1000).toFixed(2)}×`} onInput={(event) => setLtd(Number(event.currentTarget.value))} />
        </label>
      </div>
      <div class="desk">
        <div role="status" data-quote={quote ? "here" : "none"}>
          <Facts
            rows={[
              [t("You borrow"), quote ? `${amountOf(quote.borrow_amount, decimals)} ${shortName(quote.borrow_ticker)}` : "–"],
              [t("Interest a year"), quote ? percent(quote.annual_interest_rate) : "–"],
              [t("Live price of {asset}", { asset: shortName(watched) }), usd(price)],
              [t("Liquidation price"), quote ? usd(quote.estimated_liquidation_price) : "–"],
              [t("Distance to liquidation"), quote?.estimated_liquidation_price && price ? percent(Math.abs(1 - Number(quote.estimated_liquidation_price) / Number(price)) * 100) : "–"],
            ]}
          />
        </div>
        <button disabled={!quote}>{account.value ? t("Open the lease") : t("Connect to continue")}</button>
        {problem ? <p class="problem" role="alert" id="downpayment-problem">{problem}</p> : <small>{t("You see the whole transaction before you sign it.")}</small>}
      </div>
    </form>
  );
}

/** The quote of what is typed, a moment after the last key; the last one stays while a new one is on its way. */
function useQuote(body: Record<string, unknown>, ready: boolean) {
  const [quote, setQuote] = useState<Quote | null>(null);
  const [problem, setProblem] = useState("");
  const wanted = JSON.stringify(body);
  useEffect(() => {
    setProblem("");
    if (!ready) return setQuote(null);
    let stale = false;
    const timer = setTimeout(() => {
      post<Quote>("/api/leases/quote", body).then(
        (found) => stale || setQuote(found),
        (error: unknown) => stale || (setQuote(null), setProblem(explain(error))),
      );
    }, QUOTE_PAUSE_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [wanted, ready]);
  return { quote, problem, setProblem };
}
