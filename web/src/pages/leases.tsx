import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, get, post } from "../api/client";
import type { Leases as Answer, Protocol } from "../api/types";
import { currencies, protocols } from "../state/shared";
import { liveLeases } from "../live/resources";
import { Resource, useResource } from "../state/resource";
import { build } from "../ui/form";
import { baseUnits, percent, units, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Show } from "../ui/parts";
import { account } from "../wallet/wallet";
import { OwnLeases } from "./own-leases";

interface Quote {
  borrow_ticker: string;
  borrow_amount: string;
  annual_interest_rate: number;
  estimated_liquidation_price: string | null;
}

export function Leases() {
  const address = account.value?.address ?? null;
  const resource = useMemo(() => (address ? new Resource<Answer>(() => get("/api/leases", { address }), 15_000, liveLeases(address)) : null), [address]);
  const known = useResource(protocols);
  return (
    <>
      <h1>{t("Leases")}</h1>
      <Show of={known} lines={4}>
        {({ protocols: all }) => <OpenDesk all={all} done={() => void resource?.refresh()} />}
      </Show>
      {resource ? <OwnLeases resource={resource} /> : <p class="quiet">{t("Connect a wallet to see your leases.")}</p>}
    </>
  );
}

function OpenDesk({ all, done }: { all: Protocol[]; done: () => void }) {
  const [protocol, setProtocol] = useState(all[0]?.protocol ?? "");
  const known = useResource(currencies);
  const list = useMemo(
    () => new Resource<{ currencies: { ticker: string; group?: string }[] }>(() => get(`/api/protocols/${protocol}/currencies`), 60_000),
    [protocol],
  );
  const state = useResource(list);
  const spec = all.find((one) => one.protocol === protocol);
  const leased = (state.value?.currencies ?? []).filter((currency) => currency.group === "lease" || currency.group === undefined);
  const [asset, setAsset] = useState("");
  const [amount, setAmount] = useState("");
  const [quote, setQuote] = useState<Quote | null>(null);
  const [problem, setProblem] = useState("");
  const chosen = leased.some((currency) => currency.ticker === asset) ? asset : (leased[0]?.ticker ?? "");
  const lpn = spec?.lpn ?? "";
  const decimals = known.value?.currencies[`${lpn}@${protocol}`]?.decimal_digits ?? 6;
  const body = () => ({
    protocol,
    downpayment_ticker: lpn,
    downpayment_amount: baseUnits(amount, decimals) ?? "",
    lease_currency: chosen,
  });
  useEffect(() => {
    setQuote(null);
    setProblem("");
    if (!baseUnits(amount, decimals) || !chosen) return;
    const timer = setTimeout(() => {
      post<Quote>("/api/leases/quote", body()).then(setQuote, (error: unknown) => setProblem(error instanceof ApiError ? error.message : String(error)));
    }, 300);
    return () => clearTimeout(timer);
  }, [amount, chosen, protocol]);
  const open = async (event: Event) => {
    event.preventDefault();
    setProblem(await build({ title: `Lease ${chosen} with ${amount} ${lpn} down`, path: "/api/leases/open", body: body() }, () => (setAmount(""), done())));
  };
  return (
    <Card title="Open a lease">
      <form class="grid" onSubmit={(event) => void open(event)}>
        <label>
          Protocol
          <select value={protocol} onChange={(event) => setProtocol(event.currentTarget.value)}>
            {all.map((one) => (
              <option key={one.protocol} value={one.protocol}>
                {one.protocol} ({one.position_type})
              </option>
            ))}
          </select>
        </label>
        <label>
          Asset
          <select value={chosen} onChange={(event) => setAsset(event.currentTarget.value)}>
            {leased.map((currency) => (
              <option key={currency.ticker}>{currency.ticker}</option>
            ))}
          </select>
        </label>
        <label>
          Down payment ({lpn})
          <input id="downpayment" inputMode="decimal" autocomplete="off" value={amount} onInput={(event) => setAmount(event.currentTarget.value)} />
        </label>
        <button disabled={!quote}>{account.value ? "Open" : "Connect to continue"}</button>
      </form>
      {quote && (
        <p role="status">
          You borrow {units(quote.borrow_amount, decimals)} {quote.borrow_ticker} at {percent(quote.annual_interest_rate)} a year
          {quote.estimated_liquidation_price && <>; liquidation near {usd(quote.estimated_liquidation_price)}</>}.
        </p>
      )}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </Card>
  );
}
