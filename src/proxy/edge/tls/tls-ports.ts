import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../kit/clock.ts';
import type { ArrivedClient } from '../../../kit/net/arriving-clients.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { EdgeTallies } from '../admission.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { AcmeChallenges, ChallengeType } from './acme-challenges.ts';
import type { CertificateStore } from './certificate-store.ts';
import type { HandshakeFailure } from './handshake-failure.ts';
import type { SharedSecret } from './host-servers.ts';

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

/** A count of 0 means no limit. */
export interface TlsLimits {
  readonly helloTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** Handshakes in progress, including the wait for the ClientHello. */
  readonly maxPending: number;
  readonly maxPendingPerAddress: number;
  /** TLS servers kept, about 40 KB each. */
  readonly maxHostServers: number;
}

export const DEFAULT_TLS_LIMITS: TlsLimits = {
  helloTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  maxConnections: 50_000,
  // One address can represent an office or a mobile network.
  maxConnectionsPerAddress: 2000,
  maxPending: 4096,
  maxPendingPerAddress: 512,
  maxHostServers: 2048,
};

/** A connection whose handshake is complete and satisfied its edge at that time. */
export interface EdgeConnection extends Pick<ConnectionFacts, 'tlsGeneration' | 'remoteAddress' | 'clientCertificate'> {
  readonly socket: TLSSocket;
  readonly protocol: 'h2' | 'http/1.1';
  /** The peeked name, which selected the edge. The socket's own name can be `false` on resumption. */
  readonly servername: string;
  /** The edge's snapshot when the handshake started. */
  readonly edge: EdgeSnapshot;
}
