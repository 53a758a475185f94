import { afterEach, describe, expect, it } from "vitest";
import { language } from "../text/text";
import { amountOf, baseUnits, compactUsd, percent, plain, units, usd } from "./format";

afterEach(() => {
  language.value = "en";
});

describe("amounts", () => {
  it("stay exact beyond what a float holds", () => {
    expect(units("123456789012345678901234567", 18)).toBe("123,456,789.012345678901234567");
    expect(baseUnits("123456789.012345678901234567", 18)).toBe("123456789012345678901234567");
    expect(plain("123456789012345678901234567", 18)).toBe("123456789.012345678901234567");
  });

  it("are cut for a glance, never rounded up to what nobody has, never to nothing", () => {
    expect(amountOf("1999999", 6)).toBe("1.9999");
    expect(amountOf("2857142857142857142857142", 18)).toBe("2,857,142");
    expect(amountOf("1", 18)).toBe("0.000000000000000001");
    expect(amountOf("0", 6)).toBe("0");
  });

  it("are refused when they are no positive number of the currency's decimals", () => {
    for (const text of ["", "0", "0.0", "-1", "1e3", "1.2345678", "abc", "1.2.3"]) expect(baseUnits(text, 6)).toBeNull();
  });

  it("may be typed with a comma", () => {
    expect(baseUnits("1,5", 6)).toBe("1500000");
  });
});

describe("figures", () => {
  it("have cents above a dollar and four digits below, and a dash where there is none", () => {
    expect(usd("1234.5")).toBe("$1,234.50");
    expect(usd("0.00153147")).toBe("$0.001531");
    expect(usd(null)).toBe("–");
    expect(compactUsd("5212345")).toBe("$5.21M");
    expect(percent(7)).toBe("7.00%");
  });

  it("are written the way the person's language writes them", () => {
    language.value = "de";
    expect(usd("1234.5")).toMatch(/^1\.234,50/);
    expect(units("1234567890", 6)).toBe("1.234,56789");
  });
});
