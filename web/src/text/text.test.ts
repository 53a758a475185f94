import { afterEach, describe, expect, it, vi } from "vitest";
import { keyOf, language, loadLanguage, t } from "./text";

function browser(wanted: string, answer: Response) {
  vi.stubGlobal("localStorage", { getItem: () => null });
  vi.stubGlobal("navigator", { language: wanted });
  vi.stubGlobal("document", { documentElement: { lang: "en" } });
  vi.stubGlobal("caches", { open: async () => ({ put: async () => undefined }) });
  const asked = vi.fn(async (_: string) => answer);
  vi.stubGlobal("fetch", asked);
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

  it("come from the locale of the browser's language", async () => {
    const asked = browser("de-AT", new Response(JSON.stringify({ message: { "open-a-lease": "Leasing eröffnen" }, push: {} })));
    await loadLanguage();
    expect(asked).toHaveBeenCalledWith("/api/locales/de");
    expect(t("Open a lease")).toBe("Leasing eröffnen");
    expect(t("Earn")).toBe("Earn");
    expect(language.value).toBe("de");
  });
});
