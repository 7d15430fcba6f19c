import type { JsonObject } from '../../lib/json.ts';

/** What logins need to know of people, from memory. */
export interface IdentityPeopleReader {
  /** Null: there is no such person, or they may not log in. */
  find(accountId: string): KnownPerson | null;
}

export interface KnownPerson {
  /** Changes when anything below changes. */
  readonly revision: number;
  /** `sub`, `email`, `email_verified`, `name`, `groups`. */
  readonly claims: JsonObject;
  readonly groups: readonly string[];
}
