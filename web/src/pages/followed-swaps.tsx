/** Swaps of this browser, followed until they have arrived; a reload does not lose them. */
import { signal } from "@preact/signals";
import { get } from "../api/client";
import { keyed, Resource, useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { short } from "../ui/format";
import { Card, Empty, Show } from "../ui/parts";

interface Kept {
  hash: string;
  title: string;
}
interface Status {
  state: string;
  transfer_sequence?: Record<string, { state?: string; src_chain_id?: string; dst_chain_id?: string }>[];
  error?: { message?: string } | null;
}
const STORED = "swaps";
const MOST = 5;
const STATES: Record<string, [string, string]> = {
  STATE_SUBMITTED: [mark("Sent; not in a block yet."), "warn"],
  STATE_PENDING: [mark("On its way."), "warn"],
  STATE_COMPLETED_SUCCESS: [mark("Arrived."), "good"],
  STATE_COMPLETED_ERROR: [mark("Failed; what was sent is returned."), "bad"],
  STATE_ABANDONED: [mark("Lost sight of it. Look at your balances."), "bad"],
};

const swaps = signal<Kept[]>(read());

function read(): Kept[] {
  try {
    const found = JSON.parse(localStorage.getItem(STORED) ?? "[]") as Kept[];
    return Array.isArray(found) ? found.filter((one) => typeof one.hash === "string" && typeof one.title === "string") : [];
  } catch {
    return [];
  }
}

export function followSwap(swap: Kept): void {
  swaps.value = [swap, ...swaps.value.filter((one) => one.hash !== swap.hash)].slice(0, MOST);
  localStorage.setItem(STORED, JSON.stringify(swaps.value));
}

export function Followed({ chain }: { chain: string }) {
  return (
    <Card title={t("Your swaps")}>
      {swaps.value.length === 0 ? (
        <Empty icon="swap" title={t("No swaps yet")} text={t("A swap is followed here from block to block until it has arrived.")} />
      ) : (
        <div class="stack">
          {swaps.value.map((one) => (
            <One key={one.hash} swap={one} chain={chain} />
          ))}
        </div>
      )}
    </Card>
  );
}

function One({ swap, chain }: { swap: Kept; chain: string }) {
  const state = useResource(keyed(`swap ${swap.hash}`, () => new Resource<Status>(() => get(`/api/swap/status/${swap.hash}`, { chain_id: chain }), 1_500)));
  return (
    <div class="step stack">
      <span>
        <b>{swap.title}</b> <small><code title={swap.hash}>{short(swap.hash)}</code></small>
      </span>
      <Show of={state} lines={2}>
        {(value) => {
          const [words, tone] = STATES[value.state] ?? [value.state, ""];
          return (
            <div class="stack" role="status" data-state={value.state}>
              <span><span class={`tag ${tone}`}>{t(words)}</span></span>
              {value.error?.message && <p class="problem">{value.error.message}</p>}
              <ol class="route">
                {(value.transfer_sequence ?? []).flatMap((one) =>
                  Object.values(one).map((leg, index) => (
                    <li key={`${leg.src_chain_id}-${leg.dst_chain_id}-${index}`}>
                      {leg.src_chain_id} → {leg.dst_chain_id} <span class="tag">{(leg.state ?? "").replace("TRANSFER_", "").toLowerCase()}</span>
                    </li>
                  )),
                )}
              </ol>
            </div>
          );
        }}
      </Show>
    </div>
  );
}
