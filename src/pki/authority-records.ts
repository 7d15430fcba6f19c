/** A CA as it is stored. */
export interface AuthorityPair {
  readonly certificatePem: string;
  /** PKCS #8, PEM. */
  readonly privateKeyPem: string;
}

/** Storage of CAs: sealed, in backups, shared by all processes on one database. */
export interface AuthorityRecords {
  get(id: string): AuthorityPair | null;
  /** Adds only if the id is new: two processes that create a CA at once end up with the same one. */
  add(id: string, pair: AuthorityPair): Promise<void>;
}

export interface AuthorityLog {
  info(fields: object, message: string): void;
}
