/** Location of a store, for commands that work on it from outside the server. */
export type StoreLocation = SqliteLocation | PostgresLocation;

export interface SqliteLocation extends KeyLocation {
  readonly engine: 'sqlite';
}

export interface PostgresLocation extends KeyLocation {
  readonly engine: 'postgres';
  readonly url: string;
}

interface KeyLocation {
  readonly dataDir: string;
  /** POSTERN_SECRET_KEY; without it the keys are in the data directory. */
  readonly secretKey?: string | null;
}
