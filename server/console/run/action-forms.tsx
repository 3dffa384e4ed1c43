/** The forms of a run's actions that take more than a text. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Run } from '../api/gateway';
import { fieldText } from '../parts/words';

/** Asks once more: a cancelled run does not go on. */
export function CancelForm({
  isBusy,
  onCancel,
}: {
  readonly isBusy: boolean;
  readonly onCancel: () => void;
}): JSX.Element {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCancel();
      }}
    >
      <p>
        Its calls are ended, and it does not go on. To keep its partial result, stop it instead.
      </p>
      <button type="submit" class="main" disabled={isBusy}>
        Cancel the run
      </button>
    </form>
  );
}

/** After which iteration, and what the model reads there. */
export function ForkForm({
  run,
  isBusy,
  onFork,
}: {
  readonly run: Run;
  readonly isBusy: boolean;
  readonly onFork: (iteration: number, message: string) => void;
}): JSX.Element {
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    first.current?.focus();
  }, []);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        onFork(Number(fieldText(form, 'iteration')), fieldText(form, 'message'));
      }}
    >
      <p>
        A new run begins with the transcript of this one after an iteration. This run does not
        change.
      </p>
      <label>
        After iteration <span class="hint">0: before the first</span>
        <input
          ref={first}
          name="iteration"
          type="number"
          min={0}
          max={run.iteration}
          required
          defaultValue={String(run.iteration)}
        />
      </label>
      <label>
        Message to the model <span class="hint">optional</span>
        <textarea name="message" rows={3} />
      </label>
      <button type="submit" class="main" disabled={isBusy}>
        Start the fork
      </button>
    </form>
  );
}

/** The other run. */
export function CompareForm({
  onCompare,
}: {
  readonly onCompare: (runId: string) => void;
}): JSX.Element {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCompare(fieldText(event.currentTarget, 'right'));
      }}
    >
      <label>
        Id of the other run
        <input name="right" required />
      </label>
      <button type="submit" class="main">
        Show both
      </button>
    </form>
  );
}
