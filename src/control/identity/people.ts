import { type Clock, rfc3339 } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { emailAddress } from '../../kit/text/email-address.ts';
import { hashToken } from '../../kit/text/secrets.ts';
import { earlierDocument } from '../../store/own-records.ts';
import { RecordIndex } from '../../store/replica/record-index.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { OutboxEvent, RecordPut, Store, StoredRecord, WriteSet } from '../../store/store.ts';
import type {
  AcceptedInvitation,
  FoundInvitation,
  IdentityPeople,
  InvitationProblem,
  NewPasskey,
  Person,
  PersonalMail,
  PersonalPasskey,
} from './contracts.ts';
import { identityErrors } from './errors.ts';
import { newPasskeyMail } from './mail.ts';
import {
  accountClaims,
  accountOf,
  emailKey,
  invitationOf,
  invitationSecrets,
  lastLoginOf,
  PASSKEY_KIND,
  PASSKEY_USE_KIND,
  passkeyOf,
  passkeyPut,
  USER_ACCOUNT_KIND,
  USER_ACCOUNT_USE_KIND,
  USER_INVITATION_KIND,
  useId,
} from './people-records.ts';

/** As API keys have it. */
const ALL_SCOPES = '*';
const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };
/** A writer that loses this many races gives up. */
const MAX_TRIES = 10;
/** Every login would be a write of its own. */
const LOGIN_NOTED_EVERY_MS = 60_000;

export interface PeoplePorts {
  readonly store: Pick<Store, 'commit' | 'mac'>;
  readonly replica: Replica;
  readonly clock: Clock;
  /** The identity host: without its port, and with it. */
  readonly address: { readonly hostname: string; readonly issuer: string };
  newId(prefix: string): string;
  /** Null: mail is off, or too many mails wait. */
  mail(mail: PersonalMail): RecordPut | null;
  passkeyEvent(type: 'passkey_created.v0' | 'passkey_deleted.v0', record: StoredRecord): readonly OutboxEvent[];
  /** As an administrator can, by wish of the person. */
  logOut(person: Pick<Person, 'id' | 'email'>): Promise<void>;
  /** Scopes of the role that the setting console_roles gives a person with these claims; none without a role. */
  consoleScopesOf(claims: JsonObject): readonly string[];
  /** Whether the first scopes include all of the others. */
  coversScopes(scopes: readonly string[], wanted: readonly string[]): boolean;
}

type Attempt<Result> = { readonly done: Result } | { readonly write: WriteSet; readonly result: Result };

/** People, their passkeys and invitations, for the pages of the identity host. */
export class People implements IdentityPeople {
  readonly #ports: PeoplePorts;
  readonly #byEmail: RecordIndex;
  readonly #byCredential: RecordIndex;
  readonly #bySecret: RecordIndex;

  constructor(ports: PeoplePorts) {
    const { replica } = ports;
    this.#ports = ports;
    this.#byEmail = new RecordIndex(replica, USER_ACCOUNT_KIND, (record) => emailKey(accountOf(record).email).key);
    this.#byCredential = new RecordIndex(replica, PASSKEY_KIND, (record) => passkeyOf(record).credential_id);
    this.#bySecret = new RecordIndex(replica, USER_INVITATION_KIND, (record) => invitationOf(record).secret_hash);
  }

  close(): void {
    for (const index of [this.#byEmail, this.#byCredential, this.#bySecret]) index.close();
  }

  account(id: string): Person | undefined {
    const record = this.#record(USER_ACCOUNT_KIND, id);
    return record && personOf(record);
  }

  accountByEmail(email: string): Person | undefined {
    const key = emailAddress(email)?.text;
    const record = key === undefined ? undefined : this.#byEmail.get(key);
    return record && personOf(record);
  }

  hasConsoleRole(accountId: string): boolean {
    const record = this.#record(USER_ACCOUNT_KIND, accountId);
    if (record === undefined) return false;
    const earlier = earlierDocument(this.#ports.replica, record);
    const states = earlier === null ? [record] : [record, { ...record, doc: earlier }];
    return states.some((each) => this.#consoleScopesOf(each).length > 0);
  }

  /** Whether somebody who can log in may do everything in the console. */
  hasAdministrator(): boolean {
    for (const record of this.#ports.replica.all(USER_ACCOUNT_KIND)) {
      if (this.isAdministrator(record.id) && this.passkeysOf(record.id).length > 0) return true;
    }
    return false;
  }

  /** Whether the account may do everything in the console, once somebody can log in with it. */
  isAdministrator(accountId: string): boolean {
    const record = this.#record(USER_ACCOUNT_KIND, accountId);
    if (record === undefined || !accountOf(record).isActive) return false;
    return this.#consoleScopesOf(record).includes(ALL_SCOPES);
  }

  /** Passkeys that work now. */
  passkeysOf(accountId: string): readonly PersonalPasskey[] {
    return this.#ports.replica
      .pageOfParent(PASSKEY_KIND, accountId, ALL)
      .filter((record) => this.#isUsable(record))
      .map((record) => this.#shown(record));
  }

  passkeyByCredential(credentialId: string): PersonalPasskey | undefined {
    const record = this.#byCredential.get(credentialId);
    return record === undefined || !this.#isOfThisHost(record) ? undefined : this.#shown(record);
  }

  /** A passkey is no way to more than its inviter could give: the person may have become an administrator since. */
  isEnough({ id }: Pick<PersonalPasskey, 'id'>): boolean {
    const record = this.#record(PASSKEY_KIND, id);
    return record !== undefined && this.#isEnough(record);
  }

  async invitation(secret: string): Promise<FoundInvitation> {
    const found = await this.#invitation(secret);
    if (typeof found === 'string') return { problem: found };
    return { account: personOf(found.account), expiresAtMs: Date.parse(invitationOf(found.invitation).expires_at) };
  }

  async acceptInvitation(
    secret: string,
    passkey: NewPasskey,
  ): Promise<AcceptedInvitation | { readonly problem: InvitationProblem | 'taken' }> {
    const accepted = await this.#attempt<AcceptedInvitation | { readonly problem: InvitationProblem }>(async () => {
      const found = await this.#invitation(secret);
      if (typeof found === 'string') return { done: { problem: found } };
      const { account, invitation } = found;
      const added = this.#addition(account, passkey, invitationOf(invitation).inviter_scopes);
      const { kind, id } = invitation;
      return {
        result: { account: personOf(account), passkeyId: added.id },
        write: {
          ...added.write,
          expect: [asSeen(account), asSeen(invitation)],
          // Takes a right away: a pending change does not hold it off.
          deletes: [{ kind, id, isRevocation: true }],
        },
      };
    });
    return accepted === 'taken' ? { problem: 'taken' } : accepted;
  }

  async addPasskey(
    accountId: string,
    passkey: NewPasskey,
    provedBy: string | null,
  ): Promise<'added' | 'taken' | 'gone'> {
    return this.#attempt<'added' | 'gone'>(() => {
      const account = this.#record(USER_ACCOUNT_KIND, accountId);
      if (account === undefined || !accountOf(account).isActive) return { done: 'gone' };
      const proof = provedBy === null ? undefined : this.#record(PASSKEY_KIND, provedBy);
      const scopes = proof === undefined ? [] : passkeyOf(proof).inviter_scopes;
      return {
        result: 'added',
        write: { ...this.#addition(account, passkey, scopes).write, expect: [asSeen(account)] },
      };
    });
  }

  async renamePasskey(passkeyId: string, name: string): Promise<boolean> {
    const renamed = await this.#attempt<boolean>(() => {
      const record = this.#record(PASSKEY_KIND, passkeyId);
      if (record === undefined) return { done: false };
      const { id, accountId, record: _record, ...doc } = passkeyOf(record);
      return { result: true, write: { expect: [asSeen(record)], puts: [passkeyPut(id, accountId, { ...doc, name })] } };
    });
    return renamed === true;
  }

  async removePasskey(passkeyId: string): Promise<'removed' | 'last' | 'gone'> {
    const removed = await this.#attempt<'removed' | 'last' | 'gone'>(() => {
      const record = this.#record(PASSKEY_KIND, passkeyId);
      if (record === undefined) return { done: 'gone' };
      const other = this.#ports.replica
        .pageOfParent(PASSKEY_KIND, passkeyOf(record).accountId, ALL)
        .find((each) => each.id !== passkeyId && this.#isUsable(each));
      if (other === undefined) return { done: 'last' };
      return {
        result: 'removed',
        write: {
          // Two that are removed at once: one stays.
          expect: [asSeen(record), asSeen(other)],
          deletes: [{ kind: PASSKEY_KIND, id: passkeyId }],
          events: this.#ports.passkeyEvent('passkey_deleted.v0', record),
        },
      };
    });
    return removed === 'taken' ? 'gone' : removed;
  }

  async recordPasskeyUse(
    { id }: Pick<PersonalPasskey, 'id'>,
    { signCount, atMs }: { readonly signCount: number; readonly atMs: number },
  ): Promise<boolean> {
    const recorded = await this.#attempt<boolean>(() => {
      const record = this.#record(PASSKEY_KIND, id);
      if (record === undefined) return { done: false };
      const known = this.#shown(record).signCount;
      // An authenticator that counts never repeats a number: the other one is a copy (WebAuthn §6.1.1).
      if ((known > 0 || signCount > 0) && signCount <= known) return { done: false };
      const use = { sign_count: signCount, used_at: rfc3339(atMs) };
      return { result: true, write: this.#useWrite(PASSKEY_USE_KIND, record, use) };
    });
    return recorded === true;
  }

  async logOut(accountId: string): Promise<void> {
    const person = this.account(accountId);
    if (person !== undefined) await this.#ports.logOut(person);
  }

  /** `last_login_at` of the account, to the minute. */
  async recordLogin(accountId: string, atMs: number): Promise<void> {
    await this.#attempt<null>(() => {
      const record = this.#record(USER_ACCOUNT_KIND, accountId);
      const known = lastLoginOf(this.#record(USER_ACCOUNT_USE_KIND, useId(accountId)));
      const isNoted = known !== null && atMs - Date.parse(known) < LOGIN_NOTED_EVERY_MS;
      if (record === undefined || isNoted) return { done: null };
      const use = { last_login_at: rfc3339(atMs) };
      return { result: null, write: this.#useWrite(USER_ACCOUNT_USE_KIND, record, use) };
    });
  }

  /** Writes until nobody else changed what the decision depends on. `taken`: another passkey has the credential. */
  async #attempt<Result>(attempt: () => Attempt<Result> | Promise<Attempt<Result>>): Promise<Result | 'taken'> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const next = await attempt();
      if ('done' in next) return next.done;
      const committed = await this.#ports.store.commit(next.write);
      if (committed.ok) return next.result;
      if (committed.reason === 'unique_key_taken') return 'taken';
      if (committed.reason === 'change_pending') {
        throw identityErrors.create(
          'ERR_POSTERN_IDENTITY_CHANGE_PENDING',
          'An administrator has made a change that nobody has confirmed yet, and it concerns this passkey. Nothing was changed. Try again in a few minutes, or ask an administrator to confirm or revert the change.',
        );
      }
      if (committed.reason !== 'conflict' && committed.reason !== 'parent_missing') {
        throw new Error(`a write about a person was refused: ${committed.reason}`);
      }
      await this.#ports.replica.refresh();
    }
    throw new Error('other requests kept changing the account of a person');
  }

  async #invitation(
    secret: string,
  ): Promise<InvitationProblem | { readonly account: StoredRecord; readonly invitation: StoredRecord }> {
    if (!invitationSecrets.hasForm(secret)) return 'unknown';
    const hash = hashToken(secret);
    const isGenuine = invitationSecrets.isGenuine(secret, (purpose, data) => this.#ports.store.mac(purpose, data));
    // Another node may have made it a moment ago. A forged one must not make this one ask.
    if (this.#bySecret.get(hash) === undefined && isGenuine) await this.#ports.replica.refresh();
    const invitation = this.#bySecret.get(hash);
    if (invitation === undefined) return isGenuine ? this.#endOf(hash) : 'unknown';
    const { accountId, expires_at, created_by } = invitationOf(invitation);
    // The server made it for the first administrator: another node may know one.
    if (created_by === '') await this.#ports.replica.refresh();
    if (created_by === '' && this.hasAdministrator()) return 'spent';
    const account = this.#record(USER_ACCOUNT_KIND, accountId);
    if (account === undefined) return 'spent';
    if (!accountOf(account).isActive) return 'disabled';
    // The settings give the person more than the inviter could.
    if (!this.#covers(invitationOf(invitation).inviter_scopes, account)) return 'spent';
    return Date.parse(expires_at) <= this.#ports.clock.nowMs() ? 'expired' : { account, invitation };
  }

  /** What became of a link that this server made. */
  #endOf(hash: string): 'spent' | 'replaced' {
    for (const record of this.#ports.replica.all(USER_INVITATION_KIND)) {
      if (invitationOf(record).former_hashes?.includes(hash) === true) return 'replaced';
    }
    return 'spent';
  }

  #addition(
    account: StoredRecord,
    passkey: NewPasskey,
    inviterScopes: readonly string[],
  ): { readonly id: string; readonly write: Pick<WriteSet, 'puts' | 'events'> } {
    const { clock, address } = this.#ports;
    const put = passkeyPut(this.#ports.newId('pk'), account.id, {
      name: passkey.name,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      sign_count: passkey.signCount,
      transports: passkey.transports,
      device_type: passkey.deviceType,
      backed_up: passkey.isBackedUp,
      created_at: rfc3339(clock.nowMs()),
      host: address.hostname,
      inviter_scopes: inviterScopes,
    });
    const notice = this.#ports.mail(newPasskeyMail(accountOf(account), passkey, address, clock.nowMs()));
    return {
      id: put.id,
      write: {
        puts: [put, ...(notice === null ? [] : [notice])],
        events: this.#ports.passkeyEvent('passkey_created.v0', { ...put, revision: 0 }),
      },
    };
  }

  #useWrite(kind: string, of: StoredRecord, doc: RecordPut['doc']): WriteSet {
    const id = useId(of.id);
    const known = this.#record(kind, id);
    const put: RecordPut = { kind, id, parent: of.id, doc, secrets: null, uniqueKeys: [], references: [] };
    return { expect: [asSeen(of), { kind, id, revision: known?.revision ?? 'absent' }], puts: [put] };
  }

  #record(kind: string, id: string): StoredRecord | undefined {
    return this.#ports.replica.get(kind, id);
  }

  #consoleScopesOf(record: StoredRecord): readonly string[] {
    return this.#ports.consoleScopesOf(accountClaims(accountOf(record)));
  }

  #isUsable(record: StoredRecord): boolean {
    return this.#isOfThisHost(record) && this.#isEnough(record);
  }

  #isOfThisHost(record: StoredRecord): boolean {
    return passkeyOf(record).host === this.#ports.address.hostname;
  }

  #isEnough(record: StoredRecord): boolean {
    const { accountId, inviter_scopes: scopes } = passkeyOf(record);
    const account = this.#record(USER_ACCOUNT_KIND, accountId);
    return account !== undefined && this.#covers(scopes, account);
  }

  #covers(scopes: readonly string[], account: StoredRecord): boolean {
    return this.#ports.coversScopes(scopes, this.#consoleScopesOf(account));
  }

  #shown(record: StoredRecord): PersonalPasskey {
    const { id, accountId, ...passkey } = passkeyOf(record);
    const use = this.#record(PASSKEY_USE_KIND, useId(id))?.doc as { sign_count: number; used_at: string } | undefined;
    return {
      id,
      accountId,
      name: passkey.name,
      credentialId: passkey.credential_id,
      publicKey: passkey.public_key,
      transports: passkey.transports,
      isBackedUp: passkey.backed_up,
      createdAtMs: Date.parse(passkey.created_at),
      signCount: use?.sign_count ?? passkey.sign_count,
      lastUsedAtMs: use === undefined ? null : Date.parse(use.used_at),
    };
  }
}

function personOf(record: StoredRecord): Person {
  const { id, email, name, isActive } = accountOf(record);
  return { id, email, name, isActive };
}

function asSeen({ kind, id, revision }: StoredRecord): { kind: string; id: string; revision: number } {
  return { kind, id, revision };
}
