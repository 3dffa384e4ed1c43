/** Ends the Temporal server that this run's tests shared, if one was started, and removes its files. */
const { existsSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

module.exports = function teardown() {
  const folder = path.join(tmpdir(), `holdfast-test-${process.pid}`);
  const note = path.join(folder, 'temporal.db.server.json');
  if (existsSync(note)) {
    try {
      process.kill(JSON.parse(readFileSync(note, 'utf8')).pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
  rmSync(folder, { recursive: true, force: true });
};
