/** `npm run fuzz`: what comes from outside, broken by chance: see `fuzz/command-line.ts`. */
import { fuzz } from './fuzz/command-line';
import { runProgram } from './program';

runProgram(fuzz);
