/** The connected wallet's leases and what can be done with each. */
import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Lease, LeaseEvent, Leases as Answer } from "../api/types";
import { currencies, prices } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { AmountForm, build } from "../ui/form";
import { baseUnits, percent, short, units, usd, when } from "../ui/format";
import { Card, Show, Table } from "../ui/parts";

export function OwnLeases({ resource }: { resource: Resource<Answer> }) {
  const state = useResource(resource);
  const live = useResource(prices);
  const known = useResource(currencies);
  const [chosen, choose] = useState<string | null>(null);
  const refresh = () => void resource.refresh();
  const price = (lease: Lease) => live.value?.prices[`${lease.amount.ticker}@${lease.protocol}`]?.price_usd;
  const decimals = (ticker: string, protocol: string) => known.value?.currencies[`${ticker}@${protocol}`]?.decimal_digits ?? 6;
  return (
    <>
      <Card title="Your leases" aside={state.value && <span class="quiet">Debt {usd(state.value.total_debt_usd)}</span>}>
        <Show of={state} lines={4}>
          {({ leases }) => (
            <Table
              rows={leases}
              keyOf={(row) => row.address}
              empty="No open leases."
              columns={[
                { title: "Lease", cell: (row) => <span title={row.address} data-lease={row.address}>{short(row.address)}</span> },
                { title: "Status", cell: (row) => <span class="tag">{row.status.replace("_", " ")}</span> },
                { title: "Position", cell: (row) => `${units(row.amount.amount, decimals(row.amount.ticker, row.protocol))} ${row.amount.ticker}`, end: true },
                { title: "Debt", cell: (row) => usd(row.debt?.total_usd), end: true },
                { title: "Price / liquidation", cell: (row) => `${usd(price(row))} / ${usd(row.liquidation_price)}`, end: true },
                { title: "PnL", cell: (row) => (row.pnl ? <span class={row.pnl.pnl_positive ? "good" : "bad"}>{usd(row.pnl.amount)}</span> : "–"), end: true },
                { title: "Opened", cell: (row) => (row.opened_at ? when(row.opened_at) : "opening") },
                { title: "Actions", end: true, cell: (row) => <button class="second" aria-expanded={chosen === row.address} onClick={() => choose(chosen === row.address ? null : row.address)}>Manage</button> },
              ]}
            />
          )}
        </Show>
      </Card>
      {state.value?.leases
        .filter((lease) => lease.address === chosen)
        .map((lease) => <Desk key={lease.address} lease={lease} decimals={(ticker) => decimals(ticker, lease.protocol)} done={refresh} />)}
    </>
  );
}

function Desk({ lease, decimals, done }: { lease: Lease; decimals: (ticker: string) => number; done: () => void }) {
  const [problem, setProblem] = useState("");
  const lease_address = lease.address;
  const debt = lease.debt?.ticker ?? "";
  const act = async (title: string, path: string) => setProblem(await build({ title, path, body: { lease_address } }, done));
  return (
    <Card title={`Lease ${short(lease.address)}`}>
      {lease.status === "opened" && (
        <>
          <AmountForm
            label="Repay"
            unit={debt}
            action="Repay"
            done={done}
            make={(text) => {
              const amount = baseUnits(text, decimals(debt));
              return amount ? { title: `Repay ${text} ${debt}`, path: "/api/leases/repay", body: { lease_address, amount, ticker: debt } } : `Give a positive amount with at most ${decimals(debt)} decimals.`;
            }}
          />
          <AmountForm
            label="Close a part"
            unit={lease.amount.ticker}
            action="Close part"
            done={done}
            make={(text) => {
              const amount = baseUnits(text, decimals(lease.amount.ticker));
              return amount
                ? { title: `Close ${text} ${lease.amount.ticker} of the position`, path: "/api/leases/partial-close", body: { lease_address, amount, ticker: lease.amount.ticker } }
                : `Give a positive amount with at most ${decimals(lease.amount.ticker)} decimals.`;
            }}
          />
          <Policy lease={lease} done={done} />
          <button onClick={() => void act("Close the position at the market", "/api/leases/market-close")}>Close all</button>
        </>
      )}
      {lease.status === "paid_off" && <button onClick={() => void act("Take out what the lease holds", "/api/leases/close")}>Take out</button>}
      {problem && <p class="problem" role="alert">{problem}</p>}
      <History address={lease.address} decimals={decimals} />
    </Card>
  );
}

/** When the lease closes by itself, as shares of debt in the position's worth. */
function Policy({ lease, done }: { lease: Lease; done: () => void }) {
  const { stop_loss: loss, take_profit: profit } = lease.close_policy ?? {};
  const set = (name: "stop_loss" | "take_profit", words: string) => (text: string) => {
    const permille = baseUnits(text, 1);
    return permille && Number(permille) <= 1000
      ? { title: `${words} at ${text} % loan to value`, path: "/api/leases/close-policy", body: { lease_address: lease.address, [name]: Number(permille) } }
      : "Give a percentage above 0 and up to 100 with at most one decimal.";
  };
  return (
    <>
      <AmountForm label={`Stop loss above${loss ? ` (now ${percent(loss / 10)})` : ""}`} unit="% LTV" action="Set stop loss" done={done} make={set("stop_loss", "Stop loss")} />
      <AmountForm label={`Take profit below${profit ? ` (now ${percent(profit / 10)})` : ""}`} unit="% LTV" action="Set take profit" done={done} make={set("take_profit", "Take profit")} />
    </>
  );
}

function History({ address, decimals }: { address: string; decimals: (ticker: string) => number }) {
  const events = useMemo(() => new Resource<LeaseEvent[]>(() => get(`/api/leases/${address}/history`), 10_000), [address]);
  return (
    <>
      <h3>History</h3>
      <Show of={useResource(events)} lines={2}>
        {(rows) => (
          <Table
            rows={rows}
            keyOf={(row) => `${row.tx_hash}-${row.action}-${row.timestamp}-${row.amount}`}
            empty="Nothing recorded yet."
            columns={[
              { title: "When", cell: (row) => (row.timestamp ? when(row.timestamp) : "–") },
              { title: "What", cell: (row) => <span data-event={row.action}>{row.action.replace(/[_-]/g, " ")}</span> },
              { title: "Amount", cell: (row) => (row.amount ? `${units(row.amount, decimals(row.symbol ?? ""))} ${row.symbol ?? ""}` : "–"), end: true },
              { title: "Transaction", cell: (row) => (row.tx_hash ? <code title={row.tx_hash}>{row.tx_hash.slice(0, 10)}</code> : "–") },
            ]}
          />
        )}
      </Show>
    </>
  );
}
