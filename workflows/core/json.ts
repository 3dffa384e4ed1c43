/** JSON values: everything that enters RunState, a command or a payload must be one of these. */

/** A value that survives a JSON round trip unchanged. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object, such as the input of a tool call. */
export type JsonObject = { readonly [key: string]: JsonValue };
