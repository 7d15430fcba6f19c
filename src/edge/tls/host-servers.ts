import { constants, hash } from 'node:crypto';
import {
  createSecureContext,
  createServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import { closing, listenPer } from '../../lib/guarded-listeners.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { TlsPolicy } from '../../modules/prepared-module.ts';
import type { ServedCertificate } from './served-certificate.ts';

/** Key exchange with forward secrecy and authenticated encryption only; for TLS 1.2 also what HTTP/2 demands (RFC 9113 §9.2.2). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
/** With a server go the keys of its tickets: whoever steals them reads a day of resumed TLS 1.2 sessions, not a month. */
const MAX_AGE_MS = 24 * 60 * 60 * 1000;

export interface HostServersOptions {
  readonly capacity: number;
  readonly clock: Clock;
  readonly handshakeTimeoutMs: number;
  readonly onSecure: (socket: TLSSocket) => void;
  readonly onFailure: (error: Error, socket: TLSSocket) => void;
}

interface Entry {
  readonly server: Server;
  readonly madeAtMs: number;
}

/**
 * TLS servers that never listen, one for each certificate and policy, made at the first handshake: about 40 KB each.
 *
 * One server for all hosts would pick their contexts by SNI callback, too late for three things: a ticket is opened with the
 * server's key before the callback runs (or instead of it), so a session of an open host resumes on one that demands client
 * certificates; the lowest version is the server's; and after a HelloRetryRequest the callback can be given another name than the
 * one that was peeked. Here the peeked name has chosen before TLS begins, and a ticket means nothing to another server, so a
 * changed policy, with its new server, also forgets all old sessions.
 */
export class HostServers {
  readonly #options: HostServersOptions;
  readonly #entries: LruMap<string, Entry>;
  readonly #policyKeys = new WeakMap<TlsPolicy, string>();

  constructor(options: HostServersOptions) {
    this.#options = options;
    this.#entries = new LruMap(options.capacity);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Throws when the certificate and its key cannot be used. */
  serverFor(certificate: ServedCertificate, policy: TlsPolicy): Server {
    const key = this.#keyOf(certificate, policy);
    const nowMs = this.#options.clock.nowMs();
    const found = this.#entries.get(key);
    if (found !== undefined && nowMs - found.madeAtMs < MAX_AGE_MS) return found.server;
    const server = createServer(serverOptions(certificate, policy, this.#options.handshakeTimeoutMs));
    const { onSecure, onFailure } = this.#options;
    listenPer(server, 'secureConnection', (socket) => closing(socket, 'TLS handshake'), onSecure);
    listenPer(server, 'tlsClientError', (_error, socket) => closing(socket, 'TLS handshake'), onFailure);
    this.#entries.set(key, { server, madeAtMs: nowMs });
    return server;
  }

  /** Connections that it has made go on. */
  forget(certificate: ServedCertificate, policy: TlsPolicy): void {
    this.#entries.delete(this.#keyOf(certificate, policy));
  }

  clear(): void {
    this.#entries.clear();
  }

  #keyOf(certificate: ServedCertificate, policy: TlsPolicy): string {
    return `${certificate.identity} ${this.#policyKeyOf(policy)}`;
  }

  /** Snapshots are immutable, so the text of a policy is hashed once. */
  #policyKeyOf(policy: TlsPolicy): string {
    const known = this.#policyKeys.get(policy);
    if (known !== undefined) return known;
    const key = hash('sha256', JSON.stringify([policy.minVersion ?? null, policy.clientAuthorities ?? null]));
    this.#policyKeys.set(policy, key);
    return key;
  }
}

function serverOptions(certificate: ServedCertificate, policy: TlsPolicy, handshakeTimeoutMs: number): TlsOptions {
  const context: SecureContextOptions = {
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    minVersion: policy.minVersion ?? 'TLSv1.2',
    ciphers: CIPHERS,
    // Never absent: the runtime would put the public authorities of the web in its place.
    ca: [...(policy.clientAuthorities ?? [])],
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  const common = { ...context, ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: handshakeTimeoutMs };
  if (policy.clientAuthorities === undefined) return common;
  // The server's own context has no such option. The callback is given to this host's connections alone, so the name does not
  // matter; without a callback the own context decides, which trusts less.
  const trusting = createSecureContext({ ...context, allowPartialTrustChain: true });
  return {
    ...common,
    requestCert: true,
    rejectUnauthorized: true,
    // A resumed session counts as verified, though its certificate has ended since: no tickets.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
    SNICallback: (_serverName, done) => done(null, trusting),
  };
}
