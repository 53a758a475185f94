import { get } from "../api/client";
import { Resource, useResource } from "../state/resource";
import { compactUsd, percent, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Figure, Show, Table } from "../ui/parts";

type Batch = Record<string, Record<string, string> | null>;
interface Market {
  protocol: string;
  asset: string;
  position_type: string;
  open_positions: number;
  value: string;
  mean_leverage: string;
  openings_24h: number;
  price: string;
  price_change_24h: string | null;
}

const overview = new Resource<Batch>(() => get("/api/etl/batch/stats-overview"), 60_000);
const markets = new Resource<Market[]>(() => get("/api/etl/lease-markets"), 60_000);

export function Stats() {
  return (
    <>
      <h1>{t("Stats")}</h1>
      <Card>
        <Show of={useResource(overview)} lines={2}>
          {(value) => (
            <dl class="figures">
              <Figure label="Value locked" value={compactUsd(value.tvl?.total_value_locked)} />
              <Figure label="Volume" value={compactUsd(value.tx_volume?.total_tx_value)} />
              <Figure label="Revenue" value={usd(value.revenue?.revenue)} />
              <Figure label="Bought back" value={Number(value.buyback_total?.buyback_total ?? 0).toLocaleString()} />
            </dl>
          )}
        </Show>
      </Card>
      <Card title="Lease markets">
        <Show of={useResource(markets)} lines={6}>
          {(rows) => (
            <Table
              rows={rows}
              keyOf={(row) => `${row.protocol}-${row.asset}`}
              empty="No open positions."
              columns={[
                { title: "Asset", cell: (row) => <b>{row.asset}</b> },
                { title: "Protocol", cell: (row) => row.protocol },
                { title: "Side", cell: (row) => row.position_type },
                { title: "Positions", cell: (row) => row.open_positions, end: true },
                { title: "Value", cell: (row) => compactUsd(row.value), end: true },
                { title: "Leverage", cell: (row) => `${Number(row.mean_leverage).toFixed(2)}×`, end: true },
                { title: "24 h", cell: (row) => <span class={Number(row.price_change_24h) < 0 ? "bad" : "good"}>{percent(row.price_change_24h)}</span>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}
