/** What the WebSocket says, as far as this application listens (see docs/websocket.md). */
import type { Balance, EarnPosition, Lease } from "../api/types";

export interface Place {
  seq: number;
  height: number;
  time: string;
  snapshot?: boolean;
}
export interface About {
  topic: string;
  key: string;
}
export type Push =
  | ({ type: "price_update"; prices: Record<string, string> } & Place)
  | ({ type: "lease_update"; lease: Lease; owner: string } & Place)
  | ({ type: "earn_update"; address: string; positions: EarnPosition[]; total_deposited_usd: string } & Place)
  | ({ type: "balance_update"; address: string; balances: Balance[]; total_value_usd: string } & Place);
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
    case "snapshot":
    case "resumed":
    case "resync_required":
    case "lagged":
      return [known.topic, known.key];
    default:
      return null;
  }
}
