import type { Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';

export type FindPrincipal = (token: string) => Principal | null;

/** The key's owner, or a 401. The token is neither logged nor part of any message. */
export function authenticate(header: string | undefined, find: FindPrincipal): { principal: Principal; token: string } {
  if (header === undefined) throw unauthenticated('the request carries no API key');
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1];
  if (token === undefined) throw unauthenticated('the Authorization header is malformed');
  const principal = find(token);
  if (principal === null) throw unauthenticated('the API key is not known: it may have been deleted');
  return { principal, token };
}

function unauthenticated(why: string): Error {
  return apiErrors.create('ERR_POSTERN_UNAUTHENTICATED', `${why}: send "Authorization: Bearer <API key>"`, {
    headers: { 'www-authenticate': 'Bearer' },
  });
}
