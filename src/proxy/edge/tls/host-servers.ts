import { constants, hash } from 'node:crypto';
import {
  createSecureContext,
  createServer,
  type SecureContextOptions,
  type Server,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import type { Clock } from '../../../kit/clock.ts';
import { closing, listenPer } from '../../../kit/guarded-listeners.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import type { TlsPolicy } from '../../../modules/contract/decides.ts';
import type { ServedCertificate } from './certificate-store.ts';

/** 32 bytes that belong to the text, the same on every node of an installation. */
export type SharedSecret = (text: string) => Buffer;

const DAY_MS = 24 * 60 * 60 * 1000;

interface TicketScope {
  /** The certificate, or what stands for all that replace each other. */
  readonly scope: string;
  /** Differs when the TLS policy does. */
  readonly policyKey: string;
  /** Since the epoch, in UTC. */
  readonly day: number;
}

/**
 * Keys of session tickets that every node derives alike: a ticket resumes on any node, for the same certificate (or
 * leaves of the internal CA for the same name), policy and day only. The runtime knows one key at a time, so tickets of
 * the day before lead to a full handshake.
 */
function sharedTicketKeys(
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

/**
 * Only key exchange with forward secrecy and authenticated encryption; for TLS 1.2 also the requirements of HTTP/2 (RFC
 * 9113 §9.2.2).
 */
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

/** About 10 MB. Handshakes for invented names need few at a time, and must not evict the servers of listed hosts. */
const MAX_FOR_INVENTED_NAMES = 256;

interface HostServersOptions {
  readonly capacity: number;
  readonly clock: Clock;
  readonly handshakeTimeoutMs: number;
  /** For ticket keys that all nodes have. Absent: each server has its own. */
  readonly ticketSecret?: SharedSecret | undefined;
  readonly onSecure: (socket: TLSSocket) => void;
  readonly onFailure: (error: Error, socket: TLSSocket) => void;
}

interface Entry {
  readonly server: Server;
  readonly day: number;
}

/**
 * TLS servers that never listen, one per certificate and policy, created at the first handshake: about 40 KB each. They
 * are replaced after midnight (UTC) with their ticket keys: an attacker who steals these can read a day of resumed TLS
 * 1.2 sessions, not a month.
 *
 * One server for all hosts would select contexts by SNI callback, which is too late for three things. A ticket is
 * opened with the server's key before the callback runs (or instead of it), so a session of an open host would resume
 * on one that requires client certificates. The minimum version belongs to the server. After a HelloRetryRequest the
 * callback can receive another name than the peeked one. Here the peeked name has selected the server before TLS
 * starts, and a ticket means nothing to another server, so a changed policy, with its new server, also invalidates all
 * old sessions.
 */
export class HostServers {
  readonly #options: HostServersOptions;
  readonly #entries: LruMap<string, Entry>;
  readonly #ofInventedNames = new LruMap<string, Entry>(MAX_FOR_INVENTED_NAMES);
  readonly #policyKeys = new WeakMap<TlsPolicy, string>();

  constructor(options: HostServersOptions) {
    this.#options = options;
    this.#entries = new LruMap(options.capacity);
  }

  get size(): number {
    return this.#entries.size + this.#ofInventedNames.size;
  }

  /** Throws when the certificate and its key are unusable. */
  serverFor(certificate: ServedCertificate, policy: TlsPolicy): Server {
    const key = this.#keyOf(certificate, policy);
    const { clock, handshakeTimeoutMs, ticketSecret, onSecure, onFailure } = this.#options;
    const day = Math.floor(clock.nowMs() / DAY_MS);
    const entries = this.#entriesFor(certificate);
    const found = entries.get(key);
    if (found !== undefined && found.day === day) return found.server;
    const { ticketScope = certificate.certificatePem } = certificate;
    const scope = { scope: ticketScope, policyKey: this.#policyKeyOf(policy), day };
    const server = createServer({
      ...serverOptions(certificate, policy, handshakeTimeoutMs),
      ...(ticketSecret !== undefined && sharedTicketKeys(ticketSecret, scope)),
    });
    listenPer(server, 'secureConnection', (socket) => closing(socket, 'TLS handshake'), onSecure);
    listenPer(server, 'tlsClientError', (_error, socket) => closing(socket, 'TLS handshake'), onFailure);
    entries.set(key, { server, day });
    return server;
  }

  /** The certificate's existing connections continue. */
  forget(certificate: ServedCertificate, policy: TlsPolicy): void {
    this.#entriesFor(certificate).delete(this.#keyOf(certificate, policy));
  }

  clear(): void {
    this.#entries.clear();
    this.#ofInventedNames.clear();
  }

  #entriesFor({ isOfInventedName }: ServedCertificate): LruMap<string, Entry> {
    return isOfInventedName === true ? this.#ofInventedNames : this.#entries;
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
    // Never absent: the runtime would then use the public authorities of the web.
    ca: [...(policy.clientAuthorities ?? [])],
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  const common = { ...context, ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: handshakeTimeoutMs };
  if (policy.clientAuthorities === undefined) return common;
  // The server's own context has no such option. Only this host's connections use the callback, so the name does not
  // matter; without a callback the server's own context decides, which trusts less.
  const trusting = createSecureContext({ ...context, allowPartialTrustChain: true });
  return {
    ...common,
    requestCert: true,
    rejectUnauthorized: true,
    // A resumed session counts as verified even if its certificate has expired since: no tickets. With TLS 1.3 OpenSSL
    // sends one nevertheless, which names a session that nobody keeps.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET,
    SNICallback: (_serverName, done) => done(null, trusting),
  };
}
