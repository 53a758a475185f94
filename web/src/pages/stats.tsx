import { get } from "../api/client";
import type { Market } from "../api/types";
import { loanFigures, markets, overviewFigures } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { Named, protocolName, shortName, side } from "../ui/coin";
import { compactUsd, count, percent, signedUsd, usd } from "../ui/format";
import { Card, Delta, Empty, Figure, Figures, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";

const monthly = new Resource<{ amount: string; date: string }[]>(() => get("/api/etl/leases-monthly"), 300_000);
const unrealized = new Resource<{ unrealized_pnl: string }>(() => get("/api/etl/unrealized-pnl"), 60_000);
interface PoolFigures {
  protocols: { protocol: string; utilization: string; borrow_apr: string; earn_apr: string; utilization_optimal: string }[];
}
const rates = new Resource<PoolFigures>(() => get("/api/etl/pools"), 60_000);
const LARGEST = 8;

export function Stats() {
  const value = useResource(overviewFigures).value;
  const loans = useResource(loanFigures).value;
  const floating = useResource(unrealized).value;
  const all = useResource(markets);
  const open = all.value?.reduce((sum, one) => sum + one.open_positions, 0);
  return (
    <>
      <Title text={t("Stats")} about={t("The protocol in figures, from its index.")} />
      <Figures kind="tiles">
        <Figure label={t("Value locked")} value={compactUsd(value?.tvl?.total_value_locked)} />
        <Figure label={t("Volume")} value={compactUsd(value?.tx_volume?.total_tx_value)} />
        <Figure label={t("Revenue")} value={compactUsd(value?.revenue?.revenue)} />
        <Figure label={t("Bought back")} value={count(value?.buyback_total?.buyback_total)} />
        <Figure label={t("Open positions")} value={count(open)} />
        <Figure label={t("Open interest")} value={compactUsd(loans?.open_interest?.open_interest)} />
        <Figure label={t("Realized profit")} value={signedUsd(value?.realized_pnl_stats?.amount)} />
        <Figure label={t("Unrealized profit")} value={signedUsd(floating?.unrealized_pnl)} />
      </Figures>
      <div class="columns">
        <Card title={t("Largest markets")}>
          <Show of={all} lines={8}>
            {(rows) => <Bars rows={largest(rows)} />}
          </Show>
        </Card>
        <Card title={t("Leases opened by month")}>
          <Show of={useResource(monthly)} lines={8}>
            {(rows) => <Bars rows={[...rows].reverse().slice(-LARGEST).map((row) => ({ name: new Date(row.date).toLocaleDateString(document.documentElement.lang, { month: "long", year: "numeric", timeZone: "UTC" }), value: Number(row.amount), second: false }))} />}
          </Show>
        </Card>
      </div>
      <Card title={t("Rates")}>
        <Show of={useResource(rates)} lines={7}>
          {({ protocols: rows }) => (
            <Table
              label={t("Rates")}
              rows={rows}
              keyOf={(row) => row.protocol}
              empty={t("No pools are configured.")}
              columns={[
                { title: t("Pool"), cell: (row) => <b>{protocolName(row.protocol)}</b> },
                { title: t("Utilization"), cell: (row) => percent(row.utilization), end: true },
                { title: t("Best at"), cell: (row) => percent(row.utilization_optimal), end: true },
                { title: t("Borrowers pay"), cell: (row) => percent(row.borrow_apr), end: true },
                { title: t("Lenders earn"), cell: (row) => <b>{percent(row.earn_apr)}</b>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
      <Card title={t("Lease markets")}>
        <Show of={all} lines={9}>
          {(rows) => (
            <Table
              label={t("Lease markets")}
              rows={rows}
              keyOf={(row) => `${row.protocol}-${row.asset}`}
              empty={t("No open positions.")}
              columns={[
                { title: t("Market"), cell: (row) => <Named ticker={watched(row)} name={`${shortName(watched(row))} ${side(row.position_type)}`} note={protocolName(row.protocol)} /> },
                { title: t("Positions"), cell: (row) => count(row.open_positions), end: true },
                { title: t("Value"), cell: (row) => compactUsd(row.value), end: true },
                { title: t("Leverage"), cell: (row) => `${Number(row.mean_leverage).toFixed(2)}×`, end: true },
                { title: t("Price"), cell: (row) => usd(row.price), end: true },
                { title: t("24 hours"), cell: (row) => <Delta value={row.price_change_24h} />, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

/** The currency a market bets on: what it leases, or what it borrows to sell. */
function watched(row: Market): string {
  return row.position_type.toLowerCase() === "short" ? row.lpn : row.asset;
}

function largest(rows: Market[]) {
  return [...rows]
    .sort((a, b) => Number(b.value) - Number(a.value))
    .slice(0, LARGEST)
    .map((row) => ({ name: `${shortName(watched(row))} ${side(row.position_type)}`, value: Number(row.value), second: row.position_type.toLowerCase() === "short" }));
}

function Bars({ rows }: { rows: { name: string; value: number; second: boolean }[] }) {
  const most = Math.max(...rows.map((row) => row.value), 1);
  if (rows.length === 0) return <Empty icon="stats" title={t("Nothing recorded yet.")} />;
  return (
    <ul class="bars">
      {rows.map((row, index) => (
        <li key={`${row.name}-${index}`}>
          <span>{row.name}</span>
          <i class={row.second ? "second" : ""} style={{ width: `${(row.value / most) * 100}%` }} />
          <b>{compactUsd(row.value)}</b>
        </li>
      ))}
    </ul>
  );
}
