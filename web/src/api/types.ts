/** What the application API answers, as far as the pages read it. */

export interface Price {
  key: string;
  symbol: string;
  price_usd: string;
}
export interface Prices {
  prices: Record<string, Price>;
}
export interface Asset {
  ticker: string;
  decimals: number;
  displayName: string;
  shortName: string;
  color?: string;
  networks: string[];
  protocols: string[];
  price: string | null;
}
export interface Pool {
  protocol: string;
  lpp_address: string;
  currency: string;
  total_deposited: string;
  total_deposited_usd: string | null;
  apy: number;
  utilization: number;
  available_liquidity: string;
  deposit_capacity: string | null;
}
export interface EarnStats {
  total_value_locked: string;
  pools_count: number;
  average_apy: number;
  dispatcher_rewards: number | null;
}
export interface EarnPosition {
  protocol: string;
  deposited_nlpn: string;
  deposited_lpn: string;
  deposited_usd: string | null;
  [member: string]: unknown;
}
export interface Currency {
  key: string;
  ticker: string;
  decimal_digits: number;
  bank_symbol: string;
  dex_symbol: string;
  short_name: string;
  protocol?: string;
}
export interface Currencies {
  currencies: Record<string, Currency>;
}
export interface Protocol {
  protocol: string;
  network: string;
  dex: string;
  position_type: string;
  lpn: string;
  contracts?: Record<string, string>;
}
export interface Network {
  key: string;
  name: string;
  chain_id: string;
  prefix: string;
  rpc_url: string;
  rest_url: string;
  gas_price: string;
  native: boolean;
  symbol: string;
}
export interface Balance {
  key: string;
  denom: string;
  amount: string;
  amount_usd: string | null;
  decimal_digits: number;
}
export interface Lease {
  address: string;
  protocol: string;
  status: string;
  amount: { ticker: string; amount: string; amount_usd: string | null };
  debt: { ticker: string; principal: string; total: string; total_usd: string | null } | null;
  interest: { annual_rate_percent: number } | null;
  liquidation_price: string | null;
  opened_at: string | null;
  pnl: { amount: string; percent: string; pnl_positive: boolean } | null;
  /** What an open lease is doing, by name; it takes no orders meanwhile. */
  in_progress?: Record<string, unknown>;
  close_policy?: { stop_loss?: number | null; take_profit?: number | null };
}
export interface LeaseEvent {
  tx_hash: string | null;
  action: string;
  amount: string | null;
  symbol: string | null;
  timestamp: string | null;
  liquidation_price: string | null;
}
export interface Leases {
  leases: Lease[];
  total_collateral_usd: string | null;
  total_debt_usd: string | null;
}
export interface Validator {
  operator_address: string;
  moniker: string;
  commission_rate: string;
  tokens: string;
  status: string;
  jailed: boolean;
}
export interface StakingPositions {
  delegations: { validator_address: string; validator_moniker: string | null; balance: { amount: string; denom: string } }[];
  unbonding: { validator_address: string; validator_moniker: string | null; entries: { completion_time: string; balance: string }[] }[];
  total_staked: string;
  total_rewards: string;
}
export interface Proposal {
  id: string;
  status: string;
  title: string;
  summary: string;
  voting_end_time: string | null;
  final_tally_result: Tally;
  tally?: Tally;
  voted?: boolean;
}
export interface Tally {
  yes_count: string;
  abstain_count: string;
  no_count: string;
  no_with_veto_count: string;
}
export interface NodeStatus {
  network: string;
  latest_block_height: string;
  latest_block_time: string;
  catching_up: boolean;
}
/** An unsigned transaction from a builder, complete because the sender was given. */
export interface Unsigned {
  messages: ({ "@type": string } & Record<string, unknown>)[];
  memo: string;
  fee?: { amount: { denom: string; amount: string }[]; gas_limit: string };
  signer?: { account_number: string; sequence: string; chain_id: string };
}
export interface Market {
  protocol: string;
  asset: string;
  lpn: string;
  position_type: string;
  open_positions: number;
  value: string;
  mean_leverage: string;
  openings_24h: number;
  price: string;
  price_change_24h: string | null;
}
