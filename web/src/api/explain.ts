/** What went wrong, in words that say what to do; what is not known keeps the service's own words. */
import { t } from "../text/text";
import { ApiError } from "./client";

export function explain(error: unknown): string {
  if (error instanceof ApiError) return ofService(error);
  const said = error instanceof Error ? error.message : String(error);
  return ofChain(said) ?? said;
}

function ofService(error: ApiError): string {
  switch (error.code) {
    case "OFFLINE":
      return t("The service can't be reached. Check that it is running; this page tries again by itself.");
    case "RATE_LIMITED":
      return t("Too many requests at once. Wait a few seconds.");
    case "SERVICE_UNAVAILABLE":
      return t("The service is still starting. This page tries again by itself.");
    case "SWAP_ROUTE_FAILED":
      return t("There is no route for this swap now. Try another amount or currency.");
  }
  return ofChain(error.message) ?? (error.message || t("The service answered {status}.", { status: error.status }));
}

/** The chain's commonest refusals; its own words name modules and codes. */
function ofChain(said: string): string | null {
  if (/insufficient funds|smaller than|insufficient balance/i.test(said)) return t("The account has too little for this. Give a smaller amount, or add funds first.");
  if (/account sequence mismatch/i.test(said)) return t("Another transaction of this account was faster. Try again.");
  if (/out of gas/i.test(said)) return t("It needed more gas than was estimated. Try again.");
  if (/request rejected|user (rejected|denied)/i.test(said)) return t("You declined in the wallet. Nothing was sent.");
  if (/failed to fetch|networkerror|socket closed/i.test(said)) return t("The node can't be reached. Check that it is running, then try again.");
  return null;
}
