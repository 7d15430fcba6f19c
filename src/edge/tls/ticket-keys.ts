import { hash } from 'node:crypto';
import type { TlsOptions } from 'node:tls';

/** 32 bytes that belong to the text, the same on every node of an installation. */
export type SharedSecret = (text: string) => Buffer;

export const DAY_MS = 24 * 60 * 60 * 1000;

export interface TicketScope {
  /** The certificate, or what stands for all that replace each other. */
  readonly scope: string;
  /** Differs when the TLS policy does. */
  readonly policyKey: string;
  /** Since the epoch, in UTC. */
  readonly day: number;
}

/**
 * Keys of session tickets that every node derives alike: a ticket resumes on any node, for the same certificate (or
 * leaves of the internal CA for the same name), policy and day only. The runtime knows one key at a time, so tickets of the day before lead to a full handshake.
 */
export function sharedTicketKeys(
  secret: SharedSecret,
  { scope: of, policyKey, day }: TicketScope,
): Pick<TlsOptions, 'ticketKeys' | 'sessionIdContext'> {
  const scope = `${hash('sha256', of)} ${policyKey}`;
  return {
    // 16 bytes each for the key's name, the HMAC and AES.
    ticketKeys: Buffer.concat([secret(`${scope} ${day} 1`), secret(`${scope} ${day} 2`)]).subarray(0, 48),
    // Sessions of another context do not resume. The runtime's default depends on the arguments of the process.
    sessionIdContext: hash('sha256', scope).slice(0, 32),
  };
}
