import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LruMap } from '../../kit/lru-map.ts';
import { isSameSecret, newCode, shownCode, typedCode } from '../../kit/text/secrets.ts';
import type { IdentityMail, IdentityPeople, Person } from './contracts.ts';

/** The mail names the host and no link: people type the code where they asked for it. */
function codeMail({ hostname, code }: { readonly hostname: string; readonly code: string }): {
  readonly subject: string;
  readonly text: string;
} {
  return {
    subject: `Your code for ${hostname}`,
    text: `Your code for ${hostname} is

    ${shownCode(code)}

Enter it on the page on which you asked for it, within ten minutes. It works once, in that browser only.

Nobody will ever ask you for this code by telephone, chat or mail. If you did not ask for it, ignore this message.
`,
  };
}

const VALID_MS = 10 * 60_000;
const MAX_TRIES = 5;
/** Mails to one person within an hour, for one asker: a network, or a browser in which the person has logged in. */
const MAX_MAILS = 5;
/**
 * The same for all networks together: for the first mail of each, and for further ones, so that a few networks do not
 * use up what another one begins with. Browsers of the person are not among them.
 */
const MAX_FIRST_MAILS = 12;
const MAX_FURTHER_MAILS = 8;
const HOUR_MS = 3_600_000;
/** Clocks of nodes differ. */
const SKEW_MS = 60_000;
/** A refusal is answered at a multiple of this: a try that the store counts takes as long as one that it does not. */
const ANSWER_STEP_MS = 250;
/** Mails that wait for the store. */
const MAX_BEING_SENT = 100;
/** Codes and people whose limit is reached, as far as this node knows. */
const MAX_REACHED = 10_000;
const SEAL_PURPOSE = 'identity-code';
export const CODE_SECONDS = VALID_MS / 1000;

interface CodePorts {
  readonly hostname: string;
  readonly clock: { nowMs(): number };
  readonly people: Pick<IdentityPeople, 'account' | 'accountByEmail' | 'hasConsoleRole'>;
  readonly mail: IdentityMail;
  readonly log: { warn(fields: object, message: string): void };
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  newId(prefix: string): string;
  claimOnce(key: string, untilMs: number): Promise<boolean>;
  /** The network of a client. */
  networkOf(clientAddress: string): string;
}

export interface Asker {
  /** The browser that the code will work in. */
  readonly browser: string;
  readonly clientAddress: string;
  /** The account that last logged in with this browser, and the id that this gave the browser. */
  readonly known: { readonly account: string; readonly id: string } | null;
}

interface SealedCode {
  readonly id: string;
  readonly account: string;
  /** Hash of the address that the mail goes to: the code ends when the person gets another one. */
  readonly address: string;
  readonly browser: string;
  readonly code: string;
  readonly until: number;
}

/**
 * Codes by e-mail. What belongs to a code is sealed in the browser that asked for it, so that nothing is stored for an
 * address that has no account. The same is done and answered for every address; the mail is sent after the answer. The
 * store counts the tries of a code and the mails to a person, for all nodes: so it bounds the guesses per person too.
 */
export class EmailCodes {
  readonly #ports: CodePorts;
  /** A claim is a write, even one that fails: a flood of requests for a known address must cause none. */
  readonly #reached = new LruMap<string, true>(MAX_REACHED);
  #beingSent = 0;

  constructor(ports: CodePorts) {
    this.#ports = ports;
  }

  /** Returns the sealed code for the browser, whether or not the address has an account. */
  ask(email: string, asker: Asker): string {
    const { clock, people } = this.#ports;
    const found = people.accountByEmail(email);
    const account = found !== undefined && this.#mayUse(found) ? found : null;
    const code = newCode();
    const id = this.#ports.newId('code');
    const until = clock.nowMs() + VALID_MS;
    // An id that nobody has: the sealed text is as long as for a person.
    const sealed: SealedCode = {
      id,
      account: account?.id ?? this.#ports.newId('ua'),
      address: addressHash(account?.email ?? email),
      browser: hash('sha256', asker.browser, 'base64url'),
      code: codeHash(id, code),
      until,
    };
    if (account !== null) this.#sendLater(account, asker, code, until);
    return this.#ports.seal(SEAL_PURPOSE, JSON.stringify(sealed));
  }

  /** The person of a code that is right and was not used; null: for every other reason, answered in the same time. */
  async check(sealedText: string, browser: string, typed: string): Promise<Person | null> {
    const startedMs = performance.now();
    const account = await this.#redeem(sealedText, browser, typedCode(typed));
    if (account === null) {
      const elapsedMs = performance.now() - startedMs;
      await sleep(Math.ceil((elapsedMs + 1) / ANSWER_STEP_MS) * ANSWER_STEP_MS - elapsedMs);
    }
    return account;
  }

  async #redeem(sealedText: string, browser: string, typed: string): Promise<Person | null> {
    const { clock, people } = this.#ports;
    const text = this.#ports.open(SEAL_PURPOSE, sealedText);
    if (text === null) return null;
    const sealed = JSON.parse(text) as SealedCode;
    const account = people.account(sealed.account);
    if (account === undefined || !this.#mayUse(account)) return null;
    if (sealed.address !== addressHash(account.email)) return null;
    if (sealed.browser !== hash('sha256', browser, 'base64url') || clock.nowMs() >= sealed.until) return null;
    const untilMs = sealed.until + SKEW_MS;
    if ((await this.#claimOneOf(MAX_TRIES, `code-try:${sealed.id}`, untilMs)) === null) return null;
    if (!isSameSecret(codeHash(sealed.id, typed), sealed.code)) return null;
    return (await this.#ports.claimOnce(`code-used:${sealed.id}`, untilMs)) ? account : null;
  }

  /** Codes can be phished: people of the console log in with passkeys only. */
  #mayUse({ id, isActive }: Person): boolean {
    return isActive && !this.#ports.people.hasConsoleRole(id);
  }

  /** After the answer: whether there is a mail to send must not show in its time. */
  #sendLater(account: Person, asker: Asker, code: string, expiresAtMs: number): void {
    if (this.#beingSent >= MAX_BEING_SENT) return;
    this.#beingSent += 1;
    setImmediate(() => {
      this.#send(account, asker, code, expiresAtMs)
        .catch((err: unknown) => this.#ports.log.warn({ err }, 'failed to queue a mail with a code'))
        .finally(() => {
          this.#beingSent -= 1;
        });
    });
  }

  async #send(account: Person, asker: Asker, code: string, expiresAtMs: number): Promise<void> {
    const { hostname, log, mail } = this.#ports;
    if (!(await this.#mayBeSent(account, asker))) {
      const client = asker.clientAddress;
      log.warn({ account: account.id, client }, 'sent no code: too many were asked for within an hour');
      return;
    }
    const isQueued = await mail.enqueue({ ...codeMail({ hostname, code }), to: account.email, expiresAtMs });
    if (!isQueued) log.warn({ account: account.id }, 'sent no code: mail is off, or its queue is full');
  }

  async #mayBeSent(account: Person, { known, clientAddress }: Asker): Promise<boolean> {
    const hour = Math.floor(this.#ports.clock.nowMs() / HOUR_MS);
    const untilMs = (hour + 1) * HOUR_MS + SKEW_MS;
    const limit = `code-mail:${account.id}:${hour}`;
    if (known?.account === account.id)
      return (await this.#claimOneOf(MAX_MAILS, `${limit}:known:${known.id}`, untilMs)) !== null;
    const network = this.#ports.networkOf(clientAddress);
    // Before the limits of all: one network must not use them up.
    const number = await this.#claimOneOf(MAX_MAILS, `${limit}:from:${network}`, untilMs);
    if (number === null) return false;
    const claimed =
      number === 1
        ? await this.#claimOneOf(MAX_FIRST_MAILS, `${limit}:first`, untilMs)
        : await this.#claimOneOf(MAX_FURTHER_MAILS, `${limit}:further`, untilMs);
    return claimed !== null;
  }

  /** Which one, from 1; null: all are claimed. */
  async #claimOneOf(count: number, key: string, untilMs: number): Promise<number | null> {
    if (this.#reached.get(key) === true) return null;
    for (let number = 1; number <= count; number += 1) {
      if (await this.#ports.claimOnce(`${key}:${number}`, untilMs)) return number;
    }
    this.#reached.set(key, true);
    return null;
  }
}

function addressHash(email: string): string {
  return hash('sha256', email, 'base64url');
}

function codeHash(id: string, code: string): string {
  return hash('sha256', `${id}:${code}`);
}
