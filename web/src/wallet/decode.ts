/** A message as a person reads it before signing: what it does, to whom, with which coins. */
import { currencies, protocols } from "../state/shared";
import { mark, t } from "../text/text";
import { short as shorten, units } from "../ui/format";
import { shortName } from "../ui/coin";

type Message = { "@type": string } & Record<string, unknown>;
interface CoinAmount {
  denom: string;
  amount: string;
}
export interface Decoded {
  title: string;
  rows: [name: string, value: string][];
}

const ACTIONS: Record<string, string> = {
  open_lease: mark("Open a lease"),
  repay: mark("Repay a lease"),
  close_position: mark("Close a position"),
  close: mark("Take out what a lease holds"),
  change_close_policy: mark("Change when a lease closes by itself"),
  deposit: mark("Deposit into a pool"),
  burn: mark("Withdraw from a pool"),
  claim_rewards: mark("Claim rewards"),
};
const KINDS: Record<string, string> = {
  MsgDelegate: mark("Delegate"),
  MsgUndelegate: mark("Undelegate"),
  MsgBeginRedelegate: mark("Redelegate"),
  MsgWithdrawDelegatorReward: mark("Claim staking rewards"),
  MsgVote: mark("Vote"),
  MsgTransfer: mark("Transfer to another chain"),
  MsgSend: mark("Send"),
};
const NAMES: Record<string, string> = {
  contract: mark("Contract"),
  currency: mark("Asset"),
  max_ltd: mark("Loan per down payment"),
  amount: mark("Amount"),
  funds: mark("You send"),
  token: mark("You send"),
  stop_loss: mark("Stop loss"),
  take_profit: mark("Take profit"),
  validator_address: mark("Validator"),
  validator_src_address: mark("From validator"),
  validator_dst_address: mark("To validator"),
  proposal_id: mark("Proposal"),
  option: mark("Vote"),
  receiver: mark("Receiver"),
  source_channel: mark("Channel"),
};
/** Members that are the signer, empty, or only of interest in the full text. */
const QUIET = new Set(["sender", "delegator_address", "voter", "metadata", "memo", "timeout_height", "timeout_timestamp", "source_port", "other_recipient", "encoding"]);

export function decode(message: Message): Decoded {
  const { "@type": type, msg, ...members } = message;
  const kind = type.split(".").at(-1) ?? type;
  if (kind !== "MsgExecuteContract") return { title: t(KINDS[kind] ?? kind), rows: rowsOf(members) };
  const [[action, given] = ["", {}]] = Object.entries((msg ?? {}) as Record<string, unknown>);
  const { contract, funds } = members as { contract?: string; funds?: CoinAmount[] };
  return {
    title: t(ACTIONS[action] ?? action),
    rows: [[t("Contract"), contractName(contract ?? "")], ...rowsOf(leaves(given)), ...(funds?.length ? rowsOf({ funds }) : [])],
  };
}

/** What an amount of a denom is, in the words of its currency. */
export function coinText({ denom, amount }: CoinAmount): string {
  const known = Object.values(currencies.state.value.value?.currencies ?? {}).find((one) => one.bank_symbol === denom);
  return known ? `${units(amount, known.decimal_digits)} ${shortName(known.ticker)}` : `${amount} ${denom}`;
}

function contractName(address: string): string {
  for (const one of protocols.state.value.value?.protocols ?? [])
    for (const [role, known] of Object.entries(one.contracts ?? {})) if (known === address) return `${one.protocol} ${role}`;
  return shorten(address);
}

/** The innermost members of a contract's message, without the empty ones. */
function leaves(given: unknown): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const visit = (name: string, value: unknown) => {
    if (value === null || value === undefined) return;
    if (typeof value !== "object" || isCoin(value)) found[name] = value;
    else for (const [key, inner] of Object.entries(value)) visit(key === "set" || key === "ticker" ? name : key, inner);
  };
  for (const [key, value] of Object.entries((given ?? {}) as object)) visit(key, value);
  return found;
}

function rowsOf(members: Record<string, unknown>): [string, string][] {
  return Object.entries(members)
    .filter(([name, value]) => !QUIET.has(name) && value !== "" && value !== null && value !== undefined)
    .map(([name, value]) => [NAMES[name] ? t(NAMES[name]) : name.replace(/_/g, " "), text(name, value)]);
}

function text(name: string, value: unknown): string {
  if (isCoin(value)) return coinText(value);
  if (Array.isArray(value)) return value.map((one) => text(name, one)).join(", ");
  if (name === "stop_loss" || name === "take_profit" || name === "max_ltd") return `${Number(value) / 10} %`;
  if (name === "option") return String(value).replace("VOTE_OPTION_", "").replace(/_/g, " ").toLowerCase();
  if (typeof value === "object") return JSON.stringify(value);
  return String(value).length > 44 ? shorten(String(value)) : String(value);
}

function isCoin(value: unknown): value is CoinAmount {
  return typeof value === "object" && value !== null && typeof (value as CoinAmount).denom === "string" && typeof (value as CoinAmount).amount === "string";
}
