/** `npm run mutate`: how many planted mistakes the tests notice: see `mutate/command-line.ts`. */
import { mutate } from './mutate/command-line';
import { runProgram } from './program';

runProgram(mutate);
