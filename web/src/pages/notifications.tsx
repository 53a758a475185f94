/** Whether this browser is told about the account's leases, and the way to change it. */
import { useEffect, useState } from "preact/hooks";
import { explain } from "../api/explain";
import { obstacle, subscribed, toggle } from "../push/subscription";
import { t } from "../text/text";
import { Card } from "../ui/parts";

export function Notifications({ address }: { address: string }) {
  const hindered = obstacle();
  const [on, setOn] = useState<boolean | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let shown = true;
    if (!hindered) void subscribed(address).then((known) => shown && setOn(known));
    return () => {
      shown = false;
    };
  }, [address, hindered]);
  const press = async () => {
    setBusy(true);
    setProblem("");
    try {
      setOn(await toggle(address));
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const state = on === null ? "" : on ? t("Notifications are on.") : t("Notifications are off.");
  return (
    <Card title={t("Notifications")}>
      <div class="stack" data-push={on === null ? "unknown" : on ? "on" : "off"}>
        <p class="quiet">{hindered ?? t("This browser can tell you when a lease of this account is at risk, partly liquidated or closed.")}</p>
        {!hindered && (
          <>
            <p role="status">{state}</p>
            <button class={on ? "second" : ""} disabled={busy || on === null} onClick={() => void press()}>
              {on ? t("Stop notifications") : t("Notify me")}
            </button>
          </>
        )}
        {problem && <p class="problem" role="alert">{problem}</p>}
      </div>
    </Card>
  );
}
