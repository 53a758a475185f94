import { afterEach, describe, expect, it, vi } from "vitest";
import { chooseLanguage, keyOf, language, languages, lastLanguage, loadLanguage, t } from "./text";

const LOCALES: Record<string, object> = {
  en: { language: { en: "English", de: "Deutsch" }, message: {}, push: {} },
  de: { message: { "open-a-lease": "Lease eröffnen" }, push: {} },
};

function browser(wanted: string) {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => kept.set(name, value) });
  vi.stubGlobal("navigator", { language: wanted });
  vi.stubGlobal("document", { documentElement: { lang: "en" } });
  vi.stubGlobal("caches", { open: async () => ({ put: async () => undefined }) });
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const found = LOCALES[path.split("/").at(-1) ?? ""];
    return new Response(JSON.stringify(found ?? {}), { status: found ? 200 : 404 });
  });
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

describe("texts", () => {
  it("are English where there is no translation", () => {
    expect(t("Open a lease")).toBe("Open a lease");
    expect(t("{count} pools", { count: 3 })).toBe("3 pools");
  });

  it("have keys that an operator can type", () => {
    expect(keyOf("Price / liquidation")).toBe("price-liquidation");
  });

  it("come from the locale of the browser's language, and from what was kept at the next visit", async () => {
    const asked = browser("de-AT");
    expect(lastLanguage()).toBe(false);
    await loadLanguage();
    expect(asked).toEqual(["/api/locales/en", "/api/locales/de"]);
    expect(t("Open a lease")).toBe("Lease eröffnen");
    expect(t("Earn")).toBe("Earn");
    expect(language.value).toBe("de");
    expect(lastLanguage()).toBe(true);
  });

  it("are never asked for in a language that there is not", async () => {
    const asked = browser("fr-FR");
    await loadLanguage();
    expect(asked).toEqual(["/api/locales/en"]);
    expect(Object.keys(languages.value)).toEqual(["en", "de"]);
    expect(language.value).toBe("en");
  });

  it("change when the person chooses another language, which is kept", async () => {
    browser("en-US");
    await loadLanguage();
    await chooseLanguage("de");
    expect([language.value, localStorage.getItem("language"), t("Open a lease")]).toEqual(["de", "de", "Lease eröffnen"]);
  });
});
