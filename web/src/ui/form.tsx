/** A form that ends in a builder of the API: amount in, unsigned transaction out, shown before it is signed. */
import { useState } from "preact/hooks";
import { ApiError, post } from "../api/client";
import type { Unsigned } from "../api/types";
import { t } from "../text/text";
import { choosing } from "../wallet/choosing";
import { review } from "../wallet/dialog";
import { account } from "../wallet/wallet";

export interface BuildResult {
  title: string;
  path: string;
  body: Record<string, unknown>;
}

/** Builds and opens the review; returns what went wrong, in words. */
export async function build(wanted: BuildResult, done: () => void): Promise<string> {
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
    return error instanceof ApiError ? error.message : String(error);
  }
}

export function AmountForm({ label, unit, action, make, done }: {
  label: string;
  unit: string;
  action: string;
  make: (text: string) => BuildResult | string;
  done: () => void;
}) {
  const [amount, setAmount] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const id = `amount-${label.replace(/\W+/g, "-")}`;
  const submit = async (event: Event) => {
    event.preventDefault();
    const wanted = make(amount);
    if (typeof wanted === "string") return setProblem(wanted);
    setBusy(true);
    setProblem(await build(wanted, () => (setAmount(""), done())));
    setBusy(false);
  };
  return (
    <form class="row" onSubmit={(event) => void submit(event)}>
      <label for={id}>{t(label)}</label>
      <span class="input">
        <input id={id} inputMode="decimal" autocomplete="off" value={amount} aria-invalid={problem !== ""} aria-describedby={`${id}-problem`} onInput={(event) => setAmount(event.currentTarget.value)} />
        <span>{unit}</span>
      </span>
      <button disabled={busy || amount === ""}>{t(account.value ? action : "Connect to continue")}</button>
      <p id={`${id}-problem`} class="problem" role="alert">
        {problem}
      </p>
    </form>
  );
}
