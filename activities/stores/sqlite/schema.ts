/** The tables of a SQLite store, one entry per version. Entries are only ever added. */

/** SQL that leads from the version before to the version at its place, counted from 1. */
export const sqliteMigrations: readonly string[] = [
  `CREATE TABLE holdfast_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE nodes (hash TEXT PRIMARY KEY, parent TEXT, messages TEXT NOT NULL);
   CREATE TABLE blobs (hash TEXT PRIMARY KEY, manifest TEXT NOT NULL);
   CREATE TABLE chunks (hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
   CREATE TABLE tool_executions (
     key_hash TEXT PRIMARY KEY,
     intent TEXT NOT NULL,
     intent_sum TEXT NOT NULL,
     outcome TEXT,
     outcome_sum TEXT
   );`,
  `CREATE TABLE route_health (
     route_hash TEXT PRIMARY KEY,
     record TEXT NOT NULL,
     record_sum TEXT NOT NULL
   );`,
  `CREATE TABLE observations (
     key_hash TEXT PRIMARY KEY,
     tenant TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     record TEXT NOT NULL,
     record_sum TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX observations_by_age ON observations (tenant, at_ms);
   CREATE TABLE patterns (
     id TEXT PRIMARY KEY,
     tenant TEXT NOT NULL,
     cluster TEXT NOT NULL,
     record TEXT NOT NULL,
     record_sum TEXT NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX patterns_by_cluster ON patterns (tenant, cluster);
   CREATE TABLE tool_knowledge (
     digest TEXT PRIMARY KEY,
     record TEXT NOT NULL,
     record_sum TEXT NOT NULL
   ) WITHOUT ROWID;`,
  `CREATE TABLE IF NOT EXISTS ages (hash TEXT PRIMARY KEY, touched_ms INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX IF NOT EXISTS nodes_by_parent ON nodes (parent);`,
];
