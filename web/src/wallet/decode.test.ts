import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/", href: "http://x/" });
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("document", { addEventListener: () => undefined });
const { decode, coinText } = await import("./decode");
const { explain } = await import("../api/explain");
const { ApiError } = await import("../api/client");
const { currencies, protocols } = await import("../state/shared");

beforeAll(() => {
  currencies.put({ currencies: { "USDC@P": { key: "USDC@P", ticker: "USDC", decimal_digits: 6, bank_symbol: "ibc/1", dex_symbol: "", short_name: "USDC" } } });
  protocols.put({ protocols: [{ protocol: "P", network: "Osmosis", dex: "", position_type: "Long", lpn: "USDC", contracts: { leaser: "chain1leaser" } }] });
});
afterEach(() => vi.restoreAllMocks());

describe("a message before it is signed", () => {
  it("says what a contract does, which one it is, and what is sent", () => {
    const message = { "@type": "/cosmwasm.wasm.v1.MsgExecuteContract", sender: "chain1me", contract: "chain1leaser", msg: { open_lease: { currency: "ATOM", max_ltd: 1500 } }, funds: [{ denom: "ibc/1", amount: "100000000" }] };
    expect(decode(message)).toEqual({
      title: "Open a lease",
      rows: [["Contract", "P leaser"], ["Asset", "ATOM"], ["Loan per down payment", "150 %"], ["You send", "100 USDC"]],
    });
  });

  it("finds the innermost figures of a contract's message", () => {
    const message = { "@type": "/cosmwasm.wasm.v1.MsgExecuteContract", sender: "a", contract: "chain1lease", funds: [], msg: { change_close_policy: { stop_loss: { set: 850 }, take_profit: null } } };
    expect(decode(message).rows).toEqual([["Contract", "chain1lease"], ["Stop loss", "85 %"]]);
  });

  it("says what a vote, a delegation and a transfer do", () => {
    expect(decode({ "@type": "/cosmos.gov.v1.MsgVote", proposal_id: "7", voter: "a", option: "VOTE_OPTION_NO_WITH_VETO", metadata: "" })).toEqual({ title: "Vote", rows: [["Proposal", "7"], ["Vote", "no with veto"]] });
    expect(decode({ "@type": "/cosmos.staking.v1beta1.MsgDelegate", delegator_address: "a", validator_address: "v", amount: { denom: "ibc/1", amount: "5" } }).rows).toEqual([["Validator", "v"], ["Amount", "0.000005 USDC"]]);
  });

  it("leaves nothing out of a message it does not know", () => {
    expect(decode({ "@type": "/x.y.MsgNew", thing: { a: 1 }, other: "text" })).toEqual({ title: "MsgNew", rows: [["thing", '{"a":1}'], ["other", "text"]] });
    expect(coinText({ denom: "unknown", amount: "12" })).toBe("12 unknown");
  });
});

describe("an error", () => {
  it("says what a person can do", () => {
    expect(explain(new ApiError(0, "OFFLINE", ""))).toContain("Check that it is running");
    expect(explain(new Error("spendable balance 5ulsh is smaller than 9ulsh: insufficient funds"))).toContain("smaller amount");
    expect(explain(new Error("account sequence mismatch, expected 3, got 2"))).toContain("Try again");
    expect(explain(new Error("Request rejected"))).toContain("Nothing was sent");
  });

  it("keeps the service's own words where they are better than ours", () => {
    expect(explain(new ApiError(400, "VALIDATION_FAILED", "Down payment is below 40 USD"))).toBe("Down payment is below 40 USD");
  });
});
