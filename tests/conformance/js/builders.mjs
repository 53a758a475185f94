// Takes what the application API's builders return, fills in the blanks, signs and broadcasts it with cosmjs in both
// signing modes; prints one JSON object of what the chain said.
import { AminoTypes, GasPrice, createDefaultAminoConverters } from "@cosmjs/stargate";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";
import { Secp256k1HdWallet } from "@cosmjs/amino";
import { SigningCosmWasmClient, createWasmAminoConverters } from "@cosmjs/cosmwasm-stargate";

const { APP, RPC, PREFIX, DENOM, MNEMONIC, VALIDATOR, OTHER_VALIDATOR, PROTOCOL, POOL, POOL_DENOM } = process.env;

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

function encoded(message, address) {
  const { "@type": typeUrl, ...members } = message;
  const value = {};
  for (const [name, member] of Object.entries(members)) {
    if (name === "msg") value.msg = new TextEncoder().encode(JSON.stringify(member));
    else if (name === "funds") value.funds = member.map((coin) => ({ ...coin, denom: coin.denom || POOL_DENOM }));
    else value[camel(name)] = member === "" ? address : member;
  }
  return { typeUrl, value };
}

async function built(path, body) {
  const reply = await fetch(APP + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

async function session(Wallet) {
  const wallet = await Wallet.fromMnemonic(MNEMONIC, { prefix: PREFIX });
  const [{ address }] = await wallet.getAccounts();
  const client = await SigningCosmWasmClient.connectWithSigner(RPC, wallet, {
    gasPrice: GasPrice.fromString(`0.0025${DENOM}`),
    broadcastPollIntervalMs: 200,
    aminoTypes: new AminoTypes({ ...createDefaultAminoConverters(), ...createWasmAminoConverters() }),
  });
  async function run(path, body) {
    const answer = await built(path, body);
    const messages = answer.messages.map((message) => encoded(message, address));
    const fee = answer.fee ? { amount: answer.fee.amount, gas: answer.fee.gas_limit } : "auto";
    const result = await client.signAndBroadcast(address, messages, fee, answer.memo);
    if (result.code) throw new Error(`${path}: ${result.rawLog}`);
    return { code: result.code, events: result.events.map((event) => event.type) };
  }
  return { run, client, address };
}

async function main() {
  const seen = {};
  for (const [mode, Wallet] of Object.entries({ direct: DirectSecp256k1HdWallet, amino: Secp256k1HdWallet })) {
    const { run, client, address } = await session(Wallet);
    const deposit = await run("/api/earn/deposit", { protocol: PROTOCOL, amount: "7000000" });
    const receipts = (await client.queryContractSmart(POOL, { balance: { address } })).amount;
    const withdrawal = await run("/api/earn/withdraw", { protocol: PROTOCOL, amount: receipts, sender: address });
    seen[mode] = {
      deposited: deposit.events.includes("wasm-lp-deposit") && receipts !== "0",
      withdrawn: withdrawal.events.includes("wasm-lp-withdraw"),
      receipts: (await client.queryContractSmart(POOL, { balance: { address } })).amount,
      delegated: (await run("/api/staking/delegate", { validator_address: VALIDATOR, amount: "3000000" })).code,
      staked: (await run("/api/staking/stake", { validator_address: VALIDATOR, amount: "3000000", sender: address })).code,
      claimed: (await run("/api/staking/claim-rewards", { validator_addresses: [VALIDATOR] })).events.includes("withdraw_rewards"),
    };
    if (mode === "direct") {
      const move = { src_validator_address: VALIDATOR, dst_validator_address: OTHER_VALIDATOR, amount: "1000000" };
      seen.direct.moved = (await run("/api/staking/redelegate", move)).code;
    }
    seen[mode].undelegated = (await run("/api/staking/undelegate", { validator_address: VALIDATOR, amount: "1000000" })).code;
  }
  console.log(JSON.stringify(seen));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
