/** The way to a wallet; when there is one, its menu. */
import { useRef } from "preact/hooks";
import { choosing } from "../wallet/choosing";
import { account, disconnect } from "../wallet/wallet";
import { t } from "../text/text";

export function WalletButton() {
  const menu = useRef<HTMLDivElement>(null);
  const connected = account.value;
  if (!connected)
    return (
      <button class="connect" onClick={() => (choosing.value = true)}>
        {t("Connect wallet")}
      </button>
    );
  const leave = () => menu.current?.hidePopover();
  return (
    <>
      <button class="second wallet" popovertarget="wallet-menu" data-account={connected.address}>
        <span class="dot" aria-hidden="true" style={{ background: disc(connected.address) }} />
        {connected.name} <span class="quiet">…{connected.address.slice(-5)}</span>
      </button>
      <div id="wallet-menu" class="menu" popover="auto" ref={menu}>
        <div class="stack">
          <div>
            <small>{t("Your address")}</small>
            <br />
            <code>{connected.address}</code>
          </div>
          <div class="buttons">
            <button class="second small" onClick={() => void navigator.clipboard.writeText(connected.address).then(leave)}>{t("Copy")}</button>
            <button class="danger small" onClick={disconnect}>{t("Disconnect")}</button>
          </div>
          <a href="/account" onClick={leave}>{t("Account and history")}</a>
        </div>
      </div>
    </>
  );
}

/** A mark that is the same for the same address. */
function disc(address: string): string {
  let seed = 0;
  for (const letter of address) seed = (seed * 31 + letter.charCodeAt(0)) % 360;
  return `linear-gradient(135deg, hsl(${seed} 65% 55%), hsl(${(seed + 70) % 360} 65% 42%))`;
}
