/** Currencies and protocols as people know them: a disc in the currency's colour, a short name, where it trades. */
import type { ComponentChildren } from "preact";
import { assets, protocols } from "../state/shared";
import { useResource } from "../state/resource";
import { mark, t } from "../text/text";

const UNKNOWN = "#6b7a75";
const SIDES: Record<string, string> = { long: mark("Long"), short: mark("Short") };

function assetOf(ticker: string) {
  return assets.state.value.value?.assets.find((one) => one.ticker === ticker);
}

export function shortName(ticker: string): string {
  return assetOf(ticker)?.shortName ?? ticker;
}

export function fullName(ticker: string): string {
  return assetOf(ticker)?.displayName ?? ticker;
}

/** Where a protocol's positions trade, and its pool's currency: "Osmosis · USDC". */
export function protocolName(protocol: string): string {
  const found = protocols.state.value.value?.protocols.find((one) => one.protocol === protocol);
  return found ? `${found.network} · ${shortName(found.lpn)}` : protocol;
}

export function side(positionType: string | undefined): string {
  return t(SIDES[(positionType ?? "").toLowerCase()] ?? positionType ?? "");
}

/** Dark letters on light colours, and the other way round. */
function letters(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#08120f" : "#ffffff";
}

export function Coin({ ticker }: { ticker: string }) {
  useResource(assets);
  const colour = assetOf(ticker)?.color ?? UNKNOWN;
  const name = shortName(ticker);
  return (
    <span class="coin" style={{ background: colour, color: letters(colour) }} aria-hidden="true">
      {name.slice(0, 1).toUpperCase()}
    </span>
  );
}

/** A currency with its disc, and a second line. */
export function Named({ ticker, name, note }: { ticker: string; name?: string; note?: ComponentChildren }) {
  useResource(assets);
  return (
    <span class="named">
      <Coin ticker={ticker} />
      <span>
        <b>{name ?? shortName(ticker)}</b>
        {note !== undefined && note !== "" && <small>{note}</small>}
      </span>
    </span>
  );
}
