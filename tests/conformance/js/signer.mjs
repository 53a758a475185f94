// Signs and broadcasts what the application API's builders return, with cosmjs; MODE is direct or amino.
// Each line in is {built, denom}, each line out {hash}, {address} first of all, or {error}.
import { createInterface } from "node:readline";
import { AminoTypes, GasPrice, createDefaultAminoConverters } from "@cosmjs/stargate";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";
import { Secp256k1HdWallet } from "@cosmjs/amino";
import { SigningCosmWasmClient, createWasmAminoConverters } from "@cosmjs/cosmwasm-stargate";

const { RPC, PREFIX, DENOM, MNEMONIC, MODE } = process.env;

// cosmjs knows the vote of the newer governance module, and not yet how a Ledger would show it.
const voteConverter = {
  "/cosmos.gov.v1.MsgVote": {
    aminoType: "cosmos-sdk/v1/MsgVote",
    toAmino: ({ proposalId, voter, option }) => ({ proposal_id: proposalId.toString(), voter, option }),
    fromAmino: ({ proposal_id, voter, option }) => ({ proposalId: BigInt(proposal_id), voter, option, metadata: "" }),
  },
};

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const base64 = (value) => Buffer.from(JSON.stringify(value)).toString("base64");

function filled(client, message, address, denom) {
  const { "@type": typeUrl, ...members } = message;
  const value = {};
  for (const [name, member] of Object.entries(members)) {
    if (name === "msg") value.msg = base64(member);
    else if (name === "funds") value.funds = member.map((coin) => ({ ...coin, denom: coin.denom || denom }));
    else value[camel(name)] = member === "" && name !== "metadata" ? address : member;
  }
  return { typeUrl, value: client.registry.lookupType(typeUrl).fromJSON(value) };
}

async function main() {
  const Wallet = MODE === "amino" ? Secp256k1HdWallet : DirectSecp256k1HdWallet;
  const wallet = await Wallet.fromMnemonic(MNEMONIC, { prefix: PREFIX });
  const [{ address }] = await wallet.getAccounts();
  const client = await SigningCosmWasmClient.connectWithSigner(RPC, wallet, {
    gasPrice: GasPrice.fromString(`0.0025${DENOM}`),
    broadcastPollIntervalMs: 200,
    broadcastTimeoutMs: 240_000,
    aminoTypes: new AminoTypes({ ...createDefaultAminoConverters(), ...createWasmAminoConverters(), ...voteConverter }),
  });
  const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  say({ address });
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const { built, denom } = JSON.parse(line);
      const messages = built.messages.map((message) => filled(client, message, address, denom));
      const fee = built.fee ? { amount: built.fee.amount, gas: built.fee.gas_limit } : "auto";
      const result = await client.signAndBroadcast(address, messages, fee, built.memo);
      say({ hash: result.transactionHash });
    } catch (error) {
      say({ error: String(error) });
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
