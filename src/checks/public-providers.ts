/** Providers where anybody can create an account: a login there identifies nobody in particular. */
const PUBLIC_HOSTS: ReadonlyMap<string, string> = new Map([
  ['accounts.google.com', 'Google'],
  ['appleid.apple.com', 'Apple'],
  ['gitlab.com', 'GitLab'],
  ['github.com', 'GitHub'],
  ['token.actions.githubusercontent.com', 'GitHub Actions'],
  ['www.facebook.com', 'Facebook'],
  ['facebook.com', 'Facebook'],
  ['www.linkedin.com', 'LinkedIn'],
  ['api.login.yahoo.com', 'Yahoo'],
  ['discord.com', 'Discord'],
  ['id.twitch.tv', 'Twitch'],
  ['slack.com', 'Slack'],
  ['login.salesforce.com', 'Salesforce'],
  ['access.line.me', 'LINE'],
  ['kauth.kakao.com', 'Kakao'],
]);

const MICROSOFT_HOSTS = ['login.microsoftonline.com', 'login.windows.net', 'sts.windows.net'];
/** In place of a tenant's id; the last is the tenant of all personal accounts. */
const OPEN_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** The provider's name if it is public, otherwise null. */
export function publicProvider(issuer: string): string | null {
  if (!URL.canParse(issuer)) return null;
  const { hostname, pathname } = new URL(issuer);
  if (MICROSOFT_HOSTS.includes(hostname)) {
    const [, tenant = ''] = pathname.toLowerCase().split('/');
    return OPEN_TENANTS.includes(tenant) ? 'Microsoft' : null;
  }
  return PUBLIC_HOSTS.get(hostname) ?? null;
}
