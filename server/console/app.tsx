/** The frame of the console: sign-in, navigation, and the page of the place. */
import type { JSX } from 'preact';
import { useCallback, useMemo, useState } from 'preact/hooks';
import type { ConsoleWorld } from './api/console-context';
import { ConsoleContext } from './api/console-context';
import { apiFor } from './api/gateway';
import type { Place } from './api/place';
import { usePlace } from './api/place';
import type { Session } from './api/session';
import { saveSession, savedSession } from './api/session';
import { ComparePage } from './run/compare-page';
import { ProvidersPage } from './providers-page';
import { RunPage } from './run/run-page';
import { RunsPage } from './runs-page';
import { SignIn } from './sign-in';
import { InboxPage } from './waits/inbox-page';

const links = [
  ['inbox', 'Inbox'],
  ['runs', 'Runs'],
  ['providers', 'Providers'],
] as const;

function Page({ place }: { readonly place: Place }): JSX.Element {
  switch (place.page) {
    case 'inbox':
      return <InboxPage />;
    case 'runs':
      return <RunsPage query={place.query} />;
    case 'run':
      return <RunPage key={place.runId} runId={place.runId} />;
    case 'providers':
      return <ProvidersPage />;
    case 'compare':
      return <ComparePage query={place.query} />;
  }
}

function Header({
  world,
  page,
}: {
  readonly world: ConsoleWorld;
  readonly page: string;
}): JSX.Element {
  const { name, role, tenant } = world.session.caller;
  const here = page === 'run' || page === 'compare' ? 'runs' : page;
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={toMain}>
        Skip to content
      </a>
      <strong class="brand">Holdfast</strong>
      <nav aria-label="Pages">
        {links.map(([target, label]) => (
          <a key={target} href={`#/${target}`} aria-current={here === target ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <span class="who">
        {name}
        {tenant === undefined ? '' : ` · ${tenant}`}
        {role === 'view' ? ' · view only' : ''}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          world.signOut();
        }}
      >
        Sign out
      </button>
    </header>
  );
}

/** The address is the place, so the link to the content moves the focus itself. */
function toMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('main h1')?.focus();
}

function SignedIn({ world }: { readonly world: ConsoleWorld }): JSX.Element {
  const place = usePlace();
  return (
    <ConsoleContext.Provider value={world}>
      <Header world={world} page={place.page} />
      <main id="main">
        <Page place={place} />
      </main>
    </ConsoleContext.Provider>
  );
}

/** The console, from the sign-in on. */
export function App(): JSX.Element {
  const [session, setSession] = useState(savedSession);
  const [reason, setReason] = useState<string>();
  const signIn = useCallback((given: Session) => {
    saveSession(given);
    setReason(undefined);
    setSession(given);
  }, []);
  const signOut = useCallback((why?: string) => {
    saveSession(undefined);
    setReason(why);
    setSession(undefined);
  }, []);
  const world = useMemo(
    () => (session === undefined ? undefined : { session, signOut, api: apiFor(session.token) }),
    [session],
  );
  if (world === undefined) return <SignIn reason={reason} onSignIn={signIn} />;
  return <SignedIn world={world} />;
}
