import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { StakingPositions, Validator } from "../api/types";
import { Resource, useResource } from "../state/resource";
import { networks } from "../state/shared";
import { AmountForm, build } from "../ui/form";
import { baseUnits, percent, units, when } from "../ui/format";
import { t } from "../text/text";
import { Card, Figure, Show, Table } from "../ui/parts";
import { account } from "../wallet/wallet";

const validators = new Resource<Validator[]>(() => get("/api/staking/validators"), 60_000);

export function Stake() {
  const state = useResource(validators);
  const own = useResource(networks).value?.find((network) => network.native);
  const symbol = own?.symbol ?? "";
  const [chosen, choose] = useState<Validator | null>(null);
  const address = account.value?.address ?? null;
  const mine = useMemo(() => (address ? new Resource<StakingPositions>(() => get("/api/staking/positions", { address })) : null), [address]);
  return (
    <>
      <h1>{t("Stake")}</h1>
      {mine && <Mine resource={mine} symbol={symbol} all={state.value ?? []} />}
      {chosen && (
        <Card title={`Delegate to ${chosen.moniker}`}>
          <AmountForm
            label="Amount"
            unit={symbol}
            action="Delegate"
            done={() => void mine?.refresh()}
            make={(text) => {
              const base = baseUnits(text, 6);
              return base
                ? { title: `Delegate ${text} ${symbol} to ${chosen.moniker}`, path: "/api/staking/delegate", body: { validator_address: chosen.operator_address, amount: base } }
                : "Give a positive amount with at most 6 decimals.";
            }}
          />
        </Card>
      )}
      <Card title="Validators">
        <Show of={state} lines={5}>
          {(rows) => (
            <Table
              rows={rows}
              keyOf={(row) => row.operator_address}
              empty="No validators."
              columns={[
                { title: "Validator", cell: (row) => <b>{row.moniker}</b> },
                { title: "Status", cell: (row) => <span class="tag">{row.jailed ? "jailed" : row.status}</span> },
                { title: "Stake", cell: (row) => units(row.tokens, 6).split(".")[0], end: true },
                { title: "Commission", cell: (row) => percent(Number(row.commission_rate) * 100), end: true },
                { title: "", cell: (row) => <button class="second" onClick={() => choose(row)}>Delegate</button>, end: true },
              ]}
            />
          )}
        </Show>
      </Card>
    </>
  );
}

function Mine({ resource, symbol, all }: { resource: Resource<StakingPositions>; symbol: string; all: Validator[] }) {
  const state = useResource(resource);
  const [problem, setProblem] = useState("");
  const [moving, move] = useState<{ from: string; how: "Undelegate" | "Redelegate" } | null>(null);
  const refresh = () => void resource.refresh();
  return (
    <Card title="Your stake">
      <Show of={state} lines={2}>
        {(value) => (
          <>
            <dl class="figures">
              <Figure label="Staked" value={`${units(value.total_staked, 6)} ${symbol}`} />
              <Figure label="Rewards" value={`${units(value.total_rewards.split(".")[0] ?? "0", 6)} ${symbol}`} />
            </dl>
            {value.delegations.length > 0 && (
              <>
                <Table
                  rows={value.delegations}
                  keyOf={(row) => row.validator_address}
                  empty=""
                  columns={[
                    { title: "Validator", cell: (row) => <b>{row.validator_moniker ?? row.validator_address}</b> },
                    { title: "Staked", cell: (row) => units(row.balance.amount, 6), end: true },
                    {
                      title: "",
                      end: true,
                      cell: (row) => (
                        <span class="buttons">
                          {(["Undelegate", "Redelegate"] as const).map((how) => (
                            <button key={how} class="second" onClick={() => move({ from: row.validator_address, how })}>{how}</button>
                          ))}
                        </span>
                      ),
                    },
                  ]}
                />
                {moving && <Move key={moving.from + moving.how} {...moving} symbol={symbol} all={all} done={refresh} />}
                <button
                  onClick={async () =>
                    setProblem(await build({ title: "Claim rewards", path: "/api/staking/claim-rewards", body: { validator_addresses: value.delegations.map((one) => one.validator_address) } }, refresh))
                  }
                >
                  Claim rewards
                </button>
              </>
            )}
            {value.unbonding.length > 0 && (
              <Table
                rows={value.unbonding.flatMap((one) => one.entries.map((entry) => ({ ...entry, moniker: one.validator_moniker ?? one.validator_address })))}
                keyOf={(row) => `${row.moniker}-${row.completion_time}-${row.balance}`}
                empty=""
                columns={[
                  { title: "Unbonding from", cell: (row) => row.moniker },
                  { title: "Amount", cell: (row) => units(row.balance, 6), end: true },
                  { title: "Free at", cell: (row) => when(row.completion_time), end: true },
                ]}
              />
            )}
            {problem && <p class="problem" role="alert">{problem}</p>}
          </>
        )}
      </Show>
    </Card>
  );
}

/** Take stake from a validator, or move it to another one. */
function Move({ from, how, symbol, all, done }: { from: string; how: "Undelegate" | "Redelegate"; symbol: string; all: Validator[]; done: () => void }) {
  const others = all.filter((one) => one.operator_address !== from && !one.jailed);
  const [to, setTo] = useState(others[0]?.operator_address ?? "");
  return (
    <>
      {how === "Redelegate" && (
        <label>
          To{" "}
          <select value={to} onChange={(event) => setTo(event.currentTarget.value)}>
            {others.map((one) => (
              <option key={one.operator_address} value={one.operator_address}>{one.moniker}</option>
            ))}
          </select>
        </label>
      )}
      <AmountForm
        label={`${how} amount`}
        unit={symbol}
        action={how}
        done={done}
        make={(text) => {
          const amount = baseUnits(text, 6);
          if (!amount) return "Give a positive amount with at most 6 decimals.";
          if (how === "Undelegate") return { title: `Undelegate ${text} ${symbol}`, path: "/api/staking/undelegate", body: { validator_address: from, amount } };
          return { title: `Redelegate ${text} ${symbol}`, path: "/api/staking/redelegate", body: { src_validator_address: from, dst_validator_address: to, amount } };
        }}
      />
    </>
  );
}
