import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { StakingPositions, Validator } from "../api/types";
import { keyed, Resource, useResource } from "../state/resource";
import { currencies, networks } from "../state/shared";
import { mark, t } from "../text/text";
import { AmountForm, BuildButton } from "../ui/form";
import { amountOf, count, percent, when } from "../ui/format";
import { Card, Empty, Figure, Figures, Share, Show, Title } from "../ui/parts";
import { Table } from "../ui/table";
import { account } from "../wallet/wallet";
import { Held } from "./earn";

const DECIMALS = 6;
const validators = new Resource<Validator[]>(() => get("/api/staking/validators"), 60_000);
const inflation = new Resource<{ annual_inflation: string; bonded_tokens: string }>(() => get("/api/governance/apr"), 60_000);
const rules = new Resource<{ unbonding_time: string }>(() => get("/api/staking/params"), 300_000);
const stakeOf = (address: string) => keyed(`stake ${address}`, () => new Resource<StakingPositions>(() => get("/api/staking/positions", { address })));
const STATUSES: Record<string, [string, string]> = { bonded: [mark("bonded"), "good"], unbonding: [mark("unbonding"), "warn"], unbonded: [mark("unbonded"), ""], jailed: [mark("jailed"), "bad"] };
type How = "delegate" | "undelegate" | "redelegate";

export function Stake() {
  const state = useResource(validators);
  const pace = useResource(inflation).value;
  const days = Math.round(parseInt(useResource(rules).value?.unbonding_time ?? "", 10) / 86_400);
  const own = useResource(networks).value?.find((network) => network.native);
  const symbol = own?.symbol ?? "";
  const address = account.value?.address ?? null;
  const mine = address ? stakeOf(address) : null;
  const [doing, act] = useState<{ validator: string; how: How } | null>(null);
  const choose = (validator: string, how: How) => (act({ validator, how }), scrollTo({ top: 0 }));
  const bonded = (state.value ?? []).reduce((sum, one) => sum + Number(one.tokens), 0);
  return (
    <>
      <Title text={t("Stake")} about={t("Delegate to validators, share their rewards, and vote.")} />
      <Figures kind="tiles">
        <Figure label={t("Yearly reward")} value={percent(pace && (Number(pace.annual_inflation) / Number(pace.bonded_tokens)) * 100)} note={t("before commission")} />
        <Figure label={t("Staked in all")} value={count(pace && Number(pace.bonded_tokens) / 10 ** DECIMALS)} note={symbol} />
        {mine ? <Own resource={mine} symbol={symbol} /> : <Figure label={t("Validators")} value={state.value?.length ?? "–"} />}
        <Figure label={t("Unbonding takes")} value={Number.isFinite(days) ? t("{count} days", { count: days }) : "–"} />
      </Figures>
      {doing && state.value && <Desk key={doing.validator + doing.how} {...doing} symbol={symbol} all={state.value} mine={mine} />}
      {mine && <Mine resource={mine} symbol={symbol} choose={choose} />}
      <Card title={t("Validators")}>
        <Show of={state} lines={6}>
          {(rows) => (
            <Table
              label={t("Validators")}
              rows={[...rows].sort((a, b) => Number(b.tokens) - Number(a.tokens))}
              keyOf={(row) => row.operator_address}
              empty={t("No validators.")}
              columns={[
                { title: t("Validator"), cell: (row) => <b>{row.moniker}</b> },
                { title: t("Status"), cell: (row) => <Status of={row} /> },
                { title: t("Staked"), cell: (row) => count(Number(row.tokens) / 10 ** DECIMALS), end: true },
                { title: t("Voting power"), cell: (row) => <Share value={bonded ? (Number(row.tokens) / bonded) * 100 : 0} />, end: true },
                { title: t("Commission"), cell: (row) => percent(Number(row.commission_rate) * 100), end: true },
                { title: "", cell: (row) => <button class="second small" data-delegate={row.operator_address} onClick={() => choose(row.operator_address, "delegate")}>{t("Delegate")}</button>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function Status({ of }: { of: Validator }) {
  const [name, tone] = STATUSES[of.jailed ? "jailed" : of.status] ?? [of.status, ""];
  return <span class={`tag ${tone}`}>{t(name)}</span>;
}

function Own({ resource, symbol }: { resource: Resource<StakingPositions>; symbol: string }) {
  const { value } = useResource(resource);
  return <Figure label={t("Your stake")} value={value ? <span data-staked={value.total_staked}>{amountOf(value.total_staked, DECIMALS)} {symbol}</span> : "–"} note={value && t("{amount} {currency} of rewards", { amount: amountOf(value.total_rewards.split(".")[0] ?? "0", DECIMALS), currency: symbol })} />;
}

function Mine({ resource, symbol, choose }: { resource: Resource<StakingPositions>; symbol: string; choose: (validator: string, how: How) => void }) {
  const state = useResource(resource);
  const refresh = () => void resource.refresh();
  return (
    <Card
      title={t("Your delegations")}
      aside={
        state.value && state.value.delegations.length > 0 && (
          <BuildButton kind="second small" text={t("Claim rewards")} done={refresh} wanted={{ title: t("Claim rewards"), path: "/api/staking/claim-rewards", body: { validator_addresses: state.value.delegations.map((one) => one.validator_address) } }} />
        )
      }
    >
      <Show of={state} lines={3}>
        {(value) => (
          <div class="stack-wide">
            {value.delegations.length === 0 ? (
              <Empty icon="stake" title={t("Nothing staked yet")} text={t("Choose a validator below to delegate to.")} />
            ) : (
              <Table
                label={t("Your delegations")}
                rows={value.delegations}
                keyOf={(row) => row.validator_address}
                empty=""
                columns={[
                  { title: t("Validator"), cell: (row) => <b>{row.validator_moniker ?? row.validator_address}</b> },
                  { title: t("Staked"), cell: (row) => `${amountOf(row.balance.amount, DECIMALS)} ${symbol}`, end: true },
                  {
                    title: "",
                    end: true,
                    cell: (row) => (
                      <span class="buttons">
                        <button class="second small" onClick={() => choose(row.validator_address, "undelegate")}>{t("Undelegate")}</button>
                        <button class="second small" onClick={() => choose(row.validator_address, "redelegate")}>{t("Redelegate")}</button>
                      </span>
                    ),
                  },
                ]}
              />
            )}
            {value.unbonding.length > 0 && (
              <Table
                label={t("Unbonding stake")}
                rows={value.unbonding.flatMap((one) => one.entries.map((entry) => ({ ...entry, moniker: one.validator_moniker ?? one.validator_address })))}
                keyOf={(row) => `${row.moniker}-${row.completion_time}-${row.balance}`}
                empty=""
                columns={[
                  { title: t("Unbonding from"), cell: (row) => row.moniker },
                  { title: t("Amount"), cell: (row) => `${amountOf(row.balance, DECIMALS)} ${symbol}`, end: true },
                  { title: t("Free at"), cell: (row) => when(row.completion_time), end: true },
                ]}
              />
            )}
          </div>
        )}
      </Show>
    </Card>
  );
}

/** Stake given to a validator, taken from it, or moved to another one. */
function Desk({ validator, how, symbol, all, mine }: { validator: string; how: How; symbol: string; all: Validator[]; mine: Resource<StakingPositions> | null }) {
  const others = all.filter((one) => one.operator_address !== validator && !one.jailed);
  const [to, setTo] = useState(others[0]?.operator_address ?? "");
  const known = useResource(currencies).value?.currencies;
  const denom = Object.values(known ?? {}).find((one) => one.ticker === symbol)?.bank_symbol ?? "";
  const moniker = all.find((one) => one.operator_address === validator)?.moniker ?? validator;
  const staked = mine?.state.value.value?.delegations.find((one) => one.validator_address === validator)?.balance.amount;
  const words = { delegate: t("Delegate"), undelegate: t("Undelegate"), redelegate: t("Redelegate") }[how];
  const titles = { delegate: t("Delegate to {validator}", { validator: moniker }), undelegate: t("Undelegate from {validator}", { validator: moniker }), redelegate: t("Redelegate from {validator}", { validator: moniker }) };
  return (
    <Card title={titles[how]} kind="narrow">
      <div class="stack" data-desk={how}>
        {how === "redelegate" && (
          <label class="field">
            <span>{t("To")}</span>
            <select value={to} onChange={(event) => setTo(event.currentTarget.value)}>
              {others.map((one) => (
                <option key={one.operator_address} value={one.operator_address}>{one.moniker}</option>
              ))}
            </select>
          </label>
        )}
        <Held address={account.value?.address} denom={denom}>
          {(held) => (
            <AmountForm
              id={how}
              label={t("Amount")}
              unit={symbol}
              action={words}
              decimals={DECIMALS}
              held={how === "delegate" ? held : staked}
              done={() => void mine?.refresh()}
              make={(amount) => ({
                title: titles[how],
                path: `/api/staking/${how}`,
                body: how === "redelegate" ? { src_validator_address: validator, dst_validator_address: to, amount } : { validator_address: validator, amount },
              })}
            />
          )}
        </Held>
      </div>
    </Card>
  );
}
