/** OpenID Connect Core 1.0 §5.4: the claims that each scope asks for. */
const CLAIMS_OF_SCOPES: Readonly<Record<string, readonly string[]>> = {
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
  profile: [
    ...['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
};

/** The standard scopes for a claim; empty: the standard does not say. A dotted name is a path into an object. */
export function standardScopes(claim: string): readonly string[] {
  const name = firstName(claim);
  return Object.keys(CLAIMS_OF_SCOPES).filter((scope) => CLAIMS_OF_SCOPES[scope]?.includes(name) === true);
}

/** `groups` for a claim `groups`: many providers name scopes after claims, and announce those that they know. */
export function namesakeScope(claim: string): string {
  return firstName(claim);
}

function firstName(claim: string): string {
  return claim.split('.')[0] ?? claim;
}
