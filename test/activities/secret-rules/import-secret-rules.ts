/** Makes `workflows/core/secrets/gitleaks-rules.json` of a checkout of gitleaks: `npm run import-secret-rules -- FOLDER VERSION`. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { re2ToJavascript } from './re2-to-javascript';

/** Rules that are left out, and why. */
const leftOut: ReadonlyMap<string, string> = new Map([
  ['generic-api-key', 'takes any word behind "key" for a secret; 1,500 stop words'],
  ['curl-auth-header', 'unbounded repetitions, quadratic outside of RE2'],
  ['curl-auth-user', 'unbounded repetitions, quadratic outside of RE2'],
  ['private-key', 'unbounded repetition; ours knows cut keys too'],
  ['jwt-base64', 'base64 of base64; ours takes JWTs'],
]);

/** What the generator puts in front of and behind its patterns: context that a redactor must not demand. */
const leadingContext = '[\\w.-]{0,50}?';
const trailingContext = '(?:[\\x60\'"\\s;]|\\\\[nr]|$)';
/** The pattern ends where its alphabet does; a comma, a dot or a bracket may follow. */
const plainEnd = '(?![\\w-])';

const ruleSchema = z.object({
  id: z.string(),
  regex: z.string().optional(),
  path: z.string().optional(),
  entropy: z.number().optional(),
  secretGroup: z.number().optional(),
  keywords: z.array(z.string()).optional(),
});

function javascriptOf(regex: string): string {
  const source = regex.replaceAll(leadingContext, '').replaceAll(trailingContext, plainEnd);
  const javascript = re2ToJavascript(source);
  new RegExp(javascript);
  return javascript;
}

function main(): void {
  const [folder, version] = process.argv.slice(2);
  if (folder === undefined || version === undefined)
    throw new Error('usage: npm run import-secret-rules -- FOLDER VERSION');
  const toml = parse(readFileSync(path.join(folder, 'config', 'gitleaks.toml'), 'utf8'));
  const rules = z
    .array(ruleSchema)
    .parse(toml['rules'])
    .flatMap(({ id, regex, path: onlyIn, entropy, secretGroup, keywords = [] }) =>
      regex === undefined || onlyIn !== undefined || leftOut.has(id)
        ? []
        : [
            {
              id,
              keywords: keywords.map((keyword) => keyword.toLowerCase()),
              ...(entropy === undefined ? {} : { entropy }),
              ...(secretGroup === undefined ? {} : { secretGroup }),
              pattern: javascriptOf(regex),
            },
          ],
    );
  const source = {
    name: 'gitleaks',
    version,
    license: readFileSync(path.join(folder, 'LICENSE'), 'utf8'),
    url: 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml',
  };
  const target = path.join(
    __dirname,
    '..',
    '..',
    '..',
    'workflows',
    'core',
    'secrets',
    'gitleaks-rules.json',
  );
  const lines = rules.map((rule) => `    ${JSON.stringify(rule)}`).join(',\n');
  writeFileSync(
    target,
    `{\n  "source": ${JSON.stringify(source)},\n  "rules": [\n${lines}\n  ]\n}\n`,
  );
  process.stdout.write(`${rules.length} rules of gitleaks ${version}\n`);
}

main();
