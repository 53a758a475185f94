/** The frame: navigation, the wallet button, the page that the path names. */
import { lazy, Suspense } from "preact/compat";
import { account, disconnect } from "./wallet/wallet";
import { choosing } from "./wallet/choosing";
import { ReviewDialog, WalletDialog } from "./wallet/dialog";
import { nodeStatus } from "./state/shared";
import { useResource } from "./state/resource";
import { path } from "./state/router";
import { t } from "./text/text";
import { Skeleton } from "./ui/parts";
import { Overview } from "./pages/overview";

export const PAGES = [
  { path: "/", title: "Overview", view: Overview },
  { path: "/assets", title: "Assets", view: lazy(() => import("./pages/assets").then((m) => m.Assets)) },
  { path: "/earn", title: "Earn", view: lazy(() => import("./pages/earn").then((m) => m.Earn)) },
  { path: "/leases", title: "Leases", view: lazy(() => import("./pages/leases").then((m) => m.Leases)) },
  { path: "/swap", title: "Swap", view: lazy(() => import("./pages/swap").then((m) => m.Swap)) },
  { path: "/stake", title: "Stake", view: lazy(() => import("./pages/stake").then((m) => m.Stake)) },
  { path: "/governance", title: "Governance", view: lazy(() => import("./pages/governance").then((m) => m.Governance)) },
  { path: "/account", title: "Account", view: lazy(() => import("./pages/account").then((m) => m.Account)) },
  { path: "/stats", title: "Stats", view: lazy(() => import("./pages/stats").then((m) => m.Stats)) },
  { path: "/chain", title: "Chain", view: lazy(() => import("./pages/chain").then((m) => m.Chain)) },
] as const;

export function App() {
  const page = PAGES.find((one) => one.path === path.value);
  const View = page?.view;
  document.title = page ? `${t(page.title)} · Leasehold` : "Leasehold";
  return (
    <>
      <a class="skip" href="#content">
        {t("Skip to the content")}
      </a>
      <header class="bar">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" width="28" height="28" /> Leasehold
        </a>
        <nav aria-label="Main">
          {PAGES.map((one) => (
            <a key={one.path} href={one.path} aria-current={one.path === path.value ? "page" : undefined}>
              {t(one.title)}
            </a>
          ))}
        </nav>
        <WalletButton />
      </header>
      <main id="content" tabIndex={-1}>
        {View ? (
          <Suspense fallback={<Skeleton lines={6} />}>
            <View />
          </Suspense>
        ) : (
          <p>There is no such page. <a href="/">Back to the overview</a>.</p>
        )}
      </main>
      <Footer />
      <WalletDialog />
      <ReviewDialog />
    </>
  );
}

function WalletButton() {
  const connected = account.value;
  if (!connected)
    return (
      <button class="connect" onClick={() => (choosing.value = true)}>
        {t("Connect wallet")}
      </button>
    );
  return (
    <button class="connect second" onClick={disconnect} title={`${connected.address}: ${t("Disconnect")}`}>
      {connected.name} …{connected.address.slice(-6)}
    </button>
  );
}

function Footer() {
  const { value, error } = useResource(nodeStatus);
  return (
    <footer>
      {error ? t("The node can't be reached") : value ? t("{chain} at block {height}", { chain: value.network, height: Number(value.latest_block_height).toLocaleString() }) : "…"}
    </footer>
  );
}
