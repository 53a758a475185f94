/** Choosing a wallet, and looking at a transaction before it is signed. */
import { useState } from "preact/hooks";
import { explain } from "../api/explain";
import { networks } from "../state/shared";
import { useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { Facts } from "../ui/parts";
import { Modal } from "../ui/modal";
import { testAccounts } from "./accounts";
import { choosing } from "./choosing";
import { coinText, decode } from "./decode";
import { review } from "./review";
import { account, connect, connecting, submit, type Choice, type Stage } from "./wallet";

const STAGES: [Stage, string][] = [
  ["signing", mark("Signed in this browser")],
  ["broadcasting", mark("Sent to the chain")],
  ["included", mark("In a block")],
  ["indexed", mark("Indexed")],
];

const OVER = new Set<Stage>(["indexed", "late", "final"]);

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
  const choose = async (choice: Choice) => {
    setProblem("");
    try {
      await connect(choice);
      close();
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <Modal title={t("Connect a wallet")} close={close}>
      <div class="stack">
        <div class="wallets">
          <button class="second" disabled={connecting.value} onClick={() => void choose({ kind: "keplr" })}>
            <Disc letter="K" colour="#3b5bdb" />
            <span>
              Keplr
              <small>{t("Your keys stay in the extension.")}</small>
            </span>
          </button>
        </div>
        {local && (
          <>
            <p class="quiet">{t("Test accounts of this development chain. Their keys are public.")}</p>
            <div class="wallets pair">
              {testAccounts().map((one) => (
                <button class="second" key={one.name} disabled={connecting.value} onClick={() => void choose({ kind: "devnet", ...one })}>
                  <Disc letter={one.name[0] ?? ""} colour="var(--first)" />
                  <span>{one.name}</span>
                </button>
              ))}
            </div>
          </>
        )}
        {problem && <p class="problem" role="alert">{problem}</p>}
      </div>
    </Modal>
  );
}

function Disc({ letter, colour }: { letter: string; colour: string }) {
  return <span class="coin" aria-hidden="true" style={{ background: colour, color: colour.startsWith("#") ? "#fff" : "var(--on-first)" }}>{letter.toUpperCase()}</span>;
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
      setProblem(explain(error));
    }
  };
  const { messages, fee, memo } = wanted.unsigned;
  const terms: [string, string][] = [];
  if (fee) terms.push([t("Network fee"), fee.amount.map(coinText).join(", ")]);
  if (memo) terms.push([t("Memo"), memo]);
  if (account.value) terms.push([t("Signed by"), `${account.value.name} …${account.value.address.slice(-6)}`]);
  return (
    <Modal title={wanted.title} close={close}>
      <div class="stack">
        {messages.map((message, index) => {
          const { title, rows } = decode(message);
          return (
            <div class="step" key={index}>
              <b>{title}</b>
              <Facts rows={rows} />
            </div>
          );
        })}
        <Facts rows={terms} />
        <details>
          <summary>{t("The whole transaction")}</summary>
          {messages.map((message, index) => (
            <pre key={index}>{JSON.stringify(message, null, 2)}</pre>
          ))}
        </details>
        {stage && <Progress stage={stage} />}
        {problem && <p class="problem" role="alert">{problem}</p>}
        {stage === "late" && <p class="quiet">{t("It is in a block. The index is behind; the pages show it when it has caught up.")}</p>}
        {stage && OVER.has(stage) ? (
          <button onClick={close} data-done="">{t("Close")}</button>
        ) : (
          <button disabled={stage !== null || !account.value} onClick={() => void send()} data-sign="">
            {t("Sign and send")}
          </button>
        )}
      </div>
    </Modal>
  );
}

function Progress({ stage }: { stage: Stage }) {
  const steps = stage === "final" ? STAGES.slice(0, -1) : STAGES;
  const reached = steps.findIndex(([name]) => name === (stage === "late" ? "indexed" : stage));
  const at = (index: number) => (stage === "final" || stage === "indexed" || index < reached ? "done" : index === reached ? "now" : "later");
  return (
    <div role="status" data-stage={stage}>
      <ol class="stages">
        {steps.map(([name, text], index) => (
          <li key={name} data-at={at(index)}>{t(text)}</li>
        ))}
      </ol>
    </div>
  );
}
