/** The fault scorecard: `npm run scorecard -- [--only SECTION] [--json]`. */
import { runProgram } from './program';
import { runScorecard } from './scorecard/command-line';

runProgram(runScorecard);
