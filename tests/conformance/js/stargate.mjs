// Drives the devnet with cosmjs as a wallet and an explorer would; prints one JSON object of what it saw.
import { AminoTypes, GasPrice, SigningStargateClient, StargateClient, assertIsDeliverTxSuccess, createDefaultAminoConverters } from "@cosmjs/stargate";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";
import { Secp256k1HdWallet } from "@cosmjs/amino";
import { SigningCosmWasmClient } from "@cosmjs/cosmwasm-stargate";
import { connectComet, Comet38Client } from "@cosmjs/tendermint-rpc";

async function main() {
  const { RPC, PREFIX, DENOM, MNEMONIC, RECIPIENT, VALIDATOR, POOL, POOL_DENOM } = process.env;
  const seen = {};

  const comet = await connectComet(RPC);
  seen.client = comet instanceof Comet38Client;
  const status = await comet.status();
  seen.network = status.nodeInfo.network;
  seen.first = (await comet.block(1)).block.header.height;
  seen.results = (await comet.blockResults(1)).height;
  seen.validators = (await comet.validatorsAll()).total;
  seen.commit = (await comet.commit(1)).header.height;
  seen.blockchain = (await comet.blockchain()).blockMetas.length > 0;
  seen.genesis = (await comet.genesis()).chainId;
  seen.abci = (await comet.abciInfo()).lastBlockHeight > 0;

  const reader = await StargateClient.connect(RPC);
  seen.missing = await reader.getAccount(RECIPIENT);
  seen.unknownTx = await reader.getTx("AB".repeat(32));

  async function send(Wallet, key, memo, amount) {
    const wallet = await Wallet.fromMnemonic(MNEMONIC, { prefix: PREFIX });
    const [account] = await wallet.getAccounts();
    const client = await SigningStargateClient.connectWithSigner(RPC, wallet, {
      gasPrice: GasPrice.fromString(`0.0025${DENOM}`),
      broadcastPollIntervalMs: 200,
      broadcastTimeoutMs: 240_000,
      aminoTypes: new AminoTypes(createDefaultAminoConverters()),
    });
    const gas = await client.simulate(account.address, [message(account.address, amount)], memo);
    const result = await client.sendTokens(account.address, RECIPIENT, [{ denom: DENOM, amount }], "auto", memo);
    assertIsDeliverTxSuccess(result);
    const found = await client.searchTx(`transfer.recipient='${RECIPIENT}'`);
    const tx = await client.getTx(result.transactionHash);
    seen[key] = { gas: gas > 0, code: result.code, found: found.some((t) => t.hash === result.transactionHash), memo: tx.hash };
    return { client, account };
  }

  function message(from, amount) {
    return {
      typeUrl: "/cosmos.bank.v1beta1.MsgSend",
      value: { fromAddress: from, toAddress: RECIPIENT, amount: [{ denom: DENOM, amount }] },
    };
  }

  await send(DirectSecp256k1HdWallet, "direct", "a <b> & c", "1000");
  const { client, account } = await send(Secp256k1HdWallet, "amino", "é <b> & \"q\"", "2000");
  seen.balance = (await reader.getBalance(RECIPIENT, DENOM)).amount;

  const delegated = await client.delegateTokens(account.address, VALIDATOR, { denom: DENOM, amount: "5000000" }, "auto");
  assertIsDeliverTxSuccess(delegated);
  seen.delegation = (await client.getDelegation(account.address, VALIDATOR)).amount;

  const wallet = await Secp256k1HdWallet.fromMnemonic(MNEMONIC, { prefix: PREFIX });
  const wasm = await SigningCosmWasmClient.connectWithSigner(RPC, wallet, {
    gasPrice: GasPrice.fromString(`0.0025${DENOM}`),
    broadcastPollIntervalMs: 200,
    broadcastTimeoutMs: 240_000,
  });
  seen.lpn = await wasm.queryContractSmart(POOL, { lpn: [] });
  const deposit = await wasm.execute(account.address, POOL, { deposit: [] }, "auto", "", [{ denom: POOL_DENOM, amount: "7000000" }]);
  seen.deposit = deposit.events.some((event) => event.type === "wasm-lp-deposit");
  seen.receipts = (await wasm.queryContractSmart(POOL, { balance: { address: account.address } })).amount;
  try {
    await wasm.execute(account.address, POOL, { deposit: {} }, "auto");
    seen.refused = "";
  } catch (error) {
    seen.refused = error.message.includes("query wasm contract failed") || error.message.includes("execute wasm contract failed");
  }

  const live = await Comet38Client.connect(RPC.replace("http", "ws"));
  seen.subscribed = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no block announced")), 240_000);
    live.subscribeNewBlockHeader().addListener({
      next: (header) => {
        clearTimeout(timer);
        resolve(header.height > 0);
      },
    });
  });
  live.disconnect();
  console.log(JSON.stringify(seen));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
