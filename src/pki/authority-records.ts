/** A CA as it is kept. */
export interface AuthorityPair {
  readonly certificatePem: string;
  /** PKCS #8, PEM. */
  readonly privateKeyPem: string;
}

/** Where CAs are kept: sealed, in backups, the same for all processes on one database. */
export interface AuthorityRecords {
  get(id: string): AuthorityPair | null;
  /** Only if there is none of this id yet: of two processes that make one at once, both end with the same. */
  add(id: string, pair: AuthorityPair): Promise<void>;
}

export interface AuthorityLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
