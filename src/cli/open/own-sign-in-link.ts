import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transport } from '../../client/transport.ts';
import { apiFetch } from '../api/api-fetch.ts';
import { isOnThisMachine } from '../api/connection.ts';
import { type SignInLink, signInLink } from './sign-in-link.ts';

/** For the server that greets a person at a terminal. Null: it is published elsewhere, or no key of it is at hand. */
export async function ownSignInLink(
  baseUrl: string,
  given: string | null,
  dataDir: string,
): Promise<SignInLink | null> {
  if (!isOnThisMachine(baseUrl)) return null;
  const file = join(dataDir, 'first-api-key');
  const apiKey = given ?? (await readFile(file, 'utf8').catch(() => '')).trim();
  if (apiKey === '') return null;
  return signInLink(new Transport({ baseUrl, fetch: apiFetch, apiKey }), baseUrl, process.env).catch(() => null);
}
