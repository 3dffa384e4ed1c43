/** Prints "N passed, N failed" from jest's JSON report and sets the exit code: 0 only if tests ran and nothing failed. */
const { readFileSync } = require('node:fs');

const [reportFile, failedSteps] = process.argv.slice(2);

/** Jest's report, or zeros if jest wrote none. */
function readReport() {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8'));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numRuntimeErrorTestSuites: 0, success: false };
  }
}

const report = readReport();
const testFailures = report.numFailedTests + report.numRuntimeErrorTestSuites;
// A failed `npm test` step is told by its tests; it counts by itself only where no test of it failed.
const stepFailures = Math.max(Number(failedSteps) - (testFailures > 0 ? 1 : 0), 0);
const failed = testFailures + stepFailures;
const ok = failed === 0 && report.success === true && report.numPassedTests > 0;
process.stdout.write(`${report.numPassedTests} passed, ${ok ? 0 : Math.max(failed, 1)} failed\n`);
process.exitCode = ok ? 0 : 1;
