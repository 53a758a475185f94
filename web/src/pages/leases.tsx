import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, get, post } from "../api/client";
import type { Lease, Leases as Answer, Protocol } from "../api/types";
import { currencies, prices, protocols } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { AmountForm, build } from "../ui/form";
import { baseUnits, percent, short, units, usd, when } from "../ui/format";
import { Card, Show, Table } from "../ui/parts";
import { account } from "../wallet/wallet";

interface Quote {
  borrow_ticker: string;
  borrow_amount: string;
  annual_interest_rate: number;
  estimated_liquidation_price: string | null;
}

export function Leases() {
  const address = account.value?.address ?? null;
  const resource = useMemo(() => (address ? new Resource<Answer>(() => get("/api/leases", { address }), 6_000) : null), [address]);
  const known = useResource(protocols);
  return (
    <>
      <h1>Leases</h1>
      <Show of={known} lines={4}>
        {({ protocols: all }) => <OpenDesk all={all} done={() => void resource?.refresh()} />}
      </Show>
      {resource ? <Mine resource={resource} /> : <p class="quiet">Connect a wallet to see your leases.</p>}
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

function Mine({ resource }: { resource: Resource<Answer> }) {
  const state = useResource(resource);
  const live = useResource(prices);
  const known = useResource(currencies);
  const [chosen, choose] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const refresh = () => void resource.refresh();
  const price = (lease: Lease) => live.value?.prices[`${lease.amount.ticker}@${lease.protocol}`]?.price_usd;
  const decimals = (ticker: string, protocol: string) => known.value?.currencies[`${ticker}@${protocol}`]?.decimal_digits ?? 6;
  const close = async (lease: Lease) =>
    setProblem(await build({ title: "Close the position at the market", path: "/api/leases/market-close", body: { lease_address: lease.address } }, refresh));
  return (
    <Card title="Your leases" aside={state.value && <span class="quiet">Debt {usd(state.value.total_debt_usd)}</span>}>
      <Show of={state} lines={4}>
        {({ leases }) => (
          <>
            <Table
              rows={leases}
              keyOf={(row) => row.address}
              empty="No open leases."
              columns={[
                { title: "Lease", cell: (row) => <span title={row.address} data-lease={row.address}>{short(row.address)}</span> },
                { title: "Status", cell: (row) => <span class="tag">{row.status}</span> },
                { title: "Position", cell: (row) => `${units(row.amount.amount, decimals(row.amount.ticker, row.protocol))} ${row.amount.ticker}`, end: true },
                { title: "Debt", cell: (row) => usd(row.debt?.total_usd), end: true },
                { title: "Price / liquidation", cell: (row) => `${usd(price(row))} / ${usd(row.liquidation_price)}`, end: true },
                { title: "PnL", cell: (row) => (row.pnl ? <span class={row.pnl.pnl_positive ? "good" : "bad"}>{usd(row.pnl.amount)}</span> : "–"), end: true },
                { title: "Opened", cell: (row) => (row.opened_at ? when(row.opened_at) : "opening") },
                {
                  title: "",
                  end: true,
                  cell: (row) => (
                    <span class="buttons">
                      <button class="second" disabled={row.status !== "opened"} onClick={() => choose(row.address)}>Repay</button>
                      <button class="second" disabled={row.status !== "opened"} onClick={() => void close(row)}>Close</button>
                    </span>
                  ),
                },
              ]}
            />
            {leases.filter((lease) => lease.address === chosen && lease.debt).map((lease) => (
              <AmountForm
                key={lease.address}
                label={`Repay ${short(lease.address)}`}
                unit={lease.debt?.ticker ?? ""}
                action="Repay"
                done={refresh}
                make={(text) => {
                  const base = baseUnits(text, decimals(lease.debt?.ticker ?? "", lease.protocol));
                  return base
                    ? { title: `Repay ${text} ${lease.debt?.ticker}`, path: "/api/leases/repay", body: { lease_address: lease.address, amount: base, ticker: lease.debt?.ticker } }
                    : "Give a positive amount.";
                }}
              />
            ))}
            {problem && <p class="problem" role="alert">{problem}</p>}
          </>
        )}
      </Show>
    </Card>
  );
}
