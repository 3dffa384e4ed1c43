/** Tells jest's workers which run they belong to; starts nothing. */
module.exports = function setup() {
  process.env.HOLDFAST_TEST_RUN_PID = String(process.pid);
};
