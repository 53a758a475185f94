import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Asset, Balance } from "../api/types";
import { assets, balancesOf, markets } from "../state/shared";
import { keyed, Resource, useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { AreaChart, Keys, thinned, type Point, type Series } from "../ui/chart";
import { fullName, Named, shortName } from "../ui/coin";
import { amountOf, units, usd } from "../ui/format";
import { Card, Delta, Segments, Share, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";
import { account } from "../wallet/wallet";

const SPANS = [["1", mark("1D")], ["7", mark("1W")], ["30", mark("1M")], ["90", mark("3M")]] as const;
type Span = (typeof SPANS)[number][0];

export function Assets() {
  const state = useResource(assets);
  const changes = useResource(markets).value ?? [];
  const [chosen, choose] = useState<string | null>(null);
  const rows = state.value?.assets ?? [];
  const shown = rows.find((one) => one.ticker === chosen) ?? rows.find((one) => one.ticker === "ATOM") ?? rows[0];
  const change = (row: Asset) => changes.find((one) => (one.position_type.toLowerCase() === "short" ? one.lpn : one.asset) === row.ticker)?.price_change_24h;
  return (
    <>
      <Title text={t("Assets")} about={t("What is priced, held and leased here.")} />
      {account.value && <Holdings key={account.value.address} address={account.value.address} />}
      {shown && <PriceHistory key={shown.ticker} asset={shown} />}
      <Card title={t("All assets")}>
        <Show of={state} lines={12}>
          {({ assets: all }) => (
            <Table
              label={t("All assets")}
              rows={all}
              keyOf={(row) => row.ticker}
              empty={t("No assets are configured.")}
              columns={[
                { title: t("Asset"), cell: (row) => <Named ticker={row.ticker} name={row.displayName} note={row.shortName} /> },
                { title: t("Networks"), cell: (row) => row.networks.join(", ") },
                { title: t("24 hours"), cell: (row) => <Delta value={change(row)} />, end: true },
                { title: t("Price"), cell: (row) => <b>{usd(row.price)}</b>, end: true },
                { title: "", cell: (row) => <button class="second small" aria-pressed={row === shown} onClick={() => (choose(row.ticker), scrollTo({ top: 0 }))}>{t("Chart")}</button>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function PriceHistory({ asset }: { asset: Asset }) {
  const [span, setSpan] = useState<Span>("7");
  const protocol = asset.protocols[0] ?? "";
  const resource = keyed(`price ${asset.ticker} ${protocol} ${span}`, () => new Resource<Point[]>(() => get("/api/etl/prices", { interval: span, key: asset.ticker, protocol }), 60_000));
  const state = useResource(resource);
  return (
    <Card
      title={t("Price of {asset}", { asset: asset.displayName })}
      aside={<Segments label={t("Period")} value={span} choose={setSpan} options={SPANS.map(([key, name]) => [key, t(name)] as const)} />}
    >
      <Show of={state} lines={7}>
        {(rows) => {
          const points = thinned([...rows].sort((a, b) => a[0] - b[0]));
          const series: Series[] = [{ name: asset.shortName, points, tone: "first" }];
          return (
            <div class="stack">
              {points.length > 1 && <Keys series={series} format={usd} />}
              <AreaChart label={t("Price of {asset}", { asset: asset.displayName })} format={usd} fromZero={false} kind="short" series={series} />
            </div>
          );
        }}
      </Show>
    </Card>
  );
}

function Holdings({ address }: { address: string }) {
  const state = useResource(balancesOf(address));
  const total = (rows: Balance[]) => rows.reduce((sum, row) => sum + Number(row.amount_usd ?? 0), 0);
  return (
    <Card title={t("Your balances")} aside={state.value && <b class="number">{usd(total(state.value.balances))}</b>}>
      <Show of={state} lines={6}>
        {({ balances }) => (
          <Table
            label={t("Your balances")}
            rows={[...balances].sort((a, b) => Number(b.amount_usd ?? 0) - Number(a.amount_usd ?? 0))}
            keyOf={(row) => row.denom}
            empty={t("This account holds nothing yet.")}
            columns={[
              { title: t("Asset"), cell: (row) => <Named ticker={tickerOf(row)} name={fullName(tickerOf(row))} note={from(row)} /> },
              { title: t("Amount"), cell: (row) => <span title={units(row.amount, row.decimal_digits)}>{amountOf(row.amount, row.decimal_digits)} {shortName(tickerOf(row))}</span>, end: true },
              { title: t("Share"), cell: (row) => <Share value={total(balances) ? (Number(row.amount_usd ?? 0) / total(balances)) * 100 : 0} />, end: true },
              { title: t("Worth"), cell: (row) => <b>{usd(row.amount_usd)}</b>, end: true },
            ]}
          />
        )}
      </Show>
    </Card>
  );
}

function tickerOf(row: Balance): string {
  return row.key.split("@")[0] ?? row.key;
}

/** The network a balance came from, which tells two denoms of one currency apart; the chain's own came from nowhere. */
function from(row: Balance): string {
  if (!row.denom.startsWith("ibc/")) return t("of this chain");
  const network = row.key.split("@")[1]?.split("-")[0] ?? "";
  return network ? t("from {network}", { network: network[0] + network.slice(1).toLowerCase() }) : "";
}
