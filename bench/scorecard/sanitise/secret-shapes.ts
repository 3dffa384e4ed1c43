/** 200 shapes of secrets with made-up values, each with the parts that may not survive. */
import { createHash } from 'node:crypto';
import { carriedShapes, connectionShapes, headerShapes, privateKeyShapes } from './placed-shapes';
import { furtherShapes } from './further-shapes';
import type { ShapeTemplate } from './vendor-shapes';
import { cloudShapes, developerShapes, modelVendorShapes, serviceShapes } from './vendor-shapes';

/** A text that holds a secret. */
export interface SecretShape {
  readonly name: string;
  readonly text: string;
  /** None of these may be found behind a sink. */
  readonly secrets: readonly string[];
}

const alphabets: Readonly<Record<string, string>> = {
  m: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  w: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-',
  b: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  h: '0123456789abcdef',
  l: 'abcdefghijklmnopqrstuvwxyz0123456789',
  u: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  k: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  d: '0123456789',
};

/** Characters of the same value in the same place on every run, and different in each place. */
function madeUp(seed: string, kind: string, length: number): string {
  const alphabet = alphabets[kind];
  if (alphabet === undefined) throw new Error(`no alphabet "${kind}"`);
  let value = '';
  for (let block = 0; value.length < length; block++) {
    for (const byte of createHash('sha256').update(`${seed}/${block}`).digest())
      value += alphabet[byte % alphabet.length] ?? '';
  }
  // Ends of a value are letters or digits, as a vendor's are to a human eye.
  return value.slice(0, length).replace(/^[_+/-]|[_+/-]$/g, '7');
}

function shapeOf([name, template]: ShapeTemplate): SecretShape {
  const secrets: string[] = [];
  let place = 0;
  const text = template.replace(
    /\{(!?)([a-z])(\d+)\}/g,
    (_whole, isSecret: string, kind: string, length: string) => {
      place += 1;
      const value = madeUp(`${name}/${place}`, kind, Number(length));
      // A short part of a value could stand in any text by chance.
      if (isSecret !== '' && value.length >= 8) secrets.push(value);
      return value;
    },
  );
  return { name, text, secrets };
}

/** All shapes. */
export function secretShapes(): readonly SecretShape[] {
  return [
    ...modelVendorShapes,
    ...cloudShapes,
    ...developerShapes,
    ...serviceShapes,
    ...privateKeyShapes,
    ...connectionShapes,
    ...headerShapes,
    ...carriedShapes,
    ...furtherShapes,
  ].map(shapeOf);
}
