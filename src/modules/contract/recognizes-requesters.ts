import type { JsonObject } from '../../lib/json.ts';
import type { LoginSession } from '../login/login-store.ts';
import type { Verdict } from './decides.ts';
import type { TrafficRequest } from './traffic-request.ts';

/** A capability: tells who sends a request, by a login or by other means such as a token, and sets its permit. */
export interface RecognizesRequesters {
  /**
   * Recognizes a requester by other means than a login. Called just before the first login module. A pass without a
   * permit says that nobody was recognized.
   */
  identify?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * For login modules, whose `judge` sets the permit: decides for `explain` as `judge` would if this person were logged
   * in here, whether or not they ever were.
   */
  assume?(request: TrafficRequest, person: AssumedPerson): Verdict | Promise<Verdict>;
}

/** What a login module declares. */
export interface DeclaresLogin {
  /** Whether it logs people in. A route has at most one such module. */
  readonly isLogin?: boolean;
}

/** What a request tells about its requester. Written by the modules that recognize them, read by those that judge them. */
export interface Requester {
  /** The permit under which the request runs, set by a module whose permit can end before the request does. */
  permit: Permit | null;
  /**
   * Set by a login module that admits a request without a login, as OPTIONS for CORS: modules that judge the requester
   * pass it too.
   */
  isExemptFromLogin: boolean;
}

/** A permit that can end while a request runs: a stream is cut within a second of its end. */
export interface Permit {
  /** Id of the permit's holder, for the access log and traffic events. */
  readonly userId: string;
  /** Its holder. Another object after every change, so that what was derived from it can be cached by it. */
  readonly identity: Identity;
  /** Name of the module that granted it. */
  readonly module: string;
  /** Changes when the user's data may have changed: then the other modules re-evaluate the request. */
  readonly version: number;
  isHeld(nowMs: number): boolean;
  /** The permit was used: a request started, or bytes were transferred. */
  touch(nowMs: number): void;
}

/** Who sends a request, as login modules and tokens tell it: the input of access rules. */
export interface Identity {
  readonly kind: 'user' | 'service_account' | 'workload' | 'guest';
  /** Id of the user, the service account or the guest link; the `sub` of a workload's token. */
  readonly id: string;
  /** Empty when there is none. As the provider wrote it. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** For people; may be empty. */
  readonly name: string;
  readonly claims: JsonObject;
  /** Claims that were too large to keep; `*` stands for any name. A rule about one of them cannot be evaluated. */
  readonly droppedClaims: readonly string[];
}

/** Somebody whom an explanation takes for logged in. */
export interface AssumedPerson {
  readonly email: string;
  /** Beside the email address, which counts as verified unless `email_verified` says otherwise. */
  readonly claims: JsonObject;
  /** The last logins on the edge, newest first: they show what a login brings there. */
  readonly logins: readonly LoginSession[];
}
