import type { Identity, Permit } from '../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { originOf } from '../login/flow/return-target.ts';
import { SentByHost } from '../login/identity/sent-by-host.ts';
import type { UpstreamIdentity } from '../login/identity/upstream-identity.ts';

/** A user of a route, and the permit of every request with the right password. It ends with the configuration. */
export class PasswordPermit implements Permit {
  readonly module = 'basic_auth';
  readonly version = 0;
  readonly identity: Identity;
  readonly hash: string;
  readonly #sent = new SentByHost();
  readonly #sessionId: string;

  constructor(username: string, hash: string, sessionId: string) {
    this.hash = hash;
    this.#sessionId = sessionId;
    this.identity = {
      kind: 'user',
      id: username,
      email: '',
      isEmailVerified: false,
      name: username,
      claims: { username },
      droppedClaims: [],
    };
  }

  get userId(): string {
    return this.identity.id;
  }

  /** Nothing ends it while the configuration stays: a change asks every request again. */
  isHeld(): boolean {
    return true;
  }

  touch(): void {}

  upstreamHeaders(identity: UpstreamIdentity, request: TrafficRequest): readonly string[] {
    const { id, claims } = this.identity;
    const user = () => ({
      ...{ kind: 'user' as const, id, name: id, email: null, claims },
      ...{ origin: originOf(request), host: request.host },
      ...{ sessionId: this.#sessionId, provider: this.module, subject: id },
    });
    return this.#sent.get(request.authority, 0, (known) => identity.current(known, request.nowMs, user)).headers;
  }
}
