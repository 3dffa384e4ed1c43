/** Command line of the evaluation with a real model: `npm run evaluate`. */
import { runEvaluation } from './evaluate/command-line';
import { runProgram } from './program';

runProgram(runEvaluation);
