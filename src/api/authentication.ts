import type { FastifyRequest } from 'fastify';
import type { Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';
import type { FailedLoginBrake } from './failed-login-brake.ts';

export type FindPrincipal = (token: string) => Principal | null;

export interface Caller {
  readonly principal: Principal;
  readonly token: string;
}

export type Login = (request: FastifyRequest) => Promise<Caller>;

/** The only way in, for whatever needs a key: a failure waits before it is answered, wherever it was tried. */
export function createLogin(find: FindPrincipal, brake: FailedLoginBrake): Login {
  return async (request) => {
    try {
      return authenticate(request.headers.authorization, find);
    } catch (error) {
      await brake.slowDown(request.ip);
      throw error;
    }
  };
}

/** The key's owner, or a 401. The token is neither logged nor part of any message. */
function authenticate(header: string | undefined, find: FindPrincipal): Caller {
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
