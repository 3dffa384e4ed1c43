/** What is done to bytes: each mutation is drawn whole, so that it does the same again, alone or after others. */

/** One change. */
export interface Mutation {
  /** With its numbers, for people. */
  readonly name: string;
  readonly apply: (bytes: Buffer) => Buffer;
}

type Random = () => number;
type Draw = (random: Random) => Mutation;

/** A place in bytes of any length, drawn as a share of them. */
function placeIn(bytes: Buffer, share: number): number {
  return Math.floor(share * (bytes.length + 1));
}

function spliced(bytes: Buffer, start: number, end: number, middle: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), middle, bytes.subarray(end)]);
}

function named(what: string, ...shares: readonly number[]): string {
  return `${what} ${shares.map((share) => share.toFixed(6)).join(' ')}`.trim();
}

/** Everything after a place is lost. */
export const cut: Draw = (random) => {
  const share = random();
  return {
    name: named('cut', share),
    apply: (bytes) => bytes.subarray(0, placeIn(bytes, share)),
  };
};

const flip: Draw = (random) => {
  const [share, bit] = [random(), Math.floor(random() * 8)];
  return {
    name: named(`flip bit ${bit}`, share),
    apply: (bytes) => {
      const changed = Buffer.from(bytes);
      const at = Math.min(placeIn(bytes, share), bytes.length - 1);
      if (at >= 0) changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      return changed;
    },
  };
};

function rangeOf(bytes: Buffer, share: number, length: number): readonly [number, number] {
  const start = placeIn(bytes, share);
  return [start, Math.min(bytes.length, start + length)];
}

const lose: Draw = (random) => {
  const [share, length] = [random(), 1 + Math.floor(random() ** 3 * 400)];
  return {
    name: named(`lose ${length}`, share),
    apply: (bytes) => spliced(bytes, ...rangeOf(bytes, share, length), Buffer.alloc(0)),
  };
};

const double: Draw = (random) => {
  const [share, length] = [random(), 1 + Math.floor(random() ** 3 * 400)];
  return {
    name: named(`double ${length}`, share),
    apply: (bytes) => {
      const [start, end] = rangeOf(bytes, share, length);
      return spliced(bytes, end, end, bytes.subarray(start, end));
    },
  };
};

const strange: readonly Buffer[] = [
  Buffer.from([0xff, 0xfe]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0]),
  Buffer.from('\u2028\u2029\ufeff'),
  Buffer.from('\r'),
  Buffer.from('\n\n'),
  Buffer.from('"'),
  Buffer.from('}'),
  Buffer.from('\\u0000'),
  Buffer.from('1e999'),
  Buffer.from('__proto__'),
  Buffer.from('x'.repeat(100_000)),
  Buffer.from('['.repeat(20_000)),
  Buffer.from('{"a":'.repeat(20_000)),
];

function pick<Item>(items: readonly Item[], random: Random): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is nothing to pick from.');
  return item;
}

const insert: Draw = (random) => {
  const [share, index] = [random(), Math.floor(random() * strange.length)];
  const piece = strange[index] ?? Buffer.alloc(0);
  return {
    name: named(`insert ${JSON.stringify(piece.toString('latin1').slice(0, 12))}`, share),
    apply: (bytes) => spliced(bytes, placeIn(bytes, share), placeIn(bytes, share), piece),
  };
};

/** Changes that know nothing of what the bytes mean. */
export const byteMutations: readonly Draw[] = [cut, flip, flip, lose, double, insert];

/** Values of every type, and beyond every bound. */
const wrongValues: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  1.5,
  '',
  'x',
  '\ud800',
  'y'.repeat(50_000),
  [],
  {},
  [[]],
  { __proto__: null, toString: 1, constructor: 'x' },
  Array.from({ length: 2_000 }, (_, index) => index),
];

/** Replaces, takes out, or renames the so many-th part of a value, counted through. */
function changedPart(
  value: unknown,
  share: number,
  how: 'replace' | 'remove' | 'rename',
  wrong: unknown,
): unknown {
  const all: { readonly holder: Record<string, unknown>; readonly key: string }[] = [];
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const holder = part as Record<string, unknown>;
    for (const key of Object.keys(holder)) {
      all.push({ holder, key });
      visit(holder[key]);
    }
  };
  const copy: unknown = structuredClone(value);
  visit(copy);
  const chosen = all[Math.floor(share * all.length)];
  if (chosen === undefined) return wrong;
  const { holder, key } = chosen;
  if (how === 'rename') holder[`${key}_`] = holder[key];
  if (how !== 'replace' && !Array.isArray(holder)) Reflect.deleteProperty(holder, key);
  else holder[key] = wrong;
  return copy;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Changes one part of bytes that are JSON; others stay as they are. */
export const changeJson: Draw = (random) => {
  const share = random();
  const how = pick(['replace', 'replace', 'replace', 'remove', 'rename'] as const, random);
  const wrong = pick(wrongValues, random);
  return {
    name: named(`${how} ${JSON.stringify(wrong).slice(0, 20)}`, share),
    apply: (bytes) => {
      const value = parsed(bytes.toString());
      return value === undefined
        ? bytes
        : Buffer.from(JSON.stringify(changedPart(value, share, how, wrong)));
    },
  };
};

/** Changes that know of the events of a stream: each ends with a blank line. */
function eventsOf(bytes: Buffer): string[] {
  return bytes
    .toString('latin1')
    .split(/(?<=\n\n)/)
    .filter((each) => each !== '');
}

function onEvents(name: string, share: number, change: (events: string[], at: number) => void) {
  return {
    name: named(name, share),
    apply: (bytes: Buffer): Buffer => {
      const events = eventsOf(bytes);
      change(events, Math.floor(share * events.length));
      return Buffer.from(events.join(''), 'latin1');
    },
  };
}

const loseEvent: Draw = (random) =>
  onEvents('lose event', random(), (events, at) => {
    events.splice(at, 1);
  });
const doubleEvent: Draw = (random) =>
  onEvents('double event', random(), (events, at) => {
    events.splice(at, 0, events[at] ?? '');
  });
const moveEvent: Draw = (random) => {
  const to = random();
  return onEvents(`move event to ${to.toFixed(6)}`, random(), (events, at) => {
    const [moved = ''] = events.splice(at, 1);
    events.splice(Math.floor(to * (events.length + 1)), 0, moved);
  });
};
const changeEvent: Draw = (random) => {
  const change = changeJson(random);
  return onEvents(`in event: ${change.name}`, random(), (events, at) => {
    const event = Buffer.from(events[at] ?? '', 'latin1').toString();
    const changed = event.replace(/^data: (.*)$/m, (_whole, json: string) => {
      return `data: ${change.apply(Buffer.from(json)).toString()}`;
    });
    events[at] = Buffer.from(changed).toString('latin1');
  });
};

/** Changes of streams of events. */
export const eventMutations: readonly Draw[] = [
  ...byteMutations,
  loseEvent,
  doubleEvent,
  moveEvent,
  changeEvent,
  changeEvent,
  changeEvent,
];

/** Draws one to three of these. */
export function drawMutations(kinds: readonly Draw[], random: Random): readonly Mutation[] {
  const count = 1 + Math.floor(random() ** 2 * 3);
  return Array.from({ length: count }, () => pick(kinds, random)(random));
}

/** The bytes after all of them. */
export function mutated(base: Buffer, mutations: readonly Mutation[]): Buffer {
  return mutations.reduce((bytes, { apply }) => apply(bytes), base);
}
