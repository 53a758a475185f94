/** What a leaser says to a down payment, and how much it lends at most. */
import { useEffect, useState } from "preact/hooks";
import { post } from "../api/client";
import { explain } from "../api/explain";

export interface Asked {
  protocol: string;
  downpayment_ticker: string;
  /** In base units of the currency that the protocol lends. */
  downpayment_amount: string;
  lease_currency: string;
  /** The loan wanted per down payment, permille; all there is where it is not given. */
  max_ltd?: number;
}
interface Answer {
  borrow_ticker: string;
  borrow_amount: string;
  annual_interest_rate: number;
  estimated_liquidation_price: string | null;
}
export interface Quote extends Answer {
  asked: Asked;
}

/** Permille of the down payment; less is hardly a lease. */
export const LEAST_LENT = 250;
/** What protocols usually lend; each leaser says its own with the first quote. */
export const USUALLY_LENT = 1500;
const STEP = 50;
const PAUSE_MS = 250;
const AGAIN_MS = 15_000;

/** The most a leaser lends per down payment, permille, as far as a quote tells. */
export function mostLent({ asked, borrow_amount }: Quote): number | null {
  const given = BigInt(asked.downpayment_amount || "0");
  if (asked.max_ltd !== undefined || given === 0n) return null;
  return Math.max(LEAST_LENT, Number((BigInt(borrow_amount) * 1000n + given / 2n) / given));
}

/** Loans to choose from, permille: even steps, and at the end the very most, which is what it is. */
export function choices(most: number): number[] {
  const even = Array.from({ length: Math.max(0, Math.ceil((most - LEAST_LENT) / STEP)) }, (_, index) => LEAST_LENT + index * STEP);
  return [...even, most];
}

/** The quote of what is typed, a moment after the last key and now and then after; the last one stays meanwhile. */
export function useQuote(asked: Asked, ready: boolean) {
  const [quote, setQuote] = useState<Quote | null>(null);
  const [problem, setProblem] = useState("");
  const wanted = JSON.stringify(asked);
  useEffect(() => {
    setProblem("");
    if (!ready) return setQuote(null);
    let stale = false;
    const ask = () =>
      void post<Answer>("/api/leases/quote", asked).then(
        (found) => stale || (setQuote({ ...found, asked }), setProblem("")),
        (error: unknown) => stale || (setQuote(null), setProblem(explain(error))),
      );
    const timer = setTimeout(ask, PAUSE_MS);
    // Prices and rates move on while a person thinks.
    const repeat = setInterval(ask, AGAIN_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
      clearInterval(repeat);
    };
  }, [wanted, ready]);
  return { quote, problem, setProblem };
}
