import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { AccountKey } from './account-key.ts';
import { AcmeFailure } from './acme-failure.ts';
import type { AcmeServer, Signer } from './acme-server.ts';
import { isUsableUrl } from './acme-transport.ts';
import { accountBinding, keyChangeMessage } from './signed-message.ts';

export interface ExternalBinding {
  readonly keyId: string;
  readonly key: string;
}

export interface RegisteredAccount {
  readonly url: string;
  /** List of the account's orders. Null: the server has none, such as Let's Encrypt. */
  readonly ordersUrl: string | null;
}

export interface Registration {
  readonly key: AccountKey;
  readonly email: string | null;
  readonly binding: ExternalBinding | null;
  readonly signal: AbortSignal;
}

/** Registers the key. A key that is registered already gets its account (RFC 8555 §7.3.1). */
export async function register(
  server: AcmeServer,
  { key, email, binding, signal }: Registration,
): Promise<RegisteredAccount> {
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

export async function changeContact(
  server: AcmeServer,
  signer: Signer & { readonly accountUrl: string },
  email: string | null,
  signal: AbortSignal,
): Promise<void> {
  const payload = { contact: email === null ? [] : [`mailto:${email}`] };
  await server.post(signer.accountUrl, { signer, payload, action: 'rejected the email address', signal });
}

/** Replaces the key of the account (RFC 8555 §7.3.5). */
export async function changeKey(
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
