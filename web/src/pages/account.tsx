import { get } from "../api/client";
import { keyed, Resource, useResource } from "../state/resource";
import { balancesOf } from "../state/shared";
import { mark, t } from "../text/text";
import { AreaChart, Keys, thinned, type Point, type Series } from "../ui/chart";
import { compactUsd, percent, short, signedUsd, tickUsd, usd, when } from "../ui/format";
import { Card, Empty, Figure, Figures, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";
import { choosing } from "../wallet/choosing";
import { coinText } from "../wallet/decode";
import { account } from "../wallet/wallet";
import { Notifications } from "./notifications";

interface Entry {
  tx_hash: string;
  index: number;
  timestamp: string;
  type: string;
  block: number;
  code: number;
  data: { msg?: string; funds?: { amount: string; denom: string }[]; amount?: { amount: string; denom: string } | { amount: string; denom: string }[] } | null;
}
interface Timed {
  amount: string;
  time: string;
}
interface Dashboard {
  earnings: { earnings: string; rewards: string } | null;
  realized_pnl: { realized_pnl: number } | null;
  position_debt_value: { position: Timed[]; debt: Timed[] } | null;
}
interface Record_ {
  pnl: number;
  tx_volume: number;
  win_rate: number;
}
const CALLS: Record<string, string> = {
  open_lease: mark("Opened a lease"),
  repay: mark("Repaid a lease"),
  close_position: mark("Closed a position"),
  close: mark("Took out a lease's holding"),
  change_close_policy: mark("Changed a close policy"),
  deposit: mark("Deposited into a pool"),
  burn: mark("Withdrew from a pool"),
  claim_rewards: mark("Claimed rewards"),
  MsgDelegate: mark("Delegated"),
  MsgUndelegate: mark("Undelegated"),
  MsgBeginRedelegate: mark("Redelegated"),
  MsgWithdrawDelegatorReward: mark("Claimed staking rewards"),
  MsgVote: mark("Voted"),
  MsgTransfer: mark("Sent to another chain"),
  MsgRecvPacket: mark("Received from another chain"),
  MsgSend: mark("Sent"),
};

const entriesOf = (address: string) => keyed(`txs ${address}`, () => new Resource<Entry[]>(() => get("/api/etl/txs", { address, limit: 50 }), 10_000));
const dashboardOf = (address: string) => keyed(`dashboard ${address}`, () => new Resource<Dashboard>(() => get("/api/etl/batch/user-dashboard", { address }), 30_000));
const recordOf = (address: string) => keyed(`record ${address}`, () => new Resource<Record_>(() => get("/api/etl/history-stats", { address }), 60_000));

export function Account() {
  const address = account.value?.address;
  if (address) return <Known key={address} address={address} />;
  return (
    <>
      <Title text={t("Account")} about={t("What an account has, owes and did.")} />
      <Card>
        <Empty icon="account" title={t("No wallet is connected")} text={t("Connect a wallet to see what it did.")}>
          <button onClick={() => (choosing.value = true)}>{t("Connect wallet")}</button>
        </Empty>
      </Card>
    </>
  );
}

function Known({ address }: { address: string }) {
  const held = useResource(balancesOf(address)).value;
  const dashboard = useResource(dashboardOf(address));
  const record = useResource(recordOf(address)).value;
  const worth = held?.balances.reduce((sum, one) => sum + Number(one.amount_usd ?? 0), 0);
  return (
    <>
      <Title text={t("Account")} about={`${account.value?.name ?? ""} · ${short(address)}`} />
      <Figures kind="tiles">
        <Figure label={t("Balances")} value={compactUsd(worth)} />
        <Figure label={t("Lending earnings")} value={usd(dashboard.value?.earnings?.earnings)} />
        <Figure label={t("Realized profit")} value={signedUsd(dashboard.value?.realized_pnl?.realized_pnl)} />
        <Figure label={t("Leases won")} value={percent(record?.win_rate)} note={t("volume {value}", { value: compactUsd(record?.tx_volume) })} />
      </Figures>
      <div class="wide-left">
        <Card kind="fill" title={t("Positions and debt, twenty days")}>
          <Show of={dashboard} lines={7}>
            {({ position_debt_value: found }) => {
              const series: Series[] = [
                { name: t("Positions"), points: pointsOf(found?.position), tone: "first" },
                { name: t("Debt"), points: pointsOf(found?.debt), tone: "second" },
              ];
              if (series.every((one) => one.points.every(([, value]) => value === 0))) return <Empty icon="leases" title={t("No leases in that time")} />;
              return (
                <div class="stack">
                  <Keys series={series} format={compactUsd} />
                  <AreaChart label={t("Positions and debt")} series={series} format={compactUsd} tick={tickUsd} />
                </div>
              );
            }}
          </Show>
        </Card>
        <Notifications address={address} />
      </div>
      <Card title={t("History")}>
        <Show of={useResource(entriesOf(address))} lines={8}>
          {(rows) => (
            <Table
              label={t("History")}
              rows={rows}
              keyOf={(row) => `${row.tx_hash}-${row.index}`}
              empty={t("Nothing yet. What this account does appears here once it is indexed.")}
              columns={[
                { title: t("What"), cell: (row) => <b data-tx={row.tx_hash}>{what(row)}</b> },
                { title: t("Amount"), cell: (row) => amounts(row), end: true },
                { title: t("When"), cell: (row) => when(row.timestamp), end: true },
                { title: t("Block"), cell: (row) => row.block, end: true },
                { title: t("Transaction"), cell: (row) => <code title={row.tx_hash}>{row.tx_hash.slice(0, 10)}</code>, end: true },
                { title: t("Result"), cell: (row) => (row.code ? <span class="tag bad">{t("failed")}</span> : <span class="tag good">{t("done")}</span>), end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function pointsOf(rows: Timed[] | undefined): Point[] {
  return thinned((rows ?? []).map((row): Point => [new Date(row.time).getTime(), Number(row.amount)]).sort((a, b) => a[0] - b[0]));
}

/** The contract call's name where there is one, else the message's. */
function what(entry: Entry): string {
  const called = /^\{"(\w+)"/.exec(entry.data?.msg ?? "")?.[1];
  const name = called ?? entry.type.split(".").at(-1) ?? entry.type;
  return CALLS[name] ? t(CALLS[name] ?? "") : name.replace(/^Msg/, "").replace(/_/g, " ");
}

function amounts(entry: Entry): string {
  const given = entry.data?.funds ?? entry.data?.amount;
  const coins = (Array.isArray(given) ? given : given ? [given] : []).filter((one) => typeof one?.denom === "string");
  return coins.length ? coins.map(coinText).join(", ") : "–";
}
