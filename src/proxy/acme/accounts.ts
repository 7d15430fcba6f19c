import { createHash } from 'node:crypto';
import { KeyedMutex } from '../../kit/async/turns.ts';
import { type Clock, rfc3339 } from '../../kit/clock.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { addSealedRecord, type Replica } from '../../store/replica/replica.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import { AcmeFailure } from './client/acme-failure.ts';
import {
  type AccountKey,
  type AcmeServer,
  accountBinding,
  isUsableUrl,
  keyChangeMessage,
  newAccountKeyText,
  readAccountKey,
  type Signer,
} from './client/acme-server.ts';
import { ACME_ACCOUNT_KIND, type AcmeAccountDoc, NEXT_PRIVATE_KEY, PRIVATE_KEY } from './records.ts';

interface ExternalBinding {
  readonly keyId: string;
  readonly key: string;
}

interface RegisteredAccount {
  readonly url: string;
  /** List of the account's orders. Null: the server has none, such as Let's Encrypt. */
  readonly ordersUrl: string | null;
}

interface Registration {
  readonly key: AccountKey;
  readonly email: string | null;
  readonly binding: ExternalBinding | null;
  readonly signal: AbortSignal;
}

/** Registers the key. A key that is registered already gets its account (RFC 8555 §7.3.1). */
async function register(server: AcmeServer, { key, email, binding, signal }: Registration): Promise<RegisteredAccount> {
  const { newAccount, isBindingRequired } = await server.directory();
  if (isBindingRequired && binding === null) {
    const message = `${server.host} requires external account binding: set acme_eab_key_id and acme_eab_key to the values from its operator`;
    throw new AcmeFailure('ERR_POSTERN_ACME_ACCOUNT', message);
  }
  const payload: JsonObject = {
    termsOfServiceAgreed: true,
    ...(email !== null && { contact: [`mailto:${email}`] }),
    ...(binding !== null && {
      externalAccountBinding: await accountBinding(key.publicJwk, newAccount, binding),
    }),
  };
  return submit(server, newAccount, key, payload, signal);
}

/** The account of a key, or null when the server does not know the key. */
export async function accountOf(
  server: AcmeServer,
  key: AccountKey,
  signal: AbortSignal,
): Promise<RegisteredAccount | null> {
  const { newAccount } = await server.directory();
  try {
    return await submit(server, newAccount, key, { onlyReturnExisting: true }, signal);
  } catch (error) {
    if (error instanceof AcmeFailure && error.problem === 'accountDoesNotExist') return null;
    throw error;
  }
}

async function submit(
  server: AcmeServer,
  url: string,
  key: AccountKey,
  payload: JsonObject,
  signal: AbortSignal,
): Promise<RegisteredAccount> {
  const signer = { key, accountUrl: null };
  try {
    const { location, json } = await server.post(url, { signer, payload, action: 'rejected the account', signal });
    if (!isUsableUrl(location)) {
      const message = `${server.host} sent an unusable response: the account has no https Location`;
      throw new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', message);
    }
    const orders = isJsonObject(json) ? json['orders'] : undefined;
    return { url: location, ordersUrl: isUsableUrl(orders) ? orders : null };
  } catch (error) {
    if (!(error instanceof AcmeFailure) || error.code !== 'ERR_POSTERN_ACME_REJECTED') throw error;
    // Whatever the problem is called, it concerns the account and no name.
    throw new AcmeFailure('ERR_POSTERN_ACME_ACCOUNT', error.message, error);
  }
}

async function changeContact(
  server: AcmeServer,
  signer: Signer & { readonly accountUrl: string },
  email: string | null,
  signal: AbortSignal,
): Promise<void> {
  const payload = { contact: email === null ? [] : [`mailto:${email}`] };
  await server.post(signer.accountUrl, { signer, payload, action: 'rejected the email address', signal });
}

/** Replaces the key of the account (RFC 8555 §7.3.5). */
async function changeKey(
  server: AcmeServer,
  signer: Signer & { readonly accountUrl: string },
  next: AccountKey,
  signal: AbortSignal,
): Promise<void> {
  const { keyChange } = await server.directory();
  if (keyChange === null) {
    throw new AcmeFailure('ERR_POSTERN_ACME_ACCOUNT', `${server.host} does not allow to change the key of an account`);
  }
  const payload = await keyChangeMessage(next, signer.key, { accountUrl: signer.accountUrl, url: keyChange });
  await server.post(keyChange, { signer, payload, action: 'rejected the new key of the account', signal });
}

export interface AccountsOptions {
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly email: string | null;
  readonly binding: ExternalBinding | null;
  /** The binding is for this server only; null: for every server that requires one. */
  readonly onlyDirectoryUrl: string | null;
  /** 0: never. */
  readonly keyDays: number;
  readonly log: { info(fields: object, message: string): void };
}

/** Signs requests of one account. */
export interface Account {
  readonly key: AccountKey;
  readonly accountUrl: string;
  readonly recordId: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** A node that has not finished a key change after this time is dead, and another one finishes it. */
const KEY_CHANGE_MS = 5 * 60 * 1000;
const MAX_CONFLICTS = 5;

/**
 * One account per server, shared by all nodes. Its key is stored before the server hears of it: a registration whose
 * answer is lost is repeated with the same key, which returns the same account.
 */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #turns = new KeyedMutex();

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** The registered account, with its settings and key up to date. */
  get(server: AcmeServer, signal: AbortSignal): Promise<Account> {
    const id = this.#idOf(server.directoryUrl);
    return this.#turns.run(id, async () => {
      for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
        const record = await this.#record(id, server.directoryUrl);
        const account = await this.#upToDate(server, record, signal);
        if (account !== null) return account;
        await this.#options.replica.refresh();
      }
      throw new Error('the ACME account was changed by other nodes again and again');
    });
  }

  /** The server does not know the account: it is registered again, with the same key. */
  async forget({ recordId }: Account): Promise<void> {
    const record = this.#options.replica.get(ACME_ACCOUNT_KIND, recordId);
    if (record !== undefined) await this.#save(record, { account_url: null });
  }

  #idOf(directoryUrl: string): string {
    const { binding } = this.#options;
    const hash = createHash('sha256').update(JSON.stringify([directoryUrl, binding?.keyId ?? null]));
    return `acme_${hash.digest('hex').slice(0, 32)}`;
  }

  async #record(id: string, directoryUrl: string): Promise<StoredRecord> {
    const { store, replica, clock, email, binding } = this.#options;
    const known = replica.get(ACME_ACCOUNT_KIND, id);
    if (known !== undefined) return known;
    const now = rfc3339(clock.nowMs());
    const doc: AcmeAccountDoc = {
      directory_url: directoryUrl,
      account_url: null,
      email,
      eab_key_id: binding?.keyId ?? null,
      created_at: now,
      key_created_at: now,
      key_change_started_at: null,
    };
    const secret = await newAccountKeyText();
    await addSealedRecord(store, replica, { kind: ACME_ACCOUNT_KIND, id, doc, field: PRIVATE_KEY, secret });
    const added = replica.get(ACME_ACCOUNT_KIND, id);
    if (added === undefined) throw new Error('the ACME account was not stored');
    return added;
  }

  /** Null: another node changed the record meanwhile. */
  async #upToDate(server: AcmeServer, record: StoredRecord, signal: AbortSignal): Promise<Account | null> {
    const { clock, email, binding, onlyDirectoryUrl, keyDays, log } = this.#options;
    const doc = record.doc as AcmeAccountDoc;
    const key = await readAccountKey(secretText(record, PRIVATE_KEY));
    if (doc.account_url === null) {
      const isBound = onlyDirectoryUrl === server.directoryUrl || (await server.directory()).isBindingRequired;
      const { url } = await register(server, { key, email, binding: isBound ? binding : null, signal });
      log.info({ directory: server.directoryUrl }, 'registered an ACME account');
      return this.#again(await this.#save(record, { account_url: url, email }));
    }
    const account = { key, accountUrl: doc.account_url, recordId: record.id };
    if (doc.email !== email) {
      await changeContact(server, account, email, signal);
      return this.#again(await this.#save(record, { email }));
    }
    const nowMs = clock.nowMs();
    const startedMs = doc.key_change_started_at === null ? null : Date.parse(doc.key_change_started_at);
    const isOld = keyDays > 0 && nowMs - Date.parse(doc.key_created_at) >= keyDays * DAY_MS;
    if (startedMs === null ? !isOld : nowMs - startedMs < KEY_CHANGE_MS) return account;
    return this.#changeKey(server, record, account, signal);
  }

  /** The next key is stored first. Afterwards the server knows either the old or the new one: it is asked which. */
  async #changeKey(
    server: AcmeServer,
    record: StoredRecord,
    account: Account,
    signal: AbortSignal,
  ): Promise<Account | null> {
    const { clock, log } = this.#options;
    const nextText = record.secrets?.[NEXT_PRIVATE_KEY] ?? JSON.stringify(await newAccountKeyText());
    const secrets = { [PRIVATE_KEY]: record.secrets?.[PRIVATE_KEY] ?? '""', [NEXT_PRIVATE_KEY]: nextText };
    const now = rfc3339(clock.nowMs());
    const started = await this.#save(record, { key_change_started_at: now }, secrets);
    if (started === null) return null;
    const next = await readAccountKey(JSON.parse(nextText) as string);
    try {
      const known = await accountOf(server, next, signal);
      if (known === null) await changeKey(server, account, next, signal);
    } catch (error) {
      // The old key still works, or the next attempt finds out: no reason to hold up an order.
      if (error instanceof AcmeFailure) return account;
      throw error;
    }
    log.info({ directory: server.directoryUrl }, 'changed the key of the ACME account');
    const done = { key_created_at: now, key_change_started_at: null };
    return this.#again(await this.#save(started, done, { [PRIVATE_KEY]: nextText }));
  }

  async #save(
    record: StoredRecord,
    changes: Partial<AcmeAccountDoc>,
    secrets = record.secrets,
  ): Promise<StoredRecord | null> {
    const { kind, id, revision } = record;
    const doc = { ...record.doc, ...changes };
    const result = await this.#options.store.commit({
      expect: [{ kind, id, revision }],
      puts: [{ kind, id, parent: null, doc, secrets, uniqueKeys: [], references: [] }],
    });
    return result.ok ? { ...record, doc, secrets, revision: result.revision } : null;
  }

  async #again(saved: StoredRecord | null): Promise<Account | null> {
    const url = (saved?.doc as AcmeAccountDoc | undefined)?.account_url ?? null;
    if (saved === null || url === null) return null;
    return { key: await readAccountKey(secretText(saved, PRIVATE_KEY)), accountUrl: url, recordId: saved.id };
  }
}

function secretText(record: StoredRecord, field: string): string {
  return JSON.parse(record.secrets?.[field] ?? '""') as string;
}
