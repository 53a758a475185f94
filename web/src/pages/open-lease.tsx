/** Opening a lease: market, down payment and leverage, quoted as they are typed. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Pool, Protocol } from "../api/types";
import { currencies, prices } from "../state/shared";
import { keyed, Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { protocolName, shortName, side } from "../ui/coin";
import { AmountField, build } from "../ui/form";
import { amountOf, baseUnits, percent, usd } from "../ui/format";
import { Facts, Segments } from "../ui/parts";
import { account } from "../wallet/wallet";
import { Held } from "./earn";
import { choices, mostLent, USUALLY_LENT, useQuote, type Asked } from "./lease-quote";

type Listed = { currencies: { ticker: string; group?: string }[] };

const listOf = (protocol: string) => keyed(`listed ${protocol}`, () => new Resource<Listed>(() => get(`/api/protocols/${protocol}/currencies`), 60_000));

/** Protocols with the deepest pools first: the first of them is the one to begin with. */
export function ranked(all: Protocol[], pools: Pool[]): Protocol[] {
  const depth = (one: Protocol) => Number(pools.find((pool) => pool.protocol === one.protocol)?.total_deposited_usd ?? 0);
  return [...all].sort((one, other) => depth(other) - depth(one));
}

export function OpenDesk({ protocols, pools, done }: { protocols: Protocol[]; pools: Pool[]; done: () => void }) {
  // Once: a market must not change under the person because another pool has become deeper.
  const [all] = useState(() => ranked(protocols, pools));
  const [direction, setDirection] = useState<"long" | "short">("long");
  const offered = all.filter((one) => one.position_type.toLowerCase() === direction);
  const [protocol, setProtocol] = useState("");
  const spec = offered.find((one) => one.protocol === protocol) ?? offered[0];
  const name = spec?.protocol ?? "";
  const known = useResource(currencies).value?.currencies;
  const live = useResource(prices).value?.prices;
  const list = useResource(listOf(name)).value?.currencies ?? [];
  const leased = list.filter((currency) => currency.group === "lease" || currency.group === undefined);
  const [asset, setAsset] = useState("");
  const [amount, setAmount] = useState("");
  // What the person wants to borrow per down payment; until they say less, all that the protocol lends.
  const [wanted, setWanted] = useState(Infinity);
  const chosen = leased.find((one) => one.ticker === asset)?.ticker ?? leased.find((one) => one.ticker === "ATOM")?.ticker ?? leased[0]?.ticker ?? "";
  const lpn = spec?.lpn ?? "";
  const currency = known?.[`${lpn}@${name}`];
  const decimals = currency?.decimal_digits ?? 6;
  const base = baseUnits(amount, decimals);
  const [lent, setLent] = useState<Record<string, number>>({});
  const most = lent[name] ?? USUALLY_LENT;
  const loans = choices(most);
  const place = loans.filter((one) => one <= wanted).length - 1;
  const ltd = loans[place] ?? most;
  const body: Asked = { protocol: name, downpayment_ticker: lpn, downpayment_amount: base ?? "", lease_currency: chosen, ...(ltd < most ? { max_ltd: ltd } : {}) };
  const { quote, problem, setProblem } = useQuote(body, base !== null && chosen !== "");
  useEffect(() => {
    const told = quote && mostLent(quote);
    if (told) setLent((known) => ({ ...known, [quote.asked.protocol]: told }));
  }, [quote]);
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
          <input id="leverage" type="range" min={0} max={loans.length - 1} step={1} value={place} data-most={most} aria-valuetext={`${(1 + ltd / 1000).toFixed(2)}×`} onInput={(event) => setWanted(chosenLoan(loans, Number(event.currentTarget.value)))} />
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

/** The loan at a place of the slider; at its end all that there is, even if that becomes more. */
function chosenLoan(loans: number[], place: number): number {
  return place >= loans.length - 1 ? Infinity : (loans[place] ?? Infinity);
}
