/** The development accounts, whose keys everybody knows; only offered on a development chain. */
import source from "../../../src/leasehold/devnet/genesis/accounts.toml?raw";

export interface TestAccount {
  name: string;
  about: string;
  mnemonic: string;
}

export function testAccounts(): TestAccount[] {
  const found: TestAccount[] = [];
  for (const block of source.split("\n[").slice(1)) {
    const name = block.slice(0, block.indexOf("]"));
    const about = /about = "([^"]*)"/.exec(block)?.[1];
    const mnemonic = /mnemonic = "([^"]*)"/.exec(block)?.[1];
    if (about && mnemonic) found.push({ name, about, mnemonic });
  }
  return found.filter((account) => account.about.includes("developer"));
}
