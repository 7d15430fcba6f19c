import type { KeyedMutex } from '../../lib/async/keyed-mutex.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Replica } from '../../replica/replica.ts';
import type { OutboxEvent } from '../../store/store.ts';
import type { Accounts } from '../accounts.ts';
import type { AcmeServer } from '../client/acme-server.ts';
import type { ChallengeType, ManagedCertificateDoc } from '../records.ts';
import type { ResolveName } from './dns-diagnosis.ts';
import type { DnsHook } from './dns-hook.ts';

export type CertificateEventType = 'certificate_issued.v0' | 'certificate_failed.v0' | 'certificate_expiring.v0';

/** What an order needs from the rest of the program. */
export interface OrderPorts {
  readonly clock: Clock;
  readonly replica: Replica;
  readonly accounts: Accounts;
  readonly serverOf: (directoryUrl: string) => AcmeServer;
  /** In the order in which they are tried. */
  readonly directories: readonly string[];
  readonly challenges: readonly ChallengeType[];
  readonly profile: string | null;
  readonly hook: DnsHook | null;
  /** By FQDN: a name and its wildcard use the same DNS record, and hooks may keep one value only. */
  readonly hookTurns: KeyedMutex;
  readonly resolve: ResolveName;
  /** Other nodes need this long to learn of a challenge that they have to answer. */
  readonly propagationMs: number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** The event to record with the change, if a subscription wants it. */
  readonly event: (type: CertificateEventType, id: string, doc: ManagedCertificateDoc) => readonly OutboxEvent[];
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}
