/** The only place in core that throws: a broken invariant is a bug, never an outcome. */

/** Fails the workflow task (which Temporal retries, so that a fixed deploy resumes the run). */
class InvariantViolation extends Error {
  constructor(message: string) {
    super(`Holdfast invariant violated: ${message}`);
    this.name = 'InvariantViolation';
  }
}

/**
 * Asserts what must hold by construction.
 *
 * Contract: never used for anything that input, a model, a tool or a vendor can cause.
 */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantViolation(message);
}
