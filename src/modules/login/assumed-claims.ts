import type { JsonObject } from '../../lib/json.ts';
import type { LearningClient } from '../contract/learns-claims.ts';
import type { AssumedPerson } from '../contract/recognizes-requesters.ts';
import { learnable, learnedClaims, learnedNote } from '../learned-claims.ts';
import { Grant } from './sessions/grant.ts';

type AssumedClient = Omit<LearningClient, 'isDiscovered'>;

export interface AssumedClaims {
  readonly claims: JsonObject;
  /** What they are based on, for people. */
  readonly text: string;
}

/**
 * The claims that a login would bring: those of the person's own last login, otherwise the described ones as far as
 * logins bring them here.
 */
export function assumedClaims(person: AssumedPerson, client: AssumedClient): AssumedClaims {
  const { email, claims, logins } = person;
  const own = Object.keys(claims).length === 0 ? ownLogin(person, client) : null;
  if (own !== null) {
    const text = `The person is logged in, with the claims of their last login here, at ${own.doc.created_at}.`;
    return { claims: own.doc.claims, text };
  }
  const learned = learnedClaims(client, logins);
  const described = learnable({ email_verified: true, ...claims, email }, learned);
  const note = learnedNote(learned, described.missing);
  return { claims: described.claims, text: note === '' ? LOGGED_IN : `${LOGGED_IN} ${note}` };
}

const LOGGED_IN = 'The person is logged in.';

function ownLogin({ email, logins }: AssumedPerson, { issuer, clientId, scopes }: AssumedClient): Grant | null {
  const own = logins
    .filter((login) => login.issuer === issuer && login.clientId === clientId)
    .map((login) => new Grant(login))
    .find(({ doc }) => doc.email !== '' && doc.email.toLowerCase() === email.toLowerCase());
  return own?.covers(scopes) === true ? own : null;
}
