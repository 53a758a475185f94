import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/" });
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("document", { addEventListener: () => undefined });
const { TOOLS } = await import("./webmcp");
const source = (await import("./webmcp.ts?raw")).default;

describe("tools for agents", () => {
  it("are exactly these, with names every agent takes", () => {
    expect(TOOLS.map((tool) => tool.name)).toEqual([
      "get_connected_wallet",
      "get_balances",
      "get_open_leases",
      "get_earn_positions",
      "get_staking_delegations",
      "get_prices",
      "connect_wallet",
      "navigate",
    ]);
  });

  it("say that they only read exactly where they only read", () => {
    const acting = TOOLS.filter((tool) => tool.annotations === undefined).map((tool) => tool.name);
    expect(acting).toEqual(["connect_wallet", "navigate"]);
  });

  it("reach nothing that signs, simulates, sends or builds", () => {
    expect(source).not.toMatch(/submit|signAnd|broadcast|simulate|cosmjs|\bpost\b|signing["']/);
  });

  it("refuse a page that does not exist", async () => {
    const navigate = TOOLS.find((tool) => tool.name === "navigate");
    for (const route of ["nowhere", "toString", undefined, 3]) await expect(navigate?.execute({ route })).rejects.toThrow("no page");
  });
});
