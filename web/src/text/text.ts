/** Texts in the person's language: a translation is looked up by a key made of the English text, which is the fallback. */
import { signal } from "@preact/signals";

interface Locale {
  message?: Record<string, unknown>;
}
const STORED = "language";
const NOTES = "leasehold-notes";

export const language = signal("en");
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

/** Load the language the person chose, else the browser's; English stays where there is no translation. */
export async function loadLanguage(): Promise<void> {
  const wanted = (localStorage.getItem(STORED) ?? navigator.language.split("-")[0] ?? "en").toLowerCase();
  try {
    const response = await fetch(`/api/locales/${wanted}`);
    if (!response.ok) return;
    translated.value = ((await response.json()) as Locale).message ?? {};
    language.value = wanted;
    document.documentElement.lang = wanted;
    // The service worker sees neither the page nor its storage; the cache they share.
    await (await caches.open(NOTES)).put("/language", new Response(wanted));
  } catch {
    // Without the service there are no translations, and nothing else either: the pages say so.
  }
}
