import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { ArrivedClient } from '../../lib/net/arriving-clients.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { EdgeTallies } from '../limits/edge-tallies.ts';
import type { AcmeChallenges, ChallengeType } from './acme-challenges.ts';
import type { CertificateStore } from './certificate-store.ts';
import type { EdgeConnection } from './edge-connection.ts';
import type { HandshakeFailure } from './handshake-failure.ts';
import type { SharedSecret } from './ticket-keys.ts';
import type { TlsLimits } from './tls-limits.ts';

export interface TlsFrontOptions {
  readonly snapshots: { find(host: string): EdgeSnapshot | undefined };
  readonly certificates: Pick<CertificateStore, 'certificateFor'>;
  readonly challenges: Pick<AcmeChallenges, 'forHello'>;
  readonly limits?: Partial<TlsLimits>;
  /** For session tickets that resume on every node. Absent: they resume in this process only. */
  readonly ticketSecret?: SharedSecret | undefined;
  /** Absent: this thread serves alone. */
  readonly tallies?: EdgeTallies | undefined;
  /** Connections for which there are file descriptors. Absent: as many as one likes. */
  readonly freeConnections?: (() => number) | undefined;
  readonly clock: Clock;
  readonly log: TlsLog;
  readonly metrics: TlsMetrics;
  onConnection(connection: EdgeConnection): void;
  /** Names that nothing serves, and the name of the certificate to present for them. */
  readonly vacantNames?: { certificateNameOf(host: string): string | null };
  /** A connection for such a name. */
  onVacant?(connection: Omit<EdgeConnection, 'edge' | 'tlsGeneration' | 'clientCertificate'>): void;
  /** A name without a certificate: its connection gets an alert. */
  onUnknownName?(name: string, clientAddress: string): void;
  /** For a host whose connections are forwarded without decryption. */
  readonly passthroughFor?: (host: string) => Passthrough | undefined;
}

/** Takes over a socket whose ClientHello has not been consumed. */
export type Passthrough = (socket: Socket, client: ArrivedClient) => void;

export interface TlsLog {
  debug(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface TlsMetrics {
  handshakeFailed(reason: HandshakeFailure): void;
  challengeAnswered(type: ChallengeType): void;
  /** Accepted although no list tells whether it was revoked. */
  clientCertificateUnchecked(): void;
}
