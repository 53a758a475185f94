import { describe, expect, it } from "vitest";
import worker from "../../public/worker.js?raw";
import german from "../../../src/leasehold/app_api/gating/locales/de.json";
import english from "../../../src/leasehold/app_api/gating/locales/en.json";
import spanish from "../../../src/leasehold/app_api/gating/locales/es.json";
import { read } from "./source";
import { keyOf } from "./text";

const files = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
const read_ = Object.entries(files)
  .filter(([name]) => !/\.test\.ts$|source\.ts$|agent\//.test(name))
  .map(([name, source]) => read(name.replace("../", ""), source));
const texts = new Set(read_.flatMap((one) => one.texts));
const blanks = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("texts of the application", () => {
  it("can all be translated: nothing a person sees is written past them", () => {
    expect(read_.flatMap((one) => one.raw)).toEqual([]);
  });

  it("have a key each", () => {
    const keys = [...texts].map(keyOf);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  it("are the source language's, all of them and no others", () => {
    const wanted = Object.fromEntries([...texts].sort().map((text) => [keyOf(text), text]));
    expect(english.message).toEqual(wanted);
  });

  it.each([["de", german], ["es", spanish]] as const)("are all translated into %s, with the same blanks", (_, locale) => {
    const message: Record<string, string> = locale.message;
    expect(Object.keys(message).sort()).toEqual(Object.keys(english.message).sort());
    for (const [key, text] of Object.entries<string>(english.message)) {
      expect(blanks(message[key] ?? ""), key).toEqual(blanks(text));
      expect(message[key], key).not.toBe("");
    }
    const push: Record<string, string> = locale.push;
    expect(Object.keys(push).sort()).toEqual(Object.keys(english.push).sort());
    for (const [key, text] of Object.entries<string>(english.push)) expect(blanks(push[key] ?? ""), key).toEqual(blanks(text));
  });

  it("of notifications are the worker's own", () => {
    for (const [key, text] of Object.entries<string>(english.push)) {
      expect(worker).toContain(key);
      expect(worker).toContain(text);
    }
  });

  it("name every language in itself", () => {
    expect(english.language).toEqual({ en: "English", de: "Deutsch", es: "Español" });
  });
});
