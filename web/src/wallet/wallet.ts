/** The connected account. Signing code is heavy, so it is loaded only when somebody connects. */
import { signal } from "@preact/signals";
import type { Unsigned } from "../api/types";
import { home } from "../state/shared";

export interface Connected {
  kind: "keplr" | "devnet";
  name: string;
  address: string;
}
export type Stage = "signing" | "broadcasting" | "included" | "indexed";

export const account = signal<Connected | null>(null);
export const connecting = signal(false);

type Signing = typeof import("./signing");
let loaded: { module: Signing; session: Awaited<ReturnType<Signing["openSession"]>> } | null = null;

export async function connect(choice: { kind: "keplr" } | { kind: "devnet"; name: string; mnemonic: string }): Promise<void> {
  connecting.value = true;
  try {
    const module = await import("./signing");
    const session = await module.openSession(choice, await home());
    loaded = { module, session };
    account.value = { kind: choice.kind, name: session.name, address: session.address };
  } finally {
    connecting.value = false;
  }
}

export function disconnect(): void {
  loaded?.session.close();
  loaded = null;
  account.value = null;
}

/** Sign what a builder made, send it to the chain and follow it; `tell` hears each stage. */
export async function submit(unsigned: Unsigned, tell: (stage: Stage) => void): Promise<string> {
  if (!loaded) throw new Error("Connect a wallet first.");
  return loaded.module.submit(loaded.session, unsigned, tell);
}

/** The connected account's address on a chain of that prefix. */
export function addressOn(prefix: string): string {
  if (!loaded) throw new Error("Connect a wallet first.");
  return loaded.module.addressOn(loaded.session, prefix);
}
