/** The transaction that is being looked at before it is signed. */
import { signal } from "@preact/signals";
import type { Unsigned } from "../api/types";

export const review = signal<{ title: string; unsigned: Unsigned; done: (hash: string) => void } | null>(null);
