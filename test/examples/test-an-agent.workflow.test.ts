/** The tests of the example, as a user's. */
import '../../examples/test-an-agent';
