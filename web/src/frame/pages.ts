/** The pages: the first is part of the first load, the others come when they are shown or pointed at. */
import type { ComponentType } from "preact";
import { lazy } from "preact/compat";
import { mark } from "../text/text";
import type { IconName } from "../ui/icons";
import { Overview } from "../pages/overview";

export interface Page {
  path: string;
  title: string;
  icon: IconName;
  view: ComponentType;
  /** Loads the page's code ahead of its being shown. */
  fetch: () => Promise<unknown>;
}

function page(path: string, title: string, icon: IconName, load: () => Promise<ComponentType>): Page {
  return { path, title, icon, view: lazy(load) as ComponentType, fetch: load };
}

export const GROUPS: { title: string; pages: Page[] }[] = [
  {
    title: "",
    pages: [
      { path: "/", title: mark("Overview"), icon: "overview", view: Overview, fetch: async () => undefined },
      page("/assets", mark("Assets"), "assets", () => import("../pages/assets").then((m) => m.Assets)),
      page("/account", mark("Account"), "account", () => import("../pages/account").then((m) => m.Account)),
    ],
  },
  {
    title: mark("Use"),
    pages: [
      page("/leases", mark("Leases"), "leases", () => import("../pages/leases").then((m) => m.Leases)),
      page("/earn", mark("Earn"), "earn", () => import("../pages/earn").then((m) => m.Earn)),
      page("/swap", mark("Swap"), "swap", () => import("../pages/swap").then((m) => m.Swap)),
      page("/stake", mark("Stake"), "stake", () => import("../pages/stake").then((m) => m.Stake)),
    ],
  },
  {
    title: mark("Look"),
    pages: [
      page("/governance", mark("Governance"), "governance", () => import("../pages/governance").then((m) => m.Governance)),
      page("/stats", mark("Stats"), "stats", () => import("../pages/stats").then((m) => m.Stats)),
      page("/chain", mark("Chain"), "chain", () => import("../pages/chain").then((m) => m.Chain)),
    ],
  },
];
export const PAGES = GROUPS.flatMap((group) => group.pages);
/** What a phone shows at its lower edge; the others are behind "More". */
export const FIRST = ["/", "/leases", "/earn", "/swap"];
