import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { ignoreErrors } from '../../../kit/guarded-listeners.ts';
import { type ArrivedClient, peerOf } from '../../../kit/net/arriving-clients.ts';
import { readProxyHeader } from '../../../kit/net/proxy-header.ts';
import type { ClientCertificate, TlsPolicy } from '../../../modules/contract/decides.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { type AcmeChallenge, ChallengeServers } from './acme-challenges.ts';
import type { ServedCertificate } from './certificate-store.ts';
import { judgeRevocation, verifiedCertificateOf } from './client-certificate.ts';
import { type ClientHello, type PeekResult, peekClientHello } from './client-hello.ts';
import { endWith, endWithAlert, handshakeFailure, plainHttpAnswer } from './handshake-failure.ts';
import { HostServers } from './host-servers.ts';
import { type Handshake, PendingHandshakes } from './pending-handshakes.ts';
import { DEFAULT_TLS_LIMITS, type TlsFrontOptions, type TlsLimits } from './tls-ports.ts';

const UNLISTED_PROXY = 'it starts with a PROXY header, and its address is not in proxy_protocol_from';

/** For names that nothing serves. */
const NO_POLICY: TlsPolicy = {};
const UNCHECKED = 'a client certificate was accepted without a check for revocation';

/**
 * Turns an accepted connection into one that is encrypted, belongs to an edge, and has proved what that edge requires.
 */
export class TlsFront {
  readonly #options: TlsFrontOptions;
  readonly #limits: TlsLimits;
  readonly #handshakes: PendingHandshakes;
  readonly #servers: HostServers;
  readonly #challengeServers: ChallengeServers;

  constructor(options: TlsFrontOptions) {
    const { clock, log, metrics, tallies, freeConnections, ticketSecret } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_TLS_LIMITS, ...options.limits };
    this.#handshakes = new PendingHandshakes(this.#limits, log, metrics, tallies, freeConnections);
    const { maxHostServers: capacity, handshakeTimeoutMs } = this.#limits;
    const onFailure = (error: Error, socket: TLSSocket): void => this.#onFailure(error, socket);
    this.#servers = new HostServers({
      ...{ capacity, handshakeTimeoutMs, clock, ticketSecret, onFailure },
      onSecure: (socket) => this.#onSecure(socket),
    });
    this.#challengeServers = new ChallengeServers({
      ...{ handshakeTimeoutMs, clock, onFailure },
      onSecure: (socket) => this.#onProved(socket),
    });
  }

  /** Open connections, including those in their handshake. */
  get connectionCount(): number {
    return this.#handshakes.connectionCount;
  }

  get pendingCount(): number {
    return this.#handshakes.pendingCount;
  }

  /** Takes over an accepted connection. The time that its PROXY header took counts towards the ClientHello's. */
  accept(socket: Socket, client: ArrivedClient = peerOf(socket)): void {
    const handshake = this.#handshakes.start(socket, client);
    if (handshake === null) return;
    peekClientHello(socket, { timeoutMs: Math.max(1, this.#limits.helloTimeoutMs - client.waitedMs) }, (result) => {
      if (handshake.isOver) return;
      if (result.ok) this.#chooseByName(handshake, result.hello);
      else this.#refuseHello(handshake, result);
    });
  }

  /**
   * Accepts no more, and closes connections that have not sent their ClientHello. Handshakes in progress may finish:
   * over TLS 1.3 the client considers them done and has sent its request. Established connections belong to their
   * owner.
   */
  drain(timeoutMs: number): Promise<void> {
    return this.#handshakes.drain(timeoutMs);
  }

  /** Certificates that no host presents any longer, and the policy that applied. */
  forget(certificates: readonly ServedCertificate[], policy: TlsPolicy): void {
    for (const certificate of certificates) this.#servers.forget(certificate, policy);
  }

  /** Closes connections in their handshake, and accepts no more. */
  close(): void {
    this.#handshakes.close();
    this.#servers.clear();
  }

  #refuseHello(handshake: Handshake, { reason, message, bytes }: Extract<PeekResult, { ok: false }>): void {
    // The most common mistake behind a load balancer.
    const isFromProxy = reason === 'not_tls' && readProxyHeader(bytes).state === 'done';
    this.#handshakes.fail(
      handshake,
      reason === 'timeout' ? 'hello_timeout' : reason,
      isFromProxy ? UNLISTED_PROXY : message,
    );
    if (reason === 'bad_name') endWithAlert(handshake.socket, 'unrecognized_name');
    else if (reason === 'malformed' || reason === 'too_large') endWithAlert(handshake.socket, 'decode_error');
    else if (reason === 'not_tls') endWith(handshake.socket, plainHttpAnswer(bytes));
    else handshake.socket.destroy();
  }

  /** A name without an edge never gets another host's certificate. */
  #chooseByName(handshake: Handshake, hello: ClientHello): void {
    const name = hello.serverName;
    handshake.serverName = name;
    const challenge = this.#options.challenges.forHello(hello);
    if (challenge !== undefined) {
      this.#prove(handshake, challenge);
      return;
    }
    const passthrough = name === null ? undefined : this.#options.passthroughFor?.(name);
    if (passthrough !== undefined) {
      this.#handshakes.succeed(handshake);
      passthrough(handshake.socket, handshake.client);
      return;
    }
    const edge = name === null ? undefined : this.#options.snapshots.find(name);
    if (name !== null && edge !== undefined) {
      this.#present(handshake, name, edge.hosts.includes(name), (certificate) =>
        this.#beginForEdge(handshake, name, certificate),
      );
      return;
    }
    const shared = name === null ? null : (this.#options.vacantNames?.certificateNameOf(name) ?? null);
    if (shared === null) this.#refuseName(handshake);
    else this.#present(handshake, shared, true, (certificate) => this.#beginVacant(handshake, certificate));
  }

  #present(
    handshake: Handshake,
    name: string,
    isListed: boolean,
    then: (certificate: ServedCertificate) => void,
  ): void {
    try {
      const certificate = this.#options.certificates.certificateFor(name, isListed);
      if (certificate instanceof Promise) {
        certificate.then(then).catch((error: unknown) => this.#failCertificate(handshake, error));
      } else then(certificate);
    } catch (error) {
      this.#failCertificate(handshake, error);
    }
  }

  #beginForEdge(handshake: Handshake, name: string, certificate: ServedCertificate): void {
    if (handshake.isOver) return;
    // Looked up again: the edge may have changed or been deleted while its certificate was issued.
    handshake.edge = this.#options.snapshots.find(name) ?? null;
    if (handshake.edge === null) {
      this.#refuseName(handshake);
      return;
    }
    try {
      this.#startHandshake(handshake, this.#servers.serverFor(certificate, handshake.edge.tls));
    } catch (error) {
      this.#failCertificate(handshake, error);
    }
  }

  #beginVacant(handshake: Handshake, certificate: ServedCertificate): void {
    if (handshake.isOver) return;
    handshake.isVacant = true;
    this.#startHandshake(handshake, this.#servers.serverFor(certificate, NO_POLICY));
  }

  #startHandshake(handshake: Handshake, server: Server): void {
    // The runtime's own timeout restarts with every byte.
    handshake.timer = setTimeout(() => {
      this.#handshakes.fail(handshake, 'handshake_timeout', 'the handshake did not end in time');
      handshake.socket.destroy();
    }, this.#limits.handshakeTimeoutMs);
    server.emit('connection', handshake.socket);
  }

  /**
   * An ACME server asks for a proof. Its connection never reaches HTTP, whatever the host's edge or tunnel requires.
   */
  #prove(handshake: Handshake, challenge: AcmeChallenge): void {
    this.#challengeServers
      .serverFor(challenge)
      .then((server) => {
        if (!handshake.isOver) this.#startHandshake(handshake, server);
      })
      .catch((error: unknown) => this.#failCertificate(handshake, error));
  }

  #onProved(socket: TLSSocket): void {
    // The socket's client may still reset the connection.
    ignoreErrors(socket);
    const handshake = this.#handshakes.of(socket);
    if (handshake === undefined) {
      socket.destroy();
      return;
    }
    this.#handshakes.succeed(handshake);
    this.#options.metrics.challengeAnswered('tls-alpn-01');
    this.#options.log.debug(
      { address: handshake.client.address, server_name: handshake.serverName },
      'answered an ACME challenge',
    );
    endWith(socket, '');
  }

  #onSecure(socket: TLSSocket): void {
    const handshake = this.#handshakes.of(socket);
    const { edge, serverName } = handshake ?? {};
    const protocol = socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
    if (handshake?.isVacant === true && serverName) {
      this.#handshakes.succeed(handshake);
      this.#options.onVacant?.({ socket, protocol, servername: serverName, remoteAddress: handshake.client.address });
      return;
    }
    if (handshake === undefined || !edge || !serverName) {
      // Over, or unknown: nothing shows which edge it may reach.
      socket.destroy();
      return;
    }
    const isDemanded = edge.tls.clientAuthorities !== undefined;
    const clientCertificate = isDemanded ? verifiedCertificateOf(socket) : null;
    if (isDemanded && clientCertificate === null) {
      // The runtime has already rejected it; this is the second check.
      this.#handshakes.fail(handshake, 'client_certificate_invalid', 'no certificate was verified in this handshake');
      socket.destroy();
      return;
    }
    if (clientCertificate !== null && !this.#isUnrevoked(handshake, edge, clientCertificate)) {
      socket.destroy();
      return;
    }
    this.#handshakes.succeed(handshake);
    this.#options.onConnection({
      socket,
      protocol,
      servername: serverName,
      edge,
      tlsGeneration: edge.tlsGeneration,
      remoteAddress: handshake.client.address,
      clientCertificate,
    });
  }

  #isUnrevoked(handshake: Handshake, { tls }: EdgeSnapshot, certificate: ClientCertificate): boolean {
    if (tls.revocation === undefined) return true;
    const { refusal, unchecked } = judgeRevocation(tls.revocation, certificate, this.#options.clock.nowMs());
    if (refusal !== null) {
      this.#handshakes.fail(handshake, refusal.reason, refusal.message);
      return false;
    }
    if (unchecked !== null) {
      this.#options.metrics.clientCertificateUnchecked();
      this.#options.log.debug(
        { address: handshake.client.address, server_name: handshake.serverName, why: unchecked },
        UNCHECKED,
      );
    }
    return true;
  }

  #onFailure(error: Error, socket: TLSSocket): void {
    const handshake = this.#handshakes.of(socket);
    if (handshake === undefined) return;
    this.#handshakes.fail(handshake, handshakeFailure(error, socket.authorizationError), error.message);
  }

  #refuseName(handshake: Handshake): void {
    const reason = handshake.serverName === null ? 'no_name' : 'unknown_name';
    this.#handshakes.fail(handshake, reason, 'no edge has this name');
    if (handshake.serverName !== null) this.#options.onUnknownName?.(handshake.serverName, handshake.client.address);
    endWithAlert(handshake.socket, 'unrecognized_name');
  }

  #failCertificate(handshake: Handshake, error: unknown): void {
    if (handshake.isOver) return;
    this.#options.log.error(
      { err: error, server_name: handshake.serverName },
      'the host has no certificate that can be used',
    );
    this.#handshakes.fail(handshake, 'server_certificate', 'the host has no certificate that can be used');
    endWithAlert(handshake.socket, 'internal_error');
  }
}
