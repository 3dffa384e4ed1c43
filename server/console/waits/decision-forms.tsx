/** The forms of a decision: approve, edit, reject, answer. What a person wrote is checked before it is sent. */
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { PendingItem } from '../api/gateway';
import type { Decision } from './decisions';

interface FormProps {
  readonly isBusy: boolean;
  readonly onDecide: (decision: Decision) => void;
}

type Approval = Extract<PendingItem, { type: 'approval' }>;

/** Approve at once; edit and reject open a form. */
export function ApprovalForms({
  item,
  isBusy,
  onDecide,
}: FormProps & { readonly item: Approval }): JSX.Element {
  const [open, setOpen] = useState<'edit' | 'reject'>();
  const toggle = (form: 'edit' | 'reject') => () => {
    setOpen(open === form ? undefined : form);
  };
  return (
    <>
      <div class="buttons">
        <button
          type="button"
          class="main"
          disabled={isBusy}
          onClick={() => {
            onDecide({ type: 'approve' });
          }}
        >
          Approve
        </button>
        <button type="button" aria-expanded={open === 'edit'} onClick={toggle('edit')}>
          Edit …
        </button>
        <button type="button" aria-expanded={open === 'reject'} onClick={toggle('reject')}>
          Reject …
        </button>
      </div>
      {open === 'edit' && <EditForm item={item} isBusy={isBusy} onDecide={onDecide} />}
      {open === 'reject' && (
        <TextForm
          label="Reason, which the model reads"
          action="Reject"
          isBusy={isBusy}
          onText={(reason) => {
            onDecide({ type: 'reject', reason });
          }}
        />
      )}
    </>
  );
}

/** Answers in a person's own words. */
export function AnswerForm({
  action,
  isBusy,
  onDecide,
}: FormProps & { readonly action: string }): JSX.Element {
  return (
    <TextForm
      label="Your answer, which the model reads"
      action={action}
      isBusy={isBusy}
      isFocused={false}
      onText={(answer) => {
        onDecide({ type: 'answer', answer });
      }}
    />
  );
}

/** A text and the button that sends it. */
export function TextForm({
  label,
  action,
  isBusy,
  isFocused = true,
  onText,
}: {
  readonly label: string;
  readonly action: string;
  readonly isBusy: boolean;
  /** Whether typing begins here when the form appears. */
  readonly isFocused?: boolean;
  readonly onText: (text: string) => void;
}): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (isFocused) field.current?.focus();
  }, []);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onText(field.current?.value ?? '');
      }}
    >
      <label>
        {label}
        <textarea ref={field} rows={3} required />
      </label>
      <button type="submit" class="main" disabled={isBusy}>
        {action}
      </button>
    </form>
  );
}

/** The object in a text. Errors: a sentence about what is wrong with it. */
function parsedInput(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
    return 'The arguments must be a JSON object: { … }.';
  } catch (thrown) {
    return `This is not valid JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

function EditForm({
  item,
  isBusy,
  onDecide,
}: FormProps & { readonly item: Approval }): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const [problem, setProblem] = useState<string>();
  const problemId = useId();
  useEffect(() => {
    field.current?.focus();
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const input = parsedInput(field.current?.value ?? '');
    setProblem(typeof input === 'string' ? input : undefined);
    if (typeof input === 'string') field.current?.focus();
    else onDecide({ type: 'edit', input });
  };
  return (
    <form onSubmit={submit}>
      {item.input === undefined && (
        <p class="hint">
          The arguments are long or hold a secret, so they are not here: write all of them.
        </p>
      )}
      <label>
        Arguments to run with, as JSON
        <textarea
          ref={field}
          rows={8}
          class="code"
          spellcheck={false}
          aria-invalid={problem !== undefined}
          aria-describedby={problemId}
          defaultValue={JSON.stringify(item.input ?? {}, undefined, 2)}
        />
      </label>
      <p id={problemId} class="bad" role="alert">
        {problem}
      </p>
      <button type="submit" class="main" disabled={isBusy}>
        Approve with these arguments
      </button>
    </form>
  );
}
