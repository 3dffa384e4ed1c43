/** Work that is done once for each object of a conversation, which grows, but whose parts never change. */

/**
 * The function, which makes its result once for an object and keeps it as long as the object lives.
 *
 * Contract: `make` depends on nothing but the object, and the object never changes.
 */
export function perObject<Key extends object, Made extends object | string>(
  make: (key: Key) => Made,
): (key: Key) => Made {
  const made = new WeakMap<Key, Made>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const result = make(key);
    made.set(key, result);
    return result;
  };
}

/** What was made of an object last, and what that depended on. */
interface Made<Result> {
  readonly result: Result;
  readonly dependedOn: readonly unknown[];
}

/**
 * Makes a result again only if what it depends on, beside its object, has changed since the last time.
 *
 * Contract: `make` depends on nothing but the object and what `dependsOn` lists, which is compared by identity.
 */
export class PerObjectWhile<Key extends object, Result> {
  readonly #last = new WeakMap<Key, Made<Result>>();

  get(key: Key, dependsOn: readonly unknown[], make: () => Result): Result {
    const last = this.#last.get(key);
    if (last !== undefined && isSameList(last.dependedOn, dependsOn)) return last.result;
    const result = make();
    this.#last.set(key, { result, dependedOn: dependsOn });
    return result;
  }
}

function isSameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index]);
}
