/** What waits for people, as cards that do not vanish while somebody reads them. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../api/console-context';
import type { Wait } from './decisions';
import { itemId } from './decisions';
import { WaitCard } from './wait-card';

/** A wait that was shown once. */
interface Shown extends Wait {
  readonly key: string;
  /** The last load no longer had it: somebody decided, or it ended. */
  readonly isGone: boolean;
}

function keyOf({ run, item }: Wait): string {
  const version = item.type === 'approval' ? item.digest : item.question;
  return JSON.stringify([run.runId, itemId(item), version]);
}

/** Those that were shown keep their places; new ones come behind. */
function merged(shown: readonly Shown[], waits: readonly Wait[]): readonly Shown[] {
  const now = new Map(waits.map((wait) => [keyOf(wait), wait]));
  const known = new Set(shown.map(({ key }) => key));
  const kept = shown.map((each) => ({ ...each, ...now.get(each.key), isGone: !now.has(each.key) }));
  const added = [...now].filter(([key]) => !known.has(key));
  return [...kept, ...added.map(([key, wait]) => ({ ...wait, key, isGone: false }))];
}

/** The cards. `onDecided` is told when a decision took effect. */
export function WaitList({
  waits,
  isOneRun = false,
  onDecided,
}: {
  readonly waits: readonly Wait[];
  /** The page says already whose waits they are. */
  readonly isOneRun?: boolean;
  readonly onDecided: () => void;
}): JSX.Element {
  const [shown, setShown] = useState<readonly Shown[]>(() => merged([], waits));
  const count = useRef(waits.length);
  useEffect(() => {
    setShown((before) => merged(before, waits));
    const more = waits.length - count.current;
    count.current = waits.length;
    if (more > 0)
      announce(`${more} more ${more === 1 ? 'thing waits' : 'things wait'} for a person.`);
  }, [waits]);
  return (
    <ul class="waits">
      {shown.map(({ key, run, item, isGone }) => (
        <li key={key}>
          <WaitCard
            run={run}
            item={item}
            isGone={isGone}
            isOneRun={isOneRun}
            onDecided={onDecided}
          />
        </li>
      ))}
    </ul>
  );
}
