import { constants } from 'node:crypto';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../../../kit/clock.ts';
import { closing, listenPer } from '../../../kit/guarded-listeners.ts';
import { loadPart } from '../../../kit/load-part.ts';
import type { CertificateRecord, CertificateRecordChange, CertificateRecords } from './certificate-store.ts';
import type { ClientHello } from './client-hello.ts';

const CHALLENGE_KIND = 'acme_challenge';
/** RFC 8737 §4. */
const ACME_TLS_PROTOCOL = 'acme-tls/1';
/** RFC 8555 §8.3. */
const HTTP_PREFIX = '/.well-known/acme-challenge/';

export type ChallengeType = 'tls-alpn-01' | 'http-01';

/** A proof that an ACME server will ask for, because an order of ours is waiting for it. */
export interface AcmeChallenge {
  readonly hostname: string;
  readonly type: string;
  readonly token: string;
  readonly keyAuthorization: string;
  readonly expiresAtMs: number;
}

interface AcmeChallengesOptions {
  readonly records: CertificateRecords;
  readonly clock: Clock;
}

/**
 * The pending challenges of all nodes: a record exists only while its authorization is pending, so nobody else can
 * make a host answer. Without a match, a connection or request is treated like any other.
 */
export class AcmeChallenges {
  readonly #clock: Clock;
  readonly #byId = new Map<string, AcmeChallenge>();
  /** By type and host name. */
  readonly #byName = new Map<string, AcmeChallenge>();
  readonly close: () => void;

  constructor({ records, clock }: AcmeChallengesOptions) {
    this.#clock = clock;
    for (const record of records.all(CHALLENGE_KIND)) this.#apply({ op: 'put', record });
    this.close = records.onChange(
      (changes) => {
        for (const change of changes) this.#apply(change);
      },
      [CHALLENGE_KIND],
    );
  }

  /** RFC 8737 §3: the client offers this protocol and no other. */
  forHello({ serverName, alpnProtocols }: ClientHello): AcmeChallenge | undefined {
    if (this.#byName.size === 0 || serverName === null) return undefined;
    if (alpnProtocols.length !== 1 || alpnProtocols[0] !== ACME_TLS_PROTOCOL) return undefined;
    return this.#pending('tls-alpn-01', serverName);
  }

  /** The challenge whose exact token the request names, on its own host. */
  forRequest(request: { readonly method: string; readonly host: string; readonly target: string }) {
    if (this.#byName.size === 0 || !request.target.startsWith(HTTP_PREFIX)) return undefined;
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const challenge = this.#pending('http-01', request.host);
    return challenge?.token === request.target.slice(HTTP_PREFIX.length) ? challenge : undefined;
  }

  #pending(type: ChallengeType, host: string): AcmeChallenge | undefined {
    const challenge = this.#byName.get(`${type} ${host}`);
    return challenge !== undefined && this.#clock.nowMs() < challenge.expiresAtMs ? challenge : undefined;
  }

  #apply(change: CertificateRecordChange): void {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    if (kind !== CHALLENGE_KIND) return;
    const before = this.#byId.get(id);
    if (before !== undefined) {
      this.#byId.delete(id);
      // When everything is reloaded, the successor may be reported before this one's removal.
      if (this.#byName.get(nameOf(before)) === before) this.#byName.delete(nameOf(before));
    }
    if (change.op === 'delete') return;
    const challenge = readChallenge(change.record);
    if (challenge === null) return;
    this.#byId.set(id, challenge);
    this.#byName.set(nameOf(challenge), challenge);
  }
}

function nameOf({ type, hostname }: AcmeChallenge): string {
  return `${type} ${hostname}`;
}

/** Null for a record that this version cannot read: nothing is answered. */
function readChallenge({ doc }: CertificateRecord): AcmeChallenge | null {
  const { hostname, type, token, key_authorization: keyAuthorization, expires_at: expiresAt } = doc;
  const isWhole = [hostname, type, token, keyAuthorization, expiresAt].every((value) => typeof value === 'string');
  if (!isWhole || token === '') return null;
  return {
    hostname: (hostname as string).toLowerCase(),
    type: type as string,
    token: token as string,
    keyAuthorization: keyAuthorization as string,
    // An unreadable date compares as false, so such a challenge is never pending.
    expiresAtMs: Date.parse(expiresAt as string),
  };
}

interface ChallengeServersOptions {
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
