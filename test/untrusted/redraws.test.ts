/**
 * Progress that programs draw again and again is folded to its last state (ADR 0044). Case t2-command-01, and inputs from public
 * reports: yvgude/lean-ctx#1140, indexable-inc/index#1348, flosell/lambdacd#88, anomalyco/opencode#35246 (tqdm),
 * Chevey339/kelivo#1047, borgbackup/borg#6953; and what docker, npm, pip and cargo print.
 */
import { foldRedraws, withoutRedraws } from '../../activities/untrusted/redraws';
import { recordedCase } from '../support/recorded-case';

const note = '\n[Lines that were redrawn show their last state, as on a terminal.]';
const esc = '\u001b[';
const frames = (count: number, frame: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => frame(n + 1)).join('');

test.each<readonly [string, string, string]>([
  ['lean-ctx#1140', 'first\rsecond\nthird\n', `second\nthird\n${note}`],
  [
    'lean-ctx#1140, a rebase',
    'Rebasing (1/1)\rSuccessfully rebased and updated refs/heads/x.\n',
    `Successfully rebased and updated refs/heads/x.\n${note}`,
  ],
  [
    'lambdacd#88',
    'Cloning ...\n\rremote:Counting objects: 4\rremote:Counting objects: 24\n\rReceiving objects:   4% ( 1/24)\rReceiving objects: 100% (24/24)\n',
    `Cloning ...\nremote:Counting objects: 24\nReceiving objects: 100% (24/24)\n${note}`,
  ],
  ['kelivo#1047', frames(11, (n) => `\r${(n - 1) * 10}%`), `100%${note}`],
  ['a shorter state over a longer one, as on a terminal', 'abcdef\rXY\n', `XYcdef\n${note}`],
  [
    'npm: erase and start again',
    `⠙ idealTree${esc}2K${esc}1G⠹ reify:lodash${esc}2K${esc}1Gadded 3 packages\n`,
    `added 3 packages\n${note}`,
  ],
  [
    'pip: erase in front of each bar',
    frames(9, (n) => `\r${esc}2K   ${'━'.repeat(n)} ${n}/9 MB 5 MB/s`) + '\nInstalled\n',
    `   ${'━'.repeat(9)} 9/9 MB 5 MB/s\nInstalled\n${note}`,
  ],
  [
    'docker: cursor up over several lines',
    `a: Waiting\nb: Waiting\n${esc}2A${esc}2K\ra: Pull complete${esc}1B\r${esc}1A${esc}1B${esc}2K\rb: Pull complete\n`,
    `a: Pull complete\nb: Pull complete\n${note}`,
  ],
  [
    'cargo: erase to the end',
    `   Building [=> ] 1/9: serde${esc}K\r   Compiling tokio${esc}K\n   Finished\n`,
    `   Compiling tokio\n   Finished\n${note}`,
  ],
  ['backspaces', 'Progress: 10%\b\b\b20%\b\b\b100%\n', `Progress: 100%\n${note}`],
  ['bold of old manuals', 'N\bNA\bAM\bME\bE\n', `NAME\n${note}`],
  ['a cursor that goes back and forth', `abc${esc}3Dx${esc}1Cz\n`, `xbz\n${note}`],
])('%s', async (_what, output, shown) => {
  expect(await foldRedraws(output)).toBe(shown);
});

test.each([
  ['line ends of Windows', 'one\r\ntwo\r\n'],
  ['colors alone', `${esc}31mred${esc}0m\n`],
  ['plain lines', 'one\n  two  \n'],
])('%s are no progress', async (_what, output) => {
  expect(await foldRedraws(output)).toBe(output);
  expect(withoutRedraws(output)).toBe(output);
});

test('doubled line ends lose nothing', async () => {
  expect(await foldRedraws('one\r\r\ntwo\r\r\n')).toBe('one\ntwo\n');
});

test('t2-command-01: of 3,000 states the last ones stay, and the line between them', async () => {
  const draw = (n: number): string => `\rDownloading ${n}/3000 [#####     ]`;
  const output = `${frames(1_500, draw)}\nERROR: checksum of part 7 differs\n${frames(1_500, (n) => draw(n + 1_500))}\n${esc}32mfinished${esc}0m\n`;
  const shown = await foldRedraws(output);
  expect(shown).toContain(
    '\nERROR: checksum of part 7 differs\nDownloading 3000/3000 [#####     ]\n',
  );
  const { checks } = recordedCase('t2-command-01').expect;
  for (const seen of checks.model_sees_any) expect(shown).toContain(seen);
  expect(shown.length).toBeLessThan(Math.min(250, checks.chars_max));
  expect(withoutRedraws(output)).toBe(shown);
});

test('a text that is no program’s keeps lines that end in a carriage return alone', () => {
  const old = 'Dear Sir,\rthank you for your letter.\rYours\r';
  expect(withoutRedraws(old)).toBe(old);
  expect(withoutRedraws(frames(50, (n) => `\r ${n}%|███  | ${n}/50 [00:01, 9it/s]`))).toBe(
    ` 50%|███  | 50/50 [00:01, 9it/s]${note}`,
  );
});

test.each([
  ['carriage returns', '\r'.repeat(4_000_000)],
  ['columns and erasures', `${esc}499Cx${esc}2K`.repeat(200_000)],
  [
    'jumps between long lines',
    `${'x'.repeat(500_000)}\n${'y'.repeat(500_000)}\n${`${esc}2A\rz${esc}1B\rz`.repeat(100_000)}`,
  ],
  ['backspaces in a long line', 'x'.repeat(1_000_000) + '\b\bab'.repeat(300_000)],
])('%s of a hostile program take no long time', async (_what, output) => {
  const started = performance.now();
  await foldRedraws(output);
  expect(performance.now() - started).toBeLessThan(20_000);
});
