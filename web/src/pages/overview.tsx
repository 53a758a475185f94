import { get } from "../api/client";
import { earnStats, pools, prices } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { LineChart } from "../ui/chart";
import { compactUsd, percent, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Figure, Show, Table } from "../ui/parts";

type History = { lp_pool_timestamp: string; supplied: string; borrowed: string }[];
const history = new Resource<History>(() => get("/api/etl/supplied-borrowed-history", { period: "3m" }), 300_000);
const loans = new Resource<Record<string, Record<string, string>>>(() => get("/api/etl/batch/loans-stats"), 60_000);

export function Overview() {
  const stats = useResource(earnStats);
  return (
    <>
      <h1>{t("Lend, lease and stake")}</h1>
      <Card>
        <Show of={stats} lines={2}>
          {(value) => (
            <dl class="figures">
              <Figure label="Value locked" value={compactUsd(value.total_value_locked)} />
              <Figure label="Pools" value={value.pools_count} />
              <Figure label="Average APY" value={percent(value.average_apy)} />
              <OpenInterest />
            </dl>
          )}
        </Show>
      </Card>
      <div class="columns">
        <Supplied />
        <PriceList />
      </div>
      <PoolTable />
    </>
  );
}

function OpenInterest() {
  const { value } = useResource(loans);
  const interest = value?.open_interest?.open_interest;
  return <Figure label="Open interest" value={compactUsd(interest)} />;
}

function Supplied() {
  const state = useResource(history);
  return (
    <Card title="Supplied and borrowed">
      <Show of={state} lines={5}>
        {(rows) => {
          const points = (member: "supplied" | "borrowed"): [number, number][] =>
            rows.map((row): [number, number] => [new Date(row.lp_pool_timestamp).getTime(), Number(row[member])]).sort((a, b) => a[0] - b[0]);
          return (
            <LineChart
              label="Supplied and borrowed funds in USD"
              format={compactUsd}
              series={[
                { name: "Supplied", points: points("supplied"), tone: "first" },
                { name: "Borrowed", points: points("borrowed"), tone: "second" },
              ]}
            />
          );
        }}
      </Show>
    </Card>
  );
}

function PriceList() {
  const state = useResource(prices);
  return (
    <Card title="Prices">
      <Show of={state} lines={6}>
        {({ prices: all }) => {
          const seen = new Map(Object.values(all).map((price) => [price.symbol, price]));
          return (
            <ul class="prices" aria-live="off">
              {[...seen.values()]
                .sort((a, b) => a.symbol.localeCompare(b.symbol))
                .map((price) => (
                  <li key={price.symbol}>
                    <span>{price.symbol}</span> <b data-price={price.symbol}>{usd(price.price_usd)}</b>
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
    <Card title="Pools" aside={<a href="/earn">Earn</a>}>
      <Show of={state} lines={5}>
        {(rows) => (
          <Table
            rows={rows}
            keyOf={(row) => row.protocol}
            empty="No pools are configured."
            columns={[
              { title: "Protocol", cell: (row) => row.protocol },
              { title: "Currency", cell: (row) => row.currency },
              { title: "Deposited", cell: (row) => compactUsd(row.total_deposited_usd), end: true },
              { title: "Utilization", cell: (row) => <Meter share={row.utilization} />, end: true },
              { title: "APY", cell: (row) => percent(row.apy), end: true },
            ]}
          />
        )}
      </Show>
    </Card>
  );
}

function Meter({ share }: { share: number }) {
  return (
    <span class="meter" title={percent(share)}>
      <span style={{ width: `${Math.min(100, Math.max(0, share))}%` }} />
      <b>{percent(share)}</b>
    </span>
  );
}
