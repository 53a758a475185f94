/** The frame: navigation, the wallet, the page that the path names. */
import { Suspense } from "preact/compat";
import { Brand, Side, Tabs } from "./frame/navigation";
import { PAGES } from "./frame/pages";
import { WalletButton } from "./frame/wallet-button";
import { useResource } from "./state/resource";
import { path } from "./state/router";
import { assets, currencies, protocols } from "./state/shared";
import { t } from "./text/text";
import { Empty, Skeleton } from "./ui/parts";
import { ReviewDialog, WalletDialog } from "./wallet/dialog";

export function App() {
  // Every page names currencies and protocols.
  useResource(assets);
  useResource(protocols);
  useResource(currencies);
  const page = PAGES.find((one) => one.path === path.value);
  const View = page?.view;
  document.title = page ? `${t(page.title)} · Leasehold` : "Leasehold";
  return (
    <>
      <a class="skip" href="#content">
        {t("Skip to the content")}
      </a>
      <div class="shell">
        <Side />
        <div class="page">
          <header class="top">
            <Brand />
            <WalletButton />
          </header>
          <main id="content" tabIndex={-1}>
            {View ? (
              <Suspense fallback={<Skeleton lines={6} />}>
                <View />
              </Suspense>
            ) : (
              <Empty title={t("There is no such page.")}>
                <a href="/">{t("Back to the overview")}</a>
              </Empty>
            )}
          </main>
        </div>
      </div>
      <Tabs />
      <WalletDialog />
      <ReviewDialog />
    </>
  );
}
