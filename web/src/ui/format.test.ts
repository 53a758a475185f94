import { describe, expect, it } from "vitest";
import { baseUnits, units } from "./format";

describe("amounts", () => {
  it("stay exact beyond what a float holds", () => {
    expect(units("123456789012345678901234567", 18)).toBe("123 456 789.012345678901234567");
    expect(baseUnits("123456789.012345678901234567", 18)).toBe("123456789012345678901234567");
  });

  it("are refused when they are no positive number of the currency's decimals", () => {
    for (const text of ["", "0", "0.0", "-1", "1e3", "1.2345678", "abc", "1.2.3"]) expect(baseUnits(text, 6)).toBeNull();
  });

  it("may be typed with a comma", () => {
    expect(baseUnits("1,5", 6)).toBe("1500000");
  });
});
