import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Proposal, Tally } from "../api/types";
import { Resource, useResource } from "../state/resource";
import { build } from "../ui/form";
import { percent, when } from "../ui/format";
import { t } from "../text/text";
import { Card, Show } from "../ui/parts";
import { account } from "../wallet/wallet";

const CHOICES = [["Yes", "yes_count", "yes"], ["No", "no_count", "no"], ["Veto", "no_with_veto_count", "no_with_veto"], ["Abstain", "abstain_count", "abstain"]] as const;

export function Governance() {
  const voter = account.value?.address;
  const resource = useMemo(() => new Resource<{ proposals: Proposal[] }>(() => get("/api/governance/proposals", { limit: 20, voter }), 15_000), [voter]);
  const state = useResource(resource);
  return (
    <>
      <h1>{t("Governance")}</h1>
      <Show of={state} lines={6}>
        {({ proposals }) => <>{proposals.length ? proposals.map((one) => <One key={one.id} proposal={one} refresh={() => void resource.refresh()} />) : <p class="quiet">{t("No proposals yet.")}</p>}</>}
      </Show>
    </>
  );
}

function One({ proposal, refresh }: { proposal: Proposal; refresh: () => void }) {
  const [problem, setProblem] = useState("");
  const voting = proposal.status === "PROPOSAL_STATUS_VOTING_PERIOD";
  const tally: Tally = proposal.tally ?? proposal.final_tally_result;
  const total = CHOICES.reduce((sum, [, key]) => sum + Number(tally[key]), 0);
  const cast = async (option: string, name: string) =>
    setProblem(await build({ title: `Vote ${name} on #${proposal.id}`, path: "/api/governance/vote", body: { proposal_id: proposal.id, option } }, refresh));
  return (
    <Card title={`#${proposal.id} ${proposal.title}`} aside={<span class="tag">{proposal.status.replace("PROPOSAL_STATUS_", "").replace(/_/g, " ").toLowerCase()}</span>}>
      <p>{proposal.summary}</p>
      <ul class="tally">
        {CHOICES.map(([name, key]) => (
          <li key={name}>
            <span>{name}</span>
            <meter min={0} max={total || 1} value={Number(tally[key])} aria-label={name} />
            <b>{percent(total ? (Number(tally[key]) / total) * 100 : 0)}</b>
          </li>
        ))}
      </ul>
      {voting && proposal.voting_end_time && <p class="quiet">Ends {when(proposal.voting_end_time)}{proposal.voted ? "; you have voted" : ""}</p>}
      {voting && account.value && (
        <span class="buttons">
          {CHOICES.map(([name, , option]) => (
            <button class="second" key={name} onClick={() => void cast(option, name)}>
              {name}
            </button>
          ))}
        </span>
      )}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </Card>
  );
}
