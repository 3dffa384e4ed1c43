/** What the vendor refuses on this wire. */
import type { JsonObject } from '../../workflows/core/json';
import type { VendorError } from './script';
import type { ValidationContext } from './wire';

/** The vendor's refusal of a request body, or nothing. */
export function validateChat(
  _body: JsonObject,
  _context: ValidationContext,
): VendorError | undefined {
  return undefined;
}
