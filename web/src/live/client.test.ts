import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Lease } from "../api/types";
import { LiveClient, type Socket } from "./client";
import { merged } from "./resources";

class FakeSocket implements Socket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.onclose?.();
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

let sockets: FakeSocket[];
let client: LiveClient;
const last = () => sockets[sockets.length - 1] as FakeSocket;

beforeEach(() => {
  vi.useFakeTimers();
  sockets = [];
  client = new LiveClient(
    () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    () => 0.5,
  );
});
afterEach(() => {
  vi.useRealTimers();
});

const lease = (seq: number, more: object = {}) => ({ type: "lease_update", owner: "a", lease: { address: "l" }, seq, ...more });

describe("the live client", () => {
  it("subscribes when the connection opens, and shares it", () => {
    client.follow("prices", {}, () => {});
    client.follow("leases", { address: "a" }, () => {});
    expect(sockets.length).toBe(1);
    last().onopen?.();
    expect(last().sent).toEqual([
      { type: "subscribe", topic: "prices" },
      { type: "subscribe", topic: "leases", address: "a" },
    ]);
  });

  it("resumes from the last place after a break, and never shows an event twice", () => {
    const seen: unknown[] = [];
    client.follow("leases", { address: "a" }, (message) => seen.push("seq" in message ? message.seq : message.type));
    last().onopen?.();
    last().say(lease(9, { snapshot: true }));
    last().say({ type: "snapshot", topic: "leases", key: "a", count: 1, seq: 9 });
    last().say(lease(12));
    last().close();
    vi.advanceTimersByTime(1000);
    last().onopen?.();
    expect(last().sent).toEqual([{ type: "resume", topic: "leases", address: "a", seq: 12 }]);
    last().say(lease(12));
    last().say(lease(13));
    expect(seen).toEqual([9, 9, 12, 13]);
  });

  it("starts over when a snapshot was cut off or a resynchronisation is required", () => {
    client.follow("leases", { address: "a" }, () => {});
    last().onopen?.();
    last().say(lease(9, { snapshot: true }));
    last().close();
    vi.advanceTimersByTime(1000);
    last().onopen?.();
    expect(last().sent[0]?.["type"]).toBe("subscribe");
    last().say({ type: "resync_required", topic: "leases", key: "a", seq: 50, reason: "" });
    expect(last().sent[1]?.["type"]).toBe("subscribe");
  });

  it("waits longer after each failure, and as long as a stopping service asks", () => {
    client.follow("prices", {}, () => {});
    last().close();
    vi.advanceTimersByTime(999);
    expect(sockets.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(sockets.length).toBe(2);
    last().close();
    vi.advanceTimersByTime(1499);
    expect(sockets.length).toBe(2);
    vi.advanceTimersByTime(1);
    last().onopen?.();
    last().say({ type: "shutdown", reconnect_ms: 200 });
    last().close();
    vi.advanceTimersByTime(200);
    expect(sockets.length).toBe(4);
  });

  it("tells how the connection is", () => {
    expect(client.status.value).toBe("disconnected");
    const end = client.follow("prices", {}, () => {});
    expect(client.status.value).toBe("connecting");
    last().onopen?.();
    expect(client.status.value).toBe("connected");
    last().close();
    expect(client.status.value).toBe("reconnecting");
    vi.advanceTimersByTime(1000);
    last().onopen?.();
    expect(client.status.value).toBe("connected");
    end();
    vi.advanceTimersByTime(5000);
    expect(client.status.value).toBe("disconnected");
  });

  it("unsubscribes with the last listener and closes when nobody listens any more", () => {
    const one = client.follow("prices", {}, () => {});
    const two = client.follow("prices", {}, () => {});
    last().onopen?.();
    one();
    expect(last().sent.length).toBe(1);
    two();
    expect(last().sent[1]).toEqual({ type: "unsubscribe", topic: "prices" });
    const closed = vi.spyOn(last(), "close");
    vi.advanceTimersByTime(5000);
    expect(closed).toHaveBeenCalled();
  });
});

describe("streams about single transactions", () => {
  const cases: [string, Record<string, string>, string, object][] = [
    ["skip_tx", { tx_hash: "AB", source_chain: "c-1" }, "AB@c-1", { type: "skip_tx_update", tx_hash: "AB" }],
    ["tx_status", { hash: "AB", chain_id: "c-1" }, "AB@c-1", { type: "tx_status", tx_hash: "AB" }],
    ["transfer", { tx_hash: "AB", source_chain: "c-1" }, "AB@c-1", { type: "transfer_update", tx_hash: "AB" }],
    ["transfer", { id: "x" }, "x", { type: "transfer_update", id: "x" }],
  ];

  it.each(cases)("%s is heard and resumed, with its chain in markers and without it in pushes", (topic, params, key, push) => {
    const seen: unknown[] = [];
    client.follow(topic, params, (message) => seen.push("seq" in message ? message.seq : message.type));
    last().onopen?.();
    last().say({ type: "snapshot", topic, key, count: 0, seq: 0 });
    last().say({ ...push, status: "pending", seq: 21 });
    last().say({ ...push, tx_hash: "CD", id: undefined, status: "pending", seq: 22 });
    expect(seen).toEqual([0, 21]);
    last().close();
    vi.advanceTimersByTime(1000);
    last().onopen?.();
    expect(last().sent).toEqual([{ type: "resume", topic, ...params, seq: 21 }]);
  });
});

describe("a list of leases", () => {
  it("takes in what is new and drops what is over", () => {
    const open = { address: "x", status: "opened" } as Lease;
    const over = { address: "x", status: "closed" } as Lease;
    expect(merged([], open)).toEqual([open]);
    expect(merged([open], over)).toEqual([]);
  });
});
