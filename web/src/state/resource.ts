/** A value fetched again and again: the last good one stays on screen while a new one is on its way. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError } from "../api/client";

export interface Loaded<T> {
  value?: T;
  error?: ApiError;
  loading: boolean;
}

export class Resource<T> {
  private readonly current = signal<Loaded<T>>({ loading: true });
  private timer: ReturnType<typeof setInterval> | undefined;
  private unlisten: (() => void) | undefined;
  private users = 0;
  private busy = false;
  /** Whether somebody asked while a request was under way: what it brings may be older than what they know of. */
  private again = false;
  private puts = 0;

  constructor(
    private readonly load: () => Promise<T>,
    private readonly everyMs = 15_000,
    /** Follows pushes of the value while it is shown; the timer stays, for the time without a connection. */
    private readonly listen?: (resource: Resource<T>) => () => void,
  ) {}

  get state(): ReadonlySignal<Loaded<T>> {
    return this.current;
  }

  async refresh(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    const { puts } = this;
    try {
      const value = await this.load();
      // What was pushed meanwhile is newer than what was asked for before.
      if (puts === this.puts) this.current.value = { value, loading: false };
    } catch (error) {
      const failure = error instanceof ApiError ? error : new ApiError(0, "ERROR", error instanceof Error ? error.message : String(error));
      const { value } = this.current.value;
      this.current.value = value === undefined ? { error: failure, loading: false } : { value, error: failure, loading: false };
    } finally {
      this.busy = false;
    }
    if (this.again) {
      this.again = false;
      await this.refresh();
    }
  }

  /** Put a value that came another way, a push for instance. */
  put(value: T): void {
    this.puts += 1;
    this.current.value = { value, loading: false };
  }

  retain(): () => void {
    this.users += 1;
    if (this.users === 1) {
      void this.refresh();
      this.timer = setInterval(() => this.busy || void this.refresh(), this.everyMs);
      this.unlisten = this.listen?.(this);
    }
    return () => {
      this.users -= 1;
      if (this.users > 0) return;
      clearInterval(this.timer);
      this.unlisten?.();
    };
  }
}

/** The resource's state, kept fresh while the component is shown. */
export function useResource<T>(resource: Resource<T>): Loaded<T> {
  useEffect(() => resource.retain(), [resource]);
  return resource.state.value;
}

const kept = new Map<string, Resource<unknown>>();
const MOST_KEPT = 60;

/** One resource for each name, so that a page shown again has its last values at once. */
export function keyed<T>(name: string, make: () => Resource<T>): Resource<T> {
  const found = kept.get(name) as Resource<T> | undefined;
  if (found) return found;
  const made = make();
  kept.set(name, made as Resource<unknown>);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string);
  return made;
}
