/** The tables of a Postgres store, one entry per version. Entries are only ever added. */

/** SQL that leads from the version before to the version at its place, counted from 1. */
export const postgresMigrations: readonly string[] = [
  `CREATE TABLE holdfast.meta (name text PRIMARY KEY, value text NOT NULL);
   CREATE TABLE holdfast.nodes (
     hash text COLLATE "C" PRIMARY KEY,
     parent text COLLATE "C",
     messages text NOT NULL
   );
   CREATE TABLE holdfast.blobs (hash text COLLATE "C" PRIMARY KEY, manifest text NOT NULL);
   CREATE TABLE holdfast.chunks (hash text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
   CREATE TABLE holdfast.tool_executions (
     key_hash text COLLATE "C" PRIMARY KEY,
     writer text NOT NULL,
     intent text NOT NULL,
     intent_sum text NOT NULL,
     outcome text,
     outcome_sum text
   );`,
  `CREATE TABLE holdfast.route_health (
     route_hash text COLLATE "C" PRIMARY KEY,
     record text NOT NULL,
     record_sum text NOT NULL
   );`,
  `CREATE TABLE holdfast.observations (
     key_hash text COLLATE "C" PRIMARY KEY,
     tenant text COLLATE "C" NOT NULL,
     at_ms bigint NOT NULL,
     record text NOT NULL,
     record_sum text NOT NULL
   );
   CREATE INDEX observations_by_age ON holdfast.observations (tenant, at_ms);
   CREATE TABLE holdfast.patterns (
     id text COLLATE "C" PRIMARY KEY,
     tenant text COLLATE "C" NOT NULL,
     cluster text COLLATE "C" NOT NULL,
     record text NOT NULL,
     record_sum text NOT NULL
   );
   CREATE INDEX patterns_by_cluster ON holdfast.patterns (tenant, cluster);
   CREATE TABLE holdfast.tool_knowledge (
     digest text COLLATE "C" PRIMARY KEY,
     record text NOT NULL,
     record_sum text NOT NULL
   );`,
  ['nodes', 'blobs', 'chunks', 'tool_executions']
    .map(
      (table) => `ALTER TABLE holdfast.${table} ADD COLUMN IF NOT EXISTS touched_ms bigint NOT NULL
       DEFAULT (extract(epoch FROM now()) * 1000)::bigint;`,
    )
    .join('\n') + `CREATE INDEX IF NOT EXISTS nodes_by_parent ON holdfast.nodes (parent);`,
];
