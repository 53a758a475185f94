import { get } from "../api/client";
import type { Leases as Answer } from "../api/types";
import { pools, protocols } from "../state/shared";
import { liveLeases } from "../live/resources";
import { keyed, Resource, useResource } from "../state/resource";
import { t } from "../text/text";
import { signedUsd, usd } from "../ui/format";
import { Card, Empty, Figure, Figures, Show, Skeleton, Title } from "../ui/parts";
import { choosing } from "../wallet/choosing";
import { account } from "../wallet/wallet";
import { OpenDesk } from "./open-lease";
import { OwnLeases } from "./own-leases";

const leasesOf = (address: string) => keyed(`leases ${address}`, () => new Resource<Answer>(() => get("/api/leases", { address }), 15_000, liveLeases(address)));

export function Leases() {
  const address = account.value?.address ?? null;
  const resource = address ? leasesOf(address) : null;
  const known = useResource(protocols);
  const deep = useResource(pools);
  return (
    <>
      <Title text={t("Leases")} about={t("Put a part down, borrow the rest, hold the whole.")} />
      {resource && <Totals resource={resource} />}
      <Card title={t("Open a lease")}>
        <Show of={known} lines={8}>
          {({ protocols: all }) => (deep.value || deep.error ? <OpenDesk protocols={all} pools={deep.value ?? []} done={() => void resource?.refresh()} /> : <Skeleton lines={8} />)}
        </Show>
      </Card>
      {resource ? (
        <OwnLeases resource={resource} />
      ) : (
        <Card>
          <Empty icon="leases" title={t("Your leases appear here")} text={t("Connect a wallet to see your leases.")}>
            <button class="second" onClick={() => (choosing.value = true)}>{t("Connect wallet")}</button>
          </Empty>
        </Card>
      )}
    </>
  );
}

function Totals({ resource }: { resource: Resource<Answer> }) {
  const { value } = useResource(resource);
  const gain = value?.leases.reduce((sum, one) => sum + Number(one.pnl?.amount ?? 0), 0);
  return (
    <Figures kind="tiles">
      <Figure label={t("Open leases")} value={value?.leases.length ?? "–"} />
      <Figure label={t("Positions")} value={usd(value?.total_collateral_usd)} />
      <Figure label={t("Debt")} value={usd(value?.total_debt_usd)} />
      <Figure label={t("Profit and loss")} value={<span class={gain ? (gain < 0 ? "bad" : "good") : ""}>{signedUsd(gain)}</span>} />
    </Figures>
  );
}
