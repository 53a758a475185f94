/** Calls of the application API; every failure is an ApiError a person can act on. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field?: string,
  ) {
    super(message);
  }

  /** Whether trying again later may help. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

interface Envelope {
  error?: { code?: string; message?: string; field?: string };
}

async function call<T>(path: string, init?: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError(0, "OFFLINE", "The service can't be reached.");
  }
  const text = await response.text();
  if (!response.ok) {
    let body: Envelope = {};
    try {
      body = JSON.parse(text) as Envelope;
    } catch {
      // An error that is not ours has no envelope; its status still says something.
    }
    const { code, message, field } = body.error ?? {};
    throw new ApiError(response.status, code ?? "ERROR", message ?? `The service answered ${response.status}.`, field);
  }
  return JSON.parse(text) as T;
}

export function get<T>(path: string, params?: Record<string, string | number | undefined>): Promise<T> {
  const given = Object.entries(params ?? {}).filter(([, value]) => value !== undefined);
  const query = given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&");
  return call<T>(query ? `${path}?${query}` : path);
}

export function post<T>(path: string, body: unknown): Promise<T> {
  return call<T>(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}
