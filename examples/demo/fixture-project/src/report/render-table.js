import { formatDuration } from './format-duration.js';

const columns = [
  { title: 'route', cell: ({ route }) => route },
  { title: 'requests', cell: ({ count }) => String(count) },
  { title: 'median', cell: ({ medianMs }) => formatDuration(medianMs) },
  { title: 'p95', cell: ({ p95Ms }) => formatDuration(p95Ms) },
  { title: 'slowest', cell: ({ slowestMs }) => formatDuration(slowestMs) },
];

/** Summaries as a table: the first column to the left, numbers to the right. */
export function renderTable(summaries) {
  const rows = [columns.map(({ title }) => title)].concat(
    summaries.map((summary) => columns.map(({ cell }) => cell(summary))),
  );
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index].length)));
  return rows
    .map((row) =>
      row
        .map((cell, index) =>
          index === 0 ? cell.padEnd(widths[index]) : cell.padStart(widths[index]),
        )
        .join('  '),
    )
    .join('\n');
}
