/** Somebody who can log in. What of the claims a client gets to see depends on the scopes that it asked for. */
export interface TestUser {
  /** The subject of this user's tokens, and what the login page sends. */
  readonly id: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export const TEST_USERS: readonly TestUser[] = [
  {
    id: 'alice',
    claims: {
      email: 'alice@example.com',
      email_verified: true,
      name: 'Alice Example',
      given_name: 'Alice',
      family_name: 'Example',
      preferred_username: 'alice',
      groups: ['staff', 'admins'],
    },
  },
  {
    id: 'bob',
    claims: {
      email: 'bob@example.com',
      email_verified: true,
      name: 'Bob Example',
      given_name: 'Bob',
      family_name: 'Example',
      preferred_username: 'bob',
      groups: ['staff'],
    },
  },
];
