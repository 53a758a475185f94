/** The connected wallet's leases and what can be done with each. */
import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Lease, LeaseEvent, Leases as Answer } from "../api/types";
import { currencies, prices, protocols } from "../state/shared";
import { keyed, Resource, useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { Named, protocolName, shortName, side } from "../ui/coin";
import { AmountForm, BuildButton } from "../ui/form";
import { amountOf, percent, short, signedUsd, usd, when } from "../ui/format";
import { Card, Delta, Empty, Figure, Figures, Show } from "../ui/parts";
import { Table } from "../ui/table";
import { Held } from "./earn";
import { account } from "../wallet/wallet";

const STATUSES: Record<string, [string, string]> = {
  opening: [mark("opening"), "warn"],
  opened: [mark("open"), "good"],
  paid_off: [mark("paid off"), "good"],
  closing: [mark("closing"), "warn"],
  closed: [mark("closed"), ""],
  liquidated: [mark("liquidated"), "bad"],
};
/** What an open lease may be doing; until it is done, the contract refuses everything else. */
const ACTIVITIES: Record<string, string> = {
  repayment: mark("repaying"),
  close: mark("selling"),
  liquidation: mark("being liquidated"),
};
const EVENTS: Record<string, string> = {
  open: mark("Opened"),
  repay: mark("Repaid"),
  close: mark("Closed and paid out"),
  market_close: mark("Sold and closed"),
  "market-close": mark("Sold and closed"),
  liquidation: mark("Liquidation"),
};

export function OwnLeases({ resource }: { resource: Resource<Answer> }) {
  const state = useResource(resource);
  return (
    <Show of={state} lines={6}>
      {({ leases }) =>
        leases.length === 0 ? (
          <Card>
            <Empty icon="leases" title={t("No open leases")} text={t("Open one above: it appears here within a few blocks.")} />
          </Card>
        ) : (
          <div class="stack" role="list" aria-label={t("Your leases")}>
            {leases.map((lease) => (
              <One key={lease.address} lease={lease} done={() => void resource.refresh()} />
            ))}
          </div>
        )
      }
    </Show>
  );
}

function One({ lease, done }: { lease: Lease; done: () => void }) {
  const [open, setOpen] = useState(false);
  const live = useResource(prices).value?.prices;
  const known = useResource(currencies).value?.currencies;
  const spec = useResource(protocols).value?.protocols.find((one) => one.protocol === lease.protocol);
  const isShort = spec?.position_type.toLowerCase() === "short";
  const watched = isShort ? spec.lpn : lease.amount.ticker;
  const price = Number(live?.[`${watched}@${lease.protocol}`]?.price_usd ?? NaN);
  const decimals = (ticker: string) => known?.[`${ticker}@${lease.protocol}`]?.decimal_digits ?? 6;
  const doing = ACTIVITIES[Object.keys(lease.in_progress ?? {})[0] ?? ""];
  const [status, tone] = doing ? [doing, "warn"] : (STATUSES[lease.status] ?? [lease.status.replace(/_/g, " "), ""]);
  const lastRate = lease.interest?.annual_rate_percent;
  return (
    <section class="card lease" role="listitem" data-lease={lease.address} data-status={lease.status}>
      <header>
        <Named ticker={watched} name={`${shortName(watched)} ${side(spec?.position_type)}`} note={<span title={lease.address}>{protocolName(lease.protocol)} · {short(lease.address)}</span>} />
        <span class={`tag ${tone}`}>{t(status)}</span>
        <span class="worth">
          <b class={lease.pnl ? (lease.pnl.pnl_positive ? "good" : "bad") : "quiet"} data-pnl="">{lease.pnl ? signedUsd(lease.pnl.amount) : "–"}</b>
          <small>{lease.pnl ? <Delta value={lease.pnl.percent} /> : t("Profit and loss")}</small>
        </span>
      </header>
      <Figures kind="small">
        <Figure label={t("Position")} value={<span data-position="">{`${amountOf(lease.amount.amount, decimals(lease.amount.ticker))} ${shortName(lease.amount.ticker)}`}</span>} note={usd(lease.amount.amount_usd)} />
        <Figure label={t("Debt")} value={<span data-debt="">{usd(lease.debt?.total_usd)}</span>} note={lease.debt && `${amountOf(lease.debt.total, decimals(lease.debt.ticker))} ${shortName(lease.debt.ticker)}`} />
        <Figure label={t("Interest a year")} value={percent(lastRate)} />
        <Figure label={t("Opened")} value={lease.opened_at ? when(lease.opened_at) : t("opening")} />
      </Figures>
      <Health price={price} liquidation={Number(lease.liquidation_price ?? NaN)} isShort={isShort} />
      <div>
        <button class="second" aria-expanded={open} onClick={() => setOpen(!open)}>{t("Manage")}</button>
      </div>
      {open && <Desk lease={lease} busy={doing !== undefined} decimals={decimals} done={done} />}
    </section>
  );
}

/** How far the live price is from the one at which the lease is liquidated. */
function Health({ price, liquidation, isShort }: { price: number; liquidation: number; isShort: boolean }) {
  if (!Number.isFinite(price) || !Number.isFinite(liquidation) || liquidation <= 0) return null;
  const room = isShort ? liquidation / price - 1 : 1 - liquidation / price;
  const tone = room < 0.08 ? "bad" : room < 0.2 ? "second" : "first";
  return (
    <div class="health" style={{ "--tone": `var(--${tone})` }}>
      <span class="gauge" role="meter" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(Math.max(0, room) * 100)} aria-label={t("Distance to liquidation")}>
        <i style={{ width: `${Math.min(100, Math.max(2, room * 200))}%` }} />
      </span>
      <footer>
        <span>
          {t("Live price")} <b data-live-price="">{usd(price)}</b>
        </span>
        <span>
          {t("Liquidation at")} <b data-liquidation="">{usd(liquidation)}</b> · {isShort ? t("{share} above", { share: percent(room * 100) }) : t("{share} below", { share: percent(room * 100) })}
        </span>
      </footer>
    </div>
  );
}

function Desk({ lease, busy, decimals, done }: { lease: Lease; busy: boolean; decimals: (ticker: string) => number; done: () => void }) {
  const known = useResource(currencies).value?.currencies;
  const lease_address = lease.address;
  const debt = lease.debt?.ticker ?? "";
  const asset = lease.amount.ticker;
  return (
    <div class="actions">
      {busy && <p class="quiet" role="status">{t("The lease is busy. It takes orders again within a few blocks.")}</p>}
      {lease.status === "opened" && !busy && (
        <>
          <div class="columns">
            <Held address={account.value?.address} denom={known?.[`${debt}@${lease.protocol}`]?.bank_symbol ?? ""}>
              {(held) => (
                <AmountForm
                  id="repay"
                  label={t("Repay")}
                  unit={shortName(debt)}
                  action={t("Repay")}
                  decimals={decimals(debt)}
                  held={held}
                  offer={least(held, lease.debt?.total)}
                  done={done}
                  make={(amount, text) => ({ title: t("Repay {amount} {currency}", { amount: text, currency: shortName(debt) }), path: "/api/leases/repay", body: { lease_address, amount, ticker: debt } })}
                />
              )}
            </Held>
            <AmountForm
              id="close-part"
              label={t("Close a part")}
              unit={shortName(asset)}
              action={t("Close part")}
              decimals={decimals(asset)}
              held={lease.amount.amount}
              done={done}
              make={(amount, text) => ({ title: t("Close {amount} {currency} of the position", { amount: text, currency: shortName(asset) }), path: "/api/leases/partial-close", body: { lease_address, amount, ticker: asset } })}
            />
          </div>
          <Policy lease={lease} done={done} />
          <div>
            <BuildButton kind="danger" text={t("Close all")} done={done} wanted={{ title: t("Close the position at the market"), path: "/api/leases/market-close", body: { lease_address } }} />
          </div>
        </>
      )}
      {lease.status === "paid_off" && (
        <div>
          <BuildButton text={t("Take out")} done={done} wanted={{ title: t("Take out what the lease holds"), path: "/api/leases/close", body: { lease_address } }} />
        </div>
      )}
      <History address={lease.address} decimals={decimals} />
    </div>
  );
}

/** When the lease closes by itself, as shares of debt in the position's worth. */
function Policy({ lease, done }: { lease: Lease; done: () => void }) {
  const { stop_loss: loss, take_profit: profit } = lease.close_policy ?? {};
  const set = (name: "stop_loss" | "take_profit", title: (text: string) => string) => (permille: string, text: string) =>
    Number(permille) <= 1000 ? { title: title(text), path: "/api/leases/close-policy", body: { lease_address: lease.address, [name]: Number(permille) } } : t("Give a percentage above 0 and up to 100.");
  return (
    <div class="columns">
      <AmountForm
        id="stop-loss"
        label={loss ? t("Stop loss above (now {share})", { share: percent(loss / 10) }) : t("Stop loss above")}
        unit="% LTV"
        action={t("Set stop loss")}
        decimals={1}
        done={done}
        make={set("stop_loss", (text) => t("Stop loss at {share} % loan to value", { share: text }))}
      />
      <AmountForm
        id="take-profit"
        label={profit ? t("Take profit below (now {share})", { share: percent(profit / 10) }) : t("Take profit below")}
        unit="% LTV"
        action={t("Set take profit")}
        decimals={1}
        done={done}
        make={set("take_profit", (text) => t("Take profit at {share} % loan to value", { share: text }))}
      />
    </div>
  );
}

function History({ address, decimals }: { address: string; decimals: (ticker: string) => number }) {
  const events = keyed(`lease history ${address}`, () => new Resource<LeaseEvent[]>(() => get(`/api/leases/${address}/history`), 10_000));
  return (
    <div class="stack">
      <h3>{t("History")}</h3>
      <Show of={useResource(events)} lines={2}>
        {(rows) => (
          <Table
            label={t("History")}
            rows={rows}
            keyOf={(row) => `${row.tx_hash}-${row.action}-${row.timestamp}-${row.amount}`}
            empty={t("Nothing recorded yet.")}
            columns={[
              { title: t("What"), cell: (row) => <b data-event={row.action}>{EVENTS[row.action] ? t(EVENTS[row.action] ?? "") : row.action.replace(/[_-]/g, " ")}</b> },
              { title: t("When"), cell: (row) => (row.timestamp ? when(row.timestamp) : "–") },
              { title: t("Amount"), cell: (row) => (row.amount ? `${amountOf(row.amount, decimals(row.symbol ?? ""))} ${shortName(row.symbol ?? "")}` : "–"), end: true },
              { title: t("Transaction"), cell: (row) => (row.tx_hash ? <code title={row.tx_hash}>{row.tx_hash.slice(0, 10)}</code> : "–"), end: true },
            ]}
          />
        )}
      </Show>
    </div>
  );
}

/** What there is, or what is owed if that is less; a thousandth more, for interest goes on until it is paid. */
function least(held: string | undefined, owed: string | undefined): string | undefined {
  if (held === undefined || owed === undefined) return held;
  const enough = BigInt(owed) + BigInt(owed) / 1000n + 1n;
  return BigInt(held) < enough ? held : String(enough);
}
