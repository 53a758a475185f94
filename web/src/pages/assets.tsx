import { get } from "../api/client";
import type { Balance } from "../api/types";
import { assets } from "../state/shared";
import { liveBalances } from "../live/resources";
import { Resource, useResource } from "../state/resource";
import { units, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Show, Table } from "../ui/parts";
import { account } from "../wallet/wallet";
import { useMemo } from "preact/hooks";

export function Assets() {
  const state = useResource(assets);
  return (
    <>
      <h1>{t("Assets")}</h1>
      {account.value && <Holdings key={account.value.address} address={account.value.address} />}
      <Card title="All assets">
        <Show of={state} lines={8}>
          {({ assets: rows }) => (
            <Table
              rows={rows}
              keyOf={(row) => row.ticker}
              empty="No assets are configured."
              columns={[
                { title: "Asset", cell: (row) => <b>{row.displayName}</b> },
                { title: "Ticker", cell: (row) => row.shortName },
                { title: "Networks", cell: (row) => row.networks.join(", ") },
                { title: "Price", cell: (row) => usd(row.price), end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function Holdings({ address }: { address: string }) {
  const resource = useMemo(() => new Resource<{ balances: Balance[] }>(() => get("/api/balances", { address }), 15_000, liveBalances(address)), [address]);
  const state = useResource(resource);
  return (
    <Card title="Your balances">
      <Show of={state} lines={4}>
        {({ balances }) => (
          <Table
            rows={balances}
            keyOf={(row) => row.denom}
            empty="This account holds nothing yet."
            columns={[
              { title: "Currency", cell: (row) => row.key.split("@")[0] },
              { title: "Amount", cell: (row) => units(row.amount, row.decimal_digits), end: true },
              { title: "Worth", cell: (row) => usd(row.amount_usd), end: true },
            ]}
          />
        )}
      </Show>
    </Card>
  );
}
