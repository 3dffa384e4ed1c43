/** The sign-in: a token, and the name of the person for the record. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Problem } from './api/gateway';
import { apiFor, dataOf, problemOf } from './api/gateway';
import type { Session } from './api/session';
import { PageHeading, ProblemNotice } from './parts/notices';
import { fieldText } from './parts/words';

/** Asks for a token until the gateway knows one. `reason` says why the last one is no longer used. */
export function SignIn({
  reason,
  onSignIn,
}: {
  readonly reason: string | undefined;
  readonly onSignIn: (session: Session) => void;
}): JSX.Element {
  const [problem, setProblem] = useState<Problem>();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const token = fieldText(form, 'token');
    try {
      const caller = await dataOf(apiFor(token).GET('/v1/token'));
      onSignIn({ token, by: fieldText(form, 'by'), caller });
    } catch (thrown) {
      setProblem(problemOf(thrown));
    }
  };
  return (
    <main class="sign-in">
      <PageHeading title="Sign in">Holdfast</PageHeading>
      {reason !== undefined && problem === undefined && <p class="notice">{reason}</p>}
      <ProblemNotice problem={problem} />
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Token
          <input name="token" type="password" required autoComplete="current-password" />
        </label>
        <label>
          Your name <span class="hint">for the record of what you decide; optional</span>
          <input name="by" maxLength={200} autoComplete="name" />
        </label>
        <button type="submit" class="main">
          Sign in
        </button>
        <p class="hint">
          The token stays in this tab and is forgotten when you close it.{' '}
          <code>holdfast gateway-token</code> makes one.
        </p>
      </form>
    </main>
  );
}
