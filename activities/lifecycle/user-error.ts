/** The exception for the programmer who uses Holdfast: a definition or option that cannot work. */

/** Thrown while things are defined, never during a run. Its message names the thing, the value, and what to do. */
export class UserError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UserError';
  }
}
