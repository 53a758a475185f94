/** Numbers and times for people, in their language; amounts stay decimal text until here. */
import { language } from "../text/text";

const NONE = "–";
const makers = new Map<string, Intl.NumberFormat>();

/** Formatters are costly to make and the pages ask for the same few all the time. */
function formatter(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const name = `${language.value} ${JSON.stringify(options)}`;
  let found = makers.get(name);
  if (!found) makers.set(name, (found = new Intl.NumberFormat(language.value, options)));
  return found;
}

function finite(value: string | number | null | undefined): number | null {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Dollars: cents from one dollar on, four significant digits below. */
export function usd(value: string | number | null | undefined): string {
  const number = finite(value);
  if (number === null) return NONE;
  const small = Math.abs(number) < 1 && number !== 0;
  return formatter({ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", ...(small ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 2 }) }).format(number);
}

/** Dollars with their sign, for gains and losses. */
export function signedUsd(value: string | number | null | undefined): string {
  const number = finite(value);
  if (number === null) return NONE;
  return formatter({ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", signDisplay: "exceptZero", maximumFractionDigits: 2 }).format(number);
}

/** Dollars for a headline: three digits and a unit. */
export function compactUsd(value: string | number | null | undefined): string {
  const number = finite(value);
  if (number === null) return NONE;
  if (Math.abs(number) < 1000) return usd(number);
  return formatter({ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", notation: "compact", minimumSignificantDigits: 3, maximumSignificantDigits: 3 }).format(number);
}

/** Dollars beside a chart, as short as they go. */
export function tickUsd(value: number): string {
  return formatter({ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", notation: "compact", maximumSignificantDigits: 4, minimumFractionDigits: 0 }).format(value);
}

export function tickPercent(value: number): string {
  return formatter({ style: "percent", maximumFractionDigits: 1 }).format(value / 100);
}

/** A number of percents, such as 12.5, as text. */
export function percent(value: string | number | null | undefined, signed = false): string {
  const number = finite(value);
  if (number === null) return NONE;
  return formatter({ style: "percent", minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: signed ? "exceptZero" : "auto" }).format(number / 100);
}

export function count(value: string | number | null | undefined): string {
  const number = finite(value);
  return number === null ? NONE : formatter({ maximumFractionDigits: 0 }).format(number);
}

/** Whole units of a base-unit amount, every digit of it, without ever becoming a float. */
export function units(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals ? digits.slice(-decimals).replace(/0+$/, "") : "";
  const { group, point } = marks();
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return fraction ? `${grouped}${point}${fraction}` : grouped;
}

/** The same for a glance: fewer decimals the larger it is, cut off and never rounded up to what nobody has. */
export function amountOf(amount: string, decimals: number): string {
  const whole = amount.length > decimals ? amount.length - decimals : 0;
  const wanted = whole > 4 ? 0 : whole > 2 ? 2 : whole > 0 ? 4 : 6;
  const cut = Math.max(0, decimals - wanted);
  const kept = cut === 0 ? amount : `${amount.slice(0, -cut) || "0"}${"0".repeat(cut)}`;
  if (/^0*$/.test(kept) && /[1-9]/.test(amount)) return units(amount, decimals);
  return units(kept, decimals);
}

/** How the person's language writes a thousand and a half. */
function marks(): { group: string; point: string } {
  const parts = formatter({ minimumFractionDigits: 1, useGrouping: true }).formatToParts(12345.5);
  return { group: parts.find((part) => part.type === "group")?.value ?? " ", point: parts.find((part) => part.type === "decimal")?.value ?? "." };
}

/** An amount as it may be typed into a field: no groups, a point. */
export function plain(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const fraction = decimals ? digits.slice(-decimals).replace(/0+$/, "") : "";
  const whole = digits.slice(0, digits.length - decimals);
  return fraction ? `${whole}.${fraction}` : whole;
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

function moment(iso: string | number, options: Intl.DateTimeFormatOptions): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? String(iso) : date.toLocaleString(language.value, options);
}

export const when = (iso: string | number): string => moment(iso, { dateStyle: "medium", timeStyle: "short" });
export const day = (iso: string | number): string => moment(iso, { month: "short", day: "numeric" });
export const hour = (iso: string | number): string => moment(iso, { hour: "2-digit", minute: "2-digit" });
export const clock = (iso: string | number): string => moment(iso, { timeStyle: "medium" });
