/** A user who can log in. The requested scopes decide which claims a client sees. */
export interface TestUser {
  /** The subject of this user's tokens, and the value that the login page sends. */
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
