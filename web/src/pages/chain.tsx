import { useState } from "preact/hooks";
import { home, nodeStatus } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { clock, count, when } from "../ui/format";
import { Modal } from "../ui/modal";
import { Card, Facts, Figure, Figures, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";

interface Meta {
  block_id: { hash: string };
  header: { height: string; time: string; proposer_address: string };
  num_txs: string;
}
interface Event {
  type: string;
  attributes: { key: string; value: string }[];
}
interface Found {
  hash: string;
  height: string;
  tx_result: { code: number; log: string; gas_used: string; gas_wanted: string; events: Event[] };
}

async function rpc<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
  const { rpc_url } = await home();
  const response = await fetch(rpc_url, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
  const answer = (await response.json()) as { result?: T; error?: { message: string; data?: string } };
  if (!answer.result) throw new Error(answer.error?.data ?? answer.error?.message ?? t("The node gave no answer."));
  return answer.result;
}

const SHOWN = 12;
const blocks = new Resource<{ block_metas: Meta[] }>(() => rpc("blockchain"), 2_000);
const txs = new Resource<{ txs: Found[] }>(() => rpc("tx_search", { query: "tx.height>0", order_by: "desc", per_page: String(SHOWN) }), 4_000);

export function Chain() {
  const status = useResource(nodeStatus).value;
  const recent = useResource(blocks);
  const [looked, look] = useState<Found | null>(null);
  return (
    <>
      <Title text={t("Chain")} about={t("Blocks and transactions as the node tells them.")} />
      <Figures kind="tiles">
        <Figure label={t("Chain")} value={status?.network ?? "–"} />
        <Figure label={t("Height")} value={count(status?.latest_block_height)} note={status && when(status.latest_block_time)} />
        <Figure label={t("Block time")} value={pace(recent.value?.block_metas)} note={t("over the last blocks")} />
        <Figure label={t("Node")} value={status ? <span class={status.catching_up ? "bad" : "good"}>{status.catching_up ? t("catching up") : t("in sync")}</span> : "–"} />
      </Figures>
      <div class="columns">
        <Card title={t("Blocks")}>
          <Show of={recent} lines={12}>
            {({ block_metas }) => (
              <Table
                label={t("Blocks")}
                rows={block_metas.slice(0, SHOWN)}
                keyOf={(row) => row.header.height}
                empty={t("No blocks.")}
                columns={[
                  { title: t("Height"), cell: (row) => <b>{count(row.header.height)}</b> },
                  { title: t("Hash"), cell: (row) => <code>{row.block_id.hash.slice(0, 10)}</code> },
                  { title: t("Transactions"), cell: (row) => row.num_txs, end: true },
                  { title: t("Time"), cell: (row) => clock(row.header.time), end: true },
                ]}
              />
            )}
          </Show>
        </Card>
        <Card title={t("Transactions")}>
          <Show of={useResource(txs)} lines={12}>
            {({ txs: rows }) => (
              <Table
                label={t("Transactions")}
                rows={rows}
                keyOf={(row) => row.hash}
                empty={t("No transactions yet.")}
                columns={[
                  { title: t("Action"), cell: (row) => <b>{action(row)}</b> },
                  { title: t("Height"), cell: (row) => count(row.height), end: true },
                  { title: t("Result"), cell: (row) => <Result of={row} />, end: true },
                  { title: t("Hash"), cell: (row) => <button class="link" onClick={() => look(row)} aria-label={t("Show transaction {hash}", { hash: row.hash.slice(0, 10) })}><code>{row.hash.slice(0, 10)}</code></button>, end: true },
                ]}
              />
            )}
          </Show>
        </Card>
      </div>
      {looked && <Looked tx={looked} close={() => look(null)} />}
    </>
  );
}

function Result({ of }: { of: Found }) {
  return of.tx_result.code ? <span class="tag bad">{t("code {code}", { code: of.tx_result.code })}</span> : <span class="tag good">{t("done")}</span>;
}

function Looked({ tx, close }: { tx: Found; close: () => void }) {
  const { gas_used, gas_wanted, log, events } = tx.tx_result;
  return (
    <Modal title={action(tx)} close={close}>
      <div class="stack">
        <Facts
          rows={[
            [t("Hash"), <code key="hash">{tx.hash}</code>],
            [t("Height"), count(tx.height)],
            [t("Result"), <Result key="result" of={tx} />],
            [t("Gas"), t("{used} of {wanted}", { used: count(gas_used), wanted: count(gas_wanted) })],
          ]}
        />
        {tx.tx_result.code !== 0 && log && <p class="problem">{log}</p>}
        <details open>
          <summary>{t("{count} events", { count: events.length })}</summary>
          <pre tabIndex={0}>{events.map((event) => `${event.type}\n${event.attributes.map(({ key, value }) => `  ${key}: ${value}`).join("\n")}`).join("\n")}</pre>
        </details>
      </div>
    </Modal>
  );
}

/** Seconds between blocks, on average. */
function pace(metas: Meta[] | undefined): string {
  const [newest, oldest] = [metas?.[0], metas?.at(-1)];
  if (!newest || !oldest || newest === oldest) return "–";
  const seconds = (Date.parse(newest.header.time) - Date.parse(oldest.header.time)) / 1000 / (Number(newest.header.height) - Number(oldest.header.height));
  return t("{seconds} s", { seconds: seconds.toFixed(1) });
}

function action(row: Found): string {
  for (const event of row.tx_result.events)
    if (event.type === "message") {
      const found = event.attributes.find((attribute) => attribute.key === "action");
      if (found) return (found.value.split(".").at(-1) ?? found.value).replace(/^Msg/, "");
    }
  return "–";
}
