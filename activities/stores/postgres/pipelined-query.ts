/** Several statements in one round trip, as one transaction. */
import { Query, type Connection } from 'pg';
import type { SqlRow, SqlStatement } from '../sql/sql-database';

/**
 * A query of pg that sends several statements before it waits. One `Sync` ends them, so that the server runs them as one
 * transaction, and says that it is ready only after the commit; each statement sees what is committed when it starts. The one
 * result of pg's `Query` for several statements is an array, and for a single one a result.
 */
export class PipelinedQuery extends Query<SqlRow> {
  constructor(private readonly statements: readonly Required<SqlStatement>[]) {
    super('');
  }

  override submit = (connection: Connection): void => {
    connection.stream.cork();
    for (const [text, values] of this.statements) {
      connection.parse({ text, name: '', types: [] }, true);
      const texts = values.map((value) => (typeof value === 'number' ? String(value) : value));
      connection.bind({ values: texts }, true);
      connection.describe({ type: 'P', name: '' }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
  };
}
