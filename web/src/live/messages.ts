/** What the WebSocket says, as far as this application listens (see docs/websocket.md). */
import type { Balance, EarnPosition, Lease } from "../api/types";

export interface Place {
  seq: number;
  height: number;
  time: string;
  snapshot?: boolean;
}
export interface Progress {
  status: "pending" | "success" | "failed";
  steps_completed: number;
  total_steps: number;
}
export interface About {
  topic: string;
  key: string;
}
export type Push =
  | ({ type: "price_update"; prices: Record<string, string> } & Place)
  | ({ type: "lease_update"; lease: Lease; owner: string } & Place)
  | ({ type: "earn_update"; address: string; positions: EarnPosition[]; total_deposited_usd: string } & Place)
  | ({ type: "balance_update"; address: string; balances: Balance[]; total_value_usd: string } & Place)
  | ({ type: "skip_tx_update"; tx_hash: string; error?: string } & Progress & Place)
  | ({ type: "tx_status"; tx_hash: string; status: Progress["status"]; error?: string } & Place)
  | ({ type: "transfer_update"; id?: string; tx_hash?: string; state: string; error?: unknown } & Progress & Place);
export type Marker =
  | ({ type: "snapshot"; count: number; seq: number } & About)
  | ({ type: "resumed"; count: number; seq: number } & About)
  | ({ type: "resync_required"; seq: number; reason: string } & About)
  | ({ type: "lagged"; missed: number; replayed: boolean } & About);
export type Message = Push | Marker;
export type Params = Record<string, string>;

/** Topic and key of the stream a message belongs to; null for one that belongs to none. */
export function streamOf(message: Message | { type: string }): [string, string] | null {
  const known = message as Message;
  switch (known.type) {
    case "price_update":
      return ["prices", ""];
    case "lease_update":
      return ["leases", known.owner];
    case "earn_update":
      return ["earn", known.address];
    case "balance_update":
      return ["balances", known.address];
    case "skip_tx_update":
      return ["skip_tx", known.tx_hash];
    case "tx_status":
      return ["tx_status", known.tx_hash];
    case "transfer_update":
      return ["transfer", known.id ?? known.tx_hash ?? ""];
    case "snapshot":
    case "resumed":
    case "resync_required":
    case "lagged":
      return [known.topic, known.key];
    default:
      return null;
  }
}

/** Whether a stream that was asked for with these parameters is the one of this key: markers name a transaction with its
 * chain, pushes without it. */
export function isAbout(params: Params, key: string): boolean {
  const name = params["tx_hash"] ?? params["hash"];
  if (name === undefined) return (params["address"] ?? params["id"] ?? "") === key;
  return key === name || key === `${name}@${params["source_chain"] ?? params["chain_id"] ?? ""}`;
}
