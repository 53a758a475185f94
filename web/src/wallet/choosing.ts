/** Whether the wallet dialog is open; on its own, so that who opens it needs nothing that signs. */
import { signal } from "@preact/signals";

export const choosing = signal(false);
