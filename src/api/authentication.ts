import type { FastifyRequest } from 'fastify';
import type { Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';
import type { FailedLoginBrake } from './failed-login-brake.ts';

export type FindPrincipal = (token: string) => Principal | null;

export interface Caller {
  readonly principal: Principal;
  readonly token: string;
}

/** At once when the key is good; a failure takes its time. */
export type Login = (request: FastifyRequest) => Caller | Promise<never>;

/** The only way in, for whatever needs a key: a failure waits before it is answered, wherever it was tried. */
export function createLogin(find: FindPrincipal, brake: FailedLoginBrake): Login {
  return (request) => {
    try {
      return authenticate(request.headers.authorization, find);
    } catch (error) {
      return brake.slowDown(request.ip).then(() => Promise.reject(error as Error));
    }
  };
}

/** The token of an Authorization header, or null when it is malformed. */
export function tokenIn(header: string): string | null {
  return /^Bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1] ?? null;
}

/** The key's owner, or a 401. The token is neither logged nor part of any message. */
function authenticate(header: string | undefined, find: FindPrincipal): Caller {
  if (header === undefined) throw unauthenticated('the request carries no API key');
  const token = tokenIn(header);
  if (token === null) throw unauthenticated('the Authorization header is malformed');
  const principal = find(token);
  if (principal === null) throw unauthenticated('the API key is not known: it may have been deleted');
  return { principal, token };
}

function unauthenticated(why: string): Error {
  return apiErrors.create('ERR_POSTERN_UNAUTHENTICATED', `${why}: send "Authorization: Bearer <API key>"`, {
    headers: { 'www-authenticate': 'Bearer' },
  });
}
