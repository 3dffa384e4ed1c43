import { readLog } from './log/read-log.js';
import { renderTable } from './report/render-table.js';
import { summariseRoutes } from './stats/summarise-routes.js';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node src/cli.js FILE');
  process.exit(2);
}
const { requests, unreadable } = await readLog(file);
console.log(renderTable(summariseRoutes(requests)));
if (unreadable > 0) console.error(`${unreadable} lines could not be read`);
