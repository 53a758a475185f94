/** Forms that end in a builder of the API: amount in, unsigned transaction out, shown before it is signed. */
import { useId, useState } from "preact/hooks";
import { post } from "../api/client";
import { explain } from "../api/explain";
import type { Unsigned } from "../api/types";
import { t } from "../text/text";
import { choosing } from "../wallet/choosing";
import { review } from "../wallet/review";
import { account } from "../wallet/wallet";
import { amountOf, baseUnits, plain } from "./format";

export interface Wanted {
  title: string;
  path: string;
  body: object;
}

/** Builds and opens the review; returns what went wrong, in words. */
export async function build(wanted: Wanted, done: () => void): Promise<string> {
  const sender = account.value?.address;
  if (!sender) {
    choosing.value = true;
    return "";
  }
  try {
    const unsigned = await post<Unsigned>(wanted.path, { ...wanted.body, sender });
    review.value = { title: wanted.title, unsigned, done };
    return "";
  } catch (error) {
    return explain(error);
  }
}

export function AmountField({ id, label, unit, value, set, decimals, held, invalid = false }: {
  id: string;
  label: string;
  unit: string;
  value: string;
  set: (text: string) => void;
  decimals: number;
  /** What there is to give, in base units; offered to be filled in. */
  held?: string | undefined;
  invalid?: boolean;
}) {
  return (
    <div class="field">
      <header>
        <label for={id}>{label}</label>
        {held !== undefined && (
          <button type="button" class="link" onClick={() => set(plain(held, decimals))}>
            {t("Max {amount}", { amount: amountOf(held, decimals) })}
          </button>
        )}
      </header>
      <div class="amount">
        <input id={id} inputMode="decimal" autocomplete="off" placeholder="0" value={value} aria-invalid={invalid} aria-describedby={`${id}-problem`} onInput={(event) => set(event.currentTarget.value)} />
        <span>{unit}</span>
      </div>
    </div>
  );
}

/** What to say about an amount that cannot be used; empty when it can. */
export function amountProblem(text: string, decimals: number, held?: string): string {
  const base = baseUnits(text, decimals);
  if (!base) return t("Give a positive amount with at most {decimals} decimals.", { decimals });
  if (held !== undefined && BigInt(base) > BigInt(held)) return t("That is more than there is: {amount}.", { amount: amountOf(held, decimals) });
  return "";
}

export function AmountForm({ id, label, unit, action, decimals, held, offer, make, done, danger = false }: {
  id: string;
  label: string;
  unit: string;
  action: string;
  decimals: number;
  held?: string | undefined;
  /** What is offered to be filled in where that is not all there is. */
  offer?: string | undefined;
  /** The transaction for an amount that was found good. */
  make: (base: string, text: string) => Wanted | string;
  done: () => void;
  danger?: boolean;
}) {
  const [amount, setAmount] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const own = `${id}-${useId()}`;
  const submit = async (event: Event) => {
    event.preventDefault();
    const wrong = amountProblem(amount, decimals, held);
    if (wrong) return setProblem(wrong);
    const wanted = make(baseUnits(amount, decimals) ?? "", amount);
    if (typeof wanted === "string") return setProblem(wanted);
    setBusy(true);
    setProblem(await build(wanted, () => (setAmount(""), done())));
    setBusy(false);
  };
  return (
    <form class="act" data-form={id} onSubmit={(event) => void submit(event)}>
      <AmountField id={own} label={label} unit={unit} value={amount} set={(text) => (setAmount(text), setProblem(""))} decimals={decimals} held={offer ?? held} invalid={problem !== ""} />
      <button class={danger ? "danger" : ""} disabled={busy || amount === ""}>{account.value ? action : t("Connect to continue")}</button>
      <p id={`${own}-problem`} class="problem" role="alert">
        {problem}
      </p>
    </form>
  );
}

/** A button that builds a transaction without further questions. */
export function BuildButton({ text, wanted, done, kind = "" }: { text: string; wanted: Wanted; done: () => void; kind?: string }) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    setProblem(await build(wanted, done));
    setBusy(false);
  };
  return (
    <>
      <button class={kind} disabled={busy} onClick={() => void press()}>{text}</button>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </>
  );
}
