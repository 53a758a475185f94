import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Currency, EarnPosition, Pool } from "../api/types";
import { balancesOf, currencies, earnStats, pools } from "../state/shared";
import { livePositions } from "../live/resources";
import { keyed, Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { Named, protocolName, shortName } from "../ui/coin";
import { AmountForm } from "../ui/form";
import { amountOf, compactUsd, percent, usd } from "../ui/format";
import { Card, Facts, Figure, Figures, Share, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";
import { account } from "../wallet/wallet";

interface Positions {
  positions: EarnPosition[];
  total_deposited_usd: string | null;
}

const positionsOf = (address: string) => keyed(`earn ${address}`, () => new Resource<Positions>(() => get("/api/earn/positions", { address }), 15_000, livePositions(address)));

export function Earn() {
  const state = useResource(pools);
  const stats = useResource(earnStats).value;
  const known = useResource(currencies).value?.currencies;
  const [chosen, choose] = useState<string | null>(null);
  const address = account.value?.address ?? null;
  const resource = address ? positionsOf(address) : null;
  const pool = state.value?.find((one) => one.protocol === chosen);
  const currency = pool && known?.[`${pool.currency}@${pool.protocol}`];
  return (
    <>
      <Title text={t("Earn")} about={t("Lend to leases and earn their interest. Withdraw whenever the pool has enough free.")} />
      <Figures kind="tiles">
        <Figure label={t("Value locked")} value={compactUsd(stats?.total_value_locked)} />
        <Figure label={t("Average APY")} value={percent(stats?.average_apy)} />
        <Figure label={t("Best APY")} value={percent(state.value && Math.max(...state.value.map((one) => one.apy)))} />
        {resource ? <Deposited resource={resource} /> : <Figure label={t("Pools")} value={stats?.pools_count ?? "–"} />}
      </Figures>
      {pool && currency && <Desk key={pool.protocol} pool={pool} currency={currency} positions={resource} />}
      {resource && <Mine resource={resource} pools={state.value ?? []} known={known} choose={choose} />}
      <Card title={t("Pools")}>
        <Show of={state} lines={9}>
          {(rows) => (
            <Table
              label={t("Pools")}
              rows={rows}
              keyOf={(row) => row.protocol}
              empty={t("No pools are configured.")}
              columns={[
                { title: t("Pool"), cell: (row) => <Named ticker={row.currency} note={protocolName(row.protocol)} /> },
                { title: t("Deposited"), cell: (row) => compactUsd(row.total_deposited_usd), end: true },
                { title: t("Utilization"), cell: (row) => <Share value={row.utilization} />, end: true },
                { title: t("APY"), cell: (row) => <b>{percent(row.apy)}</b>, end: true },
                { title: "", cell: (row) => <button class="second small" data-pool={row.protocol} aria-pressed={chosen === row.protocol} onClick={() => (choose(row.protocol), scrollTo({ top: 0 }))}>{t("Deposit")}</button>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function Deposited({ resource }: { resource: Resource<Positions> }) {
  return <Figure label={t("Your deposits")} value={usd(useResource(resource).value?.total_deposited_usd)} />;
}

function Desk({ pool, currency, positions }: { pool: Pool; currency: Currency; positions: Resource<Positions> | null }) {
  const address = account.value?.address;
  const name = shortName(pool.currency);
  const digits = currency.decimal_digits;
  const refresh = () => void positions?.refresh();
  return (
    <Card title={<Named ticker={pool.currency} name={t("{currency} pool", { currency: name })} note={protocolName(pool.protocol)} />}>
      <div class="columns">
        <div class="stack" data-desk={pool.protocol}>
          <Held address={address} denom={currency.bank_symbol}>
            {(held) => (
              <AmountForm
                id="deposit"
                label={t("Deposit")}
                unit={name}
                action={t("Deposit")}
                decimals={digits}
                held={held}
                done={refresh}
                make={(amount, text) => ({ title: t("Deposit {amount} {currency}", { amount: text, currency: name }), path: "/api/earn/deposit", body: { protocol: pool.protocol, amount } })}
              />
            )}
          </Held>
          {positions && <Withdraw positions={positions} pool={pool} digits={digits} name={name} done={refresh} />}
        </div>
        <Facts
          rows={[
            [t("APY"), percent(pool.apy)],
            [t("Utilization"), percent(pool.utilization)],
            [t("Free to withdraw"), `${amountOf(pool.available_liquidity, digits)} ${name}`],
            [t("Room for deposits"), pool.deposit_capacity === null ? t("no limit") : `${amountOf(pool.deposit_capacity, digits)} ${name}`],
          ]}
        />
      </div>
    </Card>
  );
}

function Withdraw({ positions, pool, digits, name, done }: { positions: Resource<Positions>; pool: Pool; digits: number; name: string; done: () => void }) {
  const own = useResource(positions).value?.positions.find((one) => one.protocol === pool.protocol);
  if (!own || own.deposited_nlpn === "0") return null;
  return (
    <AmountForm
      id="withdraw"
      label={t("Withdraw receipts (worth {amount} {currency})", { amount: amountOf(own.deposited_lpn, digits), currency: name })}
      unit={`n${name}`}
      action={t("Withdraw")}
      decimals={digits}
      held={own.deposited_nlpn}
      done={done}
      make={(amount, text) => ({ title: t("Withdraw {amount} {currency}", { amount: text, currency: `n${name}` }), path: "/api/earn/withdraw", body: { protocol: pool.protocol, amount } })}
    />
  );
}

/** What the account has of a denom, given to whoever asks for an amount of it. */
export function Held({ address, denom, children }: { address: string | undefined; denom: string; children: (held: string | undefined) => preact.ComponentChildren }) {
  return address ? <HeldBy address={address} denom={denom}>{children}</HeldBy> : <>{children(undefined)}</>;
}

function HeldBy({ address, denom, children }: { address: string; denom: string; children: (held: string | undefined) => preact.ComponentChildren }) {
  const { value } = useResource(balancesOf(address));
  return <>{children(value && (value.balances.find((one) => one.denom === denom)?.amount ?? "0"))}</>;
}

function Mine({ resource, pools: rows, known, choose }: { resource: Resource<Positions>; pools: Pool[]; known: Record<string, Currency> | undefined; choose: (protocol: string) => void }) {
  const state = useResource(resource);
  const poolOf = (row: EarnPosition) => rows.find((one) => one.protocol === row.protocol);
  const digits = (row: EarnPosition) => known?.[`${poolOf(row)?.currency ?? ""}@${row.protocol}`]?.decimal_digits ?? 6;
  if (!state.value?.positions.length) return null;
  return (
    <Card title={t("Your deposits")}>
      <Table
        label={t("Your deposits")}
        rows={state.value.positions}
        keyOf={(row) => row.protocol}
        empty=""
        columns={[
          { title: t("Pool"), cell: (row) => <Named ticker={poolOf(row)?.currency ?? ""} note={protocolName(row.protocol)} /> },
          { title: t("Deposit"), cell: (row) => `${amountOf(row.deposited_lpn, digits(row))} ${shortName(poolOf(row)?.currency ?? "")}`, end: true },
          { title: t("Receipts"), cell: (row) => <span data-receipts={row.protocol}>{amountOf(row.deposited_nlpn, digits(row))}</span>, end: true },
          { title: t("APY"), cell: (row) => percent(poolOf(row)?.apy), end: true },
          { title: t("Worth"), cell: (row) => <b>{usd(row.deposited_usd)}</b>, end: true },
          { title: "", cell: (row) => <button class="second small" onClick={() => (choose(row.protocol), scrollTo({ top: 0 }))}>{t("Manage")}</button>, end: true },
        ]}
      />
    </Card>
  );
}
