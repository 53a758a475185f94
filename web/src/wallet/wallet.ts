/** The connected account. Signing code is heavy, so it is loaded only when somebody connects or signs. */
import { signal } from "@preact/signals";
import type { Unsigned } from "../api/types";
import { home } from "../state/shared";
import { t } from "../text/text";
import { testAccounts } from "./accounts";

export interface Connected {
  kind: "keplr" | "devnet";
  name: string;
  address: string;
}
/** How far a transaction has come: `late` is in a block, but not in the index after a good while; `final` is in a block,
 * and of a kind that the index does not list. */
export type Stage = "signing" | "broadcasting" | "included" | "indexed" | "late" | "final";
export type Choice = { kind: "keplr" } | { kind: "devnet"; name: string; mnemonic: string };

const STORED = "wallet";
export const account = signal<Connected | null>(null);
export const connecting = signal(false);

type Signing = typeof import("./signing");
interface Loaded {
  module: Signing;
  session: Awaited<ReturnType<Signing["openSession"]>>;
}
let loaded: Loaded | null = null;

export async function connect(choice: Choice): Promise<void> {
  connecting.value = true;
  try {
    const { session } = await open(choice);
    account.value = { kind: choice.kind, name: session.name, address: session.address };
    localStorage.setItem(STORED, JSON.stringify(account.value));
  } finally {
    connecting.value = false;
  }
}

async function open(choice: Choice): Promise<Loaded> {
  const module = await import("./signing");
  const session = await module.openSession(choice, await home());
  loaded?.session.close();
  return (loaded = { module, session });
}

/** The account of the last visit is shown again; nothing that signs is loaded until it has to sign. */
export function restore(): void {
  try {
    const kept = JSON.parse(localStorage.getItem(STORED) ?? "null") as Connected | null;
    if (kept?.address && (kept.kind === "keplr" || kept.kind === "devnet")) account.value = kept;
  } catch {
    localStorage.removeItem(STORED);
  }
}

export function disconnect(): void {
  loaded?.session.close();
  loaded = null;
  account.value = null;
  localStorage.removeItem(STORED);
}

/** The session that signs, opened again after a reload. */
async function session(): Promise<Loaded> {
  const shown = account.value;
  if (!shown) throw new Error(t("Connect a wallet first."));
  if (loaded) return loaded;
  const known = testAccounts().find((one) => one.name === shown.name);
  if (shown.kind === "devnet" && !known) throw new Error(t("This test account is not known any more. Connect again."));
  const opened = await open(shown.kind === "keplr" ? { kind: "keplr" } : { kind: "devnet", name: shown.name, mnemonic: known?.mnemonic ?? "" });
  if (opened.session.address !== shown.address) {
    disconnect();
    throw new Error(t("The wallet has another account now. Connect again."));
  }
  return opened;
}

/** Sign what a builder made, send it to the chain and follow it; `tell` hears each stage. */
export async function submit(unsigned: Unsigned, tell: (stage: Stage) => void): Promise<string> {
  const { module, session: own } = await session();
  return module.submit(own, unsigned, tell);
}

/** The connected account's addresses on chains of these prefixes. */
export async function addressesOn(prefixes: string[]): Promise<string[]> {
  const { module, session: own } = await session();
  return prefixes.map((prefix) => module.addressOn(own, prefix));
}
