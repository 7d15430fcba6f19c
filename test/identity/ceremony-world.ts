import { randomBytes } from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { NewPasskey, Person, PersonalPasskey } from '../../src/control/identity/contracts.ts';
import {
  type Authentication,
  type AuthenticationPorts,
  authenticate,
  authenticationOptions,
} from '../../src/control/identity/passkeys/authenticate.ts';
import { type ChallengeScope, Challenges } from '../../src/control/identity/passkeys/ceremony.ts';
import { type Registration, register, registrationOptions } from '../../src/control/identity/passkeys/register.ts';
import { createKeyring } from '../../src/store/keyring.ts';
import { MovableClock } from '../support/login-world.ts';
import { type Deviations, SoftAuthenticator } from '../support/soft-authenticator.ts';

export const ORIGIN = 'https://id.example.test:8443';
const HOSTNAME = 'id.example.test';

/** The ceremonies with people in memory: tests of the store's decisions use a server. */
export class CeremonyWorld {
  readonly clock = new MovableClock();
  readonly accounts = new Map<string, Person>();
  readonly passkeys = new Map<string, PersonalPasskey>();
  readonly claimed = new Set<string>();
  readonly #ports: AuthenticationPorts;

  constructor() {
    const keyring = createKeyring([randomBytes(32)]);
    const challenges = new Challenges({
      clock: this.clock,
      seal: (purpose, text) => keyring.seal(text, purpose),
      open: (purpose, sealed) => {
        try {
          return keyring.open(sealed, purpose);
        } catch {
          return null;
        }
      },
      randomText: (bytes) => randomBytes(bytes).toString('base64url'),
      claimOnce: (key) => {
        const isFirst = !this.claimed.has(key);
        this.claimed.add(key);
        return Promise.resolve(isFirst);
      },
    });
    this.#ports = {
      party: { origin: ORIGIN, hostname: HOSTNAME },
      challenges,
      clock: this.clock,
      people: {
        account: (id) => this.accounts.get(id),
        passkeyByCredential: (id) => this.passkeys.get(id),
        isEnough: () => true,
        recordPasskeyUse: ({ credentialId }, { signCount, atMs }) => {
          const known = this.passkeys.get(credentialId);
          if (known === undefined || (signCount > 0 && signCount <= known.signCount)) return Promise.resolve(false);
          this.passkeys.set(credentialId, { ...known, signCount, lastUsedAtMs: atMs });
          return Promise.resolve(true);
        },
      },
    };
  }

  account(id: string, isActive = true): Person {
    const account = { id, email: `${id}@example.com`, name: '', isActive };
    this.accounts.set(id, account);
    return account;
  }

  /** A person with a passkey. */
  async person(id: string, { counts = false } = {}): Promise<{ account: Person; device: SoftAuthenticator }> {
    const account = this.account(id);
    const device = new SoftAuthenticator(ORIGIN, { counts });
    const made = await this.register(account, device);
    if (!('passkey' in made)) throw new Error(made.problem);
    this.store(account, made.passkey);
    return { account, device };
  }

  store(account: Person, passkey: NewPasskey): void {
    const { name, credentialId, publicKey, transports, isBackedUp, signCount } = passkey;
    const shown = { name, credentialId, publicKey, transports, isBackedUp, signCount };
    const dates = { createdAtMs: this.clock.nowMs(), lastUsedAtMs: null };
    this.passkeys.set(credentialId, { ...shown, ...dates, id: `pk_${credentialId}`, accountId: account.id });
  }

  async register(account: Person, device: SoftAuthenticator, different: Deviations = {}): Promise<Registration> {
    const scope = { purpose: 'accept_invitation', browser: 'a', accountId: account.id } as const;
    const options = await registrationOptions(this.#ports, scope, { account, passkeys: [] });
    return this.checkRegistration(device.create(options, different), scope);
  }

  registrationOptions(account: Person, scope: ChallengeScope): ReturnType<typeof registrationOptions> {
    return registrationOptions(this.#ports, scope, { account, passkeys: [...this.passkeys.values()] });
  }

  checkRegistration(answer: RegistrationResponseJSON, scope: ChallengeScope): Promise<Registration> {
    return register(this.#ports, JSON.stringify(answer), scope, 'my device');
  }

  options(scope: Partial<ChallengeScope> = {}): Promise<PublicKeyCredentialRequestOptionsJSON> {
    return authenticationOptions(this.#ports, { ...SIGN_IN, ...scope });
  }

  check(answer: AuthenticationResponseJSON, scope: Partial<ChallengeScope> = {}): Promise<Authentication> {
    return this.checkText(JSON.stringify(answer), scope);
  }

  checkText(text: string, scope: Partial<ChallengeScope> = {}): Promise<Authentication> {
    return authenticate(this.#ports, text, { ...SIGN_IN, ...scope });
  }

  /** Name of the account, or the problem. */
  async logIn(device: SoftAuthenticator, different: Deviations = {}): Promise<string> {
    return outcomeOf(await this.check(device.get(await this.options(), different)));
  }
}

export function outcomeOf(result: Authentication): string {
  return 'problem' in result ? result.problem : result.account.id;
}

const SIGN_IN: ChallengeScope = { purpose: 'sign_in', browser: 'a', accountId: '' };
