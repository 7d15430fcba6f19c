import { LruMap } from '../../kit/lru-map.ts';
import { ownerOf } from '../../kit/net/shared-places.ts';
import { TokenBucket } from '../../kit/token-bucket.ts';
import type { Enroll } from '../protocol/messages.ts';
import { PROTOCOL_VERSION } from '../protocol/protocol.ts';
import type { LocalConnection } from './agent-session.ts';
import type { GatewayPorts, Redeemed, RedeemRequest } from './ports.ts';

/** Slows down guessing of tokens and of invitations. */
export const WRONG_SECRET_DELAY_MS = 1_000;

/** Refuses a first message that this process cannot serve, with a right secret or a wrong one. */
export function isRefusedFirst(connection: LocalConnection, version: number, isClosing: boolean): boolean {
  if (isClosing) {
    connection.refuse('ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped; try again in a moment', true);
    return true;
  }
  if (version === PROTOCOL_VERSION) return false;
  const message = `the server speaks protocol version ${PROTOCOL_VERSION}, but the agent version ${version}: use the same release of both`;
  connection.refuse('ERR_POSTERN_AGENT_PROTOCOL', message, false);
  return true;
}

/** Invitations that do not work, per minute: from one address, and from all of them. */
const PER_ADDRESS = 10;
const IN_TOTAL = 600;
const MAX_ADDRESSES = 10_000;
/** Addresses that guessed wrong leave this share of the total to those that did not. */
const KEPT_FOR_OTHERS = 0.5;

type EnrollmentPorts = Pick<GatewayPorts, 'clock' | 'credentials' | 'invitations' | 'log'>;

/** Exchanges invitations for credentials. One answer for everything that does not work: a stranger learns nothing. */
export class Enrollment {
  readonly #ports: EnrollmentPorts;
  readonly #isClosing: () => boolean;
  readonly #total = new TokenBucket(IN_TOTAL);
  readonly #byAddress = new LruMap<string, TokenBucket>(MAX_ADDRESSES);

  constructor(ports: EnrollmentPorts, isClosing: () => boolean) {
    this.#ports = ports;
    this.#isClosing = isClosing;
  }

  async enroll(connection: LocalConnection, { version, secret, token, name }: Enroll): Promise<void> {
    if (isRefusedFirst(connection, version, this.#isClosing())) return;
    const attempt = this.#attempt(connection.remoteAddress);
    if (attempt === null) {
      const message = 'too many invitations that do not work were tried: wait a minute, and join again';
      connection.refuse('ERR_POSTERN_AGENT_GUESSES', message, true);
      return;
    }
    const redeemed = await this.#redeem({ secret, token, name, address: connection.remoteAddress });
    if (redeemed === 'unchecked') {
      attempt.giveBack();
      const message = 'the server cannot reach its database: try again in a moment';
      connection.refuse('ERR_POSTERN_GATEWAY_STORE', message, true);
      return;
    }
    if (redeemed === 'waiting') {
      attempt.giveBack();
      const message =
        'the invitation belongs to a change that still waits for its confirmation: have it confirmed ("postern confirm"), then join again';
      connection.refuse('ERR_POSTERN_AGENT_INVITATION', message, false);
      return;
    }
    if (redeemed === null) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_SECRET_DELAY_MS));
      const message =
        'the invitation does not work: it may have expired, or was used or revoked; ask for a new one ("postern agents invite")';
      connection.refuse('ERR_POSTERN_AGENT_INVITATION', message, false);
      return;
    }
    attempt.giveBack();
    const { id, acl } = redeemed;
    this.#ports.log.info({ credential: id, ip: connection.remoteAddress }, 'an agent joined with an invitation');
    connection.send({ t: 'enrolled', credential: id, acl: [...acl] });
    connection.close();
  }

  /** An agent whose connection was lost before the answer comes again with the same token. */
  async #redeem(request: RedeemRequest): Promise<Redeemed | null | 'waiting' | 'unchecked'> {
    const { credentials, invitations, log } = this.#ports;
    try {
      return credentials.find(request.token) ?? (await invitations.redeem(request)) ?? credentials.find(request.token);
    } catch (err) {
      log.warn({ err }, 'failed to check an invitation');
      return 'unchecked';
    }
  }

  /** Counts as wrong until it is given back, so that many at once count too. Null: there were too many. */
  #attempt(address: string): { giveBack(): void } | null {
    const nowMs = this.#ports.clock.nowMs();
    const owner = ownerOf(address);
    const known = this.#byAddress.get(owner);
    const own = known ?? new TokenBucket(PER_ADDRESS);
    const total = this.#total;
    if (own.waitMs(nowMs) > 0 || total.waitMs(nowMs, known === undefined ? 0 : KEPT_FOR_OTHERS) > 0) return null;
    own.take();
    total.take();
    this.#byAddress.set(owner, own);
    return {
      giveBack: () => {
        own.giveBack();
        total.giveBack();
      },
    };
  }
}
