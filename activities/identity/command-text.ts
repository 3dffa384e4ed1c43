/** Reads shell commands as far as the loop detector must: pauses, mere echoes, and windows over a file. */

const pause = String.raw`(?:sleep|Start-Sleep(?: -Seconds)?)\s+[1-9][\d.]*[smh]?`;
const anyPause = new RegExp(pause, 'gi');
const onlyPause = new RegExp(String.raw`^\s*${pause}\s*;?\s*$`, 'i');
const pauseFirst = new RegExp(String.raw`(?:^|[;&|]|\bdo)\s*${pause}\b`, 'i');
const onlyEcho = /^\s*(?:(?:echo|printf|true)\b|:(?=\s|$))[^|;&<>$`]*$/;
const sedWindow = /(?<=\bsed\s{1,8}(?:-n|-ne)\s{1,8}['"]?)\d{1,9}(?:,\d{1,9})?(?=p)/g;
const headOrTailWindow = /(?<=\b(?:head|tail)\s{1,8}-(?:n\s{0,8}|c\s{0,8})?\+?)\d{1,9}/g;

/** Whether a command only prints its own words: it can be varied without end and never brings anything new. */
export function isOnlyEcho(command: string): boolean {
  return onlyEcho.test(command);
}

/** How a command waits: it does nothing else, or it waits before its work. */
export function pauseOf(command: string): 'waits' | 'waits-first' | undefined {
  if (onlyPause.test(command)) return 'waits';
  return pauseFirst.test(command) ? 'waits-first' : undefined;
}

/** The command without the length of its pauses and without the numbers of a mere echo. */
export function plainCommand(command: string): string {
  const plain = command.replace(anyPause, 'sleep');
  return isOnlyEcho(plain) ? plain.replace(/\d+/g, '0') : plain;
}

/** The command without the lines that `sed -n 1,40p`, `head -n 40` or `tail -40` choose. */
export function withoutWindow(command: string): string {
  return command.replace(sedWindow, '0').replace(headOrTailWindow, '0');
}
