import type { BenchCertificates } from './certificates.ts';

export interface ContenderOptions {
  /** The contender's directory for files. */
  readonly directory: string;
  readonly upstreamPort: number;
  readonly certificates: BenchCertificates;
}

/** A running proxy that serves HOST, and MUTUAL_HOST with client certificates required. `/json` is compressed. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  readonly pid: number;
  readonly port: number;
  readonly mutualPort: number;
  stop(): Promise<void>;
}
