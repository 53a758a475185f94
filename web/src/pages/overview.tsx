import { useState } from "preact/hooks";
import { get } from "../api/client";
import { earnStats, loanFigures, markets, overviewFigures, pools, prices } from "../state/shared";
import { keyed, Resource, useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { AreaChart, Keys, thinned, type Point, type Series } from "../ui/chart";
import { Coin, Named, protocolName, shortName } from "../ui/coin";
import { compactUsd, count, percent, tickPercent, tickUsd, usd } from "../ui/format";
import { Card, Delta, Figure, Figures, Segments, Share, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";

type History = { lp_pool_timestamp: string; supplied: string; borrowed: string }[];
const PERIODS = [["3m", mark("3M")], ["6m", mark("6M")], ["12m", mark("1Y")]] as const;
type Period = (typeof PERIODS)[number][0];
const historyOf = (period: Period) => keyed(`history ${period}`, () => new Resource<History>(() => get("/api/etl/supplied-borrowed-history", { period }), 300_000));

export function Overview() {
  const stats = useResource(earnStats).value;
  const loans = useResource(loanFigures).value;
  const overview = useResource(overviewFigures).value;
  return (
    <>
      <Title text={t("Overview")} about={t("Lend, lease and stake on one chain. Figures are live.")} />
      <Figures kind="tiles">
        <Figure label={t("Value locked")} value={compactUsd(stats?.total_value_locked)} note={t("{count} pools", { count: stats?.pools_count ?? "–" })} />
        <Figure label={t("Open interest")} value={compactUsd(loans?.open_interest?.open_interest)} note={t("in positions worth {value}", { value: compactUsd(loans?.open_position_value?.open_position_value) })} />
        <Figure label={t("Average APY")} value={percent(stats?.average_apy)} note={t("for lenders")} />
        <Figure label={t("Volume")} value={compactUsd(overview?.tx_volume?.total_tx_value)} note={t("since the first block")} />
      </Figures>
      <div class="wide-left">
        <Supplied />
        <PriceList />
      </div>
      <PoolTable />
    </>
  );
}

function Supplied() {
  const [period, setPeriod] = useState<Period>("3m");
  const [view, setView] = useState<"funds" | "use">("funds");
  const state = useResource(historyOf(period));
  return (
    <Card
      kind="fill"
      title={t("Supplied and borrowed")}
      aside={
        <span class="buttons">
          <Segments label={t("Show")} value={view} choose={setView} options={[["funds", t("Funds")], ["use", t("Utilization")]]} />
          <Segments label={t("Period")} value={period} choose={setPeriod} options={PERIODS.map(([key, name]) => [key, t(name)] as const)} />
        </span>
      }
    >
      <Show of={state} lines={9}>
        {(rows) => {
          const series = view === "funds" ? funds(rows) : utilization(rows);
          const format = view === "funds" ? compactUsd : percent;
          return (
            <div class="stack">
              <Keys series={series} format={format} />
              <AreaChart label={t("Supplied and borrowed")} format={format} tick={view === "funds" ? tickUsd : tickPercent} series={series} />
            </div>
          );
        }}
      </Show>
    </Card>
  );
}

function pointsOf(rows: History, value: (row: History[number]) => number): Point[] {
  return thinned(rows.map((row): Point => [new Date(row.lp_pool_timestamp).getTime(), value(row)]).sort((a, b) => a[0] - b[0]));
}

function funds(rows: History): Series[] {
  return [
    { name: t("Supplied"), points: pointsOf(rows, (row) => Number(row.supplied)), tone: "first" },
    { name: t("Borrowed"), points: pointsOf(rows, (row) => Number(row.borrowed)), tone: "second" },
  ];
}

function utilization(rows: History): Series[] {
  return [{ name: t("Utilization"), points: pointsOf(rows, (row) => (Number(row.supplied) ? (Number(row.borrowed) / Number(row.supplied)) * 100 : 0)), tone: "first" }];
}

function PriceList() {
  const state = useResource(prices);
  const changes = useResource(markets).value ?? [];
  const change = (ticker: string) => changes.find((one) => (one.position_type.toLowerCase() === "short" ? one.lpn : one.asset) === ticker)?.price_change_24h;
  return (
    <Card title={t("Prices")} aside={<small>{t("change of 24 hours")}</small>}>
      <Show of={state} lines={12}>
        {({ prices: all }) => {
          const seen = new Map(Object.values(all).map((price) => [price.symbol, price]));
          return (
            <ul class="prices" aria-live="off">
              {[...seen.values()]
                .sort((a, b) => Number(b.price_usd) - Number(a.price_usd))
                .map((price) => (
                  <li key={price.symbol}>
                    <span class="named">
                      <Coin ticker={price.symbol} />
                      <span>{shortName(price.symbol)}</span>
                    </span>
                    <b data-price={price.symbol}>{usd(price.price_usd)}</b>
                    <Delta value={change(price.symbol)} />
                  </li>
                ))}
            </ul>
          );
        }}
      </Show>
    </Card>
  );
}

function PoolTable() {
  const state = useResource(pools);
  return (
    <Card title={t("Pools")} aside={<a href="/earn">{t("Earn")}</a>}>
      <Show of={state} lines={9}>
        {(rows) => (
          <Table
            label={t("Pools")}
            rows={[...rows].sort((a, b) => Number(b.total_deposited_usd ?? 0) - Number(a.total_deposited_usd ?? 0))}
            keyOf={(row) => row.protocol}
            empty={t("No pools are configured.")}
            columns={[
              { title: t("Pool"), cell: (row) => <Named ticker={row.currency} note={protocolName(row.protocol)} /> },
              { title: t("Deposited"), cell: (row) => compactUsd(row.total_deposited_usd), end: true },
              { title: t("Positions"), cell: (row) => <Positions protocol={row.protocol} />, end: true },
              { title: t("Utilization"), cell: (row) => <Share value={row.utilization} />, end: true },
              { title: t("APY"), cell: (row) => <b>{percent(row.apy)}</b>, end: true },
            ]}
          />
        )}
      </Show>
    </Card>
  );
}

function Positions({ protocol }: { protocol: string }) {
  const all = useResource(markets).value;
  return <>{all ? count(all.filter((one) => one.protocol === protocol).reduce((sum, one) => sum + one.open_positions, 0)) : "–"}</>;
}
