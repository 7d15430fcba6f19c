import type { AcmeErrorCode } from '../errors.ts';

export interface AcmeFailureOptions {
  /** Last part of the problem type of RFC 8555 §6.7, such as `badNonce`. */
  readonly problem?: string | null;
  /** The server asks not to be contacted for this about before this time. */
  readonly retryAtMs?: number | null;
  /** The order may still succeed: it is continued instead of being repeated. */
  readonly isOrderAlive?: boolean;
}

/** Why there is no certificate. The message is for people and contains no key. */
export class AcmeFailure extends Error {
  readonly code: AcmeErrorCode;
  readonly problem: string | null;
  readonly retryAtMs: number | null;
  readonly isOrderAlive: boolean;

  constructor(code: AcmeErrorCode, message: string, options: AcmeFailureOptions = {}) {
    super(message);
    this.name = 'AcmeFailure';
    this.code = code;
    this.problem = options.problem ?? null;
    this.retryAtMs = options.retryAtMs ?? null;
    this.isOrderAlive = options.isOrderAlive ?? false;
  }
}
