/** One thing that waits for a person: what is asked and why, what follows, and the forms that decide. */
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { decisionText } from '../../../workflows/core/secrets/visible-text';
import { announce, useConsole } from '../api/console-context';
import type { PendingItem, Problem } from '../api/gateway';
import { runHref } from '../api/place';
import { Ago, ProblemNotice } from '../parts/notices';
import { safeText, spanText } from '../parts/words';
import type { Decision, Wait } from './decisions';
import { decide, settledText } from './decisions';
import { AnswerForm, ApprovalForms } from './decision-forms';

type Approval = Extract<PendingItem, { type: 'approval' }>;

interface WaitCardProps extends Wait {
  readonly isGone: boolean;
  readonly isOneRun: boolean;
  readonly onDecided: () => void;
}

/** The card. */
export function WaitCard({ run, item, isGone, isOneRun, onDecided }: WaitCardProps): JSX.Element {
  const world = useConsole();
  const [settled, setSettled] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const titleId = useId();
  const { runId } = run;
  useEffect(() => {
    if (!isGone || settled !== undefined || isBusy) return;
    settledText(world, runId, item)
      .then(setSettled)
      // The next load of the list asks again.
      .catch(() => undefined);
  }, [isGone, isBusy]);
  const send = async (decision: Decision): Promise<void> => {
    setBusy(true);
    const result = await decide(world, runId, item, decision);
    setBusy(false);
    setProblem(result.type === 'refused' ? result.problem : undefined);
    if (result.type === 'refused') return;
    setSettled(result.text);
    announce(result.text);
    onDecided();
  };
  return (
    <article class={`card${settled === undefined ? '' : ' settled'}`} aria-labelledby={titleId}>
      <h2 id={titleId}>{titleOf(item)}</h2>
      {!isOneRun && <Origin run={run} />}
      <Expiry item={item} />
      {item.type === 'approval' ? <Proposal item={item} /> : <Question item={item} />}
      <ProblemNotice problem={problem} />
      {settled === undefined ? (
        <Forms item={item} isBusy={isBusy} onDecide={(decision) => void send(decision)} />
      ) : (
        <p class="notice good">{safeText(settled)}</p>
      )}
    </article>
  );
}

function titleOf(item: PendingItem): string {
  if (item.type === 'approval') return `${decisionText(item.tool)} needs approval`;
  return item.questionId === 'escalation' ? 'The run was handed to a person' : 'The agent asks';
}

function Origin({ run }: Pick<Wait, 'run'>): JSX.Element {
  const { runId, agent, startedAtMs } = run;
  return (
    <p class="hint">
      {safeText(agent)}, run <a href={runHref(runId)}>{safeText(runId)}</a>, started{' '}
      <Ago atMs={startedAtMs} /> ago
    </p>
  );
}

const ends: Readonly<Record<string, string>> = {
  reject: 'then it is rejected',
  escalate: 'then it is escalated',
  wait: 'then people are reminded',
  'give-up': 'then the run gives up',
  continue: 'then the run continues without it',
};

function Expiry({ item }: { readonly item: PendingItem }): JSX.Element | null {
  const { expiresAtMs, onExpiry = '', escalated } = item;
  if (escalated === true) return <p class="notice">Escalated: nobody decided in time.</p>;
  if (expiresAtMs === undefined) return null;
  const then = ends[onExpiry];
  return (
    <p class="hint">
      {spanText(expiresAtMs - Date.now())} left{then === undefined ? '' : `, ${then}`}
    </p>
  );
}

function Proposal({ item }: { readonly item: Approval }): JSX.Element {
  const { shown, privileged = [], proposal, ifApproved, ifRejected, digest } = item;
  return (
    <>
      {proposal !== undefined && (
        <p>
          Recovery proposes {decisionText(proposal.strategy)}: {decisionText(proposal.reasoning)}
        </p>
      )}
      {privileged.length > 0 && (
        <p class="notice">
          It sets privileged arguments: {privileged.map(decisionText).join(', ')}.
        </p>
      )}
      <Arguments item={item} />
      {shown.isPart === true && (
        <p class="notice">
          Something was left out for length. <code>holdfast show RUN --arguments</code> prints all
          of it.
        </p>
      )}
      <dl class="facts">
        <dt>If approved</dt>
        <dd>{ifApproved}</dd>
        <dt>If rejected</dt>
        <dd>{ifRejected}</dd>
        <dt>Digest</dt>
        <dd>
          <code>{digest}</code>
        </dd>
      </dl>
    </>
  );
}

function Arguments({ item }: { readonly item: Approval }): JSX.Element {
  const { fields } = item.shown;
  if (fields.length === 0) return <p>No arguments.</p>;
  return (
    <table class="arguments">
      <caption class="unseen">Arguments</caption>
      <tbody>
        {fields.map(({ name, value }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <code>{value}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Question({ item }: { readonly item: Exclude<PendingItem, Approval> }): JSX.Element {
  const lines = item.question.trim().split(/(?:\r\n|[\r\n])+/);
  return (
    <blockquote>
      {lines.map((text, index) => (
        <p key={index}>{decisionText(text)}</p>
      ))}
    </blockquote>
  );
}

function Forms({
  item,
  ...props
}: {
  readonly item: PendingItem;
  readonly isBusy: boolean;
  readonly onDecide: (decision: Decision) => void;
}): JSX.Element {
  const { role } = useConsole().session.caller;
  if (role === 'view') return <p class="hint">Your token may look, but not decide.</p>;
  if (item.type === 'approval') return <ApprovalForms item={item} {...props} />;
  const isEscalation = item.questionId === 'escalation';
  return <AnswerForm action={isEscalation ? 'Continue the run' : 'Answer'} {...props} />;
}
