/** Configuration resources that the file does not have, by their name, and why. A test compares it with the registry. */
export const NOT_EXPORTED: ReadonlyMap<string, string> = new Map([
  [
    'agent_invitations',
    'An invitation is a secret for one agent and ends after ten minutes. Use "postern agents invite".',
  ],
  ['api_keys', 'A key is shown once and stored as a hash. Create keys with "postern api api-keys create".'],
  ['credentials', 'A credential is shown once and stored as a hash. Create one for each agent.'],
  ['guest_links', 'A link is a secret that expires and is shown once. Create links when they are needed.'],
  ['oidc_clients', 'A client secret is shown once and stored as a hash. Create clients when they are needed.'],
  ['service_account_tokens', 'A token is shown once and stored as a hash. The service accounts are in the file.'],
  [
    'user_accounts',
    'People register passkeys that no file has. A file must neither delete them nor make invitations. Use "postern users".',
  ],
]);
