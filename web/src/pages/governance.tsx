import { get } from "../api/client";
import type { Proposal, Tally } from "../api/types";
import { keyed, Resource, useResource } from "../state/resource";
import { mark, t } from "../text/text";
import { BuildButton } from "../ui/form";
import { percent, when } from "../ui/format";
import { Card, Empty, Figure, Figures, Show, Title } from "../ui/parts";
import { account } from "../wallet/wallet";

const CHOICES = [
  [mark("Yes"), "yes_count", "yes", "--good"],
  [mark("No"), "no_count", "no", "--bad"],
  [mark("Veto"), "no_with_veto_count", "no_with_veto", "--second"],
  [mark("Abstain"), "abstain_count", "abstain", "--soft"],
] as const;
const STATUSES: Record<string, [string, string]> = {
  VOTING_PERIOD: [mark("voting"), "warn"],
  DEPOSIT_PERIOD: [mark("collecting deposits"), ""],
  PASSED: [mark("passed"), "good"],
  REJECTED: [mark("rejected"), "bad"],
  FAILED: [mark("failed"), "bad"],
};
interface Rules {
  params: { quorum: string; threshold: string; veto_threshold: string };
}
const tallying = new Resource<Rules>(() => get("/api/governance/params/tallying"), 300_000);
const stakingPool = new Resource<{ pool: { bonded_tokens: string } }>(() => get("/api/governance/staking-pool"), 60_000);
const proposalsFor = (voter: string | undefined) => keyed(`proposals ${voter ?? ""}`, () => new Resource<{ proposals: Proposal[] }>(() => get("/api/governance/proposals", { limit: 20, voter }), 15_000));

export function Governance() {
  const resource = proposalsFor(account.value?.address);
  const state = useResource(resource);
  const rules = useResource(tallying).value?.params;
  const share = (text: string | undefined) => percent(text === undefined ? null : Number(text) * 100);
  const voting = state.value?.proposals.filter((one) => one.status.endsWith("VOTING_PERIOD")).length;
  return (
    <>
      <Title text={t("Governance")} about={t("Stake votes. A proposal passes with a quorum, a majority, and not too many vetoes.")} />
      <Figures kind="tiles">
        <Figure label={t("Open votes")} value={voting ?? "–"} />
        <Figure label={t("Quorum")} value={share(rules?.quorum)} />
        <Figure label={t("Majority")} value={share(rules?.threshold)} />
        <Figure label={t("Veto stops at")} value={share(rules?.veto_threshold)} />
      </Figures>
      <Show of={state} lines={8}>
        {({ proposals }) => (
          <>
            {proposals.length ? (
              <div class="columns">
                {proposals.map((one) => (
                  <One key={one.id} proposal={one} refresh={() => void resource.refresh()} />
                ))}
              </div>
            ) : (
              <Card>
                <Empty icon="governance" title={t("No proposals yet.")} />
              </Card>
            )}
          </>
        )}
      </Show>
    </>
  );
}

function One({ proposal, refresh }: { proposal: Proposal; refresh: () => void }) {
  const voting = proposal.status === "PROPOSAL_STATUS_VOTING_PERIOD";
  const tally: Tally = proposal.tally ?? proposal.final_tally_result;
  const total = CHOICES.reduce((sum, [, key]) => sum + Number(tally[key]), 0);
  const bonded = Number(useResource(stakingPool).value?.pool.bonded_tokens ?? NaN);
  const kind = proposal.status.replace("PROPOSAL_STATUS_", "");
  const [status, tone] = STATUSES[kind] ?? [kind.toLowerCase().replace(/_/g, " "), ""];
  const share = (key: keyof Tally) => (total ? (Number(tally[key]) / total) * 100 : 0);
  return (
    <Card title={`#${proposal.id} ${proposal.title}`} aside={<span class={`tag ${tone}`}>{t(status)}</span>}>
      <div class="stack" data-proposal={proposal.id} data-voted={String(proposal.voted ?? false)}>
        <p class="quiet">{proposal.summary}</p>
        {total > 0 && (
          <>
            <div class="split" role="img" aria-label={CHOICES.map(([name, key]) => `${t(name)} ${percent(share(key))}`).join(", ")}>
              {CHOICES.map(([name, key, , colour]) => share(key) > 0 && <i key={name} style={{ width: `${share(key)}%`, "--tone": `var(${colour})` }} />)}
            </div>
            <ul class="tally">
              {CHOICES.map(([name, key, , colour]) => (
                <li key={name} style={{ "--tone": `var(${colour})` }}>
                  {t(name)} <b>{percent(share(key))}</b>
                </li>
              ))}
            </ul>
          </>
        )}
        <small>
          {[
            total > 0 && Number.isFinite(bonded) && t("Turnout {share}", { share: percent((total / bonded) * 100) }),
            voting && proposal.voting_end_time && t("ends {time}", { time: when(proposal.voting_end_time) }),
            proposal.voted && t("you have voted"),
          ]
            .filter(Boolean)
            .join(" · ")}
        </small>
        {voting && account.value && (
          <span class="buttons">
            {CHOICES.map(([name, , option]) => (
              <BuildButton
                key={option}
                kind="second small"
                text={t(name)}
                done={refresh}
                wanted={{ title: t("Vote {option} on #{id}", { option: t(name), id: proposal.id }), path: "/api/governance/vote", body: { proposal_id: proposal.id, option } }}
              />
            ))}
          </span>
        )}
      </div>
    </Card>
  );
}
