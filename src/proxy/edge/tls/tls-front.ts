import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { ignoreErrors } from '../../../kit/guarded-listeners.ts';
import { type ArrivedClient, peerOf } from '../../../kit/net/arriving-clients.ts';
import { readProxyHeader } from '../../../kit/net/proxy-header.ts';
import type { ClientCertificate, TlsPolicy } from '../../../modules/contract/decides.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { type AcmeChallenge, ChallengeServers } from './acme-challenges.ts';
import { judgeRevocation, verifiedCertificateOf } from './client-certificate.ts';
import { type ClientHello, type PeekResult, peekClientHello } from './client-hello.ts';
import { endWith, endWithAlert, handshakeFailure, plainHttpAnswer } from './handshake-failure.ts';
import { HostServers } from './host-servers.ts';
import { type Handshake, PendingHandshakes } from './pending-handshakes.ts';
import { DEFAULT_TLS_LIMITS, type TlsFrontOptions } from './tls-ports.ts';
import type { ServedCertificate } from './uploaded-certificates.ts';

const UNLISTED_PROXY = 'it starts with a PROXY header, and its address is not in proxy_protocol_from';

/** For names that nothing serves. */
const NO_POLICY: TlsPolicy = {};
const UNCHECKED = 'a client certificate was accepted without a check for revocation';

export interface TlsFront {
  /** Takes over an accepted connection. The time that its PROXY header took counts towards the ClientHello's. */
  accept(socket: Socket, client?: ArrivedClient): void;
  /** Open connections, including those in their handshake. */
  readonly connectionCount: number;
  readonly pendingCount: number;
  /**
   * Accepts no more, and closes connections that have not sent their ClientHello. Handshakes in progress may finish:
   * over TLS 1.3 the client considers them done and has sent its request. Established connections belong to their
   * owner.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Certificates that no host presents any longer, and the policy that applied. */
  forget(certificates: readonly ServedCertificate[], policy: TlsPolicy): void;
  /** Closes connections in their handshake, and accepts no more. */
  close(): void;
}

/**
 * Turns an accepted connection into one that is encrypted, belongs to an edge, and has proved what that edge requires.
 */
export function createTlsFront(options: TlsFrontOptions): TlsFront {
  const { snapshots, certificates, clock, log, metrics } = options;
  const limits = { ...DEFAULT_TLS_LIMITS, ...options.limits };
  const handshakes = new PendingHandshakes(limits, log, metrics, options.tallies, options.freeConnections);
  const servers = new HostServers({
    capacity: limits.maxHostServers,
    handshakeTimeoutMs: limits.handshakeTimeoutMs,
    clock,
    ticketSecret: options.ticketSecret,
    onSecure,
    onFailure,
  });
  const challengeServers = new ChallengeServers({
    handshakeTimeoutMs: limits.handshakeTimeoutMs,
    clock,
    onSecure: onProved,
    onFailure,
  });

  function accept(socket: Socket, client: ArrivedClient = peerOf(socket)): void {
    const handshake = handshakes.start(socket, client);
    if (handshake === null) return;
    peekClientHello(socket, { timeoutMs: Math.max(1, limits.helloTimeoutMs - client.waitedMs) }, (result) => {
      if (handshake.isOver) return;
      if (result.ok) choose(handshake, result.hello);
      else refuseHello(handshake, result);
    });
  }

  function refuseHello(handshake: Handshake, { reason, message, bytes }: Extract<PeekResult, { ok: false }>): void {
    // The most common mistake behind a load balancer.
    const isFromProxy = reason === 'not_tls' && readProxyHeader(bytes).state === 'done';
    handshakes.fail(handshake, reason === 'timeout' ? 'hello_timeout' : reason, isFromProxy ? UNLISTED_PROXY : message);
    if (reason === 'bad_name') endWithAlert(handshake.socket, 'unrecognized_name');
    else if (reason === 'malformed' || reason === 'too_large') endWithAlert(handshake.socket, 'decode_error');
    else if (reason === 'not_tls') endWith(handshake.socket, plainHttpAnswer(bytes));
    else handshake.socket.destroy();
  }

  /** A name without an edge never gets another host's certificate. */
  function choose(handshake: Handshake, hello: ClientHello): void {
    const name = hello.serverName;
    handshake.serverName = name;
    const challenge = options.challenges.forHello(hello);
    if (challenge !== undefined) {
      prove(handshake, challenge);
      return;
    }
    const passthrough = name === null ? undefined : options.passthroughFor?.(name);
    if (passthrough !== undefined) {
      handshakes.succeed(handshake);
      passthrough(handshake.socket, handshake.client);
      return;
    }
    const edge = name === null ? undefined : snapshots.find(name);
    if (name !== null && edge !== undefined) {
      present(handshake, name, edge.hosts.includes(name), (certificate) => begin(handshake, name, certificate));
      return;
    }
    const shared = name === null ? null : (options.vacantNames?.certificateNameOf(name) ?? null);
    if (shared === null) refuseName(handshake);
    else present(handshake, shared, true, (certificate) => beginVacant(handshake, certificate));
  }

  function present(
    handshake: Handshake,
    name: string,
    isListed: boolean,
    then: (certificate: ServedCertificate) => void,
  ): void {
    try {
      const certificate = certificates.certificateFor(name, isListed);
      if (certificate instanceof Promise) {
        certificate.then(then).catch((error: unknown) => failCertificate(handshake, error));
      } else then(certificate);
    } catch (error) {
      failCertificate(handshake, error);
    }
  }

  function begin(handshake: Handshake, name: string, certificate: ServedCertificate): void {
    if (handshake.isOver) return;
    // Looked up again: the edge may have changed or been deleted while its certificate was issued.
    handshake.edge = snapshots.find(name) ?? null;
    if (handshake.edge === null) {
      refuseName(handshake);
      return;
    }
    try {
      shake(handshake, servers.serverFor(certificate, handshake.edge.tls));
    } catch (error) {
      failCertificate(handshake, error);
    }
  }

  function beginVacant(handshake: Handshake, certificate: ServedCertificate): void {
    if (handshake.isOver) return;
    handshake.isVacant = true;
    shake(handshake, servers.serverFor(certificate, NO_POLICY));
  }

  function shake(handshake: Handshake, server: Server): void {
    // The runtime's own timeout restarts with every byte.
    handshake.timer = setTimeout(() => {
      handshakes.fail(handshake, 'handshake_timeout', 'the handshake did not end in time');
      handshake.socket.destroy();
    }, limits.handshakeTimeoutMs);
    server.emit('connection', handshake.socket);
  }

  /** An ACME server asks for a proof. Its connection never reaches HTTP, whatever the host's edge or tunnel requires. */
  function prove(handshake: Handshake, challenge: AcmeChallenge): void {
    challengeServers
      .serverFor(challenge)
      .then((server) => {
        if (!handshake.isOver) shake(handshake, server);
      })
      .catch((error: unknown) => failCertificate(handshake, error));
  }

  function onProved(socket: TLSSocket): void {
    // Its client may still reset the connection.
    ignoreErrors(socket);
    const handshake = handshakes.of(socket);
    if (handshake === undefined) {
      socket.destroy();
      return;
    }
    handshakes.succeed(handshake);
    metrics.challengeAnswered('tls-alpn-01');
    log.debug({ address: handshake.client.address, server_name: handshake.serverName }, 'answered an ACME challenge');
    endWith(socket, '');
  }

  function onSecure(socket: TLSSocket): void {
    const handshake = handshakes.of(socket);
    const { edge, serverName } = handshake ?? {};
    const protocol = socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
    if (handshake?.isVacant === true && serverName) {
      handshakes.succeed(handshake);
      options.onVacant?.({ socket, protocol, servername: serverName, remoteAddress: handshake.client.address });
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
      handshakes.fail(handshake, 'client_certificate_invalid', 'no certificate was verified in this handshake');
      socket.destroy();
      return;
    }
    if (clientCertificate !== null && !isUnrevoked(handshake, edge, clientCertificate)) {
      socket.destroy();
      return;
    }
    handshakes.succeed(handshake);
    options.onConnection({
      socket,
      protocol,
      servername: serverName,
      edge,
      tlsGeneration: edge.tlsGeneration,
      remoteAddress: handshake.client.address,
      clientCertificate,
    });
  }

  function isUnrevoked(handshake: Handshake, { tls }: EdgeSnapshot, certificate: ClientCertificate): boolean {
    if (tls.revocation === undefined) return true;
    const { refusal, unchecked } = judgeRevocation(tls.revocation, certificate, clock.nowMs());
    if (refusal !== null) {
      handshakes.fail(handshake, refusal.reason, refusal.message);
      return false;
    }
    if (unchecked !== null) {
      metrics.clientCertificateUnchecked();
      log.debug({ address: handshake.client.address, server_name: handshake.serverName, why: unchecked }, UNCHECKED);
    }
    return true;
  }

  function onFailure(error: Error, socket: TLSSocket): void {
    const handshake = handshakes.of(socket);
    if (handshake === undefined) return;
    handshakes.fail(handshake, handshakeFailure(error, socket.authorizationError), error.message);
  }

  function refuseName(handshake: Handshake): void {
    const reason = handshake.serverName === null ? 'no_name' : 'unknown_name';
    handshakes.fail(handshake, reason, 'no edge has this name');
    if (handshake.serverName !== null) options.onUnknownName?.(handshake.serverName, handshake.client.address);
    endWithAlert(handshake.socket, 'unrecognized_name');
  }

  function failCertificate(handshake: Handshake, error: unknown): void {
    if (handshake.isOver) return;
    log.error({ err: error, server_name: handshake.serverName }, 'the host has no certificate that can be used');
    handshakes.fail(handshake, 'server_certificate', 'the host has no certificate that can be used');
    endWithAlert(handshake.socket, 'internal_error');
  }

  return {
    accept,
    get connectionCount() {
      return handshakes.connectionCount;
    },
    get pendingCount() {
      return handshakes.pendingCount;
    },
    drain: (timeoutMs) => handshakes.drain(timeoutMs),
    forget: (gone, policy) => {
      for (const certificate of gone) servers.forget(certificate, policy);
    },
    close: () => {
      handshakes.close();
      servers.clear();
    },
  };
}
