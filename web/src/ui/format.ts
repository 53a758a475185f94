/** Numbers for people; amounts stay decimal text until here. */

export function usd(value: string | number | null | undefined): string {
  if (value === null || value === undefined || value === "") return "–";
  const number = Number(value);
  if (!Number.isFinite(number)) return "–";
  const small = Math.abs(number) < 1 && number !== 0;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: small ? 6 : 2,
  }).format(number);
}

export function compactUsd(value: string | number | null | undefined): string {
  const number = Number(value ?? NaN);
  if (!Number.isFinite(number)) return "–";
  return new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", notation: "compact", maximumFractionDigits: 2 }).format(number);
}

export function percent(value: string | number | null | undefined): string {
  const number = Number(value ?? NaN);
  return Number.isFinite(number) ? `${number.toLocaleString(undefined, { maximumFractionDigits: 2 })} %` : "–";
}

/** Whole units of a base-unit amount, without ever becoming a float. */
export function units(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals ? digits.slice(-decimals).replace(/0+$/, "") : "";
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, " ");
  return fraction ? `${grouped}.${fraction}` : grouped;
}

/** Base units of what a person typed; null when it is not a positive number with at most so many decimals. */
export function baseUnits(text: string, decimals: number): string | null {
  const match = /^(\d+)(?:[.,](\d+))?$/.exec(text.trim());
  if (!match) return null;
  const fraction = match[2] ?? "";
  if (fraction.length > decimals) return null;
  const joined = `${match[1]}${fraction.padEnd(decimals, "0")}`.replace(/^0+(?=\d)/, "");
  return joined === "0" || joined === "" ? null : joined;
}

export function short(address: string): string {
  return address.length > 20 ? `${address.slice(0, 10)}…${address.slice(-6)}` : address;
}

export function when(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
