import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type {
  IdentityAddress,
  IdentityMail,
  IdentityPage,
  IdentityPeople,
  IdentitySessions,
} from '../../../control/identity/contracts.ts';
import { EmailCodes } from '../../../control/identity/email-codes.ts';
import { identityPages } from '../../../control/identity/pages/identity-pages.ts';
import { Challenges } from '../../../control/identity/passkeys/ceremony.ts';
import type { Clock } from '../../../kit/clock.ts';
import { isStoreOutage } from '../../../kit/error-text.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { LoginAttempts, widestNetworkOf } from '../../../modules/login/flow/login-attempts.ts';
import type { Store } from '../../../store/store.ts';

export interface IdentityPagesDependencies {
  readonly address: IdentityAddress;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sessions: IdentitySessions;
  readonly people: IdentityPeople;
  /** See `PagePorts`. */
  readonly consoleUrl: string | null;
  /** Null: e-mail codes are off. */
  readonly codesBy: IdentityMail | null;
}

/** Failed logins per minute and address. */
const ATTEMPTS_PER_ADDRESS = 20;

/** The pages of the identity host. */
export function openIdentityPages(deps: IdentityPagesDependencies): readonly IdentityPage[] {
  const { address, store, clock, logger, sessions, people, consoleUrl, codesBy } = deps;
  const { issuer, hostname } = address;
  const ksuid = createKsuidSource();
  const shared = {
    clock,
    seal: (purpose: string, text: string) => store.seal(purpose, text),
    open: (purpose: string, sealed: string) => store.open(purpose, sealed),
    randomText: (bytes: number) => randomBytes(bytes).toString('base64url'),
    claimOnce: (key: string, untilMs: number) => store.logins.claimOnce(key, untilMs),
    newId: (prefix: string) => `${prefix}_${ksuid(clock.nowMs())}`,
    log: logger,
    people,
    isStoreOutage,
  };
  const attempts = new LoginAttempts({ perAddress: ATTEMPTS_PER_ADDRESS, perIssuer: 0 }, clock);
  return identityPages(
    {
      ...shared,
      party: { origin: issuer, hostname },
      sessions,
      consoleUrl,
      challenges: new Challenges(shared),
      attempts: {
        begin: (clientAddress) =>
          attempts.begin({ issuer, clientAddress, startedIn: widestNetworkOf(clientAddress), browser: null }),
      },
    },
    codesBy === null ? null : new EmailCodes({ ...shared, hostname, mail: codesBy, networkOf: widestNetworkOf }),
  );
}
