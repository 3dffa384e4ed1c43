/** What a tool does, by the verb in its name or description (ADR 0030). */

/** Verbs that mean the same to a caller. The first one of a text decides. */
const verbs = {
  read: 'read get fetch open cat view show load retrieve download print display inspect',
  find: 'search find grep lookup query locate list browse glob scan',
  change:
    'write edit update patch modify replace create save put insert append set change overwrite',
  delete: 'delete remove drop clear purge erase',
  run: 'run exec execute shell command invoke',
  send: 'send post notify publish email mail message',
  compute: 'calculate compute evaluate eval convert translate',
} as const;

/** What a tool does. */
export type VerbGroup = keyof typeof verbs;

const deedOfVerb = new Map(
  (Object.keys(verbs) as VerbGroup[]).flatMap((verbGroup) =>
    verbs[verbGroup].split(' ').map((verb) => [verb, verbGroup] as const),
  ),
);

/** Words of a name or a text, in lower case and without the ending of a plural or a third person. */
export function wordsOf(text: string): readonly string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced
    .split(/[^a-z0-9]+/)
    .filter((word) => word.length > 1)
    .map((word) => word.replace(/(?<=ch|sh|ss|x)es$|(?<=..[^s])s$/, ''));
}

/** The group of a verb; undefined for any other word. */
export function verbGroupOf(word: string): VerbGroup | undefined {
  return deedOfVerb.get(word);
}
