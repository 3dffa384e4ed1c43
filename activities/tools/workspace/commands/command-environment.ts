/** The environment that commands get: what programs need to run, and none of the worker's secrets. */

/** Names that pass from the worker to commands. */
const passedNames = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'SystemRoot',
] as const;

/** Told to every program: no colours, no questions, no pager. */
const fixed: Readonly<Record<string, string>> = {
  TERM: 'dumb',
  NO_COLOR: '1',
  CI: '1',
  GIT_TERMINAL_PROMPT: '0',
  PAGER: 'cat',
};

/** Environment of a command: passed names of `source`, fixed values, and what the tool's configuration adds. */
export function commandEnvironment(
  source: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const passed = passedNames.flatMap((name): [string, string][] => {
    const value = source[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), ...fixed, ...added };
}
