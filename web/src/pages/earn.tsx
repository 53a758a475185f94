import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Currency, Pool } from "../api/types";
import { currencies, pools } from "../state/shared";
import { livePositions } from "../live/resources";
import { Resource, useResource } from "../state/resource";
import { AmountForm } from "../ui/form";
import { baseUnits, compactUsd, percent, units, usd } from "../ui/format";
import { t } from "../text/text";
import { Card, Show, Table } from "../ui/parts";
import { account } from "../wallet/wallet";

interface Positions {
  positions: { protocol: string; deposited_nlpn: string; deposited_lpn: string; deposited_usd: string | null }[];
  total_deposited_usd: string | null;
}

export function Earn() {
  const state = useResource(pools);
  const known = useResource(currencies);
  const [chosen, choose] = useState<string | null>(null);
  const address = account.value?.address ?? null;
  const resource = useMemo(
    () => (address ? new Resource<Positions>(() => get("/api/earn/positions", { address }), 15_000, livePositions(address)) : null),
    [address],
  );
  return (
    <>
      <h1>{t("Earn")}</h1>
      <Card title="Pools">
        <Show of={state} lines={6}>
          {(rows) => (
            <Table
              rows={rows}
              keyOf={(row) => row.protocol}
              empty="No pools are configured."
              columns={[
                { title: "Pool", cell: (row) => <b>{row.currency}</b> },
                { title: "Protocol", cell: (row) => row.protocol },
                { title: "Deposited", cell: (row) => compactUsd(row.total_deposited_usd), end: true },
                { title: "Utilization", cell: (row) => percent(row.utilization), end: true },
                { title: "APY", cell: (row) => percent(row.apy), end: true },
                { title: "", cell: (row) => <button class="second" aria-pressed={chosen === row.protocol} onClick={() => choose(row.protocol)}>Choose</button>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
      {chosen && state.value && <Desk key={chosen} pool={state.value.find((pool) => pool.protocol === chosen)} currency={currencyOf(known.value?.currencies, chosen, state.value)} refresh={() => void resource?.refresh()} />}
      {resource && <Mine resource={resource} all={known.value?.currencies} pools={state.value ?? []} />}
    </>
  );
}

function currencyOf(all: Record<string, Currency> | undefined, protocol: string, rows: Pool[]): Currency | undefined {
  const pool = rows.find((row) => row.protocol === protocol);
  return pool && all?.[`${pool.currency}@${protocol}`];
}

function Desk({ pool, currency, refresh }: { pool: Pool | undefined; currency: Currency | undefined; refresh: () => void }) {
  if (!pool || !currency) return null;
  const amount = (text: string) => baseUnits(text, currency.decimal_digits);
  const wrong = `Give a positive amount with at most ${currency.decimal_digits} decimals.`;
  return (
    <Card title={`${pool.currency} in ${pool.protocol}`}>
      <p class="quiet">Free to withdraw: {units(pool.available_liquidity, currency.decimal_digits)} {pool.currency}</p>
      <AmountForm
        label="Deposit"
        unit={pool.currency}
        action="Deposit"
        done={refresh}
        make={(text) => {
          const base = amount(text);
          return base ? { title: `Deposit ${text} ${pool.currency}`, path: "/api/earn/deposit", body: { protocol: pool.protocol, amount: base } } : wrong;
        }}
      />
      <AmountForm
        label="Withdraw receipts"
        unit={`n${pool.currency}`}
        action="Withdraw"
        done={refresh}
        make={(text) => {
          const base = amount(text);
          return base ? { title: `Withdraw ${text} n${pool.currency}`, path: "/api/earn/withdraw", body: { protocol: pool.protocol, amount: base } } : wrong;
        }}
      />
    </Card>
  );
}

function Mine({ resource, all, pools: rows }: { resource: Resource<Positions>; all: Record<string, Currency> | undefined; pools: Pool[] }) {
  const state = useResource(resource);
  return (
    <Card title="Your deposits">
      <Show of={state} lines={3}>
        {({ positions }) => (
          <Table
            rows={positions}
            keyOf={(row) => row.protocol}
            empty="You have not deposited anything yet. Choose a pool above."
            columns={[
              { title: "Protocol", cell: (row) => row.protocol },
              { title: "Receipts", cell: (row) => units(row.deposited_nlpn, currencyOf(all, row.protocol, rows)?.decimal_digits ?? 6), end: true },
              { title: "Worth", cell: (row) => usd(row.deposited_usd), end: true },
            ]}
          />
        )}
      </Show>
    </Card>
  );
}
