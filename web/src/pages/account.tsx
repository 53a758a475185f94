import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import { Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { short, usd, when } from "../ui/format";
import { Card, Figure, Show, Table } from "../ui/parts";
import { obstacle, toggle } from "../push/subscription";
import { account } from "../wallet/wallet";

interface Entry {
  tx_hash: string;
  timestamp: string;
  type: string;
  block: number;
  code: number;
  memo: string | null;
  data: { msg?: string } | null;
}
interface Dashboard {
  earnings: { earnings: string; rewards: string } | null;
  realized_pnl: { realized_pnl: number } | null;
}

export function Account() {
  const address = account.value?.address;
  if (!address) return (
    <>
      <h1>{t("Account")}</h1>
      <p class="quiet">{t("Connect a wallet to see what it did.")}</p>
    </>
  );
  return <History key={address} address={address} />;
}

function History({ address }: { address: string }) {
  const entries = useMemo(() => new Resource<Entry[]>(() => get("/api/etl/txs", { address, limit: 50 }), 10_000), [address]);
  const dashboard = useMemo(() => new Resource<Dashboard>(() => get("/api/etl/batch/user-dashboard", { address }), 30_000), [address]);
  return (
    <>
      <h1>{t("Account")}</h1>
      <Card title={short(address)}>
        <Show of={useResource(dashboard)} lines={2}>
          {(value) => (
            <dl class="figures">
              <Figure label="Lending earnings" value={usd(value.earnings?.earnings)} />
              <Figure label="Realized PnL" value={usd(value.realized_pnl?.realized_pnl)} />
            </dl>
          )}
        </Show>
      </Card>
      <Notifications address={address} />
      <Card title="History">
        <Show of={useResource(entries)} lines={6}>
          {(rows) => (
            <Table
              rows={rows}
              keyOf={(row) => `${row.tx_hash}-${row.type}`}
              empty="Nothing yet."
              columns={[
                { title: "When", cell: (row) => when(row.timestamp) },
                { title: "What", cell: (row) => what(row) },
                { title: "Transaction", cell: (row) => <code title={row.tx_hash}>{row.tx_hash.slice(0, 10)}</code> },
                { title: "Block", cell: (row) => row.block, end: true },
                { title: "Result", cell: (row) => (row.code ? <span class="bad">failed</span> : <span class="good">done</span>) },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function Notifications({ address }: { address: string }) {
  const [state, setState] = useState<{ on?: boolean; problem?: string; busy?: boolean }>({});
  const hindered = obstacle();
  const press = async () => {
    setState({ ...state, busy: true });
    try {
      setState({ on: await toggle(address) });
    } catch (error) {
      setState({ problem: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <Card title="Notifications">
      <p class="quiet">{hindered ?? t("This browser can tell you when a lease of this account is at risk.")}</p>
      {!hindered && (
        <button class="second" disabled={state.busy === true} onClick={() => void press()}>
          {t(state.on ? "Stop notifications" : "Notify me")}
        </button>
      )}
      {state.on !== undefined && <p role="status">{t(state.on ? "Notifications are on." : "Notifications are off.")}</p>}
      {state.problem && <p class="problem" role="alert">{state.problem}</p>}
    </Card>
  );
}

/** The contract call's name where there is one, else the message's. */
function what(entry: Entry): string {
  const called = /^\{"(\w+)"/.exec(entry.data?.msg ?? "")?.[1];
  return (called ?? entry.type.split(".").at(-1)?.replace(/^Msg/, "") ?? entry.type).replace(/_/g, " ");
}
