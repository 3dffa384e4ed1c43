/** JSON values: everything that enters RunState, a command or a payload must be one of these. */

/** A value that survives a JSON round trip unchanged. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object, such as the input of a tool call. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** An object type without the keys whose value is undefined. */
export type Defined<Fields extends object> = {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<
    Fields[Key],
    undefined
  >;
};

/** The fields that have a value: an absent key and a key with `undefined` are different things in JSON-only state. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const present: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) present[key] = value;
  return present as Defined<Fields>;
}

/** The value without one of its optional keys. Contract: the key is optional, so the result still has the type. */
export function without<Value extends object>(value: Value, key: keyof Value): Value {
  const { [key]: _omitted, ...rest } = value;
  return rest as Value;
}
