import { home, nodeStatus } from "../state/shared";
import { Resource, useResource } from "../state/resource";
import { when } from "../ui/format";
import { t } from "../text/text";
import { Card, Figure, Show, Table } from "../ui/parts";

interface Meta {
  block_id: { hash: string };
  header: { height: string; time: string; proposer_address: string };
  num_txs: string;
}
interface Found {
  hash: string;
  height: string;
  tx_result: { code: number; gas_used: string; events: { type: string; attributes: { key: string; value: string }[] }[] };
}

async function rpc<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
  const { rpc_url } = await home();
  const response = await fetch(rpc_url, { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
  const answer = (await response.json()) as { result?: T; error?: { message: string; data?: string } };
  if (!answer.result) throw new Error(answer.error?.data ?? answer.error?.message ?? "The node gave no answer.");
  return answer.result;
}

const blocks = new Resource<{ block_metas: Meta[] }>(() => rpc("blockchain"), 3_000);
const txs = new Resource<{ txs: Found[] }>(() => rpc("tx_search", { query: "tx.height>0", order_by: "desc", per_page: "15" }), 5_000);

export function Chain() {
  const status = useResource(nodeStatus);
  return (
    <>
      <h1>{t("Chain")}</h1>
      <Card title="Node">
        <Show of={status} lines={2}>
          {(value) => (
            <dl class="figures">
              <Figure label="Chain" value={value.network} />
              <Figure label="Height" value={value.latest_block_height} />
              <Figure label="Last block" value={when(value.latest_block_time)} />
              <Figure label="State" value={value.catching_up ? "catching up" : "in sync"} />
            </dl>
          )}
        </Show>
      </Card>
      <div class="columns">
        <Card title="Blocks">
          <Show of={useResource(blocks)} lines={8}>
            {({ block_metas }) => (
              <Table
                rows={block_metas.slice(0, 12)}
                keyOf={(row) => row.header.height}
                empty="No blocks."
                columns={[
                  { title: "Height", cell: (row) => row.header.height },
                  { title: "Hash", cell: (row) => <code>{row.block_id.hash.slice(0, 10)}</code> },
                  { title: "Txs", cell: (row) => row.num_txs, end: true },
                  { title: "Time", cell: (row) => new Date(row.header.time).toLocaleTimeString(), end: true },
                ]}
              />
            )}
          </Show>
        </Card>
        <Card title="Transactions">
          <Show of={useResource(txs)} lines={8}>
            {({ txs: rows }) => (
              <Table
                rows={rows}
                keyOf={(row) => row.hash}
                empty="No transactions yet."
                columns={[
                  { title: "Hash", cell: (row) => <code>{row.hash.slice(0, 10)}</code> },
                  { title: "Height", cell: (row) => row.height },
                  { title: "Action", cell: action },
                  { title: "Result", cell: (row) => (row.tx_result.code ? <span class="bad">code {row.tx_result.code}</span> : <span class="good">ok</span>) },
                ]}
              />
            )}
          </Show>
        </Card>
      </div>
    </>
  );
}

function action(row: Found): string {
  for (const event of row.tx_result.events)
    if (event.type === "message") {
      const found = event.attributes.find((attribute) => attribute.key === "action");
      if (found) return found.value.split(".").at(-1) ?? found.value;
    }
  return "–";
}
