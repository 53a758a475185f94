/** Choosing a wallet, and looking at a transaction before it is signed. */
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Unsigned } from "../api/types";
import { networks } from "../state/shared";
import { useResource } from "../state/resource";
import { t } from "../text/text";
import { testAccounts } from "./accounts";
import { choosing } from "./choosing";
import { account, connect, connecting, submit, type Stage } from "./wallet";

export const review = signal<{ title: string; unsigned: Unsigned; done: (hash: string) => void } | null>(null);

const STAGES: Record<Stage, string> = {
  signing: "Waiting for the signature…",
  broadcasting: "Sent to the chain…",
  included: "In a block; waiting for the index…",
  indexed: "Done.",
};

function Modal({ title, close, children }: { title: string; close: () => void; children: preact.ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} onClose={close} onCancel={close} aria-label={title}>
      <header>
        <h2>{t(title)}</h2>
        <button class="plain" onClick={close} aria-label="Close">
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

export function WalletDialog() {
  const [problem, setProblem] = useState("");
  const known = useResource(networks);
  if (!choosing.value) return null;
  const own = known.value?.find((network) => network.native);
  const local = own !== undefined && /localhost|127\.0\.0\.1|\[::1\]/.test(own.rpc_url);
  const close = () => {
    choosing.value = false;
    setProblem("");
  };
  const choose = async (choice: Parameters<typeof connect>[0]) => {
    try {
      await connect(choice);
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Modal title="Connect a wallet" close={close}>
      <div class="stack">
        <button disabled={connecting.value} onClick={() => void choose({ kind: "keplr" })}>
          Keplr
        </button>
        {local && (
          <>
            <p class="quiet">{t("Test accounts of this development chain. Their keys are public.")}</p>
            {testAccounts().map((one) => (
              <button class="second" key={one.name} disabled={connecting.value} onClick={() => void choose({ kind: "devnet", ...one })}>
                {one.name}
              </button>
            ))}
          </>
        )}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </Modal>
  );
}

export function ReviewDialog() {
  const [stage, setStage] = useState<Stage | null>(null);
  const [problem, setProblem] = useState("");
  const wanted = review.value;
  if (!wanted) return null;
  const close = () => {
    review.value = null;
    setStage(null);
    setProblem("");
  };
  const send = async () => {
    setProblem("");
    try {
      wanted.done(await submit(wanted.unsigned, setStage));
    } catch (error) {
      setStage(null);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const fee = wanted.unsigned.fee?.amount.map((coin) => `${coin.amount} ${coin.denom}`).join(", ");
  return (
    <Modal title={wanted.title} close={close}>
      <div class="stack">
        {wanted.unsigned.messages.map((message, index) => (
          <details key={index} open>
            <summary>{message["@type"].split(".").at(-1)}</summary>
            <pre>{JSON.stringify(message, null, 2)}</pre>
          </details>
        ))}
        {fee && <p class="quiet">Fee {fee}</p>}
        {stage && (
          <p role="status" aria-live="polite">
            {t(STAGES[stage])}
          </p>
        )}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {stage === "indexed" ? (
          <button onClick={close}>{t("Close")}</button>
        ) : (
          <button disabled={stage !== null || !account.value} onClick={() => void send()}>
            {t("Sign and send")}
          </button>
        )}
      </div>
    </Modal>
  );
}
