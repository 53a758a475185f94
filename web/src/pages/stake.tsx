import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { StakingPositions, Validator } from "../api/types";
import { Resource, useResource } from "../state/resource";
import { networks } from "../state/shared";
import { AmountForm, build } from "../ui/form";
import { baseUnits, percent, units } from "../ui/format";
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
      <h1>Stake</h1>
      {mine && <Mine resource={mine} symbol={symbol} />}
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

function Mine({ resource, symbol }: { resource: Resource<StakingPositions>; symbol: string }) {
  const state = useResource(resource);
  const [problem, setProblem] = useState("");
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
              <button
                onClick={async () =>
                  setProblem(await build({ title: "Claim rewards", path: "/api/staking/claim-rewards", body: { validator_addresses: value.delegations.map((one) => one.validator_address) } }, () => void resource.refresh()))
                }
              >
                Claim rewards
              </button>
            )}
            {problem && <p class="problem" role="alert">{problem}</p>}
          </>
        )}
      </Show>
    </Card>
  );
}
