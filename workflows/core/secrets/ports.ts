/** The arguments of a call as people read them: made by an activity, which knows more secrets than the core. */

/** One value of a call's arguments. */
export interface ShownArgument {
  /** Its path: `to`, `items[0].name`; a key that could imitate a path is in quotes. */
  readonly name: string;
  /** The value as JSON on one line, with `\u{…}` for what is hidden or deceives; behind it, what is cut or redacted. */
  readonly value: string;
  /** A secret in it is not shown. */
  readonly secret?: true;
}

/** The arguments of a call as a person reads them. */
export interface ShownArguments {
  readonly fields: readonly ShownArgument[];
  /** Values that are not among the fields. */
  readonly more?: number;
  /** Something was left out for length: `holdfast show RUN --arguments` has the whole. */
  readonly isPart?: true;
}
