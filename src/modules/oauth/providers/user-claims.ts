import type { JsonObject, JsonValue } from '../../../lib/json.ts';
import { LoginProblem } from '../../login/provider/login-problem.ts';
import type { OauthUser } from '../provider-definition.ts';

const MAX_SUBJECT = 255;

/** A user by the provider's own id, which is a text or a number and never changes. */
export function userOf(provider: string, id: JsonValue | undefined, claims: JsonObject): OauthUser {
  const subject = typeof id === 'number' ? String(id) : id;
  if (typeof subject !== 'string' || !/^[\x21-\x7e]+$/.test(subject) || subject.length > MAX_SUBJECT) {
    throw new LoginProblem('provider', 'malformed_answer', `${provider} returned a user without a usable id`);
  }
  const known = Object.entries(claims).filter(([, value]) => value !== null && value !== undefined);
  return { subject, claims: { ...Object.fromEntries(known), sub: subject } };
}

export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
