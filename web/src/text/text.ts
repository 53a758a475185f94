/** Texts in the person's language: a translation is looked up by a key made of the English text, which is the fallback. */
import { signal } from "@preact/signals";

interface Locale {
  message?: Record<string, unknown>;
  language?: Record<string, unknown>;
}
const STORED = "language";
const TEXTS = "texts";
const NOTES = "leasehold-notes";
export const SOURCE = "en";

export const language = signal(SOURCE);
/** The languages there are, by code, each named in itself. */
export const languages = signal<Record<string, string>>({ [SOURCE]: "English" });
const translated = signal<Record<string, unknown>>({});

/** The key of an English text in the locale's `message`. */
export function keyOf(english: string): string {
  return english.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** The text in the person's language; `{name}` is filled from the values. */
export function t(english: string, values: Record<string, string | number> = {}): string {
  const found = translated.value[keyOf(english)];
  const text = typeof found === "string" && found !== "" ? found : english;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** An English text that is translated where it is shown, not here. */
export function mark(english: string): string {
  return english;
}

/** Show the texts of the last visit at once; says whether there were any, or none are needed. */
export function lastLanguage(): boolean {
  try {
    const { lang, message } = JSON.parse(localStorage.getItem(TEXTS) ?? "{}") as { lang?: string; message?: Record<string, unknown> };
    if (!lang || !message) return wantedLanguage() === SOURCE;
    show(lang, message);
    return true;
  } catch {
    return false;
  }
}

function wantedLanguage(): string {
  return (localStorage.getItem(STORED) ?? navigator.language.split("-")[0] ?? SOURCE).toLowerCase();
}

function show(lang: string, message: Record<string, unknown>): void {
  translated.value = message;
  language.value = lang;
  document.documentElement.lang = lang;
}

/** Load the language the person chose, else the browser's; English stays where there is no translation. */
export async function loadLanguage(): Promise<void> {
  // English comes first: it says which languages there are.
  const source = await locale(SOURCE);
  if (!source) return;
  const named = Object.entries(source.language ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  if (named.length > 0) languages.value = Object.fromEntries(named);
  const wanted = wantedLanguage();
  await use(wanted in languages.value ? wanted : SOURCE, source);
}

/** Change to a language that there is, and keep it. */
export async function chooseLanguage(wanted: string): Promise<void> {
  localStorage.setItem(STORED, wanted);
  await use(wanted);
}

async function use(wanted: string, known?: Locale): Promise<void> {
  const found = wanted === SOURCE && known ? known : await locale(wanted);
  if (!found) return;
  show(wanted, found.message ?? {});
  try {
    localStorage.setItem(TEXTS, JSON.stringify({ lang: wanted, message: found.message ?? {} }));
    // The service worker sees neither the page nor its storage; the cache they share.
    await (await caches.open(NOTES)).put("/language", new Response(wanted));
  } catch {
    // Without a place to keep them, the next visit asks again and notifications stay English.
  }
}

async function locale(lang: string): Promise<Locale | null> {
  try {
    const response = await fetch(`/api/locales/${lang}`);
    return response.ok ? ((await response.json()) as Locale) : null;
  } catch {
    // Without the service there are no translations, and nothing else either: the pages say so.
    return null;
  }
}
