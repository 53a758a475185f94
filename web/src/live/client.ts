/** One WebSocket for the whole application: it connects when somebody listens, heals, and resumes where it was. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { isAbout, type Message, type Params, streamOf } from "./messages";

/** The part of a browser's WebSocket that is used, so that a test can stand in for it. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
  send(text: string): void;
  close(): void;
}
type Listener = (message: Message) => void;
export type Status = "disconnected" | "connecting" | "connected" | "reconnecting";

const FIRST_PAUSE_MS = 1000;
const GROWTH = 1.5;
const LONGEST_PAUSE_MS = 30_000;
const IDLE_MS = 5000;

/** A stream and who listens to it; `place` is where to resume, unknown until a snapshot is complete. */
class Stream {
  readonly listeners = new Set<Listener>();
  place: number | undefined;

  constructor(
    readonly topic: string,
    readonly params: Params,
  ) {}

  opening(): object {
    const about = { topic: this.topic, ...this.params };
    return this.place === undefined ? { type: "subscribe", ...about } : { type: "resume", ...about, seq: this.place };
  }

  /** Take a message in; says whether listeners have not seen it yet. */
  take(message: Message): boolean {
    switch (message.type) {
      case "snapshot":
      case "resumed":
        this.place = Math.max(this.place ?? 0, message.seq);
        return true;
      case "resync_required":
        this.place = undefined;
        return true;
      case "lagged":
        return true;
    }
    if (message.snapshot) return true;
    if (this.place !== undefined) {
      if (message.seq <= this.place) return false;
      this.place = message.seq;
    }
    return true;
  }
}

export class LiveClient {
  private readonly streams = new Map<string, Stream>();
  private readonly current = signal<Status>("disconnected");
  private socket: Socket | null = null;
  private open = false;
  private failures = 0;
  private wait: number | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly connect: () => Socket,
    private readonly chance: () => number = Math.random,
  ) {}

  /** How the connection is, for whoever shows it. */
  get status(): ReadonlySignal<Status> {
    return this.current;
  }

  /** Listen to a stream; returns what ends it. Several listeners of a stream share one subscription. */
  follow(topic: string, params: Params, listener: Listener): () => void {
    const name = nameOf(topic, params);
    let stream = this.streams.get(name);
    if (!stream) this.streams.set(name, (stream = new Stream(topic, params)));
    // Whoever joins needs the present state, so the stream is shown anew to all.
    stream.place = undefined;
    stream.listeners.add(listener);
    if (this.open) this.send(stream.opening());
    else this.wake();
    return () => this.leave(name, listener);
  }

  private leave(name: string, listener: Listener): void {
    const stream = this.streams.get(name);
    if (!stream?.listeners.delete(listener) || stream.listeners.size > 0) return;
    this.streams.delete(name);
    if (this.open) this.send({ type: "unsubscribe", topic: stream.topic, ...stream.params });
    // A page that is left is often replaced by one that listens too.
    if (this.streams.size === 0) this.later(IDLE_MS, () => this.streams.size === 0 && this.socket?.close());
  }

  private wake(): void {
    if (this.socket || (this.timer && this.failures > 0)) return;
    this.begin();
  }

  private begin(): void {
    if (this.socket || this.streams.size === 0) return;
    const socket = this.connect();
    this.socket = socket;
    this.current.value = this.failures > 0 ? "reconnecting" : "connecting";
    socket.onopen = () => {
      this.open = true;
      this.current.value = "connected";
      this.failures = 0;
      for (const stream of this.streams.values()) this.send(stream.opening());
    };
    socket.onmessage = (event) => this.take(String(event.data));
    socket.onclose = () => this.lost();
  }

  private lost(): void {
    this.socket = null;
    this.open = false;
    this.current.value = this.streams.size === 0 ? "disconnected" : "reconnecting";
    if (this.streams.size === 0) return;
    const pause = this.wait ?? Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * GROWTH ** this.failures);
    this.wait = undefined;
    this.failures += 1;
    // Everybody lost the connection at the same moment; not everybody may come back in the same one.
    this.later(pause * (0.5 + this.chance()), () => this.begin());
  }

  private later(ms: number, work: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      work();
    }, ms);
  }

  private take(text: string): void {
    let message: Message & { reconnect_ms?: number };
    try {
      message = JSON.parse(text) as Message;
    } catch {
      return;
    }
    if ((message.type as string) === "shutdown") this.wait = message.reconnect_ms;
    const found = streamOf(message);
    if (!found) return;
    const [topic, key] = found;
    for (const stream of [...this.streams.values()]) {
      if (stream.topic !== topic || !isAbout(stream.params, key)) continue;
      if (stream.take(message)) for (const listener of [...stream.listeners]) listener(message);
      if (message.type === "resync_required") this.send(stream.opening());
    }
  }

  private send(message: object): void {
    this.socket?.send(JSON.stringify(message));
  }
}

function nameOf(topic: string, params: Params): string {
  return JSON.stringify([topic, Object.entries(params).sort()]);
}

/** The application's connection, at the address the page came from. */
export const live = new LiveClient(() => {
  const url = new URL("/ws", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return new WebSocket(url) as Socket;
});
