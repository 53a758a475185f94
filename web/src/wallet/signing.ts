/** Signing and sending; the only part that loads cosmjs. */
import { SigningCosmWasmClient } from "@cosmjs/cosmwasm-stargate";
import { fromBech32, toBech32 } from "@cosmjs/encoding";
import { DirectSecp256k1HdWallet, type EncodeObject, type OfflineSigner } from "@cosmjs/proto-signing";
import { calculateFee, GasPrice, type StdFee } from "@cosmjs/stargate";
import { TxRaw } from "cosmjs-types/cosmos/tx/v1beta1/tx";
import { get } from "../api/client";
import type { Network, Unsigned } from "../api/types";
import { t } from "../text/text";
import type { Stage } from "./wallet";

const POLL_MS = 300;
const LONGEST_MS = 15_000;
const GAS_MARGIN = 1.5;
/** What `/api/etl/txs` lists; the index has others too, but nobody can ask it for them here. */
const LISTED = new Set([
  "/cosmos.bank.v1beta1.MsgSend",
  "/ibc.applications.transfer.v1.MsgTransfer",
  "/cosmwasm.wasm.v1.MsgExecuteContract",
  "/cosmos.gov.v1beta1.MsgVote",
  "/cosmos.staking.v1beta1.MsgDelegate",
  "/cosmos.staking.v1beta1.MsgUndelegate",
  "/cosmos.staking.v1beta1.MsgBeginRedelegate",
  "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward",
]);

interface Keplr {
  experimentalSuggestChain(chain: unknown): Promise<void>;
  enable(chainId: string): Promise<void>;
  getOfflineSignerOnlyAmino(chainId: string): OfflineSigner;
  getKey(chainId: string): Promise<{ name: string; bech32Address: string }>;
}
type Choice = { kind: "keplr" } | { kind: "devnet"; name: string; mnemonic: string };

export interface Session {
  name: string;
  address: string;
  client: SigningCosmWasmClient;
  gasPrice: GasPrice;
  close(): void;
}

export async function openSession(choice: Choice, network: Network): Promise<Session> {
  const { signer, name } = choice.kind === "devnet" ? await testWallet(choice, network) : await keplr(network);
  const [first] = await signer.getAccounts();
  if (!first) throw new Error(t("The wallet has no account for this chain."));
  const gasPrice = GasPrice.fromString(network.gas_price);
  const client = await SigningCosmWasmClient.connectWithSigner(network.rpc_url, signer, { gasPrice });
  return { name, address: first.address, client, gasPrice, close: () => client.disconnect() };
}

async function testWallet(choice: { name: string; mnemonic: string }, network: Network) {
  const signer = await DirectSecp256k1HdWallet.fromMnemonic(choice.mnemonic, { prefix: network.prefix });
  return { signer: signer as OfflineSigner, name: choice.name };
}

async function keplr(network: Network) {
  const wallet = (globalThis as { keplr?: Keplr }).keplr;
  if (!wallet) throw new Error(t("Keplr is not installed in this browser."));
  await wallet.experimentalSuggestChain(suggestion(network));
  await wallet.enable(network.chain_id);
  const key = await wallet.getKey(network.chain_id);
  return { signer: wallet.getOfflineSignerOnlyAmino(network.chain_id), name: key.name };
}

function suggestion(network: Network) {
  const [, price = "0.0025", denom = ""] = /^([\d.]+)(.+)$/.exec(network.gas_price) ?? [];
  const currency = { coinDenom: network.symbol, coinMinimalDenom: denom, coinDecimals: 6 };
  const p = network.prefix;
  const step = Number(price);
  return {
    chainId: network.chain_id,
    chainName: network.name,
    rpc: network.rpc_url,
    rest: network.rest_url,
    bip44: { coinType: 118 },
    bech32Config: {
      bech32PrefixAccAddr: p,
      bech32PrefixAccPub: `${p}pub`,
      bech32PrefixValAddr: `${p}valoper`,
      bech32PrefixValPub: `${p}valoperpub`,
      bech32PrefixConsAddr: `${p}valcons`,
      bech32PrefixConsPub: `${p}valconspub`,
    },
    currencies: [currency],
    feeCurrencies: [{ ...currency, gasPriceStep: { low: step, average: step * 2, high: step * 4 } }],
    stakeCurrency: currency,
    features: ["ibc-transfer"],
  };
}

/** A builder's proto-JSON message as cosmjs takes it: camelCase members, contract messages as bytes. */
export function encodeObject(message: { "@type": string } & Record<string, unknown>): EncodeObject {
  const { "@type": typeUrl, ...members } = message;
  const value: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(members)) {
    const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    value[camel] = member;
  }
  if (typeUrl.startsWith("/cosmwasm.wasm.v1.")) value.msg = new TextEncoder().encode(JSON.stringify(members.msg));
  if (typeUrl.endsWith(".MsgVote")) {
    value.proposalId = BigInt(String(members.proposal_id));
    value.option = typeof members.option === "string" ? OPTIONS.indexOf(members.option) : members.option;
  }
  if (typeUrl.endsWith(".MsgTransfer")) {
    value.timeoutTimestamp = BigInt(String(members.timeout_timestamp ?? 0));
    // An empty height means none, which the encoder expects to be absent.
    value.timeoutHeight = undefined;
  }
  return { typeUrl, value };
}

const OPTIONS = ["VOTE_OPTION_UNSPECIFIED", "VOTE_OPTION_YES", "VOTE_OPTION_ABSTAIN", "VOTE_OPTION_NO", "VOTE_OPTION_NO_WITH_VETO"];

// The library's own default, without a limit, is refused by the codec below it.
const LONGEST_ADDRESS = 90;

/** The same key's address on another chain; true for chains that derive keys alike, as all of ours do. */
export function addressOn(session: Session, prefix: string): string {
  return toBech32(prefix, fromBech32(session.address, LONGEST_ADDRESS).data, LONGEST_ADDRESS);
}

export async function submit(session: Session, unsigned: Unsigned, tell: (stage: Stage) => void): Promise<string> {
  const messages = unsigned.messages.map(encodeObject);
  const { client, address } = session;
  tell("signing");
  const fee = unsigned.fee ? { amount: unsigned.fee.amount, gas: unsigned.fee.gas_limit } : await estimate(session, messages, unsigned.memo);
  const signed = await client.sign(address, messages, fee, unsigned.memo);
  tell("broadcasting");
  const result = await client.broadcastTx(TxRaw.encode(signed).finish(), undefined, POLL_MS);
  if (result.code !== 0) throw new Error(result.rawLog || t("The chain refused it (code {code}).", { code: result.code }));
  tell("included");
  if (!messages.some(({ typeUrl }) => LISTED.has(typeUrl))) tell("final");
  else tell((await indexed(address, result.transactionHash)) ? "indexed" : "late");
  return result.transactionHash;
}

/** A fee for messages that came without one: what a dry run uses, and some more. */
async function estimate({ client, address, gasPrice }: Session, messages: EncodeObject[], memo: string): Promise<StdFee> {
  const used = await client.simulate(address, messages, memo);
  return calculateFee(Math.ceil(used * GAS_MARGIN), gasPrice);
}

/** Whether the index shows the transaction, asked for a while and not for ever. */
async function indexed(address: string, hash: string): Promise<boolean> {
  for (const until = Date.now() + LONGEST_MS; Date.now() < until; ) {
    try {
      const found = await get<{ tx_hash?: string }[]>("/api/etl/txs", { address, limit: 10 });
      if (found.some((one) => one.tx_hash === hash)) return true;
    } catch {
      // The index may be behind or away; the transaction is on the chain all the same.
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}
