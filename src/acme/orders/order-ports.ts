import type { ChallengeRecords } from '../../dns/challenge-records.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Replica } from '../../replica/replica.ts';
import type { OutboxEvent } from '../../store/store.ts';
import type { Accounts } from '../accounts.ts';
import type { AcmeServer } from '../client/acme-server.ts';
import type { ChallengeType, ManagedCertificateDoc } from '../records.ts';
import type { ResolveName } from './dns-diagnosis.ts';

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
  /** Null: the settings have neither a provider nor a hook. */
  readonly dns: ChallengeRecords | null;
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
