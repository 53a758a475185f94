// Drives the devnet under the public identity with the protocol family's own client.
import { NolusClient, NolusContracts, ChainConstants } from "@nolus/nolusjs";
import { nolusOfflineSigner } from "@nolus/nolusjs/build/wallet/NolusWalletFactory";
import { DirectSecp256k1HdWallet } from "@cosmjs/proto-signing";

async function main() {
  const { RPC, MNEMONIC, RECIPIENT, ORACLE, POOL, LEASER } = process.env;
  const seen = {};
  NolusClient.setInstance(RPC);
  const client = NolusClient.getInstance();
  seen.chainId = await client.getChainId();
  seen.height = (await client.getBlockHeight()) > 0;
  const cosmwasm = await client.getCosmWasmClient();
  seen.prefix = ChainConstants.BECH32_PREFIX_ACC_ADDR;
  const signer = await DirectSecp256k1HdWallet.fromMnemonic(MNEMONIC, { prefix: ChainConstants.BECH32_PREFIX_ACC_ADDR });
  const wallet = await nolusOfflineSigner(signer);
  await wallet.useAccount();
  seen.address = wallet.address;
  const fee = { gas: "200000", amount: [{ denom: ChainConstants.COIN_MINIMAL_DENOM, amount: "5000" }] };
  const sent = await wallet.transferAmount(RECIPIENT, [{ denom: ChainConstants.COIN_MINIMAL_DENOM, amount: "12" }], fee, "");
  seen.sent = sent.code;
  const oracle = new NolusContracts.Oracle(cosmwasm, ORACLE);
  seen.base = await oracle.getBaseCurrency();
  const pool = new NolusContracts.Lpp(cosmwasm, POOL);
  seen.lpn = await pool.getLPN();
  const leaser = new NolusContracts.Leaser(cosmwasm, LEASER);
  seen.leases = await leaser.getCurrentOpenLeasesByOwner(wallet.address);
  console.log(JSON.stringify(seen));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
