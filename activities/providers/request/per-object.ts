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
