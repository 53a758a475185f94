import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/", href: "http://x/" });
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("document", { addEventListener: () => undefined });
const { choices, mostLent } = await import("./lease-quote");
const { ranked } = await import("./open-lease");

const quote = (borrow_amount: string, max_ltd?: number) => ({
  borrow_ticker: "USDC",
  borrow_amount,
  annual_interest_rate: 8,
  estimated_liquidation_price: null,
  asked: { protocol: "P", downpayment_ticker: "USDC", downpayment_amount: "1000000000", lease_currency: "ATOM", ...(max_ltd === undefined ? {} : { max_ltd }) },
});

describe("how far the leverage goes", () => {
  it("is what the leaser lends to a down payment, in permille", () => {
    expect(mostLent(quote("1500000000"))).toBe(1500);
    expect(mostLent(quote("1857142857"))).toBe(1857);
    expect(mostLent(quote("1499999999"))).toBe(1500);
    expect(mostLent(quote("1"))).toBe(250);
  });

  it("is not told by a quote for less than all", () => {
    expect(mostLent(quote("500000000", 500))).toBeNull();
  });

  it("is chosen in even steps, with the very most at the end", () => {
    expect(choices(1500).slice(-3)).toEqual([1400, 1450, 1500]);
    expect(choices(1857).slice(-3)).toEqual([1800, 1850, 1857]);
    expect(choices(1857)[0]).toBe(250);
    expect(choices(250)).toEqual([250]);
  });
});

describe("the market to begin with", () => {
  it("is the one with the deepest pool; one that nobody knows comes last", () => {
    const protocol = (name: string) => ({ protocol: name, network: "Osmosis", dex: "", position_type: "Long", lpn: "USDC" });
    const pool = (name: string, usd: string) => ({ protocol: name, total_deposited_usd: usd }) as never;
    const found = ranked([protocol("A"), protocol("B"), protocol("C")], [pool("B", "900.5"), pool("A", "90000")]);
    expect(found.map((one) => one.protocol)).toEqual(["A", "B", "C"]);
  });
});
