/** What people do to a run: say something, hand it over, end it, fork it, compare it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ConsoleWorld } from '../api/console-context';
import { announce, useConsole } from '../api/console-context';
import type { Problem, Run } from '../api/gateway';
import { dataOf, problemOf } from '../api/gateway';
import { hrefOf, runHref } from '../api/place';
import { ProblemNotice } from '../parts/notices';
import { TextForm } from '../waits/decision-forms';
import { CancelForm, CompareForm, ForkForm } from './action-forms';

type Action = 'message' | 'escalate' | 'stop' | 'cancel' | 'fork' | 'compare';

const labels: Readonly<Record<Action, string>> = {
  message: 'Message …',
  escalate: 'Escalate …',
  stop: 'Stop …',
  cancel: 'Cancel …',
  fork: 'Fork …',
  compare: 'Compare …',
};

/** The actions that the run's state and the token's role allow. */
function actionsFor({ closedAtMs }: Run, role: string): readonly Action[] {
  if (role === 'view') return ['compare'];
  return closedAtMs === undefined
    ? ['message', 'escalate', 'stop', 'cancel', 'fork', 'compare']
    : ['fork', 'compare'];
}

/** Steers the run. Errors: `Problem`. */
function steer(
  { api, session }: ConsoleWorld,
  runId: string,
  action: 'message' | 'escalate' | 'stop' | 'cancel',
  text: string,
): Promise<unknown> {
  const params = { path: { runId } };
  const by = session.by === '' ? {} : { by: session.by };
  switch (action) {
    case 'message':
      return dataOf(
        api.POST('/v1/runs/{runId}/messages', { params, body: { message: text, ...by } }),
      );
    case 'escalate':
      return dataOf(
        api.POST('/v1/runs/{runId}/escalate', { params, body: { reason: text, ...by } }),
      );
    case 'stop':
      return dataOf(api.POST('/v1/runs/{runId}/stop', { params, body: { reason: text, ...by } }));
    case 'cancel':
      return dataOf(api.POST('/v1/runs/{runId}/cancel', { params }));
  }
}

const doneTexts = {
  message: 'Sent: the model reads it with its next call.',
  escalate: 'The run is handed to a person.',
  stop: 'The run is asked to stop.',
  cancel: 'The run is being cancelled.',
} as const;

/** Buttons that open a form each. `onDone` is told when one took effect. */
export function RunActions({
  run,
  onDone,
}: {
  readonly run: Run;
  readonly onDone: () => void;
}): JSX.Element {
  const world = useConsole();
  const [open, setOpen] = useState<Action>();
  const [problem, setProblem] = useState<Problem>();
  const [done, setDone] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const doing = async (work: () => Promise<string>): Promise<void> => {
    setBusy(true);
    try {
      const text = await work();
      setProblem(undefined);
      setDone(text);
      setOpen(undefined);
      announce(text);
      onDone();
    } catch (thrown) {
      setProblem(problemOf(thrown));
    }
    setBusy(false);
  };
  const actions = actionsFor(run, world.session.caller.role);
  return (
    <div class="actions">
      <div class="buttons">
        {actions.map((action) => (
          <button
            key={action}
            type="button"
            aria-expanded={open === action}
            onClick={() => {
              setDone(undefined);
              setProblem(undefined);
              setOpen(open === action ? undefined : action);
            }}
          >
            {labels[action]}
          </button>
        ))}
      </div>
      {done !== undefined && <p class="notice good">{done}</p>}
      <ProblemNotice problem={problem} />
      {open !== undefined && actions.includes(open) && (
        <OpenForm action={open} run={run} isBusy={isBusy} onWork={(work) => void doing(work)} />
      )}
    </div>
  );
}

const textForms = {
  message: { label: 'Message to the model', action: 'Send' },
  escalate: { label: 'Reason, for people', action: 'Escalate' },
  stop: { label: 'Reason', action: 'Stop the run' },
} as const;

interface OpenFormProps {
  readonly action: Action;
  readonly run: Run;
  readonly isBusy: boolean;
  readonly onWork: (work: () => Promise<string>) => void;
}

function OpenForm({ action, run, isBusy, onWork }: OpenFormProps): JSX.Element {
  const world = useConsole();
  const steered = (how: keyof typeof doneTexts, text: string): void => {
    onWork(async () => {
      await steer(world, run.runId, how, text);
      return doneTexts[how];
    });
  };
  if (action === 'fork')
    return (
      <ForkForm
        run={run}
        isBusy={isBusy}
        onFork={(iteration, message) => {
          onWork(() => fork(world, run.runId, iteration, message));
        }}
      />
    );
  if (action === 'compare')
    return (
      <CompareForm
        onCompare={(right) => {
          location.hash = hrefOf('compare', { left: run.runId, right });
        }}
      />
    );
  if (action === 'cancel')
    return (
      <CancelForm
        isBusy={isBusy}
        onCancel={() => {
          steered(action, '');
        }}
      />
    );
  return (
    <TextForm
      key={action}
      {...textForms[action]}
      isBusy={isBusy}
      onText={(text) => {
        steered(action, text);
      }}
    />
  );
}

/** Starts the fork and goes to its page. */
async function fork(
  { api }: ConsoleWorld,
  runId: string,
  iteration: number,
  message: string,
): Promise<string> {
  const body = { iteration, ...(message === '' ? {} : { message }) };
  const params = { path: { runId } };
  const started = await dataOf(api.POST('/v1/runs/{runId}/fork', { params, body }));
  location.hash = runHref(started.runId);
  return 'The fork is started.';
}
