import { constants } from 'node:crypto';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import { closing, listenPer } from '../../lib/guarded-listeners.ts';
import { loadPart } from '../../lib/load-part.ts';
import { ACME_TLS_PROTOCOL, type AcmeChallenge } from './acme-challenges.ts';

export interface ChallengeServersOptions {
  readonly clock: Clock;
  readonly handshakeTimeoutMs: number;
  readonly onSecure: (socket: TLSSocket) => void;
  readonly onFailure: (error: Error, socket: TLSSocket) => void;
}

/**
 * TLS servers that never listen, one per pending challenge. A flood of handshakes makes one certificate, and the server
 * is collected with its challenge.
 */
export class ChallengeServers {
  readonly #options: ChallengeServersOptions;
  readonly #servers = new WeakMap<AcmeChallenge, Promise<Server>>();

  constructor(options: ChallengeServersOptions) {
    this.#options = options;
  }

  serverFor(challenge: AcmeChallenge): Promise<Server> {
    const known = this.#servers.get(challenge);
    if (known !== undefined) return known;
    const made = this.#make(challenge);
    this.#servers.set(challenge, made);
    // The next validation tries again.
    made.catch(() => this.#servers.delete(challenge));
    return made;
  }

  async #make({ hostname, keyAuthorization }: AcmeChallenge): Promise<Server> {
    const { clock, handshakeTimeoutMs, onSecure, onFailure } = this.#options;
    const { challengeCertificate } = await loadPart(() => import('../../pki/challenge-certificate.ts'));
    const pair = await challengeCertificate({ hostname, keyAuthorization, nowMs: clock.nowMs() });
    const server = createServer({
      cert: pair.certificatePem,
      key: pair.privateKeyPem,
      minVersion: 'TLSv1.2',
      ALPNProtocols: [ACME_TLS_PROTOCOL],
      handshakeTimeout: handshakeTimeoutMs,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
    });
    listenPer(server, 'secureConnection', (socket) => closing(socket, 'ACME challenge'), onSecure);
    listenPer(server, 'tlsClientError', (_error, socket) => closing(socket, 'ACME challenge'), onFailure);
    return server;
  }
}
