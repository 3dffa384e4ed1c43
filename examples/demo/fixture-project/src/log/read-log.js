import { readFile } from 'node:fs/promises';
import { parseLine } from './parse-line.js';

/** All requests of a log file, and how many of its lines could not be read. */
export async function readLog(file) {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const parsed = lines.map(parseLine);
  const requests = parsed.filter((request) => request !== undefined);
  return { requests, unreadable: lines.length - requests.length };
}
